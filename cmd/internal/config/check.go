package config

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/servegate/servegate/cmd/internal/config/strict"
	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/runner/workload"
)

// check holds the keys against each other. A rule is skipped where one of the values
// that it speaks of is faulty itself.
func (c *Config) check(r *strict.Reader) {
	for i := range c.Workloads {
		c.Workloads[i].check(r)
	}
	for i := range c.Loads {
		c.Loads[i].check(r)
	}
	c.checkMatrix(r)
	c.checkGate(r)
	c.checkImage(r)
	c.checkFloors(r)
}

// checkDrawn holds the parameters of a drawn length against its distribution.
func checkDrawn(r *strict.Reader, path string, v *workload.Lengths) {
	given := func(key string) bool { return r.Given(path + "." + key) }
	needs := func(keys ...string) bool {
		for _, key := range keys {
			if !given(key) {
				r.Report(path, fmt.Sprintf("a %s distribution without %s, expected %s", v.Distribution, key, strings.Join(keys, " and ")), "add "+key+", in tokens")
				return false
			}
		}
		return true
	}
	if v.Distribution == workload.Uniform {
		for _, key := range []string{"mean", "sd"} {
			if given(key) {
				r.Report(path+"."+key, "given for a uniform distribution, expected min and max only", "remove "+key+", or choose normal or lognormal")
			}
		}
		if needs("min", "max") && v.Min >= v.Max {
			r.Report(path, fmt.Sprintf("min %d isn't below max %d, expected a range", v.Min, v.Max), "swap them, or write one length as a plain number")
		}
		return
	}
	if !needs("mean", "sd") {
		return
	}
	if !given("min") {
		v.Min = 1
	}
	if v.Mean < float64(v.Min) || given("max") && v.Mean > float64(v.Max) {
		r.Report(path, fmt.Sprintf("mean %g lies outside of min and max, expected it between them", v.Mean), "most lengths would be drawn in vain: move mean, min or max")
		return
	}
	if err := v.Validate(); err != nil {
		r.Report(path, err.Error()+", expected a distribution that can be drawn from", "move mean, min or max, or take a smaller sd")
	}
}

func (w *Workload) check(r *strict.Reader) {
	path := "workloads." + w.Name
	if r.Faulty(path) {
		return
	}
	if w.Prefix > 0 && w.Cache == workload.Cold {
		r.Report(path+".cache", fmt.Sprintf("cold with a shared prefix of %d tokens, expected shared_prefix", w.Prefix), "remove prefix or cache")
	}
	if w.Prefix == 0 && w.Cache == workload.SharedPrefix {
		r.Report(path+".cache", "shared_prefix without prefix, expected both", "say how many tokens all prompts share: prefix: 256")
	}
	if least := w.Input.Low(); w.Prefix > 0 && w.Prefix >= least {
		r.Report(path+".prefix", fmt.Sprintf("%d tokens, expected less than the shortest prompt (%d)", w.Prefix, least), "shorten the prefix, or raise input (its min, where lengths are drawn)")
	}
	if w.API == workload.Chat && w.Prompt == workload.IDs {
		r.Report(path+".prompt", "ids with api: chat, expected auto or text", "the chat route takes text only; remove prompt, or use api: completions")
	}
	if r.Given(path+".ids") && (w.Prompt == workload.Text || w.API == workload.Chat) {
		r.Report(path+".ids", "given for prompts that are sent as text, expected none", "remove ids, or send ids: api: completions and prompt: ids")
	}
	if !w.Stream && (w.SLO != nil && (w.SLO.TTFT > 0 || w.SLO.ITL > 0 || w.SLO.ITLMax > 0 || w.SLO.TPOT > 0)) {
		r.Warn(path+".slo", "limits on ttft, itl and tpot don't apply to answers that aren't streamed; e2e does")
	}
}

func (l *NamedLoad) check(r *strict.Reader) {
	path := "loads." + l.Name
	if r.Faulty(path) {
		return
	}
	if r.Given(path+".gamma") && !r.Given(path+".burstiness") {
		r.Report(path+".burstiness", "missing, expected the shape of gamma", "add burstiness: 0.5, or write poisson for a shape of 1")
	}
}

// checkMatrix resolves each cell, and finds those that can't be measured.
func (c *Config) checkMatrix(r *strict.Reader) {
	used := map[string]bool{}
	for _, subset := range c.Matrix {
		for i, id := range subset.Cells {
			path := fmt.Sprintf("matrix.%s[%d]", subset.Name, i)
			name, loadName, ok := strings.Cut(id, "@")
			if !ok {
				continue // it was faulty itself
			}
			used["workloads."+name], used["loads."+loadName] = true, true
			w, l := c.workload(name), c.load(loadName)
			if w == nil {
				r.Report(path, fmt.Sprintf("cell %s names no workload, expected workload@load", id), nameHint(name, "workloads", c.workloadNames()))
			}
			if l == nil {
				r.Report(path, fmt.Sprintf("cell %s names no load, expected workload@load", id), nameHint(loadName, "loads", c.loadNames()))
			}
			if w != nil && l != nil {
				c.checkCell(r, path, id, l)
			}
		}
	}
	for _, path := range slices.Concat(prefixed("workloads.", c.workloadNames()), prefixed("loads.", c.loadNames())) {
		if !used[path] && !r.Faulty("matrix") {
			r.Warn(path, "no cell of the matrix uses it")
		}
	}
}

func (c *Config) checkCell(r *strict.Reader, path, id string, l *NamedLoad) {
	m := c.Measure
	if r.Faulty("loads."+l.Name) || r.Faulty("measure") {
		return
	}
	if l.Closed() {
		if m.Requests > 0 && m.Requests < l.Concurrency {
			r.Report(path, fmt.Sprintf("cell %s has a closed loop of %d streams and %d requests, expected at least one request a stream", id, l.Concurrency, m.Requests), "raise measure.requests, or lower closed")
		}
		return
	}
	if m.Duration > 0 {
		if n := l.Rate * m.Duration.Seconds(); n < 1 {
			r.Report(path, fmt.Sprintf("cell %s expects %.2g requests in %s, expected at least one", id, n, m.Duration), "raise measure.duration, or the rate")
		}
		return
	}
	const long = 6 * time.Hour // what a hosted CI job may take
	if s := float64(m.Requests) / l.Rate; s > long.Seconds() {
		r.Warn(path, fmt.Sprintf("one repetition of cell %s takes about %.0f h: %d requests at this rate", id, s/3600, m.Requests))
	}
}

// checkFloors warns of percentiles that will be withheld for lack of samples.
func (c *Config) checkFloors(r *strict.Reader) {
	n := c.Measure.Requests
	ttft, _ := gate.Define(gate.TTFT) // one sample a request
	p95, p99 := ttft.Floor(0.95), ttft.Floor(0.99)
	switch {
	case n == 0: // a duration is measured
	case n < p95:
		r.Warn("measure.requests", fmt.Sprintf("p95 and p99 of TTFT need %d and %d requests a repetition, and are withheld with %d", p95, p99, n))
	case n < p99:
		r.Warn("measure.requests", fmt.Sprintf("p99 of TTFT needs %d requests a repetition, and is withheld with %d", p99, n))
	}
}

// checkGate holds the two numbers of each row against each other.
func (c *Config) checkGate(r *strict.Reader) {
	g := &c.Gate
	if r.Faulty("gate.metrics") {
		return
	}
	g.checkRows(r, "gate.tolerances", g.Tolerances)
	g.checkRows(r, "gate.must_catch", g.MustCatch)
	for _, row := range g.Metrics {
		t, must := g.Tolerances[row], g.MustCatch[row]
		if t < must || r.Faulty("gate.tolerances") || r.Faulty("gate.must_catch") {
			continue
		}
		at := "gate.must_catch"
		if !r.Given(at) {
			at = "gate.tolerances"
		}
		r.Report(at, fmt.Sprintf("%s: must_catch %s isn't above tolerance %s, expected room between them", row, percent(must), percent(t)), "between the two either answer is right; without it an unchanged build can hardly ever pass: must_catch of three times the tolerance is a good start")
		return // the other rows most often have the same numbers
	}
}

// checkRows finds numbers that nothing would read.
func (g *Gate) checkRows(r *strict.Reader, path string, numbers map[string]float64) {
	for _, row := range slices.Sorted(maps.Keys(numbers)) {
		if !slices.Contains(g.Metrics, row) {
			r.Report(path+"."+row, "given for a row that doesn't gate, expected one of gate.metrics", "add "+row+" to gate.metrics, which then names all rows that gate")
		}
	}
}

func percent(ratio float64) string { return fmt.Sprintf("%g%%", math.Round(ratio*1e6)/1e4) }

// checkImage warns of an image that can change under the same name.
func (c *Config) checkImage(r *strict.Reader) {
	if c.Engine.Docker == nil || r.Faulty("engine.docker") {
		return
	}
	if p := unpinned(c.Engine.Docker.Image); p != "" {
		r.Warn("engine.docker.image", p)
	}
}

func unpinned(image string) string {
	_, digest, pinned := strings.Cut(image, "@sha256:")
	switch {
	case !pinned:
		return "a tag can come to mean another image; pin it: name@sha256:digest"
	case !hexDigest.MatchString(digest):
		return "the digest isn't complete: no image can be found by it"
	}
	return ""
}

func nameHint(name, where string, known []string) string {
	if near := strict.Nearest(name, known); near != "" {
		return "did you mean " + near + "?"
	}
	return "add " + name + " under " + where + ", or name one that stands there"
}

func prefixed(prefix string, names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = prefix + n
	}
	return out
}

func (c *Config) workload(name string) *Workload {
	for i := range c.Workloads {
		if c.Workloads[i].Name == name {
			return &c.Workloads[i]
		}
	}
	return nil
}

func (c *Config) load(name string) *NamedLoad {
	for i := range c.Loads {
		if c.Loads[i].Name == name {
			return &c.Loads[i]
		}
	}
	return nil
}

func (c *Config) workloadNames() (names []string) {
	for _, w := range c.Workloads {
		names = append(names, w.Name)
	}
	return names
}

func (c *Config) loadNames() (names []string) {
	for _, l := range c.Loads {
		names = append(names, l.Name)
	}
	return names
}
