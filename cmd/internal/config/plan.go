package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/servegate/cmd/internal/config/strict"
	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/runner"
)

// Plan is the plan of a run of the named subset, with o on top of what the config says.
// An empty subset is pull_request, or the only one there is. An error is a
// [*runner.PlanError]: there is no such subset, the overrides don't fit, or this
// version has no launcher for the engine.
func (c *Config) Plan(subset string, o Overrides) (runner.Plan, error) {
	p, err := c.Preview(subset, o)
	if err != nil {
		return runner.Plan{}, err
	}
	if p.Engine.Process == nil && p.Engine.Attach == nil {
		return runner.Plan{}, &runner.PlanError{
			What:   c.source.Where("engine.docker") + ": engine.docker: this version has no docker launcher",
			Remedy: "start the engine with engine.process or --command, or start the container yourself and attach to it with engine.attach or --url",
		}
	}
	return p, nil
}

// Preview is Plan for a reader: it also answers where this version can't launch the
// engine, and Engine then has neither Process nor Attach.
func (c *Config) Preview(subset string, o Overrides) (runner.Plan, error) {
	c, err := c.With(o)
	if err != nil {
		return runner.Plan{}, err
	}
	chosen, err := c.subset(subset)
	if err != nil {
		return runner.Plan{}, err
	}
	p := runner.Plan{
		Engine:   c.Engine.plan(c.Model),
		Model:    c.Model.served(),
		Measure:  c.Measure.plan(),
		Declared: c.declared(),
	}
	p.Subject = c.subject(p.Engine)
	for _, id := range chosen.Cells {
		p.Cells = append(p.Cells, c.cell(id))
	}
	return p, nil
}

// served is the name that requests ask for.
func (m Model) served() string {
	if m.ServedName != "" {
		return m.ServedName
	}
	return m.Name
}

// plan fills in {model}: requests may ask for another name than the one that the engine
// is started with, and only the config knows both.
func (e Engine) plan(m Model) runner.Engine {
	out := runner.Engine{Kind: e.Kind, StopGrace: e.StopGrace, APIKey: e.APIKey}
	switch {
	case e.Process != nil:
		p := e.Process.Process
		p.Command, p.Env = withModel(p.Command, m), maps.Clone(p.Env)
		p.PassEnv, p.Secrets = slices.Clone(p.PassEnv), slices.Clone(p.Secrets)
		out.Process, out.ReadyTimeout = &p, e.Process.ReadyTimeout
	case e.Attach != nil:
		a := e.Attach.Attach
		out.Attach, out.ReadyTimeout = &a, e.Attach.ReadyTimeout
	case e.Docker != nil:
		out.ReadyTimeout = e.Docker.ReadyTimeout
	}
	return out
}

func withModel(args []string, m Model) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = strings.ReplaceAll(a, "{model}", m.Name)
	}
	return out
}

func (m Measure) plan() runner.Measure {
	return runner.Measure{
		Requests:       m.Requests,
		Duration:       m.Duration,
		Warmup:         m.Warmup,
		Repetitions:    m.Repetitions,
		Seed:           m.Seed,
		Boot:           m.Boot,
		RequestTimeout: m.RequestTimeout,
		DrainTimeout:   m.DrainTimeout,
		HangTimeout:    m.HangTimeout,
	}
}

// subject is what the config tells of the build under test. {port} stays as it is: the
// port that a boot gets is no property of the build.
func (c *Config) subject(e runner.Engine) gate.Subject {
	s := gate.Subject{Engine: c.Engine.Kind, Commit: c.Engine.Commit}
	switch {
	case e.Process != nil:
		s.Command = e.Process.Command
	case e.Attach != nil:
		s.URL = e.Attach.URL
	case c.Engine.Docker != nil:
		d := c.Engine.Docker
		s.Image = d.Image
		s.Command = withModel(slices.Concat(d.Entrypoint, d.Args), c.Model)
	}
	return s
}

// subset finds a subset by its name.
func (c *Config) subset(name string) (Subset, error) {
	names := make([]string, len(c.Matrix))
	for i, s := range c.Matrix {
		names[i] = s.Name
		if s.Name == name || name == "" && (s.Name == "pull_request" || len(c.Matrix) == 1) {
			return s, nil
		}
	}
	if name == "" {
		return Subset{}, &runner.PlanError{
			What:   "the matrix has no subset pull_request, and no subset was chosen",
			Remedy: "choose one of " + strings.Join(names, ", ") + " with --subset",
		}
	}
	remedy := "the matrix has " + strings.Join(names, ", ")
	if near := strict.Nearest(name, names); near != "" {
		remedy = "did you mean " + near + "?"
	}
	return Subset{}, &runner.PlanError{What: fmt.Sprintf("the matrix has no subset %q", name), Remedy: remedy}
}

// cell builds the cell of an id whose parts are known to exist.
func (c *Config) cell(id string) runner.Cell {
	name, loadName, _ := strings.Cut(id, "@")
	w, l := c.workload(name), c.load(loadName)
	slo := c.SLO
	if w.SLO != nil {
		slo = *w.SLO
	}
	return runner.Cell{
		Cell: gate.Cell{
			ID:          id,
			Workload:    name,
			Load:        loadName,
			Streaming:   w.Stream,
			Concurrency: l.Concurrency,
			SLO:         slo.Limits(),
		},
		Workload: w.Spec,
		Load:     l.Spec,
	}
}
