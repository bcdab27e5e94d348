package gate

import (
	"fmt"
	"math"
	"slices"

	"github.com/servegate/servegate/gate/stats"
)

// How two sides are held against each other, beside what the policy says.
const (
	leastSD     = .001 // noise below 0.1 % isn't believed
	unequal     = .995 // variances apart by more than this quantile of F aren't pooled
	power       = .8   // of the smallest regression that a row could have detected
	implausibly = .30  // an improvement over this needs a look
)

// rowNames are the rows that are advisory unless they gate, in the order of [Metrics].
var rowNames = map[Metric][]Statistic{
	Goodput: {Value}, GoodRatio: {Value}, TokenGoodput: {Value},
	TTFT: {Mean, P50, P90, P95, P99}, ITL: {Mean, P50, P90, P95, P99}, TPOT: {Mean, P50, P90, P95, P99},
	E2E: {Mean, P50, P90, P95, P99}, NormalizedLatency: {P50, P95},
	TTFTFromDue: {P50, P95, P99}, E2EFromDue: {P50, P95, P99},
	RequestThroughput: {Value}, OutputTokenThroughput: {Value}, TotalTokenThroughput: {Value},
}

// sides are the repetitions of one cell that are compared.
type sides struct {
	cell       Cell
	base, head []Repetition
}

// rows compares every row that applies to the cell, but for what needs the whole run:
// the results, the adjusted p values and what was detectable.
func (p Policy) rows(s sides) []RowComparison {
	limits := map[Row]*RowPolicy{}
	for i := range p.Rows {
		limits[p.Rows[i].Row] = &p.Rows[i]
	}
	var rows []RowComparison
	for _, d := range Metrics {
		if !d.Applies(s.cell) {
			continue
		}
		for _, st := range Statistics {
			row := Row{d.Metric, st}
			if rc, ok := s.row(d, row, limits[row], p.Level); ok {
				rows = append(rows, rc)
			}
		}
	}
	return rows
}

// row compares one row; limits is nil where it is advisory. It is false for what is no
// row, and for an advisory row of which neither side has a value.
func (s sides) row(d Definition, row Row, limits *RowPolicy, level float64) (RowComparison, bool) {
	rc := RowComparison{Row: row}
	switch {
	case limits != nil:
		rc.Gating, rc.Tolerance, rc.MustCatch, rc.Floor = true, limits.Tolerance, limits.MustCatch, limits.Floor
	case !slices.Contains(rowNames[d.Metric], row.Statistic):
		return rc, false
	}
	var lacks [2]string
	rc.BaseValues, lacks[0] = valuesOf(s.base, row, "base")
	rc.HeadValues, lacks[1] = valuesOf(s.head, row, "head")
	rc.BaseN, rc.HeadN = len(rc.BaseValues), len(rc.HeadValues)
	if !rc.Gating && rc.BaseN+rc.HeadN == 0 {
		return rc, false
	}
	for _, why := range append(lacks[:], s.definitions(row)) {
		if why != "" {
			rc.demote(why)
			return rc, true
		}
	}
	if d.Direction == HigherIsBetter && rc.zero() {
		return rc, true
	}
	rc.estimate(d, level)
	return rc, true
}

// demote makes rc advisory and says why, where it should have gated.
func (rc *RowComparison) demote(why string) { rc.Gating, rc.Why = false, why }

// zero handles repetitions in which a higher-is-better metric was 0, of which there is no
// logarithm, and reports whether there were any. They are no fault of the measurement:
// where nothing succeeds, or nothing keeps the SLO, goodput is 0.
func (rc *RowComparison) zero() bool {
	base, head := zeros(rc.BaseValues), zeros(rc.HeadValues)
	switch {
	case base == rc.BaseN:
		what := "it is 0 in the base"
		if rc.Metric == Goodput {
			what = "the SLO is never met in the base"
		}
		rc.demote(what)
	case base > 0:
		rc.Why = fmt.Sprintf("it is 0 in %d of the base's %d repetitions", base, rc.BaseN)
		rc.settle(Inconclusive)
	case head > 0:
		rc.Why = fmt.Sprintf("it is 0 in %d of the head's %d repetitions", head, rc.HeadN)
		rc.settle(Regressed)
	default:
		return false
	}
	rc.Base, rc.Head = finite(geometricMean(rc.BaseValues)), finite(geometricMean(rc.HeadValues))
	if base == 0 {
		rc.Change = finite(*rc.Head / *rc.Base - 1)
	}
	return true
}

// settle gives a gating row a result that no test needs to be made for.
func (rc *RowComparison) settle(r Result) {
	if rc.Gating {
		rc.Result = r
	}
}

func zeros(values []float64) int {
	n := 0
	for _, v := range values {
		if v == 0 {
			n++
		}
	}
	return n
}

// estimate fills in what the values of both sides say of the true change.
func (rc *RowComparison) estimate(d Definition, level float64) {
	sign := d.sign()
	base, okBase := logarithms(rc.BaseValues, sign)
	head, okHead := logarithms(rc.HeadValues, sign)
	if !okBase || !okHead {
		rc.demote("not every value is above 0, so that there is no ratio")
		return
	}
	meanBase, meanHead := geometricMean(rc.BaseValues), geometricMean(rc.HeadValues)
	rc.Base, rc.Head, rc.Change = finite(meanBase), finite(meanHead), finite(meanHead/meanBase-1)
	diff, ok := stats.TwoSample{LeastSD: leastSD, Unequal: unequal}.Compare(base, head)
	if !ok {
		rc.Why = "one repetition on each side shows no noise: three in all are the least that can be told from"
		rc.settle(Inconclusive)
		return
	}
	low, high := diff.Bounds(level)
	rc.Change = finite(math.Expm1(sign * diff.Mean))
	rc.Low, rc.High = finite(math.Expm1(min(sign*low, sign*high))), finite(math.Expm1(max(sign*low, sign*high)))
	rc.D, rc.SE, rc.DF, rc.Welch = finite(diff.Mean), finite(diff.SE), finite(diff.DF), diff.Welch
	rc.P = finite(diff.AboveZero())
}

// geometricMean is that of v, in whatever order; 0 where one of them is 0.
func geometricMean(v []float64) float64 {
	m, _ := stats.GeometricMean(slices.Sorted(slices.Values(v)))
	return m
}

// difference is the estimate that rc holds, and false where it has none.
func (rc *RowComparison) difference() (stats.Difference, bool) {
	if rc.D == nil || rc.SE == nil || rc.DF == nil || rc.P == nil {
		return stats.Difference{}, false
	}
	return stats.Difference{Mean: *rc.D, SE: *rc.SE, DF: *rc.DF, Welch: rc.Welch}, true
}

// overFloor reports whether base and head differ by more than the row's floor.
func (rc *RowComparison) overFloor(floor float64) bool {
	return rc.Base != nil && rc.Head != nil && math.Abs(*rc.Head-*rc.Base) > floor
}

// decide gives a gating row its result. m is the number of rows over which the levels of
// the family are shared, worse and better the adjusted p values of rc in either direction.
func (p Policy) decide(rc *RowComparison, m int, worse, better float64) {
	d, _ := Define(rc.Metric)
	diff, _ := rc.difference()
	low, high := diff.Bounds(p.Level)
	tolerance, mustCatch := d.margin(rc.Tolerance), d.margin(rc.MustCatch)
	rc.PHolm = finite(worse)
	rc.Detectable = finite(d.regression(max(
		tolerance+diff.Reach(p.Level, power), diff.Reach(p.FamilyLevel/float64(m), power))))
	over := rc.overFloor(rc.Floor)
	switch {
	case low > tolerance && over && worse <= p.FamilyLevel:
		rc.Result = Regressed
	case high < -tolerance && over && better <= p.FamilyLevel:
		rc.Result = Improved
		rc.Implausible = math.Abs(*rc.Change) > implausibly
	case high < mustCatch:
		rc.Result = Passed
	default:
		rc.Result = Inconclusive
		if low > tolerance && !over {
			rc.Why = "the change is below the row's floor"
		}
	}
}

// sign turns a change in logarithms into one where positive is worse.
func (d Definition) sign() float64 {
	if d.Direction == HigherIsBetter {
		return -1
	}
	return 1
}

// margin is a regression by a ratio, in logarithms: a rise, or a drop where higher is
// better.
func (d Definition) margin(ratio float64) float64 { return d.sign() * math.Log1p(d.sign()*ratio) }

// regression is the ratio of a regression in logarithms, the inverse of margin.
func (d Definition) regression(x float64) float64 { return d.sign() * math.Expm1(d.sign()*x) }

// finite is v, or nil where it is no finite number and has no place in a file.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// logarithms returns those of v times sign, and false where one isn't positive and finite.
func logarithms(v []float64, sign float64) ([]float64, bool) {
	out := make([]float64, len(v))
	for i, x := range v {
		if !(x > 0) || math.IsInf(x, 1) {
			return nil, false
		}
		out[i] = sign * math.Log(x)
	}
	return out, true
}

// statistic is one of s, nil where it is withheld or there is no such.
func (s *Summary) statistic(st Statistic) *float64 {
	if st == Value {
		return s.Value
	}
	for _, x := range s.statistics() {
		if x.name == string(st) {
			return x.value
		}
	}
	return nil
}

// valuesOf returns the row's values of reps, and why one of them has none.
func valuesOf(reps []Repetition, row Row, side string) (values []float64, why string) {
	values = []float64{}
	for i := range reps {
		v, lacks := reps[i].value(row)
		switch {
		case lacks == "":
			values = append(values, v)
		case why == "":
			why = fmt.Sprintf("%s repetition %d: %s", side, reps[i].Index, lacks)
		}
	}
	return values, why
}

// value is the row's value of rep, or why it has none that could be compared.
func (rep *Repetition) value(row Row) (v float64, lacks string) {
	s, ok := rep.Metrics[row.Metric]
	if !ok {
		return 0, "it wasn't measured"
	}
	d, _ := Define(row.Metric)
	q, isQuantile := quantiles[row.Statistic]
	got := s.statistic(row.Statistic)
	switch {
	case isQuantile && s.Count < d.Floor(q):
		return 0, fmt.Sprintf("%d samples, and %s needs %d", s.Count, row.Statistic, d.Floor(q))
	case isQuantile && row.Metric == ITL && rep.Requests.By[OK] < stats.Floor(.95):
		return 0, fmt.Sprintf("%d ok requests, and a percentile of ITL needs %d", rep.Requests.By[OK], stats.Floor(.95))
	case got == nil && s.Reason != "":
		return 0, s.Reason
	case got == nil:
		return 0, "it is withheld"
	case math.IsNaN(*got) || math.IsInf(*got, 0):
		return 0, "it is not a finite number"
	}
	return *got, ""
}

// definitions says that the row's metric is not defined alike everywhere.
func (s sides) definitions(row Row) string {
	want := s.base[0].Metrics[row.Metric].Definition
	for _, reps := range [][]Repetition{s.base, s.head} {
		for i := range reps {
			if got := reps[i].Metrics[row.Metric].Definition; got != want {
				return fmt.Sprintf("its definitions differ: %.80q in the base, %.80q elsewhere", want, got)
			}
		}
	}
	return ""
}
