package baselines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxDepth bounds the nesting of JSON that is read; a record has seven levels.
const maxDepth = 32

// readStrict reads the one JSON value in data into v. It refuses what encoding/json lets
// through: unknown keys, keys given twice (also in another case, since it takes them for
// the same), and text after the value.
func readStrict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := checkKeys(dec, 0); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("unexpected text after the JSON value, at byte %d", dec.InputOffset())
	}
	dec = json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

// checkKeys reads one JSON value to its end and refuses keys given twice.
func checkKeys(dec *json.Decoder, depth int) error {
	token, err := dec.Token()
	if err != nil {
		return err
	}
	open, nested := token.(json.Delim)
	if !nested {
		return nil
	}
	if depth >= maxDepth {
		return fmt.Errorf("nested more than %d deep", maxDepth)
	}
	seen := map[string]bool{}
	for dec.More() {
		if open == '{' {
			if err := checkKey(dec, seen); err != nil {
				return err
			}
		}
		if err := checkKeys(dec, depth+1); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err
}

func checkKey(dec *json.Decoder, seen map[string]bool) error {
	token, err := dec.Token()
	if err != nil {
		return err
	}
	key, _ := token.(string) // the decoder lets nothing else stand there
	folded := strings.ToLower(strings.ToUpper(key))
	if seen[folded] {
		return fmt.Errorf("key %.40q is given twice", key)
	}
	seen[folded] = true
	return nil
}
