package runner

import (
	"errors"
	"fmt"
	"math"

	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/runner/workload"
)

const (
	// digested is how many requests stand behind the content digest of a cell whose
	// repetitions are measured by duration.
	digested = 1000
	// mostDigested bounds what stands behind any digest, and mostDrawn the requests whose
	// lengths are looked at beforehand: ten million would take a minute at each boot, and
	// show no more of what they are drawn from.
	mostDigested = 10_000
	mostDrawn    = 1_000_000
)

// declared is the envelope of a cell as far as config and host tell it, before any
// engine was asked.
func (s *session) declared(c Cell) gate.Envelope {
	e := gate.Envelope{}
	for path, field := range s.plan.Declared {
		e[path] = field
	}
	set := setter{e: e}
	set.workload(c)
	set.measure(c, s.plan.Measure)
	s.host(&set)
	if set.err != nil { // only values of ours were set
		panic(fmt.Sprintf("runner: %v", set.err))
	}
	e.FillUndeclared()
	return e
}

// host tells the CPU where the engine runs on this host and computes on nothing else. On
// a host that has an accelerator that isn't known: it stays undeclared unless the config
// tells it, or the CPU would stand for any accelerator. The simulated engine needs none.
func (s *session) host(set *setter) {
	if _, ok := s.plan.Declared["accelerator.model"]; ok {
		return
	}
	if s.machine.accelerated && s.plan.Engine.Kind != "sim" {
		return
	}
	if a := s.plan.Engine.Attach; a != nil && !isLocal(a.URL) {
		return
	}
	if s.machine.cpuModel != "" {
		set.put("cpu.model", s.machine.cpuModel, gate.FromHost)
	}
	if s.machine.cores > 0 {
		set.put("cpu.cores", s.machine.cores, gate.FromHost)
	}
	set.put("cpu.threads", s.machine.threads, gate.FromHost)
}

// describe completes the cell's envelope with what the engine that runs now tells, and
// checks that the cell can be measured on it. All boots of a run must agree.
func (s *session) describe(c *cellState) error {
	if c.described == s.engine.boot {
		return nil
	}
	t := s.engine.traits
	g, err := s.generator(c, t, 1)
	if err != nil {
		return err
	}
	n := s.plan.Measure.Requests
	if n == 0 {
		n = digested
	}
	if err := fits(c, g, min(n, mostDrawn), t.maxLength); err != nil {
		return err
	}
	n = min(n, mostDigested)
	for _, w := range g.Warnings(n) {
		s.warn("cell %s: %s", c.ID, w)
	}
	e := s.declared(c.Cell)
	if err := tellEngine(e, c, g, n, t); err != nil {
		return &MeasureError{Stage: "describe " + c.ID, Err: err}
	}
	if c.described != 0 {
		if d := gate.Diff(c.record.Envelope, e); len(d) > 0 {
			return &MeasureError{Stage: "describe " + c.ID, Err: fmt.Errorf("boot %d differs from boot %d in %s: %s, then %s", s.engine.boot, c.described, d[0].Path, d[0].A, d[0].B)}
		}
	}
	c.described = s.engine.boot
	c.record.FixedOutput = t.fixedOutput(c.Cell)
	c.record.HitRatio = hitRatio(c.Workload)
	c.record.Envelope = e
	c.record.Fingerprint = e.Fingerprint()
	return nil
}

// fits says whether the engine's context holds the longest request.
func fits(c *cellState, g *workload.Generator, n, maxLength int) error {
	if longest := g.MaxContext(n); maxLength > 0 && longest > maxLength {
		return &PlanError{
			What:   fmt.Sprintf("cell %s: its longest request has %d tokens, input and output together, and the engine's context holds %d", c.ID, longest, maxLength),
			Remedy: "shorten the lengths of workload " + c.record.Workload + ", or start the engine with a longer context",
		}
	}
	return nil
}

// tellEngine sets the fields that only a running engine can tell.
func tellEngine(e gate.Envelope, c *cellState, g *workload.Generator, n int, t traits) error {
	set := setter{e: e}
	set.put("prompt.form", string(g.Form), gate.FromEngine)
	set.put("prompt.source", g.PromptSource(), gate.FromEngine)
	if g.Form == workload.IDs {
		set.put("prompt.ids", g.Vocabulary.String(), gate.FromEngine)
	}
	set.put("prompt.digest", g.Digest(n), gate.FromEngine)
	set.put("sampling.ignore_eos", t.fixedOutput(c.Cell), gate.FromEngine)
	// Where the engine serves it under another name, the config's says what it is.
	if told := e["model.name"]; t.listed && (told.Value == nil || told.Value == t.model) {
		set.put("model.name", t.model, gate.FromEngine)
	}
	if t.maxLength > 0 {
		set.put("model.max_length", t.maxLength, gate.FromEngine)
	}
	e.FillUndeclared()
	return set.err
}

// hitRatio is the share of prompt tokens that the cache is meant to serve.
func hitRatio(w workload.Spec) *float64 {
	ratio := 0.0
	if w.Cache == workload.SharedPrefix {
		ratio = min(1, float64(w.Prefix)/w.Input.Expected())
	}
	return &ratio
}

// setter sets fields of an envelope and collects what goes wrong.
type setter struct {
	e   gate.Envelope
	err error
}

func (s *setter) put(path string, value any, from gate.Source) {
	s.err = errors.Join(s.err, s.e.Set(path, value, from))
}

// workload tells what the cell's requests are.
func (s *setter) workload(c Cell) {
	w := c.Workload
	s.put("workload.input", w.Input.String(), gate.FromConfig)
	s.put("workload.output", w.Output.String(), gate.FromConfig)
	s.put("api", string(w.API), gate.FromConfig)
	s.put("arrival", c.Load.String(), gate.FromConfig)
	mode := "whole"
	if w.Stream {
		mode = "streamed"
		s.put("streaming.sampling_unit", "chunk", gate.FromConfig)
	}
	s.put("streaming.mode", mode, gate.FromConfig)
	s.put("cache.condition", string(w.Cache), gate.FromConfig)
	if w.Cache == workload.SharedPrefix {
		s.put("cache.prefix_tokens", w.Prefix, gate.FromConfig)
	}
	s.put("cache.hit_ratio", *hitRatio(w), gate.FromConfig)
}

// measure tells how the cell is measured.
func (s *setter) measure(c Cell, m Measure) {
	// The client pins them in every request.
	s.put("sampling.temperature", 0, gate.FromConfig)
	s.put("sampling.top_p", 1, gate.FromConfig)
	s.put("sampling.seed", m.Seed&math.MaxInt32, gate.FromConfig) // what engines take, see openai.Params
	limits := c.SLO
	for path, limit := range map[string]float64{
		"slo.ttft": limits.TTFT, "slo.itl": limits.ITL, "slo.itl_max": limits.ITLMax,
		"slo.tpot": limits.TPOT, "slo.e2e": limits.E2E,
	} {
		if limit > 0 {
			s.put(path, limit, gate.FromConfig)
		}
	}
	if m.Duration > 0 {
		s.put("measure.duration", m.Duration.Seconds(), gate.FromConfig)
	} else {
		s.put("measure.requests", m.Requests, gate.FromConfig)
	}
	s.put("measure.warmup", c.WarmupRequests(m), gate.FromConfig)
	s.put("measure.seed", m.Seed, gate.FromConfig)
	s.put("report.percentiles", "p50,p90,p95,p99", gate.FromConfig)
	s.put("metrics.definition", gate.MetricsVersion(), gate.FromConfig)
}
