package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servegate/servegate/gate"
)

// gated is a config whose store and cells are those of the runs of [made].
func gated(t *testing.T) (config string, store string) {
	t.Helper()
	dir := t.TempDir()
	store = filepath.Join(dir, "baselines")
	config = filepath.Join(dir, "servegate.yaml")
	text := `version: 1
engine: {kind: sim, attach: {url: "http://127.0.0.1:9", ready_timeout: 1s}}
model: m
hardware: {class: test}
workloads: {w0: {input: 64, output: 12}}
loads: {l: {closed: 8, start: together}}
measure: {requests: 400, repetitions: 4}
gate: {tolerances: 10%, must_catch: 40%}
baselines: {dir: "` + store + `"}
`
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return config, store
}

// expect runs a command line and holds its code, and a text that it prints, against
// what is wanted.
func expect(t *testing.T, code int, want string, args ...string) string {
	t.Helper()
	got, stdout, stderr := typed(t, args...)
	if got != code || !strings.Contains(stdout+stderr, want) {
		t.Fatalf("%q: got code %d, want %d and %q in\n%s%s", args, got, code, want, stdout, stderr)
	}
	return stdout
}

func TestGateAgainstAStore(t *testing.T) {
	config, store := gated(t)
	dir := t.TempDir()
	write := func(name string, change func(*made)) string {
		m := usual(name)
		if change != nil {
			change(&m)
		}
		return m.write(t, filepath.Join(dir, name))
	}
	base := write("base", nil)
	same := write("same", func(m *made) { m.seed = 2 })
	slow := write("slow", func(m *made) { m.itl *= 2 })
	other := write("other", func(m *made) { m.envelope = map[string]any{"workload.input": "fixed(128)"} })

	expect(t, ExitIncomparable, "no baseline", "gate", "-c", config, "--run", base)
	expect(t, ExitIncomparable, "is empty", "gate", "-c", config, "--out", filepath.Join(dir, "new"))
	expect(t, ExitIncomparable, "is empty", "baseline", "list", "-c", config)

	expect(t, ExitPassed, "stored base", "baseline", "add", "-c", config, "--run", base, "--actor", "me")
	expect(t, ExitUsage, "already", "baseline", "add", "-c", config, "--run", base)
	expect(t, ExitPassed, "passed", "gate", "-c", config, "--run", same)
	expect(t, ExitRegressed, "regressed in decode", "gate", "-c", config, "--run", slow)
	expect(t, ExitIncomparable, "workload.input", "gate", "-c", config, "--run", other)
	for _, name := range []string{"verdict.json", "report.md", "base/records", "base/manifest.json"} {
		if _, err := os.Stat(filepath.Join(slow, name)); err != nil {
			t.Errorf("the gate left no %s: %v", name, err)
		}
	}
	expect(t, ExitPassed, "the same", "verify", slow)

	// A verdict can be printed again, in each form.
	verdict := filepath.Join(slow, "verdict.json")
	for format, want := range map[string]string{"text": "regressed in decode", "markdown": "| chat", "json": gate.VerdictSchema, "junit": "<testsuite"} {
		want = strings.Replace(want, "| chat", "w0@l", 1)
		expect(t, ExitPassed, want, "report", "--verdict", verdict, "--format", format)
	}
	expect(t, ExitUsage, "expected one of text", "report", "--verdict", verdict, "--format", "html")
	expect(t, ExitUsage, "verdict", "report", "--verdict", filepath.Join(slow, "run.json"))

	// A regressed run is stored, and is no baseline unless somebody says why.
	expect(t, ExitRegressed, "stored slow", "baseline", "add", "-c", config, "--run", slow)
	expect(t, ExitPassed, "no baseline: ", "baseline", "list", "--store", store)
	expect(t, ExitUsage, "reason", "baseline", "promote", "slow", "-c", config)
	expect(t, ExitPassed, "promotion of slow", "baseline", "promote", "slow", "-c", config, "--reason", "a slower model is meant")
	expect(t, ExitPassed, "retraction of slow", "baseline", "retract", "slow", "-c", config, "--reason", "it was not")
	expect(t, ExitPassed, "retracted: ", "baseline", "list", "-c", config)
	expect(t, ExitPassed, "passed", "gate", "-c", config, "--run", same)
	expect(t, ExitUsage, `no run "nobody"`, "baseline", "retract", "nobody", "-c", config, "--reason", "x")
	expect(t, ExitPassed, `"id": "base"`, "baseline", "show", "base", "-c", config)
	expect(t, ExitPassed, "younger", "baseline", "check", "-c", config)
	expect(t, ExitPassed, "nothing was dropped", "baseline", "prune", "-c", config, "--keep", "1")
}

// A broken record among good ones is named, skipped, and left where it is.
func TestGateWithABrokenRecord(t *testing.T) {
	config, store := gated(t)
	dir := t.TempDir()
	base := usual("base").write(t, filepath.Join(dir, "base"))
	expect(t, ExitPassed, "stored base", "baseline", "add", "-c", config, "--run", base)
	broken := filepath.Join(store, "records", "20260101T000000Z-broken.json")
	if err := os.WriteFile(broken, []byte(`{"schema":`), 0o644); err != nil {
		t.Fatal(err)
	}
	m := usual("same")
	m.seed = 2
	same := m.write(t, filepath.Join(dir, "same"))
	code, stdout, stderr := typed(t, "gate", "-c", config, "--run", same)
	if code != ExitPassed || !strings.Contains(stderr, "broken.json\" is no baseline, and is skipped") {
		t.Errorf("got code %d, want %d and the broken file named\n%s%s", code, ExitPassed, stdout, stderr)
	}
	if _, err := os.Stat(broken); err != nil {
		t.Errorf("the broken file is gone: %v", err)
	}
}

// What the config alone shows to be another condition is told before anything is booted:
// the engine of this config doesn't exist.
func TestGateForeseesAnotherEnvelope(t *testing.T) {
	config, _ := gated(t)
	dir := t.TempDir()
	base := usual("base").write(t, filepath.Join(dir, "base"))
	expect(t, ExitPassed, "stored base", "baseline", "add", "-c", config, "--run", base)
	out := filepath.Join(dir, "out")
	stdout := expect(t, ExitIncomparable, "not comparable", "gate", "-c", config, "--out", out)
	_, why, _ := strings.Cut(stdout, "differs in ")
	why, _, _ = strings.Cut(why, "\n")
	if !strings.Contains(why, "cpu.model") || strings.Contains(why, "prompt") {
		t.Errorf("got a field that only an engine tells, want those of config and host: %s", why)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a run was begun")
	}
}
