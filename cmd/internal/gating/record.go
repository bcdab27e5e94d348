package gating

import (
	"slices"

	"github.com/servegate/servegate/baselines"
	"github.com/servegate/servegate/gate"
)

// Recorder says who records a run, and of which commit and branch it is.
type Recorder struct {
	// Commit is the whole id of the commit under test, see [Repository.Whole]; empty where
	// nobody knows.
	Actor, Commit, Branch string
	// Manifest is the digest of the run directory's manifest.
	Manifest string
}

// Record makes the record by which a judged run enters a store: its cells are promoted
// as their results allow.
func (g Gate) Record(run *gate.Run, v *gate.Verdict, by Recorder) (*baselines.Record, error) {
	return baselines.NewRecord(run, baselines.Recording{
		Recorded: g.Now,
		Actor:    by.Actor,
		Class:    baselines.RunnerClass(run, g.Class),
		Commit:   by.Commit,
		Branch:   by.Branch,
		Manifest: by.Manifest,
		Results:  baselines.Judged(run, v, g.Promote),
	})
}

// Used returns the records that a verdict rests on.
func Used(entries []baselines.Entry, v *gate.Verdict) []baselines.Entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e baselines.Entry) bool {
		return e.Record == nil || !slices.ContainsFunc(v.Base, func(ref gate.RunRef) bool { return ref.ID == e.Record.Run.ID })
	})
}
