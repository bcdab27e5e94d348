package baselines

import "slices"

// Drop is a record that retention would drop.
type Drop struct {
	Name string // of the entry, for [Store] Remove
	Run  string // id of its run
}

// Prune proposes which records to drop, sorted by name: those that, for each of their
// cells, are beyond the newest keep of its runner class. Promoted cells are counted apart
// from the others, so that no number of failed runs pushes a baseline out. A record with
// an anchored cell stays, and events all stay: they are small, and a retraction must still
// hold where its record comes back. Nothing is deleted here.
func Prune(entries []Entry, keep int) []Drop {
	type series struct {
		slot
		promoted bool
	}
	standings := Fold(entries)
	kept := map[series]int{}
	rs := records(entries)
	slices.SortStableFunc(rs, func(a, b *Record) int { return b.Run.Started.Compare(a.Run.Started) })
	var drops []Drop
	for _, r := range rs {
		needed := false
		for i := range r.Run.Cells {
			id := r.Run.Cells[i].ID
			s := standings.Of(r.Run.ID, id)
			at := series{slot{id, r.Class}, s.Promoted}
			if kept[at]++; kept[at] <= keep || len(s.Anchors) > 0 {
				needed = true
			}
		}
		if !needed {
			drops = append(drops, Drop{Name: Entry{Record: r}.Name(), Run: r.Run.ID})
		}
	}
	slices.SortFunc(drops, func(a, b Drop) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return drops
}
