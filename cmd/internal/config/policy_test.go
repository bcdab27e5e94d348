package config

import (
	"slices"
	"testing"

	"github.com/servegate/servegate/gate"
)

const gated = `version: 1
engine: {kind: sim, attach: {url: "http://127.0.0.1:8000"}}
model: m
workloads: {w: {input: 64, output: 4}}
loads: {l: {closed: 4}}
`

func TestPolicyOfADefaultConfigIsTheDefaultOne(t *testing.T) {
	c, err := Parse("x.yaml", []byte(gated))
	if err != nil {
		t.Fatal(err)
	}
	got, want := c.Policy(Other), gate.DefaultPolicy()
	if !slices.Equal(got.Rows, want.Rows) {
		t.Errorf("got rows %v, want %v", got.Rows, want.Rows)
	}
	if !slices.Equal(got.FailOn, want.FailOn) {
		t.Errorf("got fail_on %v, want %v", got.FailOn, want.FailOn)
	}
}

func TestPolicyFollowsTheSituation(t *testing.T) {
	c, err := Parse("x.yaml", []byte(gated+"gate: {tolerances: {ttft.p95: 7%}, must_catch: 20%}\n"))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		in      Situation
		strict  bool
		lets    gate.Result
		failsOn gate.Result
	}{
		{PullRequest, false, gate.Inconclusive, gate.NotComparable},
		{Record, false, gate.NotComparable, gate.Invalid},
		{SignOff, true, gate.Passed, gate.Inconclusive},
		{Other, false, gate.Improved, gate.NoBaseline},
	}
	for _, tt := range tests {
		p := c.Policy(tt.in)
		if p.StrictEnvelope != tt.strict || p.StrictSubject != tt.strict {
			t.Errorf("%s: got strict %v and %v, want %v", tt.in, p.StrictEnvelope, p.StrictSubject, tt.strict)
		}
		if slices.Contains(p.FailOn, tt.lets) || !slices.Contains(p.FailOn, tt.failsOn) {
			t.Errorf("%s: got fail_on %v, want it to let %s through and fail on %s", tt.in, p.FailOn, tt.lets, tt.failsOn)
		}
	}
	for _, r := range c.Policy(Other).Rows {
		want := gate.RowPolicy{Row: r.Row, Tolerance: r.Tolerance, MustCatch: 0.20, Floor: r.Floor}
		if r.Metric == gate.TTFT && r.Statistic == gate.P95 {
			want.Tolerance, want.Floor = 0.07, 0.002
		}
		if r != want {
			t.Errorf("got %+v, want %+v", r, want)
		}
	}
}
