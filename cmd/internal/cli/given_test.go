package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servegate/servegate/gate"
)

// A run directory that lies is refused wherever it is handed over.
func TestGivenRunsAreVerified(t *testing.T) {
	config, store := gated(t)
	base := usual("base").write(t, filepath.Join(t.TempDir(), "base"))
	expect(t, ExitPassed, "stored base", "baseline", "add", "-c", config, "--run", base)
	tests := []struct {
		name, want string
		edit       func(t *testing.T, dir string)
	}{
		{"run.json is another's", "run.json: changed", func(t *testing.T, dir string) {
			replaceIn(t, filepath.Join(dir, "run.json"), `"p95": 0.02`, `"p95": 0.01`)
		}},
		{"a raw file goes on", "requests.jsonl.zst: changed", func(t *testing.T, dir string) {
			path := filepath.Join(dir, "cells", "w0@l", "1", "requests.jsonl.zst")
			data, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, append(data, 'x'), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}},
		{"the raw data are gone", "missing", func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, "cells", "w0@l", "2")); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := usual("head").write(t, filepath.Join(t.TempDir(), "head"))
			tt.edit(t, dir)
			expect(t, ExitUsage, tt.want, "gate", "-c", config, "--run", dir)
			expect(t, ExitUsage, tt.want, "baseline", "add", "-c", config, "--run", dir)
			expect(t, ExitUsage, tt.want, "compare", base, dir)
			expect(t, ExitUsage, tt.want, "compare", dir, base)
		})
	}
	if records, err := os.ReadDir(filepath.Join(store, "records")); err != nil || len(records) != 1 {
		t.Errorf("got %d records, error %v, want the first only", len(records), err)
	}
}

// A run.json that no manifest speaks for, and whose numbers nobody measures.
func TestCompareRefusesAnImplausibleHead(t *testing.T) {
	base := usual("base").write(t, filepath.Join(t.TempDir(), "base"))
	for name, edit := range map[string][2]string{
		"negative time":   {`"p95": `, `"p95": -`},
		"negative window": {`"window_s": `, `"window_s": -`},
	} {
		head := filepath.Join(usual("head").write(t, filepath.Join(t.TempDir(), "head")), "run.json")
		replaceIn(t, head, edit[0], edit[1])
		t.Run(name, func(t *testing.T) { expect(t, ExitUsage, "repetition 1", "compare", base, head) })
	}
}

// replaceIn edits a file by hand.
func replaceIn(t *testing.T, path, old, with string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), old) {
		t.Fatalf("%s has no %q", path, old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), old, with, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Whoever measured a part of the matrix must not pass for the whole.
func TestGateMissesPlannedCells(t *testing.T) {
	config, _ := gated(t)
	base := usual("base").write(t, filepath.Join(t.TempDir(), "base"))
	expect(t, ExitPassed, "stored base", "baseline", "add", "-c", config, "--run", base)
	replaceIn(t, config, "workloads: {", "workloads: {more: {input: 8, output: 12}, ")
	same := usual("same")
	same.seed = 2
	dir := same.write(t, filepath.Join(t.TempDir(), "same"))
	expect(t, ExitMeasure, "it was planned, and the run lacks it", "gate", "-c", config, "--run", dir)
}

// An engine that never came up tells none of its conditions: that is no other condition.
// Nothing listens where this config attaches to.
func TestGateWithAnEngineThatDoesNotBoot(t *testing.T) {
	config, _ := gated(t)
	base := usual("base").write(t, filepath.Join(t.TempDir(), "base"))
	expect(t, ExitPassed, "stored base", "baseline", "add", "-c", config, "--run", base)
	replaceIn(t, config, "gate: {", "gate: {expect_changed: ["+strings.Join(groups(), ", ")+"], ")
	out := filepath.Join(t.TempDir(), "out")
	stdout := expect(t, ExitMeasure, "the run was cut short", "gate", "-c", config, "--out", out)
	if !strings.Contains(stdout, "invalid") || strings.Contains(stdout, "compared across") {
		t.Errorf("got %s, want a report that says invalid and compares nothing", stdout)
	}
}

// groups are the groups of paths of the envelope.
func groups() []string {
	var all []string
	seen := map[string]bool{}
	for _, f := range gate.EnvelopeFields {
		group, _, _ := strings.Cut(f.Path, ".")
		if !seen[group] {
			seen[group] = true
			all = append(all, group)
		}
	}
	return all
}

func TestGivenRunTakesNoBuild(t *testing.T) {
	config, _ := gated(t)
	for _, flag := range [][]string{{"--command", "x"}, {"--url", "http://127.0.0.1:9"}, {"--engine-commit", "0123456"}, {"--repetitions", "2"}} {
		for _, command := range [][]string{{"gate"}, {"baseline", "add"}} {
			args := append(append(command, "-c", config, "--run", t.TempDir()), flag...)
			expect(t, ExitUsage, "leave these flags out", args...)
		}
	}
}

// What is misspelt is told before anything is measured.
func TestFormatIsReadFirst(t *testing.T) {
	config, _ := gated(t)
	out := filepath.Join(t.TempDir(), "out")
	for _, command := range [][]string{{"gate"}, {"baseline", "add"}} {
		expect(t, ExitUsage, "expected one of text", append(command, "-c", config, "--out", out, "--format", "html")...)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("got a run directory, want nothing begun")
	}
}

func TestDemoOverwritesNothing(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "servegate.yaml")
	if err := os.WriteFile(mine, []byte("version: 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	expect(t, ExitUsage, "not ours to overwrite", "demo", "--out", dir)
	if data, err := os.ReadFile(mine); err != nil || string(data) != "version: 1\n" {
		t.Errorf("got %q, error %v, want the file as it was", data, err)
	}
}
