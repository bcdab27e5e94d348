package baselines

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// EventSchema names the format of an event.
const EventSchema = "servegate.baseline-event/v1"

// EventKind says what an event does.
type EventKind string

// The kinds of events.
const (
	Promotion  EventKind = "promotion"
	Retraction EventKind = "retraction"
)

// Event is what someone decided on a run by hand.
type Event struct {
	Schema string    `json:"schema"`
	ID     string    `json:"id"` // random
	Kind   EventKind `json:"kind"`
	Decision
	// Overrides names the retractions that a promotion answers. Those that it doesn't name
	// hold: they were made later, or by someone whom the promoter didn't hear.
	Overrides []string `json:"overrides,omitempty"`
}

// Decision is who decided what, and why.
type Decision struct {
	At     time.Time `json:"at"`
	Actor  string    `json:"actor"`
	Reason string    `json:"reason"`
	Run    string    `json:"run"`             // id of the run
	Cells  []string  `json:"cells,omitempty"` // ids; empty for all cells of the run
	// Anchor names what a promotion pins, for example a release: pruning keeps it.
	Anchor string `json:"anchor,omitempty"`
}

// NewPromotion makes the event by which the cells of a run become baselines, whatever
// their results were. It overrides the retractions of them that stand in entries.
func NewPromotion(entries []Entry, d Decision) (*Event, error) {
	e, err := newEvent(Promotion, entries, d)
	if err != nil {
		return nil, fmt.Errorf("promote run %.80q: %w", d.Run, err)
	}
	for _, old := range events(entries, Retraction) {
		if old.Run == e.Run && overlap(old.Cells, e.Cells) {
			e.Overrides = append(e.Overrides, old.ID)
		}
	}
	return e, nil
}

// NewRetraction makes the event after which the cells of a run are no baselines, until a
// later promotion says otherwise.
func NewRetraction(entries []Entry, d Decision) (*Event, error) {
	e, err := newEvent(Retraction, entries, d)
	if err != nil {
		return nil, fmt.Errorf("retract run %.80q: %w", d.Run, err)
	}
	return e, nil
}

func newEvent(kind EventKind, entries []Entry, d Decision) (*Event, error) {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails, see crypto/rand
	e := &Event{Schema: EventSchema, ID: hex.EncodeToString(id[:]), Kind: kind, Decision: d}
	e.At = e.At.UTC()
	if err := e.check(); err != nil {
		return nil, err
	}
	for _, r := range records(entries) {
		if r.Run.ID == d.Run {
			return e, r.hasCells(d.Cells)
		}
	}
	return nil, errors.New("the store has no record of it (baseline list shows the runs)")
}

// hasCells says which of the cells the run lacks.
func (r *Record) hasCells(cells []string) error {
	for _, id := range cells {
		if r.cell(id) == nil {
			var known []string
			for i := range r.Run.Cells {
				known = append(known, r.Run.Cells[i].ID)
			}
			return fmt.Errorf("it has no cell %.80q (it has %s)", id, strings.Join(known, ", "))
		}
	}
	return nil
}

func (e *Event) check() error {
	errs := []error{
		checkTime("at", e.At),
		checkText("actor", e.Actor, true),
		checkText("reason", e.Reason, true),
		checkText("anchor", e.Anchor, false),
	}
	fault := func(broken bool, format string, a ...any) {
		if broken {
			errs = append(errs, fmt.Errorf(format, a...))
		}
	}
	fault(e.Schema != EventSchema, "schema %.40q: expected %s", e.Schema, EventSchema)
	fault(!nameText.MatchString(e.ID), "event id %.80q: expected letters, digits, '.', '_' and '-'", e.ID)
	fault(!nameText.MatchString(e.Run), "run id %.80q: expected letters, digits, '.', '_' and '-'", e.Run)
	fault(e.Kind != Promotion && e.Kind != Retraction, "unknown kind %.40q (known: %s, %s)", e.Kind, Promotion, Retraction)
	fault(e.Kind == Retraction && (e.Anchor != "" || e.Overrides != nil), "a retraction neither anchors nor overrides")
	for _, id := range e.Cells {
		errs = append(errs, checkText("cell", id, true))
	}
	for _, id := range e.Overrides {
		fault(!nameText.MatchString(id), "overridden event %.80q: expected letters, digits, '.', '_' and '-'", id)
	}
	return errors.Join(errs...)
}

// covers reports whether the decision is on the cell.
func (d *Decision) covers(cell string) bool {
	return len(d.Cells) == 0 || slices.Contains(d.Cells, cell)
}

// overlap reports whether two lists of cells, empty for all, have one in common.
func overlap(a, b []string) bool {
	if len(a) == 0 || len(b) == 0 {
		return true
	}
	return slices.ContainsFunc(a, func(cell string) bool { return slices.Contains(b, cell) })
}
