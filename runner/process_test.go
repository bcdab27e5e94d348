package runner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/runner"
	"github.com/servegate/servegate/runner/engine/sim"
)

// playEngine is the simulated engine as a process: the part of the test binary that
// stands for "servegate engine sim".
func playEngine(args []string) int {
	o := sim.Defaults()
	o.Log = os.Stderr
	fs := pflag.NewFlagSet("engine", pflag.ContinueOnError)
	o.Flags(fs)
	if err := fs.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	err := sim.Serve(ctx, o)
	var crash *sim.CrashError
	switch {
	case errors.As(err, &crash):
		return crash.Code
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// started is a plan whose engine is a process with the given flags.
func started(flags []string, change func(*runner.Plan)) runner.Plan {
	return plan("", func(p *runner.Plan) {
		p.Engine.Attach = nil
		p.Engine.StopGrace = 2 * time.Second
		p.Engine.Process = &runner.Process{
			Command: append([]string{os.Args[0], "--port", "{port}"}, flags...),
			Env:     map[string]string{partVariable: "sim"},
		}
		if change != nil {
			change(p)
		}
	})
}

func TestRunBootsForEachRepetition(t *testing.T) {
	run, dir, err := execute(t, t.Context(), started(nil, func(p *runner.Plan) { p.Measure.Repetitions = 2 }), nil)
	reps := run.Cells[0].Repetitions
	if err != nil && !late(reps) {
		t.Fatal(err)
	}
	for i, rep := range reps {
		if !rep.Fresh || rep.Boot != i+1 {
			t.Errorf("repetition %d: got fresh %v of boot %d, want a boot of its own", rep.Index, rep.Fresh, rep.Boot)
		}
	}
	log, err := os.ReadFile(filepath.Join(dir, "logs", "engine.log"))
	if err != nil || len(log) == 0 {
		t.Errorf("got %d bytes of log (%v), want the engine's words", len(log), err)
	}
}

func TestRunBootsOnce(t *testing.T) {
	run, _, err := execute(t, t.Context(), started(nil, func(p *runner.Plan) {
		p.Measure.Repetitions, p.Measure.Boot = 2, runner.BootOnce
	}), nil)
	reps := run.Cells[0].Repetitions
	if err != nil && !late(reps) {
		t.Fatal(err)
	}
	if len(reps) < 2 || !reps[0].Fresh || reps[1].Fresh || reps[1].Boot != 1 {
		t.Errorf("got %+v, want two repetitions of one boot, the first of them fresh", reps)
	}
}

// An engine that dies, hangs or restarts is what the gate is there to see: nothing is
// repeated, the cell is invalid, and the other cells get a new engine.
func TestLostEngines(t *testing.T) {
	tests := []struct {
		name  string
		flags []string
		want  string
	}{
		// The probes before the load take a few requests of their own.
		{"dies", []string{"--crash-after", "40", "--crash-code", "7", "--crash-words", "CUDA error: an illegal memory access"}, "exited with code 7"},
		{"dies and calls it success", []string{"--crash-after", "40", "--crash-code", "0"}, "exited with code 0"},
		{"hangs", []string{"--hang-after", "40"}, "hung"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			run, _, err := execute(t, t.Context(), started(tt.flags, func(p *runner.Plan) {
				p.Measure.HangTimeout = 2 * time.Second
				p.Measure.Requests = 200
			}), nil)
			var fault *runner.MeasureError
			if !errors.As(err, &fault) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want a MeasureError with %q", err, tt.want)
			}
			if n := len(run.Cells[0].Repetitions); n != 1 {
				t.Errorf("got %d repetitions, want 1: nothing is repeated", n)
			}
			if rep := only(t, run); rep.Valid || !strings.Contains(strings.Join(rep.InvalidReasons, ";"), tt.want) {
				t.Errorf("got valid %v for %q, want invalid for %q", rep.Valid, rep.InvalidReasons, tt.want)
			}
			if run.Cells[0].Invalid == "" {
				t.Error("got a valid cell, want it invalid")
			}
			if !run.Complete {
				t.Errorf("got an incomplete run (%s), want all that could be measured", run.Incomplete)
			}
		})
	}
}

func TestBootFailures(t *testing.T) {
	tests := []struct {
		name  string
		flags []string
		want  string
	}{
		{"dies at boot", []string{"--boot-crash", "--crash-code", "3", "--crash-words", "no such model"}, "no such model"},
		{"never ready", []string{"--boot-time", "1h"}, "503"},
		{"dies on its first request", []string{"--crash-after", "1", "--crash-words", "worker died"}, "worker died"},
		{"bad flag", []string{"--no-such-flag"}, "exited with code 2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			run, _, err := execute(t, t.Context(), started(tt.flags, func(p *runner.Plan) { p.Engine.ReadyTimeout = 5 * time.Second }), nil)
			var fault *runner.MeasureError
			if !errors.As(err, &fault) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want a MeasureError with %q", err, tt.want)
			}
			if run.Complete || run.Incomplete == "" {
				t.Errorf("got complete %v (%q), want incomplete with the reason", run.Complete, run.Incomplete)
			}
			if n := len(run.Cells[0].Repetitions); n != 0 {
				t.Errorf("got %d repetitions, want none", n)
			}
		})
	}
}

// Two cells: the first one's engine dies under it, the second one gets another.
func TestOtherCellsGetANewEngine(t *testing.T) {
	run, _, _ := execute(t, t.Context(), started([]string{"--crash-after", "60"}, func(p *runner.Plan) {
		second := p.Cells[0]
		second.ID = "w2@l"
		p.Cells = append(p.Cells, second)
		p.Measure.Requests = 100
		p.Cells[1].Cell = gate.Cell{ID: "w2@l", Workload: "w2", Load: "l", Streaming: true, Concurrency: 4}
	}), nil)
	boots := map[int]bool{}
	for _, c := range run.Cells {
		if len(c.Repetitions) == 0 {
			t.Fatalf("%s: got no repetition", c.ID)
		}
		last := c.Repetitions[len(c.Repetitions)-1]
		if !strings.Contains(c.Invalid, "died") || last.Valid {
			t.Errorf("%s: got invalid for %q, want a lost engine", c.ID, c.Invalid)
		}
		boots[last.Boot] = true
	}
	if len(boots) != 2 {
		t.Errorf("got boots %v, want one for each cell", boots)
	}
}
