package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with the file at path, or writes it under -update.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update to write it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// cases are the YAML files of a folder of testdata: adding a case is adding a file, and
// running with -update.
func cases(t testing.TB, glob string) []string {
	t.Helper()
	files, err := filepath.Glob(glob)
	if err != nil || len(files) == 0 {
		t.Fatalf("glob %s: %v, %d files", glob, err, len(files))
	}
	return files
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// resolved ignores what a config says of its file.
var resolved = cmp.Options{
	cmpopts.IgnoreFields(Config{}, "Warnings"),
	cmpopts.IgnoreUnexported(Config{}, Gate{}),
}

// accepted holds a config that was accepted against the laws that all of them keep: it
// resolves to a file that resolves to itself and to the same plans, and the schema
// accepts both.
func accepted(t *testing.T, file string, data []byte) (*Config, []byte) {
	t.Helper()
	c, err := Parse(filepath.Base(file), data)
	if err != nil {
		t.Fatalf("Parse(%s): %v", file, err)
	}
	printed, err := c.YAML()
	if err != nil {
		t.Fatalf("YAML of %s: %v", file, err)
	}
	again, err := Parse("resolved.yaml", printed)
	if err != nil {
		t.Fatalf("Parse of the resolved %s: %v\n%s", file, err, printed)
	}
	if diff := cmp.Diff(c, again, resolved); diff != "" {
		t.Errorf("%s: resolved config differs (-first +second):\n%s", file, diff)
	}
	twice, err := again.YAML()
	if err != nil || !bytes.Equal(printed, twice) {
		t.Errorf("%s: printed twice (%v) (-first +second):\n%s", file, err, cmp.Diff(string(printed), string(twice)))
	}
	for _, s := range c.Matrix {
		p, err := c.Preview(s.Name, Overrides{})
		if err != nil {
			t.Errorf("%s: Preview(%s): %v", file, s.Name, err)
		}
		q, err := again.Preview(s.Name, Overrides{})
		if diff := cmp.Diff(p, q); err != nil || diff != "" {
			t.Errorf("%s: plan of the resolved config (%v) differs (-first +second):\n%s", file, err, diff)
		}
	}
	return c, printed
}

func TestAccepted(t *testing.T) {
	for _, file := range cases(t, "testdata/ok/*.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data := read(t, file)
			c, printed := accepted(t, file, data)
			for name, doc := range map[string][]byte{"file": data, "resolved file": printed} {
				if err := validate(t, doc); err != nil {
					t.Errorf("schema on the %s: %v", name, err)
				}
			}
			var out strings.Builder
			for _, w := range c.Warnings {
				out.WriteString("warning: " + w + "\n")
			}
			out.Write(printed)
			golden(t, strings.TrimSuffix(file, ".yaml")+".out", out.String())
		})
	}
}

func TestRefused(t *testing.T) {
	for _, file := range cases(t, "testdata/err/*.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data := read(t, file)
			_, err := Parse(filepath.Base(file), data)
			var faults *Faults
			if !errors.As(err, &faults) {
				t.Fatalf("Parse: got %v, want *Faults", err)
			}
			last := 0
			for _, f := range faults.List {
				if f.Line < 1 || f.Column < 1 || f.Hint == "" || !strings.Contains(f.What, "expected") && f.Path != "" && !strings.Contains(f.What, "unknown key") && !strings.Contains(f.What, "twice") {
					t.Errorf("fault without a place, a hint or what was expected: %+v", f)
				}
				if f.Line < last {
					t.Errorf("fault out of order: %v", f)
				}
				last = f.Line
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".out", err.Error()+"\n")

			first, _, _ := strings.Cut(string(data), "\n")
			switch refused := first != "# schema: unread" && validate(t, data) != nil; first {
			case "# schema: unread": // the YAML itself is at fault
			case "# schema: accepts": // a rule between keys that a schema can't state
				if refused {
					t.Error("the schema refuses what its first line says it accepts")
				}
			default:
				if !refused {
					t.Error("the schema accepts what the parser refuses")
				}
			}
		})
	}
}

func TestExamples(t *testing.T) {
	for _, file := range cases(t, "../../../.github/examples/*.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data := read(t, file)
			c, _ := accepted(t, file, data)
			for _, w := range c.Warnings {
				t.Errorf("an example warns: %s", w)
			}
			if err := validate(t, data); err != nil {
				t.Errorf("schema: %v", err)
			}
			for _, s := range c.Matrix {
				if _, err := c.Plan(s.Name, Overrides{}); err != nil {
					t.Errorf("Plan(%s): %v", s.Name, err)
				}
			}
		})
	}
}

func TestSchema(t *testing.T) {
	b, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/schema.json", string(b))
}

var compiled = sync.OnceValues(func() (*jsonschema.Schema, error) {
	b, err := Schema()
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("servegate.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("servegate.json")
})

// validate holds a YAML document against the published schema by another implementation.
func validate(t *testing.T, doc []byte) error {
	t.Helper()
	schema, err := compiled()
	if err != nil {
		t.Fatalf("compile schema: %v", err)
	}
	var v any
	if err := yaml.Unmarshal(doc, &v); err != nil {
		return err
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return err
	}
	return schema.Validate(instance)
}
