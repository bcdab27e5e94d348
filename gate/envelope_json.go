package gate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MarshalJSON writes path to {value, source}, paths sorted. It fails where Validate
// does.
func (e Envelope) MarshalJSON() ([]byte, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	if e == nil {
		return []byte("{}"), nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // left to the encoder around this one
	if err := enc.Encode(map[string]Field(e)); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// UnmarshalJSON reads what MarshalJSON writes and refuses all else: paths that are
// unknown or come twice, values that are no scalars or of a wrong kind, other keys in
// a field.
func (e *Envelope) UnmarshalJSON(data []byte) error {
	read := Envelope{}
	err := eachMember(data, func(path string, value json.RawMessage) error {
		if _, again := read[path]; again {
			return fmt.Errorf("envelope %s: given twice", path)
		}
		f, err := readField(value)
		if err != nil {
			return fmt.Errorf("envelope %s: %w", path, err)
		}
		read[path] = f
		return checkField(path, f)
	})
	if err != nil {
		return err
	}
	*e = read
	return nil
}

// UnmarshalJSON reads {"value": scalar, "source": string} and refuses all else. Whole
// numbers are an int64.
func (f *Field) UnmarshalJSON(data []byte) error {
	read, err := readField(data)
	if err != nil {
		return fmt.Errorf("decode field: %w", err)
	}
	*f = read
	return nil
}

// readField reads {"value": scalar, "source": string}.
func readField(data []byte) (Field, error) {
	var f Field
	seen := map[string]bool{}
	err := eachMember(data, func(key string, value json.RawMessage) error {
		if seen[key] {
			return fmt.Errorf("key %q is given twice", key)
		}
		seen[key] = true
		switch key {
		case "value":
			v, err := readScalar(value)
			f.Value = v
			return err
		case "source":
			return json.Unmarshal(value, &f.Source)
		}
		return fmt.Errorf("unknown key %q", key)
	})
	if err == nil && !(seen["value"] && seen["source"]) {
		err = errors.New("value and source are needed")
	}
	return f, err
}

// readScalar reads a JSON scalar; whole numbers are an int64.
func readScalar(data []byte) (any, error) {
	var v any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case nil, string, bool:
		return v, nil
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i, nil
		}
		f, err := strconv.ParseFloat(v.String(), 64)
		if err != nil {
			return nil, fmt.Errorf("number %.40s: out of range", v)
		}
		return normal(f), nil
	}
	return nil, fmt.Errorf("%s: expected a string, a number, true, false or null", describe(data))
}

// describe names a JSON value that is no scalar.
func describe(data []byte) string {
	if strings.HasPrefix(string(bytes.TrimSpace(data)), "[") {
		return "value is an array"
	}
	return "value is an object"
}

// eachMember calls f for each member of a JSON object, in order.
func eachMember(data []byte, f func(key string, value json.RawMessage) error) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	open, err := dec.Token()
	if err != nil {
		return err
	}
	if open != json.Delim('{') {
		return errors.New("expected a JSON object")
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		if err := f(key.(string), value); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("unexpected text after the JSON object")
	}
	return nil
}

// Canonical returns the identity of e: path to value in the canonical JSON of RFC 8785.
// An undeclared field is null; who told a value doesn't count. It panics on an envelope
// that Validate refuses, which neither Set nor JSON can make.
func (e Envelope) Canonical() []byte {
	if err := e.Validate(); err != nil {
		panic("gate: canonical form of an invalid envelope: " + err.Error())
	}
	values := make(map[string]any, len(e))
	for path, f := range e {
		values[path] = normal(f.Value)
	}
	b, err := appendCanonical(nil, values)
	if err != nil {
		panic("gate: canonical form of a valid envelope: " + err.Error())
	}
	return b
}

// Fingerprint returns the hash of the canonical form, "sha256:" and 64 hex digits.
// It panics where Canonical does.
func (e Envelope) Fingerprint() string {
	sum := sha256.Sum256(e.Canonical())
	return "sha256:" + hex.EncodeToString(sum[:])
}

// appendCanonical appends a flat JSON object in the form of RFC 8785.
func appendCanonical(dst []byte, object map[string]any) ([]byte, error) {
	keys := slices.SortedFunc(maps.Keys(object), compareUTF16)
	dst = append(dst, '{')
	for i, key := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendCanonicalValue(dst, key); err != nil {
			return nil, err
		}
		dst = append(dst, ':')
		if dst, err = appendCanonicalValue(dst, object[key]); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// compareUTF16 orders strings by their UTF-16 code units, RFC 8785 section 3.2.3. It
// differs from the order of bytes where a surrogate pair meets a unit above it.
func compareUTF16(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

func appendCanonicalValue(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int64:
		return appendCanonicalNumber(dst, float64(v))
	case float64:
		return appendCanonicalNumber(dst, v)
	case string:
		return appendCanonicalString(dst, v)
	}
	return nil, fmt.Errorf("encode canonical JSON: no form for a %T", v)
}

// appendCanonicalNumber writes f as ECMAScript does, RFC 8785 section 3.2.2.3: the
// shortest digits that read back as f, plain from 1e-6 to below 1e21.
func appendCanonicalNumber(dst []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("encode canonical JSON: %v is not a finite number", f)
	}
	if f == 0 {
		return append(dst, '0'), nil // -0 too
	}
	if abs := math.Abs(f); abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64), nil
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	// Go pads the exponent to two digits, ECMAScript doesn't: 1e-07.
	if n := len(dst); n-start >= 4 && dst[n-4] == 'e' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst, nil
}

const hexDigits = "0123456789abcdef"

// appendCanonicalString escapes what JSON asks for and nothing else, RFC 8785
// section 3.2.2.2.
func appendCanonicalString(dst []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, fmt.Errorf("encode canonical JSON: %q is not valid UTF-8", s)
	}
	dst = append(dst, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\b':
			dst = append(dst, '\\', 'b')
		case c == '\f':
			dst = append(dst, '\\', 'f')
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"'), nil
}
