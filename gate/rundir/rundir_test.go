package rundir

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/servegate/servegate/gate"
)

// testCell is an open loop of streamed requests.
var testCell = gate.Cell{
	ID: "chat@near", Workload: "chat", Load: "near", Streaming: true, FixedOutput: true,
	SLO: gate.SLO{TTFT: .1, ITL: .025},
}

// testRequests makes n records of an open loop at 100/s, of chunks arrivals each, with
// the nanoseconds that kernel stamps have.
func testRequests(seed uint64, n, chunks int) []gate.Request {
	rng := rand.New(rand.NewPCG(seed, 1))
	reqs := make([]gate.Request, n)
	due := 100 * time.Millisecond
	for i := range reqs {
		due += time.Duration(rng.ExpFloat64() * 1e7)
		sent := due + 50*time.Microsecond + time.Duration(rng.IntN(50_000))
		at := sent + 50*time.Millisecond + time.Duration(rng.ExpFloat64()*2e7)
		arrivals := make([]time.Duration, chunks)
		for k := range arrivals {
			arrivals[k] = at
			at += 20*time.Millisecond + time.Duration(rng.NormFloat64()*2e6)
		}
		reqs[i] = gate.Request{
			Index: i, Phase: gate.Measure, Due: due, Sent: sent, Arrivals: arrivals, Done: at,
			WantInput: 512, WantOutput: chunks, Input: 512, Output: chunks, Cached: gate.Unknown,
			Outcome: gate.OK, Status: 200, Finish: "length",
		}
	}
	return reqs
}

// testEnvelope tells a few fields and leaves the rest undeclared.
func testEnvelope(tb testing.TB) gate.Envelope {
	tb.Helper()
	e := gate.Envelope{}
	for path, value := range map[string]any{"model.name": "m", "parallel.tp": 1, "slo.ttft": .1, "cpu.model": "<R> & Co"} {
		if err := e.Set(path, value, gate.FromConfig); err != nil {
			tb.Fatal(err)
		}
	}
	e.FillUndeclared()
	return e
}

func testRun(tb testing.TB, cells ...gate.Cell) *gate.Run {
	run := &gate.Run{
		Schema: gate.RunSchema, ID: "r1", Tool: gate.Tool{Name: "servegate", Version: "test"},
		Started: time.Date(2026, 8, 1, 12, 0, 0, 5, time.UTC),
		Subject: gate.Subject{Engine: "sim", Version: "1"}, Context: gate.Context{"kernel": "6.8"},
	}
	for _, c := range cells {
		e := testEnvelope(tb)
		run.Cells = append(run.Cells, gate.CellRun{Cell: c, Envelope: e, Fingerprint: e.Fingerprint()})
	}
	return run
}

// newWriter makes a run directory in a temporary folder.
func newWriter(tb testing.TB) *Writer {
	tb.Helper()
	w, err := Create(filepath.Join(tb.TempDir(), "run"))
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

// addRepetition writes the records of a repetition and adds what they give to cell.
func addRepetition(tb testing.TB, w *Writer, cell *gate.CellRun, index int, reqs []gate.Request) {
	tb.Helper()
	rep, err := w.Repetition(cell.ID, index)
	if err != nil {
		tb.Fatal(err)
	}
	for i := range reqs {
		if err := rep.Add(&reqs[i]); err != nil {
			tb.Fatal(err)
		}
	}
	if err := rep.Close(); err != nil {
		tb.Fatal(err)
	}
	facts := gate.Facts{
		Index: index, Seed: 1, Fresh: true, Boot: 1, Stamps: gate.KernelStamps,
		Start: time.Date(2026, 8, 1, 12, index, 0, 7, time.FixedZone("", 7200)),
	}
	cell.Repetitions = append(cell.Repetitions, gate.Derive(cell.Cell, facts, reqs))
}

// finishedRun writes a whole run of the cells with repetitions of n records each, and
// returns its path.
func finishedRun(tb testing.TB, repetitions, n int, cells ...gate.Cell) string {
	tb.Helper()
	w := newWriter(tb)
	run := testRun(tb, cells...)
	for c := range run.Cells {
		for index := 1; index <= repetitions; index++ {
			addRepetition(tb, w, &run.Cells[c], index, testRequests(uint64(index), n, 4))
			if err := w.WriteRun(run); err != nil {
				tb.Fatal(err)
			}
		}
	}
	if err := w.Finish(run); err != nil {
		tb.Fatal(err)
	}
	return w.Dir()
}

func mustOpen(tb testing.TB, dir string) *Dir {
	tb.Helper()
	d, err := Open(dir)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// readAll reads the records of a repetition both ways, which must agree.
func readAll(tb testing.TB, d *Dir, cell string, index int) ([]gate.Request, error) {
	tb.Helper()
	var buf Buffer
	bulk, err := d.ReadRequests(cell, index, &buf)
	n := 0
	var last error
	for r, err := range d.Requests(cell, index) {
		if last = err; err != nil {
			break
		}
		if n >= len(bulk) || string(appendRequest(nil, &r)) != string(appendRequest(nil, &bulk[n])) {
			tb.Fatalf("record %d: Requests and ReadRequests differ", n)
		}
		n++
	}
	if n != len(bulk) || fmt.Sprint(last) != fmt.Sprint(err) {
		tb.Fatalf("Requests gives %d records and %v, ReadRequests %d and %v", n, last, len(bulk), err)
	}
	return bulk, err
}

func mustRead(tb testing.TB, path string) []byte {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func mustWrite(tb testing.TB, path string, data []byte) {
	tb.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		tb.Fatal(err)
	}
}
