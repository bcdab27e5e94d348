package gate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Row names what is compared: one statistic of one metric.
type Row struct {
	Metric    Metric    `json:"metric"`
	Statistic Statistic `json:"statistic"`
}

// String names the row as configs and reports do: "ttft.p95", or "goodput" for a metric
// that is one value a repetition.
func (r Row) String() string {
	if r.Statistic == Value {
		return string(r.Metric)
	}
	return string(r.Metric) + "." + string(r.Statistic)
}

// define returns the definition of the row's metric, and false where the metric has no
// such statistic.
func (r Row) define() (Definition, bool) {
	d, ok := Define(r.Metric)
	return d, ok && slices.Contains(Statistics, r.Statistic) && d.Distribution == (r.Statistic != Value)
}

// Statistic is the statistic of a row: Value for a metric that is one value a
// repetition.
type Statistic string

// The statistics.
const (
	Value Statistic = "value"
	Mean  Statistic = "mean"
	P50   Statistic = "p50"
	P90   Statistic = "p90"
	P95   Statistic = "p95"
	P99   Statistic = "p99"
	Max   Statistic = "max"
)

// Statistics lists the statistics in the order in which reports print them.
var Statistics = []Statistic{Value, Mean, P50, P90, P95, P99, Max}

// quantiles are the statistics that are quantiles.
var quantiles = map[Statistic]float64{P50: .50, P90: .90, P95: .95, P99: .99}

// Policy is what a verdict is made by. Everything in it stands in the verdict.
type Policy struct {
	// Rows gate; all others are advisory.
	Rows []RowPolicy `json:"rows"`
	// Level is the one-sided level of an interval at the one look that there is.
	Level float64 `json:"level"`
	// FamilyLevel is the chance that an unchanged build regresses in any row of the
	// run, under the t model: Holm's procedure shares it over the gating rows.
	FamilyLevel float64 `json:"family_level"`
	// ErrorRate is the rule of the error rate, which gates beside the rows.
	ErrorRate ErrorRatePolicy `json:"error_rate"`
	// ExpectChanged holds envelope paths, and subject paths ("subject.version"), that
	// are meant to change.
	ExpectChanged []string `json:"expect_changed,omitempty"`
	// StrictEnvelope refuses undeclared envelope fields, and lets no cell pass whose
	// baseline has fewer than two boots. StrictSubject refuses differences in how the
	// subject is launched (its engine and its command) that ExpectChanged doesn't name;
	// version, commit, image and URL are what is under test.
	StrictEnvelope bool `json:"strict_envelope"`
	StrictSubject  bool `json:"strict_subject"`
	// Context says what a difference of the context leads to, by path; "default" is
	// for all others. Of "gpu.driver" only the major version counts.
	Context map[string]ContextRule `json:"context,omitempty"`
	// FailOn holds the outcomes that fail the gate; all others pass, some with a word.
	FailOn []Result `json:"fail_on"`
}

// RowPolicy is one gating row with its limits.
type RowPolicy struct {
	Row
	Tolerance float64 `json:"tolerance"`  // a regression up to this ratio is let through
	MustCatch float64 `json:"must_catch"` // a regression of this ratio must never pass
	Floor     float64 `json:"floor"`      // changes below it never count, in the metric's unit
}

// ErrorRatePolicy is the rule by which the error rate regresses.
type ErrorRatePolicy struct {
	Rise float64 `json:"rise"` // its mean rises by more than this (a ratio: 0.01 is a percentage point)
	P    float64 `json:"p"`    // and Fisher's exact test on the pooled counts is below this
}

// ContextRule says what a difference of the context leads to.
type ContextRule string

// The context rules.
const (
	ContextStrict ContextRule = "strict" // not comparable
	ContextWarn   ContextRule = "warn"   // compared, and listed
	ContextIgnore ContextRule = "ignore" // compared
)

// The results that fail a gate, by what the gate is for; see [Policy].
var (
	FailPullRequest = []Result{Regressed, Invalid, NotComparable}
	FailRecord      = []Result{Regressed, Invalid}
	// FailSignOff is also for whatever is neither a pull request nor a record.
	FailSignOff = []Result{Regressed, Invalid, NotComparable, NoBaseline, Inconclusive}
)

// DefaultPolicy is the policy where nothing is configured: goodput, the 95th and 99th
// percentiles of TTFT and ITL, and the median of TPOT gate; a regression of 5 % is let
// through and one of 15 % is caught (10 % and 30 % for a p99); all but passed and improved
// fails.
func DefaultPolicy() Policy {
	const ttftFloor, gapFloor = .002, .0002 // seconds
	row := func(m Metric, s Statistic, floor float64) RowPolicy {
		if s == P99 {
			return RowPolicy{Row: Row{m, s}, Tolerance: .10, MustCatch: .30, Floor: floor}
		}
		return RowPolicy{Row: Row{m, s}, Tolerance: .05, MustCatch: .15, Floor: floor}
	}
	return Policy{
		Rows: []RowPolicy{
			row(Goodput, Value, 0),
			row(TTFT, P95, ttftFloor), row(TTFT, P99, ttftFloor),
			row(ITL, P95, gapFloor), row(ITL, P99, gapFloor),
			row(TPOT, P50, gapFloor),
		},
		Level:       .05,
		FamilyLevel: .01,
		ErrorRate:   ErrorRatePolicy{Rise: .01, P: .001},
		Context:     map[string]ContextRule{"default": ContextWarn, "gpu.driver": ContextStrict, "gpu.power_limit": ContextStrict},
		FailOn:      slices.Clone(FailSignOff),
	}
}

// Validate returns what is wrong with p, all of it at once: no rows, rows that don't exist
// or come twice, limits that leave no room between tolerance and must_catch, levels that
// are none, results and rules that don't exist.
func (p Policy) Validate() error {
	var errs []error
	if len(p.Rows) == 0 {
		errs = append(errs, errors.New("no row gates"))
	}
	seen := map[Row]bool{}
	for _, r := range p.Rows {
		if seen[r.Row] {
			errs = append(errs, fmt.Errorf("row %s is given twice", r.Row))
		}
		seen[r.Row] = true
		errs = append(errs, r.validate())
	}
	errs = append(errs, within01("level", p.Level, .5), within01("family_level", p.FamilyLevel, .5),
		within01("error_rate.rise", p.ErrorRate.Rise, 1), within01("error_rate.p", p.ErrorRate.P, 1))
	for path, rule := range p.Context {
		if rule != ContextStrict && rule != ContextWarn && rule != ContextIgnore {
			errs = append(errs, fmt.Errorf("context %s: unknown rule %.40q (known: strict, warn, ignore)", path, rule))
		}
	}
	for _, r := range p.FailOn {
		if !slices.Contains(Results, r) {
			errs = append(errs, fmt.Errorf("fail_on: unknown result %.40q", r))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("check policy: %w", err)
	}
	return nil
}

// validate says what is wrong with r.
func (r RowPolicy) validate() error {
	d, ok := r.define()
	switch {
	case !ok:
		return fmt.Errorf("row %.60q: no such metric and statistic", r.Row)
	case d.Metric == ErrorRate:
		return errors.New("row error_rate: it has a rule of its own, see error_rate")
	case !(r.Tolerance >= 0 && r.Tolerance < r.MustCatch && r.MustCatch < 1):
		return fmt.Errorf("row %s: tolerance %v and must_catch %v, want 0 <= tolerance < must_catch < 1", r.Row, r.Tolerance, r.MustCatch)
	case !(r.Floor >= 0 && r.Floor <= 1e9):
		return fmt.Errorf("row %s: floor %v, want one from 0 to 1e9 %s", r.Row, r.Floor, d.Unit)
	}
	return nil
}

// within01 says that v doesn't lie above 0 and below high.
func within01(name string, v, high float64) error {
	if v > 0 && v < high {
		return nil
	}
	return fmt.Errorf("%s is %v, want above 0 and below %v", name, v, high)
}

// expects reports whether path, or one above it, is meant to change.
func (p Policy) expects(path string) bool {
	return slices.ContainsFunc(p.ExpectChanged, func(e string) bool {
		return path == e || strings.HasPrefix(path, e+".")
	})
}

// context is the rule for the context at path: that of the path itself, else of the
// nearest path above it, else the default one.
func (p Policy) context(path string) ContextRule {
	for at := path; at != ""; at = at[:max(strings.LastIndexByte(at, '.'), 0)] {
		if rule, ok := p.Context[at]; ok {
			return rule
		}
	}
	if rule, ok := p.Context["default"]; ok {
		return rule
	}
	return ContextWarn
}
