package report

import (
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

func ptr(v float64) *float64 { return &v }

// scalar and distribution are summaries of a metric as gate stores them.
func scalar(v float64) gate.Summary { return gate.Summary{Value: ptr(v)} }

func distribution(n int, p50, p95, p99 float64) gate.Summary {
	s := gate.Summary{Distribution: true, Count: n, P50: ptr(p50), P95: ptr(p95)}
	if p99 > 0 {
		s.P99 = ptr(p99)
	}
	return s
}

// repetition is a valid one whose rates and times are those of a plain one times x.
func repetition(index int, x float64) gate.Repetition {
	return gate.Repetition{
		Facts: gate.Facts{Index: index}, Valid: true,
		Requests: gate.Counts{Issued: 300, By: map[gate.Outcome]int{gate.OK: 297, gate.Timeout: 3}},
		Metrics: map[gate.Metric]gate.Summary{
			gate.Goodput:               scalar(100 * x),
			gate.RequestThroughput:     scalar(104.25 * x),
			gate.OutputTokenThroughput: scalar(12345.6 * x),
			gate.TTFT:                  distribution(297, .0109*x, .0121*x, 0),
			gate.ITL:                   distribution(3267, .00034*x, .00654*x, 10.1*x),
			gate.TPOT:                  distribution(297, .0054*x, .00594*x, 0),
			gate.E2E:                   distribution(297, 1.0703*x, 12.345*x, 0),
		},
	}
}

func cellRun(id string, slo gate.SLO, reps ...gate.Repetition) gate.CellRun {
	return gate.CellRun{
		Cell: gate.Cell{ID: id, SLO: slo},
		Envelope: gate.Envelope{
			"arrival":        {Value: "closed(8,spread)", Source: gate.FromConfig},
			"workload.input": {Value: "fixed(64)", Source: gate.FromConfig},
			"model.revision": {Source: gate.Undeclared},
		},
		Repetitions: reps,
	}
}

func invalid(index int, reasons ...string) gate.Repetition {
	return gate.Repetition{
		Facts: gate.Facts{Index: index}, InvalidReasons: reasons,
		Requests: gate.Counts{Issued: 2, By: map[gate.Outcome]int{gate.OK: 0, gate.HTTP5xx: 2}},
	}
}

func run(complete bool, cells ...gate.CellRun) *gate.Run {
	return &gate.Run{ID: "0123456789abcdef", Subject: gate.Subject{Engine: "sim", Version: "0.1"}, Complete: complete, Cells: cells}
}

func TestRunText(t *testing.T) {
	slo := gate.SLO{TTFT: .5}
	whole := repetition(1, 1)
	for _, m := range []gate.Metric{gate.TTFT, gate.ITL, gate.TPOT} {
		delete(whole.Metrics, m)
	}
	untold := repetition(1, 1)
	untold.Metrics[gate.OutputTokenThroughput] = gate.Summary{Reason: "the server told no output tokens for 297 ok requests"}
	never := repetition(1, 1)
	never.Metrics[gate.Goodput] = scalar(0)
	lost := cellRun("chat@near", slo, invalid(1, "engine died: it exited with code 7", "no request was issued in the window"))
	lost.Invalid = "engine died: it exited with code 7"
	hostile := cellRun("chat@near", slo, invalid(1, "line one\nline two \x1b[31mred\u202e", strings.Repeat("x", 500)))
	warned := run(false, cellRun("chat@near", slo))
	warned.Warnings, warned.Incomplete = []string{"the engine doesn't list\nmodel \"m\""}, "interrupted"

	tests := []struct {
		name string
		run  *gate.Run
	}{
		{"three repetitions of two cells", run(true,
			cellRun("chat@near", slo, repetition(1, 1), repetition(2, 1.1), repetition(3, .9)),
			cellRun("rag@c8", slo, repetition(1, 2)))},
		{"no SLO", run(true, cellRun("chat@near", gate.SLO{}, repetition(1, 1), repetition(2, 1.02)))},
		{"whole answers", run(true, cellRun("chat@near", slo, whole))},
		{"no usage", run(true, cellRun("chat@near", slo, untold))},
		{"goodput of 0 in one repetition", run(true, cellRun("chat@near", slo, never, repetition(2, 1)))},
		{"one repetition repeated", run(true, cellRun("chat@near", slo, invalid(1, "the client was late"), repetition(2, 1)))},
		{"engine lost", run(true, lost)},
		{"hostile words", run(true, hostile)},
		{"cut short before anything was measured", warned},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got strings.Builder
			if err := RunText(&got, tt.run); err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", "run", strings.ReplaceAll(tt.name, " ", "-")+".txt"), got.String())
		})
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// full is a writer that takes so many bytes.
type full struct{ room int }

var errFull = errors.New("no space")

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestRunTextReturnsTheErrorOfItsWriter(t *testing.T) {
	for _, room := range []int{0, 100, 400} {
		r := run(true, cellRun("chat@near", gate.SLO{}, repetition(1, 1)))
		if err := RunText(&full{room}, r); !errors.Is(err, errFull) {
			t.Errorf("with room for %d bytes: got %v, want %v", room, err, errFull)
		}
	}
}

func TestValue(t *testing.T) {
	tests := []struct {
		v    float64
		unit gate.Unit
		want string
	}{
		{0, gate.Seconds, "0 ms"},
		{1.234567e-6, gate.Seconds, "1.23 us"},
		{999.4e-6, gate.Seconds, "999 us"},
		{.001, gate.Seconds, "1.00 ms"},
		{.0123456, gate.Seconds, "12.3 ms"},
		{1.5, gate.Seconds, "1500 ms"},
		{9.9994, gate.Seconds, "9999 ms"},
		{10, gate.Seconds, "10.00 s"},
		{12345.678, gate.Seconds, "12346 s"},
		{.01, gate.Ratio, "1.00 %"},
		{1, gate.Ratio, "100 %"},
		{0, gate.Ratio, "0 %"},
		{112.345, gate.RequestsPerSecond, "112.3 requests/s"},
		{1348.2, gate.TokensPerSecond, "1348 tokens/s"},
		{.05, gate.RequestsPerSecond, "0.05000 requests/s"},
	}
	for _, tt := range tests {
		if got := value(tt.v, tt.unit); got != tt.want {
			t.Errorf("value(%v, %s): got %q, want %q", tt.v, tt.unit, got, tt.want)
		}
	}
}
