package config

import (
	"slices"
	"strings"

	"github.com/servegate/servegate/gate"
)

// Situation is what a gate is run for. It decides what a policy that is left to the
// situation comes to.
type Situation string

// The situations.
const (
	PullRequest Situation = "pull_request" // also a merge queue
	Record      Situation = "record"       // the run is to become a baseline
	SignOff     Situation = "sign_off"     // of a release: undeclared conditions are refused
	Other       Situation = "other"        // a push, a schedule, a person
)

// Policy is what a verdict is made by in a situation.
func (c *Config) Policy(s Situation) gate.Policy {
	p := gate.DefaultPolicy()
	p.Rows = nil
	for _, name := range c.Gate.Metrics {
		row := parseRow(name)
		p.Rows = append(p.Rows, gate.RowPolicy{
			Row:       row,
			Tolerance: c.Gate.Tolerances[name],
			MustCatch: c.Gate.MustCatch[name],
			Floor:     c.Gate.Floors[string(row.Metric)].Seconds(),
		})
	}
	p.ExpectChanged = c.Gate.ExpectChanged
	p.StrictEnvelope = c.Gate.Envelope.in(s)
	p.StrictSubject = c.Gate.Subject.in(s)
	p.Context = map[string]gate.ContextRule{}
	for path, rule := range c.Gate.Context {
		p.Context[path] = gate.ContextRule(rule)
	}
	p.FailOn = c.Gate.failing(s)
	return p
}

// parseRow takes a row's name apart: ttft.p95, or goodput for one value a repetition.
func parseRow(name string) gate.Row {
	metric, statistic, found := strings.Cut(name, ".")
	if !found {
		return gate.Row{Metric: gate.Metric(metric), Statistic: gate.Value}
	}
	return gate.Row{Metric: gate.Metric(metric), Statistic: gate.Statistic(statistic)}
}

// in reports whether s is strict in a situation.
func (s Strictness) in(where Situation) bool {
	return s == Strict || s == BySituation && where == SignOff
}

// failing is which results fail in a situation.
func (g Gate) failing(s Situation) []gate.Result {
	if g.FailOn != nil {
		results := make([]gate.Result, len(g.FailOn))
		for i, r := range g.FailOn {
			results[i] = gate.Result(r)
		}
		return results
	}
	switch s {
	case PullRequest:
		return slices.Clone(gate.FailPullRequest)
	case Record:
		return slices.Clone(gate.FailRecord)
	default:
		return slices.Clone(gate.FailSignOff)
	}
}
