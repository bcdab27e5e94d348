package runner_test

import (
	"context"
	"errors"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/gate/rundir"
	"github.com/servegate/servegate/runner"
	"github.com/servegate/servegate/runner/engine/process"
	"github.com/servegate/servegate/runner/engine/sim"
	"github.com/servegate/servegate/runner/load"
	"github.com/servegate/servegate/runner/workload"
)

// The test binary plays two further parts: the supervisor of an engine, and an engine.
const partVariable = "SERVEGATE_TEST_PART"

func TestMain(m *testing.M) {
	if slices.Contains(os.Args[1:], "supervise") {
		os.Exit(process.Supervise())
	}
	if os.Getenv(partVariable) == "sim" {
		os.Exit(playEngine(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// serve serves a simulated engine until the test ends, and returns its URL.
func serve(t *testing.T, change func(*sim.Options)) string {
	t.Helper()
	url, _ := serveUntil(t, change)
	return url
}

// serveUntil serves a simulated engine until stop is called, or the test ends.
func serveUntil(t *testing.T, change func(*sim.Options)) (url string, stop func()) {
	t.Helper()
	o := sim.Defaults()
	o.Grace = 100 * time.Millisecond
	o.Cost.Base = time.Millisecond
	if change != nil {
		change(&o)
	}
	s, err := sim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = s.Serve(ctx, ln) })
	stop = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(stop)
	return "http://" + ln.Addr().String(), stop
}

// plan is a small plan for an engine at url; change may be nil.
func plan(url string, change func(*runner.Plan)) runner.Plan {
	fixed := func(n int) workload.Lengths {
		return workload.Lengths{Distribution: workload.Fixed, Mean: float64(n)}
	}
	p := runner.Plan{
		Engine: runner.Engine{Kind: "sim", Attach: &runner.Attach{URL: url}, ReadyTimeout: 20 * time.Second},
		Cells: []runner.Cell{{
			Cell: gate.Cell{ID: "w@l", Workload: "w", Load: "l", Streaming: true, Concurrency: 4},
			Workload: workload.Spec{
				Name: "w", Input: fixed(64), Output: fixed(4), API: workload.Completions, Stream: true,
				Prompt: workload.Auto, Cache: workload.Cold, IgnoreEOS: true,
			},
			Load: load.Spec{Concurrency: 4},
		}},
		Measure: runner.Measure{
			Requests: 40, Repetitions: 1, Seed: 1, Boot: runner.BootPerRepetition,
			RequestTimeout: 20 * time.Second, DrainTimeout: 5 * time.Second, HangTimeout: 20 * time.Second,
		},
	}
	if change != nil {
		change(&p)
	}
	return p
}

// execute runs p into a new directory, verifies what was written, and returns it as it
// was read back.
func execute(t *testing.T, ctx context.Context, p runner.Plan, notify func(runner.Event)) (*gate.Run, string, error) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	w, err := rundir.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, runErr := runner.Run(ctx, p, runner.Options{
		Out: w, Tool: gate.Tool{Name: "servegate", Version: "test"}, Notify: notify,
		Getenv: os.Getenv, Supervisor: []string{os.Args[0], "supervise"},
	})
	d, err := rundir.Open(dir)
	if err != nil {
		t.Fatalf("open what was written: %v", err)
	}
	if _, err := d.Verify(context.Background()); err != nil {
		t.Errorf("verify what was written: %v", err)
	}
	return d.Run(), dir, runErr
}

// only returns the one repetition of the one cell.
func only(t *testing.T, r *gate.Run) gate.Repetition {
	t.Helper()
	if len(r.Cells) != 1 || len(r.Cells[0].Repetitions) == 0 {
		t.Fatalf("got %d cells, want one with a repetition", len(r.Cells))
	}
	return r.Cells[0].Repetitions[0]
}

// late reports whether a repetition is invalid only because this machine was busy: the
// client was late. A test can't rule that out, and must not fail for it.
func late(reps []gate.Repetition) bool {
	for _, rep := range reps {
		for _, why := range rep.InvalidReasons {
			if !slices.ContainsFunc([]string{"client was late", "concurrency", "requests sent a second"}, func(s string) bool { return strings.Contains(why, s) }) {
				return false
			}
		}
	}
	return true
}

func TestRunMeasuresEveryForm(t *testing.T) {
	tests := []struct {
		name   string
		change func(*runner.Plan)
		engine func(*sim.Options)
	}{
		{name: "closed loop, streamed, token ids"},
		{name: "together", change: func(p *runner.Plan) { p.Cells[0].Load.Start = load.Together }},
		{name: "open loop", change: func(p *runner.Plan) {
			p.Cells[0].Concurrency = 0
			p.Cells[0].Load = load.Spec{Process: load.Poisson, Rate: 100}
			p.Measure.Warmup = 10
		}},
		{name: "duration", change: func(p *runner.Plan) {
			p.Measure.Requests, p.Measure.Duration = 0, 500*time.Millisecond
		}},
		{name: "whole answers", change: func(p *runner.Plan) {
			p.Cells[0].Streaming, p.Cells[0].Workload.Stream = false, false
		}},
		// Words have one to several tokens: the longer a prompt, the closer it comes.
		{name: "chat", change: func(p *runner.Plan) {
			p.Cells[0].Workload.API, p.Cells[0].Workload.Input.Mean = workload.Chat, 512
		}},
		{name: "text", change: func(p *runner.Plan) {
			p.Cells[0].Workload.Prompt, p.Cells[0].Workload.Input.Mean = workload.Text, 512
		}},
		{name: "shared prefix", change: func(p *runner.Plan) {
			p.Cells[0].Workload.Cache, p.Cells[0].Workload.Prefix = workload.SharedPrefix, 48
		}},
		{name: "dummy weights", engine: func(o *sim.Options) { o.Style.EmptyText = true }},
		{name: "ignore_eos not honoured", engine: func(o *sim.Options) { o.Style.HonorIgnoreEOS, o.EOSRate = false, 1 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run, _, err := execute(t, t.Context(), plan(serve(t, tt.engine), tt.change), nil)
			rep := only(t, run)
			if err != nil && !late(run.Cells[0].Repetitions) {
				t.Fatalf("got %v, invalid for %q", err, rep.InvalidReasons)
			}
			if got := rep.Requests; got.Issued == 0 || got.By[gate.OK] != got.Issued {
				t.Errorf("got %+v, want every request ok", got)
			}
			if v := rep.Metrics[gate.Goodput].Value; v == nil || *v <= 0 {
				t.Errorf("got goodput %v, want more than 0", v)
			}
			if rep.Engine.Requests == nil || *rep.Engine.Requests < int64(rep.Requests.Issued) {
				t.Errorf("got engine count %v, want at least the %d issued", rep.Engine.Requests, rep.Requests.Issued)
			}
			if undeclared := run.Cells[0].Envelope.UndeclaredPaths(); slices.Contains(undeclared, "prompt.digest") {
				t.Errorf("got an undeclared prompt digest after a run")
			}
		})
	}
}

func TestEveryOutcomeIsKept(t *testing.T) {
	tests := []struct {
		name   string
		engine func(*sim.Options)
		change func(*runner.Plan)
		want   gate.Outcome
	}{
		{"errors", func(o *sim.Options) { o.Faults.ErrorRate = 0.3 }, nil, gate.HTTP5xx},
		{"errors in the stream", func(o *sim.Options) { o.Faults.InBandRate = 0.3 }, nil, gate.InBandError},
		{"cut streams", func(o *sim.Options) { o.Faults.TruncatedRate = 0.3 }, nil, gate.Truncated},
		{"broken frames", func(o *sim.Options) { o.Faults.MalformedRate = 0.3 }, nil, gate.Malformed},
		{"timeouts", func(o *sim.Options) { o.Cost.DecodeSlowdown = 1 }, func(p *runner.Plan) {
			p.Measure.RequestTimeout = 15 * time.Millisecond
		}, gate.Timeout},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := plan(serve(t, tt.engine), nil)
			if tt.change != nil {
				tt.change(&p)
			}
			run, _, err := execute(t, t.Context(), p, nil)
			if tt.want == gate.Timeout && err != nil && len(run.Cells[0].Repetitions) == 0 {
				t.Skip("the time limit ends the first token too: nothing is measured")
			}
			rep := only(t, run)
			if rep.Requests.By[tt.want] == 0 {
				t.Errorf("got %+v (error %v), want some %s", rep.Requests, err, tt.want)
			}
			if v := rep.Metrics[gate.ErrorRate].Value; v == nil || *v == 0 {
				t.Errorf("got error rate %v, want more than 0", v)
			}
		})
	}
}

func TestLongerThanTheContext(t *testing.T) {
	url := serve(t, func(o *sim.Options) { o.Scheduler.MaxModelLen = 128 })
	p := plan(url, func(p *runner.Plan) { p.Cells[0].Workload.Input.Mean = 4096 })
	run, _, err := execute(t, t.Context(), p, nil)
	var fault *runner.PlanError
	if !errors.As(err, &fault) {
		t.Fatalf("got %v, want a PlanError", err)
	}
	if fault.Hint() == "" || !strings.Contains(fault.Error(), "128") {
		t.Errorf("got %q with hint %q, want the engine's context and a hint", fault, fault.Hint())
	}
	if run.Complete {
		t.Error("got a complete run, want it marked incomplete")
	}
}

func TestNoEngineThere(t *testing.T) {
	tests := []struct {
		name, want string
		url        func(t *testing.T) string
	}{
		{"refused", "connection refused", func(t *testing.T) string {
			s := httptest.NewServer(nil)
			s.Close()
			return s.URL
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := plan(tt.url(t), func(p *runner.Plan) { p.Engine.ReadyTimeout = time.Second })
			run, _, err := execute(t, t.Context(), p, nil)
			var fault *runner.MeasureError
			if !errors.As(err, &fault) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want a MeasureError with %q", err, tt.want)
			}
			if run.Complete || run.Incomplete == "" {
				t.Errorf("got complete %v (%q), want an incomplete run with its reason", run.Complete, run.Incomplete)
			}
		})
	}
}

// An engine that dies between two cells, when nobody asks it for anything, is a lost one
// of the second.
func TestEngineThatDiesBetweenCells(t *testing.T) {
	url, stop := serveUntil(t, nil)
	p := plan(url, func(p *runner.Plan) {
		second := p.Cells[0]
		second.ID, second.Cell.Workload = "w2@l", "w2"
		p.Cells = append(p.Cells, second)
	})
	run, _, err := execute(t, t.Context(), p, func(e runner.Event) {
		if e.Kind == runner.Measuring && e.Cell == "w2@l" {
			stop()
		}
	})
	var fault *runner.MeasureError
	if !errors.As(err, &fault) || !strings.Contains(err.Error(), "engine died") {
		t.Errorf("got %v, want a MeasureError about a dead engine", err)
	}
	lost := run.Cells[1]
	if n := len(lost.Repetitions); n != 1 || !strings.Contains(lost.Invalid, "engine died") {
		t.Fatalf("got %d repetitions, cell invalid for %q, want one of a dead engine", n, lost.Invalid)
	}
	if why := lost.Repetitions[0].InvalidReasons; len(why) == 0 || !strings.Contains(why[0], "engine died") {
		t.Errorf("got reasons %q, want the dead engine first", why)
	}
}

func TestInterruptKeepsWhatWasMeasured(t *testing.T) {
	url := serve(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := plan(url, func(p *runner.Plan) { p.Measure.Requests = 100000 })
	start := time.Now()
	run, _, err := execute(t, ctx, p, func(e runner.Event) {
		if e.Kind == runner.Progress && e.Done > 0 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want context.Canceled", err)
	}
	if run.Complete || run.Incomplete != "interrupted" {
		t.Errorf("got complete %v (%q), want interrupted", run.Complete, run.Incomplete)
	}
	rep := only(t, run)
	if rep.Valid || rep.Requests.By[gate.OK] == 0 {
		t.Errorf("got valid %v with %+v, want an invalid repetition that kept its requests", rep.Valid, rep.Requests)
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("took %v to end", took)
	}
}
