package rundir

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/servegate/servegate/gate"
)

var update = flag.Bool("update", false, "write the golden files anew")

// closedCell is a closed loop that isn't streamed, to be run beside testCell.
var closedCell = gate.Cell{ID: "qa@closed", Workload: "qa", Load: "closed", Concurrency: 4}

func TestVerify(t *testing.T) {
	records := "cells/chat@near/2/requests.jsonl.zst"
	appendTo := func(name string) func(string) error {
		return func(dir string) error {
			data, err := os.ReadFile(filepath.Join(dir, name))
			return errors.Join(err, os.WriteFile(filepath.Join(dir, name), append(data, '\n'), 0o644))
		}
	}
	for _, tt := range []struct {
		name   string
		change func(dir string) error
		want   []string // parts of the error; none if there is to be no error
	}{
		{"untouched", func(string) error { return nil }, nil},
		{"with what gate wrote", func(dir string) error {
			return errors.Join(writeBelow(filepath.Join(dir, "verdict.json")), writeBelow(filepath.Join(dir, "report.md")),
				writeBelow(filepath.Join(dir, "report.html")), writeBelow(filepath.Join(dir, "base/records/x.json")))
		}, nil},
		{"a changed config", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, configFile), []byte("version: 2\n"), 0o644)
		}, []string{"config.yaml: changed, its sha256 differs from the manifest's"}},
		{"a longer config", appendTo(configFile), []string{"config.yaml: changed, it has 12 bytes and had 11"}},
		{"a missing file", func(dir string) error { return os.Remove(filepath.Join(dir, configFile)) }, []string{"config.yaml: missing"}},
		{"an extra file", func(dir string) error { return writeBelow(filepath.Join(dir, "cells/chat@near/1/x")) }, []string{"cells/chat@near/1/x: not in the manifest"}},
		{"several faults", func(dir string) error {
			return errors.Join(writeBelow(filepath.Join(dir, "b")), writeBelow(filepath.Join(dir, "a")), os.Remove(filepath.Join(dir, configFile)))
		}, []string{"a: not in the manifest\nb: not in the manifest\nconfig.yaml: missing"}},
		{"records of another repetition", func(dir string) error {
			data, err := os.ReadFile(filepath.Join(dir, "cells/chat@near/1/requests.jsonl.zst"))
			return errors.Join(err, os.WriteFile(filepath.Join(dir, records), data, 0o644))
		}, []string{records + ": changed", "chat@near/2: run.json is not what its raw records give"}},
		{"records missing", func(dir string) error { return os.RemoveAll(filepath.Join(dir, "cells/chat@near/2")) }, []string{records + ": missing", "read raw records of chat@near/2"}},
		{"records cut", func(dir string) error { return os.Truncate(filepath.Join(dir, records), 300) }, []string{records + ": changed", "damaged after 0 records"}},
		{"records without a summary", func(dir string) error { return os.Mkdir(filepath.Join(dir, "cells/chat@near/3"), 0o755) }, []string{"chat@near/3: has raw records and is not in run.json"}},
		{"manifest of a newer servegate", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, manifestFile), []byte(`{"schema":"servegate.manifest/v2"}`), 0o644)
		}, []string{`newer schema "servegate.manifest/v2": this servegate reads servegate.manifest/v1`}},
		{"manifest with a path twice", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, manifestFile), []byte(`{"schema":"servegate.manifest/v1","files":[{"path":"../x"},{"path":"../x"}]}`), 0o644)
		}, []string{`"../x" is there twice`}},
		{"manifest that points out", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, manifestFile), []byte(`{"schema":"servegate.manifest/v1","files":[{"path":"../x"}]}`), 0o644)
		}, []string{"../x: missing", "run.json: not in the manifest"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWriter(t)
			run := testRun(t, testCell, closedCell)
			for c := range run.Cells {
				for index := 1; index <= 2; index++ {
					addRepetition(t, w, &run.Cells[c], index, testRequests(uint64(index), 70, 4))
				}
			}
			if err := errors.Join(w.WriteConfig([]byte("version: 1\n")), w.Finish(run)); err != nil {
				t.Fatal(err)
			}
			if err := tt.change(w.Dir()); err != nil {
				t.Fatal(err)
			}
			check, err := mustOpen(t, w.Dir()).Verify(t.Context())
			if len(tt.want) == 0 {
				if want := (Check{Repetitions: 4, Records: 280}); err != nil || !cmp.Equal(check, want) {
					t.Errorf("got %+v, %v, want %+v", check, err, want)
				}
				return
			}
			for _, want := range tt.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
			}
		})
	}
}

func TestVerifyEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := mustOpen(t, finishedRun(t, 1, 100, testCell)).Verify(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// TestGoldenRun reads a run directory that was stored: neither the format of its files
// nor what is derived from them may change unnoticed.
func TestGoldenRun(t *testing.T) {
	golden := filepath.Join("testdata", "tiny")
	w := newWriter(t)
	run := testRun(t, testCell, closedCell)
	addRepetition(t, w, &run.Cells[0], 1, testRequests(1, 60, 3))
	var odd []gate.Request
	for i, c := range canonicalRecords[:3] {
		r := c.r
		r.Index, r.Phase = i, gate.Measure
		odd = append(odd, r)
	}
	addRepetition(t, w, &run.Cells[1], 1, odd)
	if err := errors.Join(w.WriteConfig([]byte("version: 1\n")), w.Finish(run)); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := errors.Join(os.RemoveAll(golden), os.CopyFS(golden, os.DirFS(w.Dir()))); err != nil {
			t.Fatal(err)
		}
	}

	d := mustOpen(t, golden)
	if check, err := d.Verify(t.Context()); err != nil || check.Records != 63 {
		t.Errorf("Verify: got %+v, %v, want 63 records", check, err)
	}
	if diff := cmp.Diff(string(mustRead(t, filepath.Join(golden, runFile))), string(mustRead(t, filepath.Join(w.Dir(), runFile)))); diff != "" {
		t.Errorf("run.json (-stored +written now):\n%s", diff)
	}
	for _, c := range run.Cells {
		now, err := readAll(t, mustOpen(t, w.Dir()), c.ID, 1)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := readAll(t, d, c.ID, 1)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(stored, now); diff != "" {
			t.Errorf("records of %s (-stored +written now):\n%s", c.ID, diff)
		}
	}
}
