package gating

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/servegate/servegate/baselines"
	"github.com/servegate/servegate/gate"
)

// Gate is what runs are judged by.
type Gate struct {
	Policy gate.Policy
	// Class overrides the runner class that a run tells by itself; empty: it tells.
	Class string
	Pool  baselines.Pool
	// Promote holds the results with which a recorded cell becomes a baseline by itself;
	// nil: those that package baselines would choose.
	Promote []gate.Result
	// Ancestry and Branch choose among baselines, see [baselines.Query].
	Ancestry func(commit string) (ancestor, known bool)
	Branch   string
	Tool     gate.Tool
	Now      time.Time
}

// Judge holds a run against the baselines in entries. foreseen has what is known of some
// cells already, see [Gate.Foresee]; nil: nothing.
func (g Gate) Judge(run *gate.Run, entries []baselines.Entry, foreseen map[string]gate.Base) *gate.Verdict {
	return g.judge(run, run.ID, entries, foreseen)
}

// judge is Judge, where a record of the run named self is no baseline.
func (g Gate) judge(run *gate.Run, self string, entries []baselines.Entry, foreseen map[string]gate.Base) *gate.Verdict {
	class := baselines.RunnerClass(run, g.Class)
	bases := map[string]gate.Base{}
	for _, c := range run.Cells {
		if base, known := foreseen[c.ID]; known {
			bases[c.ID] = base
			continue
		}
		q := g.query(run, c, class)
		q.Run = self
		if len(c.Repetitions) == 0 {
			// The engine never came to tell its part of the conditions: that it couldn't be
			// measured is what there is to say, unless the config alone shows a difference.
			q = unmeasured(q)
		}
		base := baselines.Match(entries, q)
		if len(c.Repetitions) == 0 {
			base.Across = nil // nothing was compared
		}
		bases[c.ID] = base
	}
	v := gate.Judge(g.Policy, run, bases)
	v.Tool, v.At, v.Head.Class = g.Tool, g.Now, class
	return v
}

// Foresee looks at a run that was only planned, by what config and host tell. It returns
// the cells that can't be compared whatever the engine may tell: there are baselines of
// that id, and none of them matches.
func (g Gate) Foresee(planned *gate.Run, entries []baselines.Entry) map[string]gate.Base {
	class := baselines.RunnerClass(planned, g.Class)
	hopeless := map[string]gate.Base{}
	for _, c := range planned.Cells {
		q := unmeasured(g.query(planned, c, class))
		if base := baselines.Match(entries, q); base.Missing == gate.NotComparable {
			hopeless[c.ID] = base
		}
	}
	return hopeless
}

// unmeasured is q for a cell that wasn't measured: what nobody has told yet the engine
// may tell, and is no difference.
func unmeasured(q baselines.Query) baselines.Query {
	q.ExpectChanged = slices.Concat(untold(q.Cell.Envelope), q.ExpectChanged)
	q.Strict = false
	return q
}

// untold are the fields that a running engine may yet tell.
func untold(e gate.Envelope) []string {
	paths := e.UndeclaredPaths()
	if slices.Contains(paths, "prompt.form") {
		paths = append(paths, "prompt") // which fields there are depends on the form
	}
	return paths
}

func (g Gate) query(run *gate.Run, c gate.CellRun, class string) baselines.Query {
	return baselines.Query{
		Run: run.ID, Cell: c, Class: class, Context: run.Context,
		Rules: g.Policy.Context, ExpectChanged: g.Policy.ExpectChanged, Strict: g.Policy.StrictEnvelope,
		Ancestry: g.Ancestry, Branch: g.Branch, Pool: g.Pool, Now: g.Now,
	}
}

// Compare holds a run against one other run, without a store: whatever its runner class
// and its age. The error says what in either of them no measurement gives.
func (g Gate) Compare(base, head *gate.Run) (*gate.Verdict, error) {
	const class = "compared by hand"
	record, err := baselines.NewRecord(base, baselines.Recording{
		Recorded: g.Now, Actor: g.Tool.Name, Class: class, Manifest: noManifest, Results: baselines.Unjudged(base),
	})
	if err != nil {
		return nil, fmt.Errorf("take %s for a base: %w", base.ID, err)
	}
	if err := baselines.Plausible(head); err != nil {
		return nil, fmt.Errorf("compare run %.80q: %w", head.ID, err)
	}
	g.Class = class
	g.Pool = baselines.Pool{Repetitions: math.MaxInt, Span: math.MaxInt64}
	at := g.Now
	if base.Started.After(g.Now) {
		g.Now = base.Started // the clock of another machine, and there is no newer record
	}
	v := g.judge(head, "", []baselines.Entry{{Record: record}}, nil)
	v.At = at
	v.Head.Class = baselines.RunnerClass(head, "")
	return v, nil
}

// noManifest stands where a record has no run directory behind it.
const noManifest = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
