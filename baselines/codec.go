package baselines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
)

// MaxSize bounds the file of an entry, in bytes: 300 cells with 6 repetitions take 30 MB.
const MaxSize = 64 << 20

// Encode is the content of the entry's file: indented JSON. It refuses what [Decode]
// would, so that whatever was written can be read.
func Encode(e Entry) ([]byte, error) {
	data, err := encode(e)
	if err != nil {
		return nil, fmt.Errorf("encode baseline entry: %w", err)
	}
	return data, nil
}

func encode(e Entry) ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	var v any = e.Event
	if e.Record != nil {
		v = e.Record
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	_, err := decode(e.Name(), b.Bytes())
	return b.Bytes(), err
}

// Decode reads the file of that name in a store. It trusts nothing in it: it refuses a
// schema that it doesn't know, unknown keys, keys given twice, a content that contradicts
// itself, and one that belongs under another name: a copy would count twice.
func Decode(name string, data []byte) (Entry, error) {
	e, err := decode(name, data)
	if err != nil {
		return Entry{}, fmt.Errorf("decode baseline entry: %w", err)
	}
	return e, nil
}

func decode(name string, data []byte) (Entry, error) {
	var e Entry
	if len(data) > MaxSize {
		return e, fmt.Errorf("%d bytes are more than the limit of %d", len(data), MaxSize)
	}
	if len(data) == 0 {
		return e, errors.New("the file is empty")
	}
	var err error
	switch folder, _ := path.Split(name); folder {
	case RecordFolder:
		e.Record = new(Record)
		err = readAs(data, RecordSchema, e.Record)
	case EventFolder:
		e.Event = new(Event)
		err = readAs(data, EventSchema, e.Event)
	default:
		return e, fmt.Errorf("name %.80q: expected it in %s or %s", name, RecordFolder, EventFolder)
	}
	if err == nil {
		err = e.check()
	}
	if err == nil && e.Name() != name {
		err = fmt.Errorf("its name is that of another entry: its content belongs to %s", e.Name())
	}
	return e, err
}

// readAs reads data of the given schema into v. The schema comes first: of a newer one it
// is no use to say which key isn't known.
func readAs(data []byte, schema string, v any) error {
	got, err := schemaOf(data)
	if err != nil {
		return err
	}
	kind, _, _ := strings.Cut(schema, "/")
	switch {
	case got == schema:
		return readStrict(data, v)
	case strings.HasPrefix(got, kind+"/v"):
		return fmt.Errorf("newer schema %.40q: this servegate reads %s (a newer servegate wrote it: update this one)", got, schema)
	}
	return fmt.Errorf("schema %.40q: this servegate reads %s", got, schema)
}

// schemaOf reads the schema of a JSON object, and no further than it has to: a record may
// be long, and is written with its schema in front.
func schemaOf(data []byte) (string, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	open, err := dec.Token()
	if err != nil {
		return "", err
	}
	if open != json.Delim('{') {
		return "", errors.New("expected a JSON object")
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return "", err
		}
		if key == "schema" {
			var schema string
			err := dec.Decode(&schema)
			return schema, err
		}
		var other json.RawMessage
		if err := dec.Decode(&other); err != nil {
			return "", err
		}
	}
	return "", nil
}
