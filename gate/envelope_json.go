package gate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
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
