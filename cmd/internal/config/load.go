package config

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/servegate/servegate/cmd/internal/config/strict"
	"github.com/servegate/servegate/runner/load"
	"github.com/servegate/servegate/runner/workload"
)

// Options changes what [Load] makes of a file. The zero value changes nothing.
type Options struct {
	// Overrides are applied to what the file says, see [Config.With].
	Overrides Overrides
}

// Load reads the config at path and resolves it. What is wrong with the file comes as a
// [*Faults], what is wrong with the overrides as a [*runner.PlanError].
func Load(path string, opts Options) (*Config, error) {
	data, err := strict.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c, err := Parse(path, data)
	if err != nil {
		return nil, err
	}
	return c.With(opts.Overrides)
}

// Parse resolves the config in data; file is the name that faults give it. An error is
// a [*Faults].
func Parse(file string, data []byte) (*Config, error) {
	c := newConfig()
	r := strict.Read(file, data, c.value())
	c.complete(r)
	c.check(r)
	if err := r.Err(); err != nil {
		return nil, err
	}
	c.Warnings = r.Warnings()
	c.source = r
	return c, nil
}

// newConfig holds the defaults that depend on nothing.
func newConfig() *Config {
	return &Config{
		Engine:    Engine{Kind: "openai", StopGrace: 10 * time.Second},
		Measure:   newMeasure(),
		Gate:      newGate(),
		Baselines: newBaselines(),
	}
}

// complete fills in the defaults that depend on what was given.
func (c *Config) complete(r *strict.Reader) {
	if r.Given("measure.duration") && !r.Given("measure.requests") {
		c.Measure.Requests = 0
	}
	if c.Measure.DrainTimeout == 0 {
		c.Measure.DrainTimeout = c.Measure.RequestTimeout
	}
	whole := slices.ContainsFunc(c.Workloads, func(w Workload) bool { return !w.Stream })
	if whole && !r.Given("measure.hang_timeout") {
		c.Measure.HangTimeout = max(defaultHangTimeout, c.Measure.RequestTimeout)
	}
	for i := range c.Workloads {
		w := &c.Workloads[i]
		switch {
		case w.Cache == "" && w.Prefix > 0:
			w.Cache = workload.SharedPrefix
		case w.Cache == "":
			w.Cache = workload.Cold
		}
	}
	for i := range c.Loads {
		if l := &c.Loads[i]; l.Closed() && l.Start == "" {
			l.Start = load.Spread
		}
	}
	if !r.Given("matrix") {
		c.Matrix = c.allCells(r)
	}
	c.Gate.complete()
}

// maxCells bounds the matrix that is made of all workloads and loads.
const maxCells = 1000

func (c *Config) allCells(r *strict.Reader) []Subset {
	if n := len(c.Workloads) * len(c.Loads); n > maxCells {
		r.Report("matrix", "left out with more than 1000 cells, expected a subset of them", "name those that matter: matrix: {pull_request: [workload@load]}")
		return nil
	}
	all := Subset{Name: "all"}
	for _, w := range c.Workloads {
		for _, l := range c.Loads {
			all.Cells = append(all.Cells, w.Name+"@"+l.Name)
		}
	}
	return []Subset{all}
}

// complete gives each gating row its two numbers.
func (g *Gate) complete() {
	fill := func(rows *map[string]float64, all float64, byRow func(string) float64) {
		if *rows == nil {
			*rows = map[string]float64{}
		}
		for _, row := range g.Metrics {
			if _, ok := (*rows)[row]; ok {
				continue
			}
			(*rows)[row] = byRow(row)
			if all > 0 {
				(*rows)[row] = all
			}
		}
	}
	fill(&g.Tolerances, g.tolerance, defaultTolerance)
	fill(&g.MustCatch, g.mustCatch, defaultMustCatch)
	g.tolerance, g.mustCatch, g.failOn = 0, 0, ""
}

// YAML returns the config with every default filled in: a config of its own that
// resolves to the same plan. It holds the names of secrets, never their values.
func (c *Config) YAML() ([]byte, error) {
	b, err := strict.Encode(c.value())
	if err != nil {
		return nil, err
	}
	return slices.Concat([]byte("# Resolved by servegate: every default is filled in.\n"), b), nil
}

// Schema returns the JSON Schema (2020-12) of a config. It says all that a schema can:
// keys, types, units, defaults. Rules across the file, such as a cell that names no
// workload, are left to [Load].
func Schema() ([]byte, error) {
	c := newConfig()
	s := c.value().Schema()
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "servegate.yaml"
	s["description"] = "What servegate boots, measures and gates. Durations are written as 500ms, rates as 6/s, sizes as 8GiB, ratios as 5%."
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}
