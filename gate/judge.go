package gate

import (
	"maps"
	"slices"
	"strings"

	"github.com/servegate/servegate/gate/stats"
)

// The readings of a regression. A statistic has moved where it is worse by more than the
// row's tolerance and floor, and the lower bound of its change is above none: a statistic
// that doesn't gate borrows the limits of a row of its metric that does, or is let 5 %.
const (
	ReadingPrefill = "prefill" // ttft.p50 moved, and itl.p50 didn't
	ReadingDecode  = "decode"  // tpot.p50 moved, and by more than ttft.p50
	// ttft.p95 or ttft.p99 moved; ttft.p50, itl.p50 and tpot.p50 didn't. Or ttft.p50 moved
	// while itl.p50 became better: fewer requests run at a time, and the others wait.
	ReadingQueueing = "queueing"
)

// Judge holds a run against the bases of its cells, by cell id, and says what comes of it.
// The caller adds what follows from neither: Tool, At, Config, Reproduce, Artifacts, and
// the runner class of the head.
func Judge(p Policy, head *Run, bases map[string]Base) *Verdict {
	bases = maps.Clone(bases)
	for id, base := range bases {
		bases[id] = p.refuse(head, base)
	}
	v := &Verdict{
		Schema: VerdictSchema, Policy: p,
		Head:     RunRef{ID: head.ID, Started: head.Started, Subject: head.Subject},
		Base:     []RunRef{},
		Cells:    Decide(p, head.Cells, bases),
		Warnings: slices.Clone(head.Warnings),
	}
	for i := range v.Cells {
		if c := &v.Cells[i]; c.Reason == Absent && head.Incomplete != "" {
			c.Invalid = append(c.Invalid, "the run was cut short: "+head.Incomplete)
		}
	}
	v.gather(p, head, bases)
	v.Result = resultOf(v.Cells)
	v.Failed = v.Failing() != ""
	if len(head.Cells) == 0 {
		v.Warnings = append(v.Warnings, "the run has no cell")
	}
	if !head.Complete {
		why := "the run was cut short"
		if head.Incomplete != "" {
			why += ": " + head.Incomplete
		}
		v.Warnings = append(v.Warnings, why)
	}
	return v
}

// Failing is the result by which the policy fails v: the first of [Results] among those of
// the run and of its cells that it fails on, or "" where it lets all of them through. It
// need not be the run's: a result that the policy lets through must not hide one that it
// fails on.
func (v *Verdict) Failing() Result {
	for _, r := range Results {
		held := v.Result == r || slices.ContainsFunc(v.Cells, func(c CellComparison) bool { return c.Result == r })
		if held && slices.Contains(v.Policy.FailOn, r) {
			return r
		}
	}
	return ""
}

// resultOf is the result of a run, the first of [Results] that a cell has. It improved if a
// cell did and all others passed; a run without a cell measured nothing.
func resultOf(cells []CellComparison) Result {
	if len(cells) == 0 {
		return Invalid
	}
	for _, r := range Results {
		if slices.ContainsFunc(cells, func(c CellComparison) bool { return c.Result == r }) {
			return r
		}
	}
	return Inconclusive
}

// refuse returns base, or why the run may not be held against it: differences of the
// context and the subject that the policy is strict about.
func (p Policy) refuse(head *Run, base Base) Base {
	if base.Missing != "" {
		return base
	}
	var differs []Difference
	seen := map[string]bool{}
	for _, c := range base.Context {
		for _, d := range p.ContextDifferences(c, head.Context) {
			if !seen[d.Path] {
				seen[d.Path] = true
				differs = append(differs, d)
			}
		}
	}
	if p.StrictSubject {
		differs = append(differs, p.launchDifferences(base.Runs, head.Subject)...)
	}
	if len(differs) == 0 {
		return base
	}
	var paths []string
	for _, d := range differs {
		paths = append(paths, d.Path)
	}
	base.Missing, base.Differs = NotComparable, append(slices.Clone(base.Differs), differs...)
	base.Reason = "the policy is strict about what differs: " + strings.Join(paths, ", ")
	return base
}

// ContextDifferences returns the paths, below "context", at which two contexts differ and
// p is strict. What a side doesn't tell differs from what the other does.
func (p Policy) ContextDifferences(base, head Context) []Difference {
	field := func(c Context, path string) Field {
		if v, told := c[path]; told {
			return Field{Value: v, Source: FromHost}
		}
		return Field{}
	}
	var differs []Difference
	for _, path := range unionKeys(base, head) {
		a, toldA := base[path]
		b, toldB := head[path]
		if path == "gpu.driver" { // of which only the major version decides
			a, _, _ = strings.Cut(a, ".")
			b, _, _ = strings.Cut(b, ".")
		}
		if (a != b || toldA != toldB) && p.context(path) == ContextStrict && !p.expects("context."+path) {
			differs = append(differs, Difference{Path: "context." + path, A: field(base, path), B: field(head, path)})
		}
	}
	return differs
}

// launchDifferences returns where the subject is launched otherwise than in one of the
// base's runs, but for what is expected.
func (p Policy) launchDifferences(runs []RunRef, head Subject) []Difference {
	var differs []Difference
	for _, ch := range p.changes(subjects(runs), head.flat()) {
		if !ch.Expected && (ch.Path == "subject.engine" || strings.HasPrefix(ch.Path, "subject.command")) {
			differs = append(differs, Difference{Path: ch.Path, A: told(ch.Base), B: told(ch.Head)})
		}
	}
	return differs
}

// told is a text as a field that a config told; an empty one is absent.
func told(text string) Field {
	if text == "" {
		return Field{}
	}
	return Field{Value: text, Source: FromConfig}
}

// gather collects from the bases which runs they come from, and what differs in subject
// and context.
func (v *Verdict) gather(p Policy, head *Run, bases map[string]Base) {
	var contexts []map[string]string
	known, across := map[string]bool{}, map[string]bool{}
	for i := range head.Cells {
		base := bases[head.Cells[i].ID]
		for k, ref := range base.Runs {
			if known[ref.ID] {
				continue
			}
			known[ref.ID] = true
			v.Base = append(v.Base, ref)
			if k < len(base.Context) {
				contexts = append(contexts, base.Context[k])
			}
		}
		for _, d := range base.Across {
			if !across[d.Path] {
				across[d.Path] = true
				v.ComparedAcross = append(v.ComparedAcross, d)
			}
		}
	}
	v.Subject = p.changes(subjects(v.Base), head.Subject.flat())
	v.Context = slices.DeleteFunc(p.changes(contexts, head.Context), func(ch Change) bool {
		return p.context(ch.Path) == ContextIgnore
	})
}

// changes returns where head differs from any of the bases. Different values of the bases
// stand beside each other.
func (p Policy) changes(bases []map[string]string, head map[string]string) []Change {
	var changes []Change
	for _, path := range unionKeys(append([]map[string]string{head}, bases...)...) {
		var values []string
		for _, base := range bases {
			if !slices.Contains(values, base[path]) {
				values = append(values, base[path])
			}
		}
		if len(values) > 1 || len(values) == 1 && values[0] != head[path] {
			expected := p.expects(path) || p.expects("context."+path)
			changes = append(changes, Change{path, strings.Join(values, " | "), head[path], expected})
		}
	}
	return changes
}

// unionKeys returns the keys of all maps, sorted.
func unionKeys[M ~map[string]string](all ...M) []string {
	union := map[string]bool{}
	for _, m := range all {
		for key := range m {
			union[key] = true
		}
	}
	return slices.Sorted(maps.Keys(union))
}

func subjects(runs []RunRef) []map[string]string {
	flat := make([]map[string]string, len(runs))
	for i, ref := range runs {
		flat[i] = ref.Subject.flat()
	}
	return flat
}

// flat returns the subject as path to text. Each option of the command has a path of its
// own; what is no option (the program, the model) stands at "subject.command".
func (s Subject) flat() map[string]string {
	flat := map[string]string{}
	set := func(path, text string) {
		if old := flat[path]; old != "" && text != "" {
			text = old + " " + text
		}
		if text != "" {
			flat[path] = text
		}
	}
	set("subject.engine", s.Engine)
	set("subject.version", s.Version)
	set("subject.commit", s.Commit)
	set("subject.image", s.Image)
	set("subject.url", s.URL)
	for i := 0; i < len(s.Command); i++ {
		arg := s.Command[i]
		if !isOption(arg) {
			set("subject.command", arg)
			continue
		}
		name, value, given := strings.Cut(arg, "=")
		if next := i + 1; !given && next < len(s.Command) && !isOption(s.Command[next]) {
			value, given, i = s.Command[next], true, next
		}
		if !given {
			value = "true"
		}
		set("subject.command."+name, value)
	}
	return flat
}

// isOption reports whether arg is an option, and not a value (-1 is one) or a lone dash.
func isOption(arg string) bool {
	return len(arg) > 1 && arg[0] == '-' && !(arg[1] >= '0' && arg[1] <= '9') && arg[1] != '.'
}

// reading says where a regression lies, or "" where the rows don't tell.
func (p Policy) reading(rows []RowComparison) string {
	ttft, ttftSize := p.moved(rows, Row{TTFT, P50})
	tpot, tpotSize := p.moved(rows, Row{TPOT, P50})
	itl, _ := p.moved(rows, Row{ITL, P50})
	p95, _ := p.moved(rows, Row{TTFT, P95})
	p99, _ := p.moved(rows, Row{TTFT, P99})
	switch {
	case tpot && tpotSize > ttftSize:
		return ReadingDecode
	case ttft && p.eased(rows, Row{ITL, P50}):
		return ReadingQueueing
	case ttft && !itl:
		return ReadingPrefill
	case (p95 || p99) && !ttft && !itl && !tpot:
		return ReadingQueueing
	}
	return ""
}

// moved reports whether a row has moved, see [ReadingPrefill], and by how much, in
// logarithms; 0 where it can't be told.
func (p Policy) moved(rows []RowComparison, row Row) (moved bool, size float64) {
	rc, diff, ok := find(rows, row)
	if !ok {
		return false, 0
	}
	limits, d := p.limits(row), definitionOf(row)
	low, _ := diff.Bounds(p.Level)
	return low > 0 && diff.Mean > d.margin(limits.Tolerance) && rc.overFloor(limits.Floor), diff.Mean
}

// eased reports whether a row became better by as much as counts as moved.
func (p Policy) eased(rows []RowComparison, row Row) bool {
	rc, diff, ok := find(rows, row)
	if !ok {
		return false
	}
	limits, d := p.limits(row), definitionOf(row)
	_, high := diff.Bounds(p.Level)
	return high < 0 && -diff.Mean > d.margin(limits.Tolerance) && rc.overFloor(limits.Floor)
}

// find is a row with its difference; false: it isn't there, or can't be told.
func find(rows []RowComparison, row Row) (*RowComparison, stats.Difference, bool) {
	i := slices.IndexFunc(rows, func(rc RowComparison) bool { return rc.Row == row })
	if i < 0 {
		return nil, stats.Difference{}, false
	}
	diff, ok := rows[i].difference()
	return &rows[i], diff, ok
}

func definitionOf(row Row) Definition {
	d, _ := Define(row.Metric)
	return d
}

// limits are those of a row, or the ones that it borrows.
func (p Policy) limits(row Row) RowPolicy {
	limits := RowPolicy{Row: row, Tolerance: .05}
	for _, r := range p.Rows {
		if r.Row == row {
			return r
		}
		if r.Metric == row.Metric && (limits.MustCatch == 0 || r.Tolerance < limits.Tolerance) {
			limits = r
		}
	}
	return limits
}
