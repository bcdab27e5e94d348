package baselines

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Stale is a cell whose newest baseline is older than its limit, or that has none.
type Stale struct {
	Cell  string
	Class string // the runner class; empty where the cell has no baseline at all
	// Newest is when the newest baseline was measured; zero where there is none.
	Newest time.Time
	Age    time.Duration // negative: it is dated in the future, and would never grow old
}

// String says which cell it is, and what is wrong.
func (s Stale) String() string {
	day := 24 * time.Hour
	switch {
	case s.Cell == "":
		return "no cell has a promoted baseline"
	case s.Newest.IsZero():
		return fmt.Sprintf("%s: no promoted baseline", s.Cell)
	case s.Age < 0:
		return fmt.Sprintf("%s on %s: the newest baseline is dated in the future, %s", s.Cell, s.Class, s.Newest.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("%s on %s: the newest baseline is %.1f days old, of %s", s.Cell, s.Class, float64(s.Age)/float64(day), s.Newest.UTC().Format(time.RFC3339))
}

// Limits says which baselines must be how young.
type Limits struct {
	MaxAge time.Duration
	Cells  []string // ids of the cells that must have one; nil: those that have a record
	Class  string   // looks at this runner class only; empty: at each of them
}

// slot is what a series of baselines belongs to.
type slot struct{ cell, class string }

// Check returns the cells whose newest promoted baseline is older than its limit, by cell
// and runner class; none where all is well. A store without any promoted baseline is
// stale: that a job stopped writing long ago is what the check is there to see.
func Check(entries []Entry, limits Limits, now time.Time) []Stale {
	newest := newestPromoted(entries, limits.Class)
	cells := limits.Cells
	if cells == nil {
		cells = recordedCells(entries, limits.Class)
	}
	var stale []Stale
	for _, cell := range cells {
		found := false
		for at, started := range newest {
			if at.cell != cell {
				continue
			}
			found = true
			if age := now.Sub(started); age > limits.MaxAge || age < -clockSkew {
				stale = append(stale, Stale{Cell: cell, Class: at.class, Newest: started, Age: age})
			}
		}
		if !found {
			stale = append(stale, Stale{Cell: cell})
		}
	}
	if len(cells) == 0 {
		stale = append(stale, Stale{})
	}
	slices.SortFunc(stale, func(a, b Stale) int {
		return cmp.Or(cmp.Compare(a.Cell, b.Cell), cmp.Compare(a.Class, b.Class))
	})
	return stale
}

// newestPromoted returns when the newest promoted baseline of each series was measured.
func newestPromoted(entries []Entry, class string) map[slot]time.Time {
	newest := map[slot]time.Time{}
	standings := Fold(entries)
	for _, r := range records(entries) {
		if class != "" && r.Class != class {
			continue
		}
		for i := range r.Run.Cells {
			c := &r.Run.Cells[i]
			at := slot{c.ID, r.Class}
			if standings.Of(r.Run.ID, c.ID).Promoted && len(validRepetitions(c)) > 0 && r.Run.Started.After(newest[at]) {
				newest[at] = r.Run.Started
			}
		}
	}
	return newest
}

// recordedCells returns the ids of all cells that have a record, sorted.
func recordedCells(entries []Entry, class string) []string {
	ids := map[string]bool{}
	for _, r := range records(entries) {
		if class == "" || r.Class == class {
			for i := range r.Run.Cells {
				ids[r.Run.Cells[i].ID] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(ids))
}
