package gate

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/servegate/servegate/gate/stats"
)

// maxCount is the largest number of requests of a repetition that is believed; no sum of
// such numbers overflows.
const maxCount = 1 << 40

// tokensPerChunkTolerance is how far the tokens per chunk of a repetition may be from the
// baseline's, as a share. Beyond it a gap between chunks is not the same thing.
const tokensPerChunkTolerance = .10

// Decide compares the cells of a run with their bases, by cell id. It is pure: the same
// repetitions, in whatever order, give the same answer.
//
// A row regressed where the lower bound of the change exceeds the tolerance, the change
// exceeds the floor, and "no regression at all" is rejected by Holm's procedure over all
// gating rows of all cells; it passed where the upper bound lies below must_catch. A cell
// regressed with any of its rows or with its error rate, and passes with all of its rows;
// one without a single row that could be computed never does. A cell whose repetitions
// aren't all there and valid is invalid, and not looked into; a cell without a base has
// none.
func Decide(p Policy, head []CellRun, bases map[string]Base) []CellComparison {
	cells := make([]CellComparison, len(head))
	for i := range head {
		base, there := bases[head[i].ID]
		if !there && base.Missing == "" {
			base = Base{Missing: NoBaseline, Reason: "the cell has no baseline"}
		}
		cells[i] = p.compare(&head[i], base)
	}
	p.decideRows(cells)
	for i := range cells {
		if c := &cells[i]; c.Result == "" {
			p.conclude(c)
		}
	}
	return cells
}

// compare holds one cell against its base. The comparison has a result only where the
// rows were not looked into.
func (p Policy) compare(run *CellRun, base Base) CellComparison {
	c := CellComparison{
		Cell: run.Cell, Envelope: run.Envelope,
		Outcomes: outcomes(run.Repetitions), Notes: slices.Clone(base.Notes),
	}
	heads, headFaults := p.sound(run.Cell, run.Repetitions)
	repetitions, baseFaults := p.sound(run.Cell, base.Repetitions)
	c.Invalid = headFaults
	for _, fault := range baseFaults {
		c.Notes = append(c.Notes, "left out of the baseline: "+fault)
	}
	c.Head = SideCount{len(heads), boots(heads), issued(heads)}
	c.Base = SideCount{len(repetitions), base.Boots, issued(repetitions)}
	if c.Result, c.Reason = p.refusal(run, len(heads), base, len(repetitions)); c.Result != "" {
		if c.Result == NotComparable {
			c.Differs = slices.Clone(base.Differs)
		}
		return c
	}
	s := sides{cell: run.Cell, base: repetitions, head: heads}
	if apart := s.apart(); len(apart) > 0 {
		c.Result, c.Reason, c.Invalid = Invalid, apart[0], append(c.Invalid, apart...)
		return c
	}
	c.Rows = p.rows(s)
	c.Errors = p.errors(s)
	if c.Base.Boots < 2 {
		c.Notes = append(c.Notes, "one boot: how much boots of the engine differ from each other doesn't show in the baseline")
	}
	return c
}

// refusal says why a cell is not looked into, or "" where it is. valid and known are the
// numbers of valid repetitions of the head and of the base.
func (p Policy) refusal(run *CellRun, valid int, base Base, known int) (Result, string) {
	undeclared := slices.DeleteFunc(run.Envelope.UndeclaredPaths(), p.expects)
	switch {
	case run.Invalid != "":
		return Invalid, run.Invalid
	case base.Missing == NotComparable:
		// Also where nothing was measured: a difference that the config shows is told
		// before any boot.
		return NotComparable, base.Reason
	case len(run.Repetitions) == 0:
		return Invalid, Absent
	case valid == 0:
		return Invalid, "no repetition is valid"
	case valid < run.Planned:
		return Invalid, fmt.Sprintf("%d valid repetitions of the %d planned", valid, run.Planned)
	case base.Missing != "":
		return base.Missing, base.Reason
	case known == 0:
		return NoBaseline, "the baseline has no valid repetition"
	case p.StrictEnvelope && len(undeclared) > 0:
		return NotComparable, "nobody declared " + strings.Join(undeclared, ", ") + ", and the policy is strict"
	}
	return "", ""
}

// sound returns the repetitions that are valid, and why the others aren't.
func (p Policy) sound(c Cell, reps []Repetition) (sound []Repetition, faults []string) {
	for i := range reps {
		rep := &reps[i]
		reasons := rep.InvalidReasons
		if rep.Valid {
			reasons = p.flaws(c, rep)
		} else if len(reasons) == 0 {
			reasons = []string{"it is marked invalid, without a reason"}
		}
		for _, reason := range reasons {
			faults = append(faults, fmt.Sprintf("repetition %d: %s", rep.Index, reason))
		}
		if rep.Valid && len(reasons) == 0 {
			sound = append(sound, *rep)
		}
	}
	return sound, faults
}

// flaws says what can't be in a repetition that is marked valid: counts that don't add up
// or are too large, and values of gating rows that no measurement gives.
func (p Policy) flaws(c Cell, rep *Repetition) []string {
	var lines []string
	if err := rep.Requests.check(); err != nil {
		lines = append(lines, err.Error())
	} else if rep.Requests.Issued > maxCount {
		lines = append(lines, fmt.Sprintf("%d requests are more than anybody sends", rep.Requests.Issued))
	}
	for _, row := range p.Rows {
		d, known := row.define()
		s, measured := rep.Metrics[row.Metric]
		if !known || !measured || !d.Applies(c) {
			continue
		}
		v := s.statistic(row.Statistic)
		zeroIsPossible := d.Direction == HigherIsBetter
		if v != nil && (!(*v >= 0) || math.IsInf(*v, 1) || *v == 0 && !zeroIsPossible) {
			lines = append(lines, fmt.Sprintf("%s is %g, which it can't be", row.Row, *v))
		}
	}
	return lines
}

// apart says which repetitions of the head were observed to do something else than the
// base: another number of tokens in a chunk, and answers of another length where their
// length is up to the engine.
func (s sides) apart() []string {
	var lines []string
	check := func(what string, tolerance float64, of func(*Observed) *float64) {
		var known []float64
		for i := range s.base {
			if v := of(&s.base[i].Observed); v != nil {
				known = append(known, *v)
			}
		}
		want := arithmeticMean(known)
		for i := range s.head {
			v := of(&s.head[i].Observed)
			if len(known) > 0 && v != nil && !(math.Abs(*v-want) <= tolerance*want) {
				lines = append(lines, fmt.Sprintf("repetition %d: %s: %.4g, and %.4g in the baseline (tolerance %.3g %%)",
					s.head[i].Index, what, *v, want, tolerance*100))
			}
		}
	}
	check("tokens a chunk", tokensPerChunkTolerance, func(o *Observed) *float64 { return o.TokensPerChunk })
	if !s.cell.FixedOutput {
		check("output tokens a request", DefaultTolerances.Output, func(o *Observed) *float64 { return o.OutputTokens })
	}
	return lines
}

// errors holds the error rates against each other; nil where a side issued nothing.
func (p Policy) errors(s sides) *ErrorComparison {
	e := ErrorComparison{Result: Passed}
	e.Base, e.BaseFailed, e.BaseIssued = errorRate(s.base)
	e.Head, e.HeadFailed, e.HeadIssued = errorRate(s.head)
	if e.BaseIssued == 0 || e.HeadIssued == 0 {
		return nil
	}
	e.P = stats.FisherGreater(e.HeadFailed, e.HeadIssued, e.BaseFailed, e.BaseIssued)
	if e.Head-e.Base > p.ErrorRate.Rise && e.P < p.ErrorRate.P {
		e.Result = Regressed
	}
	return &e
}

// errorRate returns the mean error rate of the repetitions that issued any request, and
// the counts behind it.
func errorRate(reps []Repetition) (rate float64, failed, issued int) {
	var rates []float64
	for i := range reps {
		n := reps[i].Requests
		if n.Issued == 0 {
			continue
		}
		bad := n.Issued - n.By[OK]
		rates = append(rates, float64(bad)/float64(n.Issued))
		failed, issued = failed+bad, issued+n.Issued
	}
	return arithmeticMean(rates), failed, issued
}

// arithmeticMean is that of v, in whatever order; 0 of nothing.
func arithmeticMean(v []float64) float64 {
	sum := 0.0
	for _, x := range slices.Sorted(slices.Values(v)) {
		sum += x
	}
	return sum / float64(max(len(v), 1))
}

// decideRows gives the gating rows of all cells their results: those that have a p value
// share the family level.
func (p Policy) decideRows(cells []CellComparison) {
	var rows []*RowComparison
	var worse, better []float64
	for i := range cells {
		for k := range cells[i].Rows {
			rc := &cells[i].Rows[k]
			if diff, ok := rc.difference(); ok && rc.Gating {
				rows = append(rows, rc)
				worse, better = append(worse, diff.AboveZero()), append(better, diff.BelowZero())
			}
		}
	}
	worse, better = stats.Holm(worse), stats.Holm(better)
	for i, rc := range rows {
		p.decide(rc, len(rows), worse[i], better[i])
	}
}

// conclude gives a cell that was looked into its result.
func (p Policy) conclude(c *CellComparison) {
	found := map[Result]bool{}
	computed := false
	for i := range c.Rows {
		if rc := &c.Rows[i]; rc.Gating {
			found[rc.Result] = true
			computed = computed || rc.P != nil
		}
	}
	oneBoot := p.StrictEnvelope && c.Base.Boots < 2
	switch {
	case found[Regressed] || c.Errors != nil && c.Errors.Result == Regressed:
		c.Result, c.Reading = Regressed, p.reading(c.Rows)
		if !found[Regressed] {
			c.Reason = "the error rate rose"
		}
	case !computed:
		c.Result, c.Reason = Inconclusive, "no gating row could be computed"
	case oneBoot:
		c.Result, c.Reason = Inconclusive, "the baseline comes from one boot of the engine, and the policy is strict"
	case found[Inconclusive]:
		c.Result = Inconclusive
	case found[Improved]:
		c.Result = Improved
	default:
		c.Result = Passed
	}
}

// outcomes adds up the requests of all repetitions, of those that add up themselves.
func outcomes(reps []Repetition) Counts {
	sum := Counts{By: map[Outcome]int{OK: 0}}
	for i := range reps {
		n := reps[i].Requests
		if n.check() != nil || n.Issued > maxCount {
			continue
		}
		sum.Issued += n.Issued
		for _, o := range slices.Sorted(maps.Keys(n.By)) {
			sum.By[o] += n.By[o]
		}
	}
	return sum
}

// issued is the number of requests in the windows of reps.
func issued(reps []Repetition) int {
	n := 0
	for i := range reps {
		n += reps[i].Requests.Issued
	}
	return n
}

// boots counts the boots behind repetitions of one run.
func boots(reps []Repetition) int {
	seen := map[int]bool{}
	for i := range reps {
		seen[reps[i].Boot] = true
	}
	return len(seen)
}
