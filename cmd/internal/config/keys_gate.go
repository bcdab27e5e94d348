package config

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/servegate/servegate/cmd/internal/config/strict"
	"github.com/servegate/servegate/gate"
)

// The verdicts that can fail a gate, and those of a cell that a run can promote.
var (
	failing    = []string{"regressed", "invalid", "not_comparable", "no_baseline", "inconclusive"}
	promotable = []string{"passed", "improved", "inconclusive", "no_baseline", "not_comparable"}
)

func newGate() Gate {
	return Gate{
		Metrics: []string{"goodput", "ttft.p95", "ttft.p99", "itl.p95", "itl.p99", "tpot.p50"},
		Floors: map[string]time.Duration{
			string(gate.TTFT): 2 * time.Millisecond,
			string(gate.ITL):  200 * time.Microsecond,
			string(gate.TPOT): 200 * time.Microsecond,
		},
		Envelope: BySituation,
		Subject:  BySituation,
		Context:  map[string]ContextPolicy{"default": ContextWarn, "gpu.driver": ContextStrict, "gpu.power_limit": ContextStrict},
	}
}

// defaultTolerance and defaultMustCatch are those of a row for which none is given.
// The far tail moves more from run to run.
func defaultTolerance(row string) float64 {
	if farTail(row) {
		return 0.10
	}
	return 0.05
}

func defaultMustCatch(row string) float64 {
	if farTail(row) {
		return 0.30
	}
	return 0.15
}

func farTail(row string) bool {
	return strings.HasSuffix(row, ".p99") || strings.HasSuffix(row, ".max")
}

func (g *Gate) value() strict.Value {
	return strict.Object{Keys: []strict.Key{
		{Name: "metrics", Doc: "rows that gate, instead of the default ones: metric.statistic, or a metric of one value; all others are advisory", Value: strict.List[string]{Var: &g.Metrics, Min: 1, Unique: true, Of: row}, Also: []string{"rows"}},
		{Name: "tolerances", Doc: "a regression up to this is let through; default 5%, 10% for p99", Value: ratios(&g.tolerance, &g.Tolerances, 0), Examples: []any{"5%", map[string]any{"ttft.p99": "15%"}}, Also: []string{"tolerance", "threshold", "thresholds"}},
		{Name: "must_catch", Doc: "a regression of this size must never pass; default 15%, 30% for p99", Value: ratios(&g.mustCatch, &g.MustCatch, 0.001), Examples: []any{"15%"}},
		{Name: "floors", Doc: "changes below this never count, by metric", Value: strict.Dict[time.Duration]{Var: &g.Floors, Name: timeMetrics, Of: func(_ string, v *time.Duration) strict.Value { return strict.Duration(v, 0, time.Hour) }}, Examples: []any{map[string]any{"ttft": "2ms"}}, Also: []string{"floor"}},
		{Name: "fail_on", Doc: "verdicts that fail; auto: on pull requests regressed, invalid and not_comparable, of a recorded run regressed and invalid, else all but passed and improved", Value: g.failOnValue()},
		{Name: "expect_changed", Doc: "envelope paths (model.revision, parallel) or subject paths (subject.version) that are meant to change", Value: strict.List[string]{Var: &g.ExpectChanged, Unique: true, Of: changedPath}, Examples: []any{[]string{"quantization.kv_cache"}}},
		{Name: "envelope", Doc: "undeclared envelope fields: strict refuses them, warn lists them, auto is strict for a sign-off only", Value: strict.Enum(&g.Envelope, BySituation, Strict, Warn)},
		{Name: "subject", Doc: "differences of the subject that expect_changed doesn't name: strict refuses them, warn lists them, auto is strict for a sign-off only", Value: strict.Enum(&g.Subject, BySituation, Strict, Warn)},
		{Name: "context", Doc: "differences of the context, by path; default is for all others", Value: strict.Dict[ContextPolicy]{Var: &g.Context, Name: contextPaths, Of: func(_ string, v *ContextPolicy) strict.Value {
			return strict.Enum(v, ContextStrict, ContextWarn, ContextIgnore)
		}}, Examples: []any{map[string]any{"host.kernel": "ignore"}}},
	}}
}

// ratios is one ratio for all rows, or some by row. It is written by row.
func ratios(all *float64, rows *map[string]float64, low float64) strict.Value {
	const high = 0.99 // a drop of 100 % has no logarithm
	return strict.Shorthand{
		Short:   strict.Ratio(all, low, high),
		Long:    strict.Dict[float64]{Var: rows, Name: rowNames, Of: func(_ string, v *float64) strict.Value { return strict.Ratio(v, low, high) }},
		IsShort: func() bool { return false },
	}
}

// statistics are those that a row of a distribution may name.
var statistics = []string{"mean", "p50", "p90", "p95", "p99", "max"}

// rows are all rows that can gate. The lag of our own sends is a condition of a valid
// measurement, and the error rate gates by a rule of its own.
var rows = func() []string {
	var all []string
	for _, m := range gate.Metrics {
		switch {
		case m.Metric == gate.SendLag || m.Metric == gate.ErrorRate:
		case m.Distribution:
			for _, s := range statistics {
				all = append(all, string(m.Metric)+"."+s)
			}
		default:
			all = append(all, string(m.Metric))
		}
	}
	return all
}()

var rowNames = strict.Name{
	Pattern:  regexp.MustCompile(`^(` + strings.ReplaceAll(strings.Join(rows, "|"), ".", `\.`) + `)$`),
	Expected: "a row such as ttft.p99 or goodput",
	Hint:     "statistics: " + strings.Join(statistics, ", "),
	Known:    rows,
}

func row(v *string) strict.Value {
	s := strict.Enum(v, rows...)
	s.Expected, s.Example = rowNames.Expected, "ttft.p99"
	set := s.Set
	s.Set = func(text string) *strict.Problem {
		switch p := set(text); {
		case text == string(gate.ErrorRate):
			return &strict.Problem{Hint: "the error rate always gates: remove it here"}
		case p != nil && strict.Nearest(text, rows) == "":
			return &strict.Problem{Hint: rowNames.Hint}
		default:
			return p
		}
	}
	return s
}

// timeMetrics are the metrics that a floor can be given for.
var timeMetrics = func() strict.Name {
	var known []string
	for _, m := range gate.Metrics {
		if m.Distribution && m.Unit == gate.Seconds && m.Metric != gate.SendLag {
			known = append(known, string(m.Metric))
		}
	}
	return strict.Name{
		Pattern:  regexp.MustCompile(`^(` + strings.Join(known, "|") + `)$`),
		Expected: "a metric that is a time",
		Hint:     "one of " + strings.Join(known, ", ") + "; without a statistic",
		Known:    known,
	}
}()

var contextPaths = strict.Name{
	Pattern:  regexp.MustCompile(`^[a-z0-9_]+(\.[a-z0-9_]+)*$`),
	Expected: "a path of the context, or default",
	Hint:     "for example host.kernel or gpu.driver",
}

// failOnValue takes auto or a list.
func (g *Gate) failOnValue() strict.Value {
	auto := strict.Enum(&g.failOn, "auto")
	auto.Text = func() (string, bool) { return "auto", true }
	return strict.Shorthand{
		Short: auto,
		Long: strict.List[string]{Var: &g.FailOn, Unique: true, Of: func(v *string) strict.Value {
			return strict.Enum(v, failing...)
		}},
		IsShort: func() bool { return g.FailOn == nil },
	}
}

// changedPath is a path of the envelope, a group of its paths, or one of the subject.
func changedPath(v *string) strict.Value {
	known := changeable()
	s := strict.Enum(v, known...)
	s.Expected, s.Example = "a path of the envelope or of the subject", "model.revision"
	set := s.Set
	s.Set = func(text string) *strict.Problem {
		if p := set(text); p != nil {
			if strict.Nearest(text, known) == "" {
				p.Hint = "servegate validate lists the paths of the envelope; those of the subject begin with subject."
			}
			return p
		}
		return nil
	}
	return s
}

func changeable() []string {
	var known []string
	add := func(path string) {
		if !slices.Contains(known, path) {
			known = append(known, path)
		}
	}
	for _, f := range gate.EnvelopeFields {
		if group, _, grouped := strings.Cut(f.Path, "."); grouped {
			add(group)
		}
		add(f.Path)
	}
	for _, field := range []string{"engine", "version", "commit", "image", "command", "url"} {
		add("subject." + field)
	}
	return known
}

func newBaselines() Baselines {
	return Baselines{
		Dir:     ".servegate/baselines",
		Promote: slices.Clone(promotable),
		Pool:    Pool{Repetitions: 6, Span: 30 * 24 * time.Hour},
		MaxAge:  30 * 24 * time.Hour,
		Keep:    20,
	}
}

func (b *Baselines) value() strict.Value {
	const year = 366 * 24 * time.Hour
	return strict.Object{Keys: []strict.Key{
		{Name: "dir", Doc: "directory of the store, relative to the one that servegate is started in", Value: strict.Text(&b.Dir, "a directory", ".servegate/baselines", nil), Also: []string{"path", "store"}},
		{Name: "promote", Doc: "verdicts of cells that a recorded run promotes by itself", Value: strict.List[string]{Var: &b.Promote, Unique: true, Of: func(v *string) strict.Value {
			s := strict.Enum(v, promotable...)
			s.Expected += "; others need baseline promote, with a reason"
			return s
		}}},
		{Name: "pool", Doc: "how many records make up a baseline", Value: strict.Object{Keys: []strict.Key{
			{Name: "repetitions", Doc: "records are pooled, newest first, until they have this many repetitions", Value: strict.Count(&b.Pool.Repetitions, 2, 1000)},
			{Name: "span", Doc: "records further apart than this aren't pooled", Value: strict.Duration(&b.Pool.Span, time.Hour, 10*year)},
		}}},
		{Name: "max_age", Doc: "baseline check fails when the newest baseline is older", Value: strict.Duration(&b.MaxAge, time.Hour, 10*year)},
		{Name: "keep", Doc: "records of each cell and runner class that baseline prune leaves", Value: strict.Count(&b.Keep, 1, 100_000)},
	}}
}
