package storetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/servegate/servegate/baselines"
	"github.com/servegate/servegate/gate"
)

// Start is when the run "run-1" of [Record] started; "run-2" did an hour later, and so on.
var Start = time.Date(2026, 8, 1, 12, 0, 0, 5_000_000, time.UTC)

// Cell is the cell that the run of [Record] has.
const Cell = "chat@near"

// Class is the runner class of [Record].
const Class = "1 x H100 / EPYC / 96 cores"

// Record returns the record of run n, of one cell with three repetitions of a boot each,
// that passed on branch main. Each of change is applied before the record is checked; a
// change of the envelope needs no new fingerprint.
func Record(tb testing.TB, n int, change ...func(*baselines.Record)) baselines.Entry {
	tb.Helper()
	run := gate.Run{
		Schema: gate.RunSchema, ID: fmt.Sprintf("run-%d", n), Tool: gate.Tool{Name: "servegate", Version: "test"},
		Started: Start.Add(time.Duration(n-1) * time.Hour), Complete: true,
		Subject: gate.Subject{Engine: "sim", Version: fmt.Sprint(n)},
		Context: gate.Context{"host.kernel": "6.8", "gpu.driver": "570.86.10"},
		Cells: []gate.CellRun{{
			Cell:     gate.Cell{ID: Cell, Workload: "chat", Load: "near", Streaming: true, SLO: gate.SLO{TTFT: .5}},
			Envelope: Envelope(tb, nil), Planned: 3,
		}},
	}
	for i := range 3 {
		run.Cells[0].Repetitions = append(run.Cells[0].Repetitions, Repetition(i+1))
	}
	r := &baselines.Record{Schema: baselines.RecordSchema, Run: run, Recording: baselines.Recording{
		Recorded: run.Started.Add(10 * time.Minute), Actor: "ci", Class: Class, Commit: Commit(n), Branch: "main",
		Manifest: "sha256:" + strings.Repeat("0f", 32), Results: []baselines.CellResult{{Cell: Cell, Result: gate.Passed}},
	}}
	for _, f := range change {
		f(r)
	}
	for i := range r.Run.Cells {
		r.Run.Cells[i].Fingerprint = r.Run.Cells[i].Envelope.Fingerprint()
	}
	return baselines.Entry{Record: r}
}

// Commit is the commit of run n.
func Commit(n int) string { return fmt.Sprintf("%040x", n) }

// Envelope returns an envelope that tells a few fields, with changes, and leaves the rest
// undeclared.
func Envelope(tb testing.TB, changes map[string]any) gate.Envelope {
	tb.Helper()
	values := map[string]any{"model.name": "m", "parallel.tp": 1, "parallel.pp": 1, "quantization.weights": "bf16"}
	maps.Copy(values, changes)
	e := gate.Envelope{}
	for _, path := range slices.Sorted(maps.Keys(values)) {
		if err := e.Set(path, values[path], gate.FromConfig); err != nil {
			tb.Fatal(err)
		}
	}
	e.FillUndeclared()
	return e
}

// Repetition returns a valid repetition on boot number index.
func Repetition(index int) gate.Repetition {
	value, p50 := 5+.01*float64(index), .2
	return gate.Repetition{
		Facts: gate.Facts{
			Index: index, Seed: 1, Fresh: true, Boot: index, Stamps: gate.KernelStamps,
			Start: Start.Add(time.Duration(index) * time.Minute),
		},
		Valid: true, WindowS: 60,
		Requests: gate.Counts{Issued: 100, By: map[gate.Outcome]int{gate.OK: 99, gate.Timeout: 1}},
		Metrics: map[gate.Metric]gate.Summary{
			gate.Goodput: {Unit: "requests/s", Definition: "goodput/v1", Value: &value},
			gate.TTFT:    {Unit: gate.Seconds, Definition: "ttft/v1", Distribution: true, Count: 99, P50: &p50},
		},
		Histograms: map[gate.Metric]string{gate.TTFT: "HISTFAAAAB4="},
		Observed:   gate.Observed{WantInput: 512, WantOutput: 128},
	}
}

// Decision returns a decision on all cells of run n.
func Decision(n int, reason string) baselines.Decision {
	return baselines.Decision{At: Start.Add(24 * time.Hour), Actor: "ada", Reason: reason, Run: fmt.Sprintf("run-%d", n)}
}

// Promotion returns the event that promotes cells of a run that stands in entries.
func Promotion(tb testing.TB, entries []baselines.Entry, d baselines.Decision) baselines.Entry {
	tb.Helper()
	e, err := baselines.NewPromotion(entries, d)
	if err != nil {
		tb.Fatal(err)
	}
	return baselines.Entry{Event: e}
}

// Retraction returns the event that retracts cells of a run that stands in entries.
func Retraction(tb testing.TB, entries []baselines.Entry, d baselines.Decision) baselines.Entry {
	tb.Helper()
	e, err := baselines.NewRetraction(entries, d)
	if err != nil {
		tb.Fatal(err)
	}
	return baselines.Entry{Event: e}
}
