package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

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
