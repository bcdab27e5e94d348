package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/servegate/servegate/gate"
)

// row is one row of a cell as it is printed.
type row struct {
	cell, metric           string
	base, head, pair       string
	change, interval       string
	tolerance, limit       string // the tolerance with its floor, and alone
	mustCatch, n, smallest string
	result                 gate.Result
	implausible            bool
	why                    string
	severity               float64 // in logs, positive is worse
}

// gatingRows returns the gating rows of all cells, error rates among them: what regressed
// first, and of that the worst first.
func gatingRows(v *gate.Verdict) []row {
	var rows []row
	for i := range v.Cells {
		c := &v.Cells[i]
		for j := range c.Rows {
			if c.Rows[j].Gating {
				rows = append(rows, newRow(c, &c.Rows[j]))
			}
		}
		if c.Errors != nil {
			rows = append(rows, errorRow(c, v.Policy.ErrorRate))
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		if d := a.rank() - b.rank(); d != 0 {
			return d
		}
		if a.result == gate.Regressed {
			return cmp.Compare(b.severity, a.severity)
		}
		return 0
	})
	return rows
}

// rank orders results: what fails or proves nothing first.
func (r row) rank() int {
	switch {
	case r.result == gate.Regressed:
		return 0
	case r.result == gate.Improved && r.implausible:
		return 2
	case r.result == gate.Improved:
		return 3
	case r.result == gate.Passed:
		return 4
	}
	return 1
}

// newRow prints the numbers of a row.
func newRow(c *gate.CellComparison, r *gate.RowComparison) row {
	d, _ := gate.Define(r.Metric)
	sign := 1.0
	if d.Direction == gate.HigherIsBetter {
		sign = -1
	}
	out := row{
		cell: c.ID, metric: rowName(r.Row), result: r.Result, implausible: r.Implausible, why: r.Why,
		change: optional(r.Change, change), interval: withheld, mustCatch: withheld, smallest: withheld, severity: math.Inf(1),
		tolerance: withheld,
		n:         repetitions(r.BaseN, c.Base) + "; " + repetitions(r.HeadN, c.Head),
	}
	out.base, out.head, out.pair = values(r.Base, r.Head, d.Unit)
	if r.D != nil {
		out.severity = *r.D
	}
	if r.Low != nil && r.High != nil {
		out.interval = change(*r.Low) + " to " + change(*r.High)
	}
	if r.Tolerance > 0 {
		out.limit = percent(r.Tolerance)
		out.tolerance = bound(sign, r.Tolerance)
	}
	if r.Floor > 0 {
		out.tolerance += " and " + chosen(r.Floor, d.Unit)
	}
	if r.MustCatch > 0 {
		out.mustCatch = bound(sign, r.MustCatch)
	}
	if r.Detectable != nil {
		out.smallest = change(sign * *r.Detectable)
	}
	return out
}

// bound prints a limit of the policy in the direction in which it is worse.
func bound(sign, v float64) string {
	if sign < 0 {
		return "-" + percent(v)
	}
	return "+" + percent(v)
}

// values prints base and head in one scale, apart and as "12.1 -> 16.2 ms".
func values(base, head *float64, u gate.Unit) (b, h, pair string) {
	switch {
	case base == nil && head == nil:
		return withheld, withheld, withheld
	case base == nil:
		h = value(*head, u)
		return withheld, h, withheld + " -> " + h
	case head == nil:
		b = value(*base, u)
		return b, withheld, b + " -> " + withheld
	}
	s := scaleOf(max(math.Abs(*base), math.Abs(*head)), u)
	return s.with(*base), s.with(*head), s.number(*base) + " -> " + s.with(*head)
}

func optional(v *float64, print func(float64) string) string {
	if v == nil {
		return withheld
	}
	return print(*v)
}

// repetitions prints how much a side brought: repetitions x requests of each.
func repetitions(n int, side gate.SideCount) string {
	if side.Repetitions <= 0 || side.Samples <= 0 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d x %.0f", n, float64(side.Samples)/float64(side.Repetitions))
}

// rowName is "TTFT p95" or "goodput".
func rowName(r gate.Row) string {
	name := strings.ReplaceAll(string(r.Metric), "_", " ")
	switch r.Metric {
	case gate.TTFT, gate.ITL, gate.TPOT, gate.E2E:
		name = strings.ToUpper(name)
	case gate.TTFTFromDue, gate.E2EFromDue:
		short, rest, _ := strings.Cut(name, " ")
		name = strings.ToUpper(short) + " " + rest
	}
	if r.Statistic == gate.Value || r.Statistic == "" {
		return name
	}
	return name + " " + string(r.Statistic)
}

// errorRow prints the error rates of a cell as a row.
func errorRow(c *gate.CellComparison, p gate.ErrorRatePolicy) row {
	e := c.Errors
	out := row{
		cell: c.ID, metric: "error rate", result: e.Result, change: points(e.Head - e.Base), mustCatch: withheld, smallest: withheld,
		interval:  "p " + strings.TrimSpace(fmt.Sprintf("%.2g", e.P)),
		limit:     significant(p.Rise*100, 3) + " points",
		tolerance: points(p.Rise) + fmt.Sprintf(" and p below %.2g", p.P),
		n:         fmt.Sprintf("%d of %d failed; %d of %d", e.BaseFailed, e.BaseIssued, e.HeadFailed, e.HeadIssued),
		severity:  e.Head - e.Base,
	}
	out.base, out.head, out.pair = values(&e.Base, &e.Head, gate.Ratio)
	return out
}

// points prints a difference of ratios in percentage points.
func points(v float64) string { return strings.TrimSuffix(change(v), "%") + "points" }

// brief says a row in one line: "TTFT p95 +34 % (12.1 -> 16.2 ms) in chat@near, tolerance 5 %".
func (r row) brief() inline {
	l := inline{{text: plain(r.metric, literalLimit) + " " + r.change, kind: strong, tone: bad}, word(" (" + r.pair + ") in "), literal(r.cell)}
	if r.limit != "" {
		l = append(l, word(", tolerance "+r.limit))
	}
	if r.why != "" {
		l = append(l, word(": "), sentence(r.why))
	}
	return l
}

// remark says what the numbers of a row don't.
func (r row) remark() inline {
	switch {
	case r.why != "":
		return inline{sentence(r.why)}
	case r.result == gate.Inconclusive:
		return words("can't tell: " + r.mustCatch + " isn't ruled out")
	case r.implausible:
		return words("too good to be believed: is the measurement whole?")
	}
	return nil
}

// outcome says a result in the tone that it deserves.
func outcome(r gate.Result, implausible bool) span {
	s := span{text: plain(spoken(r), literalLimit), kind: prose}
	switch r {
	case gate.Regressed, gate.Invalid:
		s.kind, s.tone = strong, bad
	case gate.Inconclusive, gate.NotComparable, gate.NoBaseline:
		s.tone = doubtful
	case gate.Passed:
		s.tone = good
	case gate.Improved:
		if s.tone = good; implausible {
			s.text, s.tone = "improved, implausibly", doubtful
		}
	}
	return s
}

// spoken is a result in words.
func spoken(r gate.Result) string {
	if r == "" {
		return "not judged"
	}
	return strings.ReplaceAll(string(r), "_", " ")
}
