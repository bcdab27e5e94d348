package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/servegate/servegate/gate"
)

// encodeRun is the content of run.json, indented, for it is read by people, too.
func encodeRun(run *gate.Run) ([]byte, error) {
	if err := checkRun(run); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(run); err != nil {
		return nil, err
	}
	if b.Len() > maxRunSize {
		return nil, fmt.Errorf("%d bytes are more than the limit of %d", b.Len(), maxRunSize)
	}
	return b.Bytes(), nil
}

// storedRun is run.json, with each repetition as the bytes that stand there.
type storedRun struct {
	gate.Run
	repetitions [][]json.RawMessage // by cell
}

// decodeRun reads run.json.
func decodeRun(data []byte) (*storedRun, error) {
	if err := checkSchema(data, gate.RunSchema); err != nil {
		return nil, err
	}
	var run storedRun
	if err := readStrict(data, &run.Run); err != nil {
		return nil, err
	}
	if err := checkRun(&run.Run); err != nil {
		return nil, err
	}
	var raw struct {
		Cells []struct {
			Repetitions []json.RawMessage `json:"repetitions"`
		} `json:"cells"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, err
	}
	for _, c := range raw.Cells {
		run.repetitions = append(run.repetitions, c.Repetitions)
	}
	return &run, nil
}

// checkSchema says whether data is JSON of the wanted schema, "name/v1".
func checkSchema(data []byte, want string) error {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return err
	}
	name, _, _ := strings.Cut(want, "/")
	switch {
	case head.Schema == want:
		return nil
	case head.Schema == "":
		return fmt.Errorf("it names no schema, this servegate reads %s", want)
	case strings.HasPrefix(head.Schema, name+"/v"):
		return fmt.Errorf("newer schema %.40q: this servegate reads %s (a newer servegate wrote it: update this one)", head.Schema, want)
	}
	return fmt.Errorf("schema %.40q: this servegate reads %s", head.Schema, want)
}

// checkRun says what makes run unfit to be stored, all of it at once.
func checkRun(run *gate.Run) error {
	if run.Schema != gate.RunSchema {
		return fmt.Errorf("schema %.40q: expected %s", run.Schema, gate.RunSchema)
	}
	var errs []error
	keys := map[string]bool{}
	for key := range run.Context { // the only keys that are not ours
		if keys[fold(key)] {
			errs = append(errs, fmt.Errorf("context %.40q is there twice, in another case", key))
		}
		keys[fold(key)] = true
	}
	cells := map[string]bool{}
	for i := range run.Cells {
		c := &run.Cells[i]
		if cells[c.ID] {
			errs = append(errs, fmt.Errorf("cell %q is there twice", c.ID))
		}
		cells[c.ID] = true
		errs = append(errs, checkCell(c, run.Complete))
	}
	return errors.Join(errs...)
}

func checkCell(c *gate.CellRun, complete bool) error {
	errs := []error{checkCellID(c.ID)}
	seen := map[int]bool{}
	for i := range c.Repetitions {
		index := c.Repetitions[i].Index
		if err := checkIndex(index); err != nil {
			errs = append(errs, fmt.Errorf("cell %.40q: %w", c.ID, err))
		} else if seen[index] {
			errs = append(errs, fmt.Errorf("cell %.40q: repetition %d is there twice", c.ID, index))
		}
		seen[index] = true
	}
	return errors.Join(append(errs, checkEnvelope(c, complete))...)
}

// checkEnvelope holds the fingerprint against the envelope. Before a cell has been
// measured it may have neither.
func checkEnvelope(c *gate.CellRun, complete bool) error {
	if len(c.Envelope) == 0 && c.Fingerprint == "" && !complete {
		return nil
	}
	if err := c.Envelope.Validate(); err != nil {
		return fmt.Errorf("cell %.40q: %w", c.ID, err)
	}
	if want := c.Envelope.Fingerprint(); c.Fingerprint != want {
		return fmt.Errorf("cell %.40q: fingerprint %.80q, its envelope has %s", c.ID, c.Fingerprint, want)
	}
	return nil
}

// encodeRepetition is a repetition as it stands in run.json, without white space.
func encodeRepetition(rep *gate.Repetition) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(rep); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// maxDepth bounds the nesting of JSON that is read; run.json has six levels.
const maxDepth = 32

// readStrict reads the JSON value in data into v. It refuses what encoding/json lets
// through: keys given twice (also in another case, since it matches them all the same),
// unknown keys, and text after the value.
func readStrict(data []byte, v any) error {
	if err := checkKeys(data, nil); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

// checkKeys reads one JSON value to its end and refuses keys given twice and, where
// allowed is given, keys that it doesn't hold.
func checkKeys(data []byte, allowed map[string]bool) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	k := keyChecker{dec: dec, allowed: allowed}
	if err := k.value(0); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("unexpected text after the JSON value, at byte %d", dec.InputOffset())
	}
	return nil
}

type keyChecker struct {
	dec     *json.Decoder
	allowed map[string]bool
}

func (k *keyChecker) value(depth int) error {
	token, err := k.dec.Token()
	if err != nil {
		return err
	}
	if depth >= maxDepth {
		return fmt.Errorf("nested more than %d deep", maxDepth)
	}
	switch token {
	case json.Delim('{'):
		return k.object(depth)
	case json.Delim('['):
		for k.dec.More() {
			if err := k.value(depth + 1); err != nil {
				return err
			}
		}
		_, err = k.dec.Token()
	}
	return err
}

func (k *keyChecker) object(depth int) error {
	seen := map[string]bool{}
	for k.dec.More() {
		token, err := k.dec.Token()
		if err != nil {
			return err
		}
		key, ok := token.(string)
		if !ok {
			return fmt.Errorf("unexpected %v in place of a key", token)
		}
		if k.allowed != nil && !k.allowed[key] {
			return fmt.Errorf("unknown key %.40q", key)
		}
		if seen[fold(key)] {
			return fmt.Errorf("key %.40q is given twice", key)
		}
		seen[fold(key)] = true
		if err := k.value(depth + 1); err != nil {
			return err
		}
	}
	_, err := k.dec.Token()
	return err
}

// fold is the same for keys that encoding/json takes for one another.
func fold(key string) string { return strings.ToLower(strings.ToUpper(key)) }
