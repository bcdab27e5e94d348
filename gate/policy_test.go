package gate

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDefaultPolicy(t *testing.T) {
	p := DefaultPolicy()
	if err := p.Validate(); err != nil {
		t.Errorf("got %v", err)
	}
	got := map[string][3]float64{}
	for _, r := range p.Rows {
		got[r.Row.String()] = [3]float64{r.Tolerance, r.MustCatch, r.Floor}
	}
	want := map[string][3]float64{
		"goodput":  {.05, .15, 0},
		"ttft.p95": {.05, .15, .002}, "ttft.p99": {.10, .30, .002},
		"itl.p95": {.05, .15, .0002}, "itl.p99": {.10, .30, .0002},
		"tpot.p50": {.05, .15, .0002},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if got, want := [...]float64{p.Level, p.FamilyLevel, p.ErrorRate.Rise, p.ErrorRate.P}, [...]float64{.05, .01, .01, .001}; got != want {
		t.Errorf("levels: got %v, want %v", got, want)
	}
}

func TestPolicyValidate(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Policy)
		want   string
	}{
		{"no rows", func(p *Policy) { p.Rows = nil }, "no row gates"},
		{"a row twice", func(p *Policy) { p.Rows = append(p.Rows, p.Rows[0]) }, "row goodput is given twice"},
		{"no such metric", func(p *Policy) { p.Rows[0].Metric = "speed" }, `row "speed": no such metric and statistic`},
		{"a value of a distribution", func(p *Policy) { p.Rows[1].Statistic = Value }, `row "ttft"`},
		{"a percentile of a value", func(p *Policy) { p.Rows[0].Statistic = P99 }, `row "goodput.p99"`},
		{"error rate", func(p *Policy) { p.Rows[0].Metric = ErrorRate }, "a rule of its own"},
		{"must_catch below the tolerance", func(p *Policy) { p.Rows[0].MustCatch = .04 }, "tolerance 0.05 and must_catch 0.04"},
		{"must_catch of 100 %", func(p *Policy) { p.Rows[0].MustCatch = 1 }, "must_catch < 1"},
		{"a tolerance that is none", func(p *Policy) { p.Rows[0].Tolerance = math.NaN() }, "tolerance NaN"},
		{"a negative floor", func(p *Policy) { p.Rows[1].Floor = -1 }, "floor -1"},
		{"no level", func(p *Policy) { p.Level = 0 }, "level is 0"},
		{"no family level", func(p *Policy) { p.FamilyLevel = math.NaN() }, "family_level is NaN"},
		{"error rate of 1", func(p *Policy) { p.ErrorRate.P = 1 }, "error_rate.p is 1"},
		{"a context rule", func(p *Policy) { p.Context["x"] = "maybe" }, `context x: unknown rule "maybe"`},
		{"a result", func(p *Policy) { p.FailOn = []Result{"bad"} }, `unknown result "bad"`},
	}
	for _, tt := range tests {
		p := DefaultPolicy()
		tt.change(&p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestContextRule(t *testing.T) {
	p := Policy{Context: map[string]ContextRule{"default": ContextIgnore, "gpu": ContextStrict, "gpu.clocks": ContextWarn}}
	for path, want := range map[string]ContextRule{"gpu.driver": ContextStrict, "gpu.clocks": ContextWarn, "gpu.clocks.sm": ContextWarn, "gpus": ContextIgnore, "kernel": ContextIgnore} {
		if got := p.context(path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	if got := (Policy{}).context("kernel"); got != ContextWarn {
		t.Errorf("without a default: got %s, want warn", got)
	}
}
