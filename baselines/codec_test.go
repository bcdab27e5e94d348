package baselines_test

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/servegate/servegate/baselines"
	"github.com/servegate/servegate/baselines/storetest"
	"github.com/servegate/servegate/gate"
)

var update = flag.Bool("update", false, "write the golden files")

// golden are one record and one event, as a store keeps them.
func golden(tb testing.TB) map[string]baselines.Entry {
	record := storetest.Record(tb, 1)
	event := baselines.Entry{Event: &baselines.Event{
		Schema: baselines.EventSchema, ID: "0123456789abcdef", Kind: baselines.Promotion,
		Decision: baselines.Decision{
			At: storetest.Start, Actor: "ada", Reason: "release, 3 % slower by design", Run: "run-1",
			Cells: []string{storetest.Cell}, Anchor: "v1.2",
		},
		Overrides: []string{"fedcba9876543210"},
	}}
	return map[string]baselines.Entry{"record.json": record, "event.json": event}
}

func TestGolden(t *testing.T) {
	for file, entry := range golden(t) {
		path := filepath.Join("testdata", file)
		got, err := baselines.Encode(entry)
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got, -update writes it):\n%s", file, diff)
		}
		// What older versions wrote must stay readable, whatever is written today.
		read, err := baselines.Decode(entry.Name(), want)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(entry, read); diff != "" {
			t.Errorf("%s is read as another entry (-want +got):\n%s", file, diff)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	entry := storetest.Record(t, 1)
	good, err := baselines.Encode(entry)
	if err != nil {
		t.Fatal(err)
	}
	replaced := func(old, with string) []byte {
		if !bytes.Contains(good, []byte(old)) {
			t.Fatalf("the record has no %s", old)
		}
		return bytes.Replace(good, []byte(old), []byte(with), 1)
	}
	for _, test := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "the file is empty"},
		{"truncated", good[:len(good)*2/3], "unexpected EOF"},
		{"two values", append(bytes.Clone(good), good...), "unexpected text after the JSON value"},
		{"newer schema", replaced("servegate.baseline/v1", "servegate.baseline/v2"), "newer schema"},
		{"other schema", replaced("servegate.baseline/v1", "servegate.run/v1"), "this servegate reads"},
		{"no schema", replaced(`"schema": "servegate.baseline/v1",`, ""), `schema ""`},
		{"no object", []byte("[]"), "expected a JSON object"},
		{"newer run", replaced("servegate.run/v1", "servegate.run/v2"), `run has schema "servegate.run/v2"`},
		{"unknown key", replaced(`"actor"`, `"author"`), "unknown field"},
		{"key twice", replaced(`"actor": "ci"`, `"actor": "ci", "Actor": "me"`), "given twice"},
		{"NaN", replaced(`"window_s": 60`, `"window_s": NaN`), "invalid character 'N'"},
		{"negative window", replaced(`"window_s": 60`, `"window_s": -60`), "a window of -60 s"},
		{"no window", replaced(`"window_s": 60`, `"window_s": 0`), "its window has no length"},
		{"negative time", replaced(`"p50": 0.2`, `"p50": -0.2`), "expected a finite number that isn't negative"},
		{"number out of range", replaced(`"p50": 0.2`, `"p50": 1e999`), "cannot unmarshal number 1e999"},
		{"too many requests", replaced(`"issued": 100,
       "ok": 99`, `"issued": 1000000000,
       "ok": 999999999`), "1000000000 requests, the limit is"},
		{"counts that don't add up", replaced(`"issued": 100`, `"issued": 101`), "have no outcome"},
		{"edited envelope", replaced(`"value": "bf16"`, `"value": "fp8"`), "its envelope has sha256:"},
		{"no such cell", replaced(`"cell": "chat@near"`, `"cell": "chat@far"`), "the run has no such cell"},
		{"unknown result", replaced(`"result": "passed"`, `"result": "fine"`), `unknown result "fine"`},
		{"cut short", replaced(`"complete": true`, `"complete": false`), "the run was cut short"},
		{"another name", replaced(`"id": "run-1"`, `"id": "run-2"`), "its name is that of another entry"},
		{"a way out", replaced(`"id": "run-1"`, `"id": "../run-1"`), "run id"},
		{"short commit", replaced(storetest.Commit(1), "1234567"), "expected the 40 or 64 hex digits"},
		{"deep", []byte(`{"schema": "servegate.baseline/v1", "x": ` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`), "nested more than 32 deep"},
		{"not JSON", []byte("<html>"), "invalid character"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := baselines.Decode(entry.Name(), test.data)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want one that contains %q", err, test.want)
			}
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	nan := math.NaN()
	for _, test := range []struct {
		name, want string
		change     func(*baselines.Record)
	}{
		{"no actor", "actor is empty", func(r *baselines.Record) { r.Actor = " " }},
		{"actor of two lines", "expected one line", func(r *baselines.Record) { r.Actor = "a\nb" }},
		{"no class", "runner_class is empty", func(r *baselines.Record) { r.Class = "" }},
		{"no time", "started 0001-01-01", func(r *baselines.Record) { r.Run.Started = r.Run.Started.AddDate(-2025, -7, 0) }},
		{"no result", "0 of the 1 cells have a result", func(r *baselines.Record) { r.Results = nil }},
		{"NaN", "metric \"goodput\" is NaN", func(r *baselines.Record) {
			r.Run.Cells[0].Repetitions[0].Metrics[gate.Goodput] = gate.Summary{Unit: "x", Definition: "x", Value: &nan}
		}},
		{"cell twice", "is there twice", func(r *baselines.Record) { r.Run.Cells = append(r.Run.Cells, r.Run.Cells[0]) }},
		{"repetition twice", "repetition 1 is there twice", func(r *baselines.Record) { r.Run.Cells[0].Repetitions[1].Index = 1 }},
		{"context that can't be read back", "given twice", func(r *baselines.Record) { r.Run.Context["HOST.kernel"] = "6.9" }},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := baselines.Encode(storetest.Record(t, 1, test.change))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want one that contains %q", err, test.want)
			}
		})
	}
}

// FuzzDecode holds that what is read is written and read again as the same.
func FuzzDecode(f *testing.F) {
	for _, entry := range golden(f) {
		data, err := baselines.Encode(entry)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(entry.Name(), data)
		f.Add(entry.Name(), data[:len(data)/2])
	}
	f.Add("records/x.json", []byte(`{"schema":"servegate.baseline/v1"}`))
	f.Add("events/../records/x", []byte(`{"schema":"servegate.baseline-event/v1","id":"."}`))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		entry, err := baselines.Decode(name, data)
		if err != nil {
			return
		}
		if entry.Name() != name || strings.Contains(name, "..") && strings.Contains(name, "/../") {
			t.Fatalf("%q was read as %q", name, entry.Name())
		}
		again, err := baselines.Encode(entry)
		if err != nil {
			t.Fatalf("what was read can't be written: %v", err)
		}
		reread, err := baselines.Decode(name, again)
		if err != nil {
			t.Fatal(err)
		}
		if rewritten, err := baselines.Encode(reread); err != nil || !bytes.Equal(again, rewritten) {
			t.Fatalf("written in two ways (error %v):\n%s\n%s", err, again, rewritten)
		}
	})
}
