package baselines

import (
	"fmt"
	"slices"

	"github.com/servegate/servegate/gate"
)

// Standing says whether a cell of a record counts as a baseline, and why.
type Standing struct {
	Promoted  bool
	Retracted bool // by an event that no promotion overrides
	// Why is the result by which the record promoted the cell or didn't, or the event that
	// decided: who, and the reason.
	Why string
	// Anchors are the names under which promotions pinned the cell.
	Anchors []string
}

// Standings holds a standing for each cell of each record: by run id, then by cell id.
type Standings map[string]map[string]Standing

// promotable are the results with which a record promotes a cell by itself. A comparison
// that couldn't be made opens a new series; one that went badly never raises the bar for
// those that follow, and one too good to be true doesn't either.
var promotable = []gate.Result{gate.Passed, gate.Improved, gate.Inconclusive, gate.NoBaseline, gate.NotComparable}

// Promotes reports whether a record with this result promotes the cell by itself, without
// a promotion by hand.
func (c CellResult) Promotes() bool {
	return !c.Implausible && !c.Withheld && slices.Contains(promotable, c.Result)
}

// Fold computes what the entries come to. A cell is promoted by its record, if its result
// allows it, or by any promotion of it; and it is retracted by any retraction of it that
// none of its promotions names. The order of the entries makes no difference, and neither
// do the clocks of their writers.
func Fold(entries []Entry) Standings {
	s := Standings{}
	byRun := map[string][]*Event{}
	for _, e := range entries {
		if e.Event != nil {
			byRun[e.Event.Run] = append(byRun[e.Event.Run], e.Event)
		}
	}
	for _, r := range records(entries) {
		cells := map[string]Standing{}
		for _, c := range r.Results {
			cells[c.Cell] = stand(r, c, byRun[r.Run.ID])
		}
		s[r.Run.ID] = cells
	}
	return s
}

// Of returns the standing of a cell of a record; that of an unknown one is not promoted.
func (s Standings) Of(run, cell string) Standing { return s[run][cell] }

// stand folds the events of a run into the standing of one of its cells.
func stand(r *Record, c CellResult, events []*Event) Standing {
	s := Standing{Promoted: c.Promotes(), Why: fmt.Sprintf("%s when %s recorded it", c.Result, r.Actor)}
	if c.Implausible {
		s.Why = "implausible: " + s.Why
	}
	var overridden []string
	var promotion, retraction *Event
	for _, e := range events {
		if e.Kind == Promotion && e.covers(c.Cell) {
			overridden = append(overridden, e.Overrides...)
			promotion = later(promotion, e)
			if e.Anchor != "" {
				s.Anchors = append(s.Anchors, e.Anchor)
			}
		}
	}
	for _, e := range events {
		if e.Kind == Retraction && e.covers(c.Cell) && !slices.Contains(overridden, e.ID) {
			retraction = later(retraction, e)
		}
	}
	slices.Sort(s.Anchors)
	switch {
	case retraction != nil:
		s.Promoted, s.Retracted, s.Why = false, true, "retracted by "+retraction.Actor+": "+retraction.Reason
	case promotion != nil:
		s.Promoted, s.Why = true, "promoted by "+promotion.Actor+": "+promotion.Reason
	}
	return s
}

// later returns the event of the two that was made later, which is the one to show.
func later(a, b *Event) *Event {
	if a == nil || b.At.After(a.At) || b.At.Equal(a.At) && b.ID > a.ID {
		return b
	}
	return a
}

// records returns the records among entries, in their order. Of two that hold the same
// run the first counts: its repetitions are no others for being there twice.
func records(entries []Entry) []*Record {
	var rs []*Record
	seen := map[string]bool{}
	for _, e := range entries {
		if e.Record != nil && !seen[e.Record.Run.ID] {
			seen[e.Record.Run.ID] = true
			rs = append(rs, e.Record)
		}
	}
	return rs
}

// events returns the events of a kind.
func events(entries []Entry, kind EventKind) []*Event {
	var es []*Event
	for _, e := range entries {
		if e.Event != nil && e.Event.Kind == kind {
			es = append(es, e.Event)
		}
	}
	return es
}
