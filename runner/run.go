package runner

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/gate/rundir"
)

// Options says how [Run] executes a plan.
type Options struct {
	Out    *rundir.Writer // where the run is written to, as it goes
	Tool   gate.Tool
	Notify func(Event) // hears how the run goes; nil: nobody
	// Getenv reads the environment, for the API key and RUNNER_NAME; nil: there is none.
	Getenv func(string) string
	// Supervisor is the command that watches over an engine process; empty: the running
	// program with "engine supervise". See process.Launcher.
	Supervisor []string
}

// Run executes p: all cells, repetition by repetition, each repetition of all cells
// before the next. It returns what was measured even where it also returns an error,
// and has written it: a run that was cut short is kept and marked incomplete.
//
// The error is a [*PlanError] where the plan can't be executed as it stands, the
// context's where ctx ended, and else a [*MeasureError]; all engines that were started
// have been stopped in any case.
func Run(ctx context.Context, p Plan, o Options) (*gate.Run, error) {
	s := newSession(ctx, p, o)
	if err := o.Out.WriteRun(s.run); err != nil {
		return s.run, &MeasureError{Stage: "write run", Err: err}
	}
	err := s.rounds(ctx)
	if err != nil {
		// Before the engine is stopped: that takes a while, and who is impatient by then
		// ends us with a second signal.
		s.cutShort(ctx, err)
	}
	if stopErr := s.stop(ctx); err == nil && stopErr != nil {
		err = &MeasureError{Stage: "stop engine", Err: stopErr}
	}
	return s.run, s.close(ctx, err)
}

// session is one run as it goes on.
type session struct {
	plan    Plan
	options Options
	machine machine
	run     *gate.Run
	cells   []*cellState
	engine  *booted // nil while none runs
	learned *traits // what the first engine was seen to do; nil before
	boots   int
}

// cellState is a cell with what became of it so far.
type cellState struct {
	Cell
	record *gate.CellRun
	// measured is the boot that served the cell's latest repetition.
	measured int
	// described is the boot that its envelope was last held against, 0 for none.
	described int
}

func newSession(ctx context.Context, p Plan, o Options) *session {
	if o.Notify == nil {
		o.Notify = func(Event) {}
	}
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	s := &session{plan: p, options: o, machine: readMachine(ctx, o.Getenv)}
	s.run = &gate.Run{
		Schema:  gate.RunSchema,
		ID:      newID(),
		Tool:    o.Tool,
		Started: time.Now().UTC().Truncate(time.Millisecond),
		Subject: p.Subject,
		Context: s.machine.context,
		Cells:   s.planned(),
	}
	for i, c := range p.Cells {
		s.cells = append(s.cells, &cellState{Cell: c, record: &s.run.Cells[i]})
	}
	return s
}

// planned is the run's cells before any of them was measured.
func (s *session) planned() []gate.CellRun {
	cells := make([]gate.CellRun, len(s.plan.Cells))
	for i, c := range s.plan.Cells {
		e := s.declared(c)
		cells[i] = gate.CellRun{
			Cell:        c.Cell,
			Envelope:    e,
			Fingerprint: e.Fingerprint(),
			Planned:     s.plan.Measure.Repetitions,
			Repetitions: []gate.Repetition{},
		}
	}
	return cells
}

// newID draws the name of a run.
func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return hex.EncodeToString(b[:])
}

// rounds measures every cell once a round.
func (s *session) rounds(ctx context.Context) error {
	for round := range s.plan.Measure.Repetitions {
		for _, c := range s.cells {
			if c.record.Invalid != "" {
				continue
			}
			if err := s.repetition(ctx, c); err != nil {
				return err
			}
		}
		if round == s.plan.Measure.Repetitions-1 {
			break // the end of the run stops the engine
		}
		if err := s.reboot(ctx); err != nil {
			return err
		}
	}
	return nil
}

// repetition measures one repetition of c, and once more where it is invalid. Where
// the engine died, hung or restarted the cell is invalid at once and the next one gets
// an engine of its own.
func (s *session) repetition(ctx context.Context, c *cellState) error {
	first, err := s.attempt(ctx, c, 0)
	if err != nil || first.Valid || c.record.Invalid != "" {
		return err
	}
	if err := s.reboot(ctx); err != nil {
		return err
	}
	again, err := s.attempt(ctx, c, first.Index)
	if err == nil && !again.Valid && c.record.Invalid == "" {
		c.record.Invalid = fmt.Sprintf("repetition %d and its repeat %d are both invalid: %s", first.Index, again.Index, again.InvalidReasons[0])
		err = s.options.Out.WriteRun(s.run)
	}
	return err
}

// attempt measures one repetition, boots the engine for it where none runs, and stores
// what came out. repeats is the index of the repetition that it repeats, or 0.
func (s *session) attempt(ctx context.Context, c *cellState, repeats int) (*gate.Repetition, error) {
	if err := s.ensureEngine(ctx); err != nil {
		return nil, err
	}
	if err := s.describe(c); err != nil {
		return nil, err
	}
	facts := gate.Facts{
		Index:   len(c.record.Repetitions) + 1,
		Seed:    s.plan.Measure.Seed,
		Fresh:   s.plan.Engine.Attach == nil && c.measured != s.engine.boot,
		Boot:    s.engine.boot,
		Repeats: repeats,

		PlannedRequests: s.plan.Measure.Requests,
		PlannedS:        s.plan.Measure.Duration.Seconds(),
	}
	c.measured = s.engine.boot
	s.options.Notify(Event{Kind: Measuring, Cell: c.ID, Index: facts.Index, Boot: facts.Boot})
	rep, lost, err := s.measure(ctx, c, facts)
	if rep != nil {
		c.record.Repetitions = append(c.record.Repetitions, *rep)
		s.options.Notify(Event{Kind: Measured, Cell: c.ID, Index: facts.Index, Repetition: rep})
	}
	if lost != nil {
		c.record.Invalid = lost.Error()
	}
	// An interrupt is no finding: what it left behind is invalid, and never repeated.
	if err := cmp.Or(err, s.options.Out.WriteRun(s.run), ctx.Err()); err != nil {
		return rep, s.stage(ctx, "measure "+c.ID, err)
	}
	if lost != nil {
		return rep, s.abandon(ctx, lost)
	}
	return rep, nil
}

// abandon stops an engine that was lost, so that the next cell gets a new one. An
// engine that was only attached to can't be had anew: the run ends.
func (s *session) abandon(ctx context.Context, lost error) error {
	if s.plan.Engine.Attach != nil {
		return &MeasureError{Stage: "attach", Err: lost}
	}
	if err := s.stop(ctx); err != nil {
		return &MeasureError{Stage: "stop engine", Err: err}
	}
	return nil
}

// stage says what was being done when err came up; an end of ctx stays what it is.
func (s *session) stage(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &MeasureError{Stage: what, Err: err}
}

// close writes the run for the last time: complete where all cells were measured and
// nothing went wrong, else with the reason.
func (s *session) close(ctx context.Context, err error) error {
	if err != nil {
		s.cutShort(ctx, err)
		return err
	}
	s.run.Finished = time.Now().UTC().Truncate(time.Millisecond)
	if err = s.options.Out.Finish(s.run); err != nil {
		return &MeasureError{Stage: "finish run", Err: err}
	}
	return s.verdict()
}

// cutShort writes the run as one that err has cut short.
func (s *session) cutShort(ctx context.Context, err error) {
	s.run.Finished = time.Now().UTC().Truncate(time.Millisecond)
	s.run.Incomplete = err.Error()
	if ctx.Err() != nil {
		s.run.Incomplete = "interrupted"
	}
	// Where even that can't be written, run.json is the one before, which isn't complete
	// either; what cut the run short is the error to tell.
	_ = s.options.Out.WriteRun(s.run)
}

// verdict is nil if every cell could be measured, and else says which could not.
func (s *session) verdict() error {
	var errs []error
	for _, c := range s.cells {
		if c.record.Invalid != "" {
			errs = append(errs, &MeasureError{Stage: "measure " + c.ID, Err: errors.New(c.record.Invalid)})
		}
	}
	return errors.Join(errs...)
}

// warn keeps a warning in the run and tells it.
func (s *session) warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, w := range s.run.Warnings {
		if w == text {
			return
		}
	}
	s.run.Warnings = append(s.run.Warnings, text)
	s.options.Notify(Event{Kind: Warning, Text: text})
}
