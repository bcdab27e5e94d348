package baselines

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/servegate/servegate/gate"
)

// Query is what a cell of the head asks of a store.
type Query struct {
	Run     string       // id of the head's run, which is never held against itself
	Cell    gate.CellRun // of the head; its id and its envelope are looked at
	Class   string       // the head's runner class
	Context gate.Context // of the head's run
	// Rules says what a difference of the context leads to, by path: the longest path that
	// fits, else "default", else a warning.
	Rules map[string]gate.ContextRule
	// ExpectChanged holds envelope paths that are meant to differ; a path stands for all
	// below it. Strict refuses undeclared fields, beside those.
	ExpectChanged []string
	Strict        bool
	// Ancestry reports whether a commit is an ancestor of the merge base, or is it, and
	// whether that is known: a shallow clone doesn't hold them all. Nil: none is known. It
	// is asked for every record of the cell, and better has the answers at hand.
	Ancestry func(commit string) (ancestor, known bool)
	// Branch is the target branch, whose newest records count where no ancestor is stored.
	// Empty: any branch.
	Branch string
	Pool   Pool
	Now    time.Time
}

// Pool says how many records make up a baseline.
type Pool struct {
	Repetitions int           // records are added, newest first, until there are so many; 0: 6
	Span        time.Duration // between the newest record and the oldest at most; 0: 30 days
}

// The defaults of [Pool].
const (
	defaultRepetitions = 6
	defaultSpan        = 30 * 24 * time.Hour
)

// clockSkew is how far the clock of another runner may be ahead of ours.
const clockSkew = time.Hour

// candidate is a record that has the cell.
type candidate struct {
	*Record
	cell     *gate.CellRun
	valid    []gate.Repetition
	ancestor bool              // of the merge base
	unknown  bool              // the clone doesn't hold the commit
	differs  []gate.Difference // what forbids the comparison
}

// Match finds what the cell is held against: the newest promoted record of its id and its
// runner class that is of an ancestor of the merge base and under the same conditions,
// pooled with the ones before it under exactly the conditions of that one. Where no
// ancestor is stored it is the newest of the target branch, and a note says so. Where
// there is nothing to compare with, Missing and Reason say why.
func Match(entries []Entry, q Query) gate.Base {
	m := matcher{q: q}
	found := m.eligible(entries)
	if len(found) == 0 {
		m.base.Missing = gate.NoBaseline
		return m.base
	}
	fit := m.comparable(found)
	if len(fit) == 0 {
		m.base.Missing = gate.NotComparable
		return m.base
	}
	m.pool(m.prefer(fit))
	return m.base
}

// matcher holds what is found on the way to a base.
type matcher struct {
	q    Query
	base gate.Base
}

func (m *matcher) note(format string, a ...any) {
	m.base.Notes = append(m.base.Notes, fmt.Sprintf(format, a...))
}

// eligible returns the records that the cell may be held against if their conditions are
// the same, newest first. Where there are none it leaves the reason.
func (m *matcher) eligible(entries []Entry) []candidate {
	all := m.withCell(entries)
	if len(all) == 0 {
		m.base.Reason = "no record of this cell is stored"
		return nil
	}
	standings := Fold(entries)
	promoted := slices.DeleteFunc(slices.Clone(all), func(c candidate) bool {
		return !standings.Of(c.Run.ID, m.q.Cell.ID).Promoted
	})
	if len(promoted) == 0 {
		newest := standings.Of(all[0].Run.ID, m.q.Cell.ID)
		m.base.Reason = fmt.Sprintf("%s, none promoted (the newest: %s)", areStored(len(all)), newest.Why)
		return nil
	}
	ours := slices.DeleteFunc(slices.Clone(promoted), func(c candidate) bool { return c.Class != m.q.Class })
	if len(ours) == 0 {
		m.base.Reason = fmt.Sprintf("no record of this cell is of runner class %q", m.q.Class)
		m.note("runner classes of the records that are stored: %s", tally(promoted, func(c candidate) string { return c.Class }))
		return nil
	}
	return m.onLine(ours)
}

// withCell returns the records that have valid repetitions of the cell, newest first.
func (m *matcher) withCell(entries []Entry) []candidate {
	var all []candidate
	for _, r := range records(entries) {
		cell := r.cell(m.q.Cell.ID)
		if cell == nil || r.Run.ID == m.q.Run {
			continue
		}
		valid := validRepetitions(cell)
		switch {
		case len(valid) == 0:
		case r.Run.Started.After(m.q.Now.Add(clockSkew)):
			// It would be the newest for as long as its clock was ahead.
			m.note("the record of run %s is left out: it is dated in the future, %s", r.Run.ID, r.Run.Started.UTC().Format(time.RFC3339))
		default:
			all = append(all, candidate{Record: r, cell: cell, valid: valid})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		if d := b.Run.Started.Compare(a.Run.Started); d != 0 {
			return d
		}
		return strings.Compare(a.Run.ID, b.Run.ID)
	})
	return all
}

// onLine keeps the records of ancestors of the merge base and those of the target branch.
// A record that tells no branch is taken for one of it: nothing says otherwise.
func (m *matcher) onLine(found []candidate) []candidate {
	var line []candidate
	for _, c := range found {
		if m.q.Ancestry != nil && c.Commit != "" {
			ancestor, known := m.q.Ancestry(c.Commit)
			c.ancestor, c.unknown = ancestor && known, !known
		}
		if c.ancestor || c.Branch == "" || m.q.Branch == "" || c.Branch == m.q.Branch {
			line = append(line, c)
		}
	}
	if len(line) == 0 {
		m.base.Reason = fmt.Sprintf("no record of this cell is of an ancestor of the merge base or of branch %q", m.q.Branch)
		m.note("branches of the records that are stored: %s", tally(found, func(c candidate) string { return c.Branch }))
	}
	return line
}

// prefer returns the records of ancestors or, where there are none, all, with a note.
func (m *matcher) prefer(fit []candidate) []candidate {
	ancestors := slices.DeleteFunc(slices.Clone(fit), func(c candidate) bool { return !c.ancestor })
	if len(ancestors) > 0 {
		return ancestors
	}
	branch := "any branch"
	if m.q.Branch != "" {
		branch = "branch " + m.q.Branch
	}
	m.note("no matching record is known to be of an ancestor of the merge base: held against the newest of %s, %s", branch, commitOf(fit[0].Record))
	if slices.ContainsFunc(fit, func(c candidate) bool { return c.unknown }) {
		m.note("this clone doesn't hold the commits of all records: fetch the whole history (actions/checkout with fetch-depth: 0)")
	}
	return fit
}

// pool fills the base with the newest record and those before it.
func (m *matcher) pool(fit []candidate) {
	want, span := m.q.Pool.Repetitions, m.q.Pool.Span
	if want == 0 {
		want = defaultRepetitions
	}
	if span == 0 {
		span = defaultSpan
	}
	newest := fit[0]
	m.base.Across = gate.Diff(newest.cell.Envelope, m.q.Cell.Envelope)
	for _, c := range fit {
		if len(m.base.Repetitions) >= want || newest.Run.Started.Sub(c.Run.Started) > span {
			break
		}
		// Where a field is expected to change, records on either side of the change fit the
		// head, and still are no sample of one thing.
		if len(diff(newest.cell.Envelope, c.cell.Envelope)) > 0 {
			continue
		}
		m.base.Repetitions = append(m.base.Repetitions, c.valid...)
		m.base.Boots += boots(c)
		m.base.Runs = append(m.base.Runs, c.ref())
		m.base.Context = append(m.base.Context, c.Run.Context)
	}
}

// boots counts the boots behind the valid repetitions. A server that was attached to was
// booted by someone else, and once as far as we know.
func boots(c candidate) int {
	if c.Run.Subject.URL != "" {
		return 1
	}
	seen := map[int]bool{}
	for i := range c.valid {
		seen[c.valid[i].Boot] = true
	}
	return len(seen)
}

// commitOf tells where a record comes from, for a note.
func commitOf(r *Record) string {
	if r.Commit == "" {
		return fmt.Sprintf("run %s of no known commit", r.Run.ID)
	}
	return fmt.Sprintf("run %s of commit %.12s", r.Run.ID, r.Commit)
}

func areStored(n int) string {
	if n == 1 {
		return "1 record of this cell is stored"
	}
	return fmt.Sprintf("%d records of this cell are stored", n)
}

// tally counts the records by a text of theirs: "a (3), b (1)".
func tally(found []candidate, of func(candidate) string) string {
	counts := map[string]int{}
	var texts []string
	for _, c := range found {
		if counts[of(c)]++; counts[of(c)] == 1 {
			texts = append(texts, of(c))
		}
	}
	slices.Sort(texts)
	for i, text := range texts {
		texts[i] = fmt.Sprintf("%s (%d)", text, counts[text])
	}
	return strings.Join(texts, ", ")
}
