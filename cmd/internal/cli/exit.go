package cli

import (
	"context"
	"errors"

	"github.com/servegate/servegate/cmd/internal/config"
	"github.com/servegate/servegate/runner"
)

// The exit codes. They are part of the interface: the README has the same table.
const (
	ExitPassed       = 0   // done; for a gate: passed, or only what the policy lets through
	ExitRegressed    = 1   // a verdict says regressed, and only then
	ExitUsage        = 2   // flags, config, or a file that was given
	ExitMeasure      = 3   // could not measure: boot, engine died, invalid, disk full
	ExitInconclusive = 4   // too noisy to tell
	ExitIncomparable = 5   // not comparable, no baseline, an empty store
	ExitInterrupted  = 130 // SIGINT or SIGTERM, after teardown
)

// usageError is a fault of the command line or of a file that the user named.
type usageError struct {
	err  error
	hint string
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// Hint says what to do about it.
func (e *usageError) Hint() string { return e.hint }

// exitCode maps an error to the code that the process ends with. It is the only place
// where one becomes the other.
func exitCode(err error) int {
	var (
		usage    *usageError
		faults   *config.Faults
		unfilled *runner.PlanError
		nothing  *incomparableError
	)
	switch {
	case err == nil:
		return ExitPassed
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.As(err, &nothing):
		return ExitIncomparable
	case errors.As(err, &usage), errors.As(err, &faults), errors.As(err, &unfilled):
		return ExitUsage
	default:
		return ExitMeasure
	}
}

// hintOf finds the remedy that rides on an error, if one does.
func hintOf(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}
