package runner

import (
	"errors"
	"fmt"
	"syscall"
)

// PlanError says that a plan can't be executed as it stands: nothing was measured, and
// the config must change. Its hint says how.
type PlanError struct {
	What   string
	Remedy string
}

func (e *PlanError) Error() string { return e.What }

// Hint says what to change.
func (e *PlanError) Hint() string { return e.Remedy }

// MeasureError says that the run could not measure all that was planned; what could be
// measured stands in the run directory.
type MeasureError struct {
	Stage string // what was being done: "boot engine", "measure chat@near", ...
	Err   error
}

func (e *MeasureError) Error() string { return fmt.Sprintf("%s: %v", e.Stage, e.Err) }
func (e *MeasureError) Unwrap() error { return e.Err }

// Hint says what to do about it, where the cause has a remedy.
func (e *MeasureError) Hint() string {
	if errors.Is(e.Err, syscall.ENOSPC) || errors.Is(e.Err, syscall.EDQUOT) {
		return "the disk is full: free some space, or write the run directory elsewhere"
	}
	var h interface{ Hint() string }
	if errors.As(e.Err, &h) {
		return h.Hint()
	}
	return ""
}
