package cli

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/gate/rundir"
)

// made is a run of known truth: what its engine takes for what.
type made struct {
	id          string
	cells       int
	repetitions int
	ttft, itl   time.Duration
	noise       float64 // sd of the log of a factor drawn for each repetition
	failed      float64 // share of requests that fail
	seed        uint64
	envelope    map[string]any // fields that differ from the usual ones
	planned     int            // 0: repetitions
}

// usual is the run that the others differ from.
func usual(id string) made {
	return made{id: id, cells: 1, repetitions: 4, ttft: 20 * time.Millisecond, itl: 5 * time.Millisecond, noise: 0.005, seed: 1}
}

// write makes the run directory.
func (m made) write(t testing.TB, dir string) string {
	t.Helper()
	w, err := rundir.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now().UTC().Truncate(time.Second)
	run := &gate.Run{
		Schema: gate.RunSchema, ID: m.id, Tool: tool(), Started: start, Finished: start,
		Subject: gate.Subject{Engine: "sim", Version: "1", Command: []string{"engine", "--seed", m.id}},
		Context: gate.Context{"host.cpu": "a CPU", "host.threads": "2"},
	}
	random := rand.New(rand.NewPCG(m.seed, uint64(len(m.id))))
	for i := range m.cells {
		run.Cells = append(run.Cells, m.cell(t, w, fmt.Sprintf("w%d", i), random))
	}
	if err := w.Finish(run); err != nil {
		t.Fatal(err)
	}
	return dir
}

func (m made) cell(t testing.TB, w *rundir.Writer, workload string, random *rand.Rand) gate.CellRun {
	c := gate.Cell{ID: workload + "@l", Workload: workload, Load: "l", Streaming: true, Concurrency: 8, SLO: gate.SLO{TTFT: 0.5}}
	e := gate.Envelope{}
	fields := map[string]any{"model.name": "m", "cpu.model": "a CPU", "cpu.cores": 2, "cpu.threads": 2, "workload.input": "fixed(64)", "arrival": "closed(8,together)"}
	for path, v := range m.envelope {
		fields[path] = v
	}
	for path, v := range fields {
		if err := e.Set(path, v, gate.FromConfig); err != nil {
			t.Fatal(err)
		}
	}
	e.FillUndeclared()
	planned := m.planned
	if planned == 0 {
		planned = m.repetitions
	}
	record := gate.CellRun{Cell: c, Envelope: e, Fingerprint: e.Fingerprint(), Planned: planned}
	for i := range m.repetitions {
		f := gate.Facts{Index: i + 1, Seed: 1, Fresh: true, Boot: i + 1, Start: time.Now().UTC().Truncate(time.Second), Stamps: gate.KernelStamps}
		reqs := m.requests(random)
		rw, err := w.Repetition(c.ID, f.Index)
		if err != nil {
			t.Fatal(err)
		}
		for i := range reqs {
			if err := rw.Add(&reqs[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := rw.Close(); err != nil {
			t.Fatal(err)
		}
		record.Repetitions = append(record.Repetitions, gate.Derive(c, f, reqs))
	}
	return record
}

// requests are those of one repetition: eight streams, one request after the other.
func (m made) requests(random *rand.Rand) []gate.Request {
	const each, tokens = 50, 12
	factor := func(sd float64) float64 { return math.Exp(sd * random.NormFloat64()) }
	boot, free := factor(m.noise), make([]time.Duration, 8)
	var reqs []gate.Request
	for i := range 8 * (each + 2) {
		stream := i % 8
		r := gate.Request{
			Index: i, Phase: gate.Measure, Stream: stream, WantInput: 64, WantOutput: tokens, Input: 64, Output: tokens, Cached: 0,
			Outcome: gate.OK, Status: 200, Finish: "length", Due: free[stream], Sent: free[stream] + 20*time.Microsecond,
		}
		switch {
		case i < 8:
			r.Phase = gate.Warmup
		case i >= 8*(each+1):
			r.Phase = gate.Drain
		}
		at := r.Sent + time.Duration(float64(m.ttft)*boot*factor(0.1))
		for range tokens {
			r.Arrivals = append(r.Arrivals, at)
			at += time.Duration(float64(m.itl) * boot * factor(0.1))
		}
		r.Done = r.Last() + 10*time.Microsecond
		if random.Float64() < m.failed {
			r.Outcome, r.Status, r.Arrivals, r.Output, r.Error = gate.HTTP5xx, 500, nil, gate.Unknown, "HTTP 500"
		}
		free[stream] = r.Done + 30*time.Microsecond
		reqs = append(reqs, r)
	}
	return reqs
}

// type runs a command line and returns its code and what it printed.
func typed(t testing.TB, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	env := Env{Stdout: &out, Stderr: &err, Getenv: func(string) string { return "" }}
	code = run(context.Background(), env, args)
	return code, out.String(), err.String()
}

func TestCompareKnowsTheTruth(t *testing.T) {
	tests := []struct {
		name   string
		change func(*made)
		code   int
		want   string
	}{
		{"unchanged", func(m *made) { m.seed = 2 }, ExitPassed, "passed"},
		{"slower prefill", func(m *made) { m.ttft *= 2 }, ExitRegressed, "regressed in prefill"},
		{"slower decode", func(m *made) { m.itl *= 2 }, ExitRegressed, "regressed in decode"},
		{"faster", func(m *made) { m.itl = m.itl * 8 / 10 }, ExitPassed, "improved"},
		{"half of them fail", func(m *made) { m.failed = 0.5 }, ExitRegressed, "error rate"},
		{"all fail", func(m *made) { m.failed = 1 }, ExitRegressed, "regressed"},
		{"noisy", func(m *made) { m.noise = 0.3 }, ExitInconclusive, "inconclusive"},
		{"one repetition", func(m *made) { m.repetitions = 1 }, ExitPassed, "3 x"},
		{"repetitions missing", func(m *made) { m.planned = 6 }, ExitMeasure, "4 valid repetitions of the 6 planned"},
		{"another model", func(m *made) { m.envelope = map[string]any{"model.name": "other"} }, ExitIncomparable, "model.name"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			head := usual("head")
			tt.change(&head)
			code, stdout, stderr := typed(t, "compare",
				usual("base").write(t, filepath.Join(dir, "base")), head.write(t, filepath.Join(dir, "head")))
			if tt.name == "one repetition" { // what can be told depends on the draw
				if code != ExitPassed && code != ExitInconclusive {
					t.Errorf("got code %d, want %d or %d\n%s%s", code, ExitPassed, ExitInconclusive, stdout, stderr)
				}
				return
			}
			if code != tt.code || !strings.Contains(stdout, tt.want) {
				t.Errorf("got code %d, want %d and %q in\n%s%s", code, tt.code, tt.want, stdout, stderr)
			}
		})
	}
}

func TestCompareWithItself(t *testing.T) {
	dir := usual("base").write(t, filepath.Join(t.TempDir(), "base"))
	if code, stdout, stderr := typed(t, "compare", dir, filepath.Join(dir, "run.json")); code != ExitPassed {
		t.Errorf("got code %d, want %d\n%s%s", code, ExitPassed, stdout, stderr)
	}
}

func TestCompareRefusesWhatIsNoRun(t *testing.T) {
	good := usual("base").write(t, filepath.Join(t.TempDir(), "base"))
	text, err := os.ReadFile(filepath.Join(good, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{
		"truncated":      string(text[:len(text)/2]),
		"newer schema":   strings.Replace(string(text), gate.RunSchema, "servegate.run/v9", 1),
		"NaN":            strings.Replace(string(text), `"window_s": `, `"window_s": NaN, "x": `, 1),
		"negative count": strings.Replace(string(text), `"issued": `, `"issued": -`, 1),
		"empty":          "",
	}
	for name, content := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "run.json")
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{good, path}, {path, good}} {
				code, _, stderr := typed(t, append([]string{"compare"}, args...)...)
				if code != ExitUsage || strings.Count(stderr, "\n") > 2 || !strings.HasPrefix(stderr, "servegate: ") {
					t.Errorf("got code %d, want %d and one line:\n%s", code, ExitUsage, stderr)
				}
			}
		})
	}
	if code, _, stderr := typed(t, "compare", good, filepath.Join(good, "nowhere")); code != ExitUsage {
		t.Errorf("got code %d, want %d\n%s", code, ExitUsage, stderr)
	}
}

// BenchmarkCompare compares two runs of 24 cells x 5 repetitions.
func BenchmarkCompare(b *testing.B) {
	dir := b.TempDir()
	m := usual("base")
	m.cells, m.repetitions = 24, 5
	base := m.write(b, filepath.Join(dir, "base"))
	m.id, m.seed = "head", 2
	head := m.write(b, filepath.Join(dir, "head"))
	for b.Loop() {
		if code, stdout, stderr := typed(b, "compare", base, head); code != ExitPassed {
			b.Fatalf("got code %d\n%s%s", code, stdout, stderr)
		}
	}
}
