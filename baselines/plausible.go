package baselines

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/servegate/servegate/gate"
)

// What no measurement exceeds: a file beyond it was edited, or made to do harm.
const (
	maxCells       = 10_000
	maxRepetitions = 10_000    // of a cell
	maxIssued      = 2_000_000 // requests of a window; the run directory keeps no more
	maxWindow      = 7 * 86400 // seconds
)

// checkRun says what makes run unfit to be a baseline, all of it at once.
func checkRun(run *gate.Run) error {
	var errs []error
	fault := func(broken bool, format string, a ...any) {
		if broken {
			errs = append(errs, fmt.Errorf(format, a...))
		}
	}
	fault(run.Schema != gate.RunSchema, "run has schema %.40q: expected %s", run.Schema, gate.RunSchema)
	fault(!nameText.MatchString(run.ID), "run id %.80q: expected letters, digits, '.', '_' and '-'", run.ID)
	fault(!run.Complete, "the run was cut short (only a complete run can be a baseline)")
	fault(len(run.Cells) == 0, "the run has no cells")
	fault(len(run.Cells) > maxCells, "the run has %d cells, the limit is %d", len(run.Cells), maxCells)
	errs = append(errs, checkTime("started", run.Started))
	cells := map[string]bool{}
	for i := range run.Cells {
		c := &run.Cells[i]
		fault(cells[c.ID], "cell %.80q is there twice", c.ID)
		cells[c.ID] = true
		if err := checkCell(c); err != nil {
			errs = append(errs, fmt.Errorf("cell %.80q: %w", c.ID, err))
		}
	}
	return errors.Join(errs...)
}

// Plausible says what in the repetitions of run no measurement gives: negative times, more
// requests than anybody sends. [NewRecord] asks it, too; for the run that is held against
// a record nobody else does.
func Plausible(run *gate.Run) error {
	var errs []error
	for i := range run.Cells {
		if err := checkRepetitions(&run.Cells[i]); err != nil {
			errs = append(errs, fmt.Errorf("cell %.80q: %w", run.Cells[i].ID, err))
		}
	}
	return errors.Join(errs...)
}

func checkCell(c *gate.CellRun) error {
	if err := checkText("id", c.ID, true); err != nil {
		return err
	}
	if err := c.Envelope.Validate(); err != nil {
		return err
	}
	if want := c.Envelope.Fingerprint(); c.Fingerprint != want {
		return fmt.Errorf("fingerprint %.80q, its envelope has %s", c.Fingerprint, want)
	}
	return checkRepetitions(c)
}

func checkRepetitions(c *gate.CellRun) error {
	if n := len(c.Repetitions); n > maxRepetitions {
		return fmt.Errorf("%d repetitions, the limit is %d", n, maxRepetitions)
	}
	seen := map[int]bool{}
	for i := range c.Repetitions {
		r := &c.Repetitions[i]
		if seen[r.Index] {
			return fmt.Errorf("repetition %d is there twice", r.Index)
		}
		seen[r.Index] = true
		if err := checkRepetition(r); err != nil {
			return fmt.Errorf("repetition %d: %w", r.Index, err)
		}
	}
	return nil
}

func checkRepetition(r *gate.Repetition) error {
	switch {
	case r.Index < 1:
		return errors.New("its index is below 1")
	case r.Boot < 0:
		return fmt.Errorf("negative boot %d", r.Boot)
	case !(r.WindowS >= 0) || r.WindowS > maxWindow:
		return fmt.Errorf("a window of %v s: expected 0 to %d", r.WindowS, maxWindow)
	case r.Valid && r.WindowS == 0:
		return errors.New("it is valid, and its window has no length")
	case r.Requests.Issued > maxIssued:
		return fmt.Errorf("%d requests, the limit is %d", r.Requests.Issued, maxIssued)
	}
	for _, m := range slices.Sorted(maps.Keys(r.Metrics)) {
		s := r.Metrics[m]
		for _, v := range []*float64{s.Value, s.Mean, s.P50, s.P90, s.P95, s.P99, s.Max} {
			if v != nil && (!(*v >= 0) || math.IsInf(*v, 1)) {
				return fmt.Errorf("metric %.40q is %v: expected a finite number that isn't negative", m, *v)
			}
		}
	}
	return nil
}
