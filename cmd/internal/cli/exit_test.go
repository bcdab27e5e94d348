package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/servegate/servegate/cmd/internal/config"
	"github.com/servegate/servegate/runner"
	"github.com/servegate/servegate/runner/engine"
)

func TestExitCode(t *testing.T) {
	plan := &runner.PlanError{What: "cell chat@near: too long", Remedy: "shorten it"}
	full := &runner.MeasureError{Stage: "write run", Err: fmt.Errorf("write run.json: %w", syscall.ENOSPC)}
	dead := &runner.MeasureError{Stage: "boot engine", Err: &engine.NotReadyError{Stage: engine.StageBoot, Exit: &engine.Exit{Code: 0}}}
	tests := []struct {
		name string
		err  error
		want int
		hint bool
	}{
		{"no error", nil, 0, false},
		{"a flag", &usageError{err: errors.New("unknown flag"), hint: "see --help"}, 2, true},
		{"a config", &config.Faults{List: []config.Fault{{What: "unknown key"}}}, 2, false},
		{"a plan", plan, 2, true},
		{"a plan that only the engine showed to be one", &runner.MeasureError{Stage: "probe engine", Err: plan}, 2, true},
		{"a boot", dead, 3, true},
		{"a full disk", full, 3, true},
		{"two cells that could not be measured", errors.Join(dead, full), 3, true},
		{"a timeout", &runner.MeasureError{Stage: "boot engine", Err: context.DeadlineExceeded}, 3, false},
		{"whatever else", errors.New("unexpected"), 3, false},
		{"an interrupt", fmt.Errorf("measure: %w", context.Canceled), 130, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := exitCode(tt.err); got != tt.want {
				t.Errorf("exit code: got %d, want %d", got, tt.want)
			}
			if got := hintOf(tt.err); (got != "") != tt.hint {
				t.Errorf("hint: got %q, want one: %v", got, tt.hint)
			}
		})
	}
}

// The README's table names the codes that a command can end with, and no other.
func TestREADMEListsTheExitCodes(t *testing.T) {
	text, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+) \|`).FindAllStringSubmatch(string(text), -1) {
		code, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, code)
	}
	if want := []int{ExitPassed, ExitRegressed, ExitUsage, ExitMeasure, ExitInconclusive, ExitIncomparable, ExitInterrupted}; !slices.Equal(got, want) {
		t.Errorf("README: got codes %v, want %v", got, want)
	}
}
