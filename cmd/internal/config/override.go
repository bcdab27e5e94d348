package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/servegate/cmd/internal/config/strict"
	"github.com/servegate/servegate/runner"
)

// Overrides hands over the build under test from outside of the config. They replace
// the config's subject and nothing else, save for Repetitions. Of Image, Command and
// URL at most one may be set. The zero value overrides nothing.
type Overrides struct {
	Image       string   // --image: of the docker launcher
	Command     []string // --command: of the process launcher, which it chooses
	URL         string   // --url: attach to it
	Commit      string   // --engine-commit: of the build's source
	Repetitions int      // --repetitions; 0: the config's
}

// OverridesFromEnv reads SERVEGATE_IMAGE, SERVEGATE_COMMAND (see [ParseCommand]),
// SERVEGATE_URL, SERVEGATE_ENGINE_COMMIT and SERVEGATE_REPETITIONS. An error is a
// [*runner.PlanError].
func OverridesFromEnv(getenv func(string) string) (Overrides, error) {
	o := Overrides{
		Image:  getenv("SERVEGATE_IMAGE"),
		URL:    getenv("SERVEGATE_URL"),
		Commit: getenv("SERVEGATE_ENGINE_COMMIT"),
	}
	if s := getenv("SERVEGATE_COMMAND"); s != "" {
		words, err := ParseCommand(s)
		if err != nil {
			return Overrides{}, err
		}
		o.Command = words
	}
	if s := getenv("SERVEGATE_REPETITIONS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return Overrides{}, &runner.PlanError{What: fmt.Sprintf("SERVEGATE_REPETITIONS: %q, expected a whole number from 1", s), Remedy: "unset it, or set it to 3"}
		}
		o.Repetitions = n
	}
	return o, nil
}

// Over returns o where it says something, and else what lies under it: flags over the
// environment. Image, Command and URL go together, since each replaces the launcher.
func (o Overrides) Over(under Overrides) Overrides {
	if len(o.builds()) == 0 {
		o.Image, o.Command, o.URL = under.Image, under.Command, under.URL
	}
	if o.Commit == "" {
		o.Commit = under.Commit
	}
	if o.Repetitions == 0 {
		o.Repetitions = under.Repetitions
	}
	return o
}

// With returns a copy of c with o applied. An error is a [*runner.PlanError].
func (c *Config) With(o Overrides) (*Config, error) {
	out := *c
	if err := out.replaceBuild(o); err != nil {
		return nil, err
	}
	if o.Commit != "" {
		if err := set("--engine-commit", commit(&out.Engine.Commit), strings.ToLower(o.Commit)); err != nil {
			return nil, err
		}
	}
	if o.Repetitions != 0 {
		if err := set("--repetitions", strict.Count(&out.Measure.Repetitions, 1, maxRepetitions), strconv.Itoa(o.Repetitions)); err != nil {
			return nil, err
		}
	}
	return &out, nil
}

// replaceBuild replaces the launcher, or what it launches, by the build that o hands
// over, if any.
func (c *Config) replaceBuild(o Overrides) error {
	given := o.builds()
	switch {
	case len(given) == 0:
		return nil
	case len(given) > 1:
		return &runner.PlanError{What: strings.Join(given, " and ") + " are given, expected one build under test", Remedy: "keep one of them"}
	}
	c.Warnings = withoutLauncher(c.Warnings)
	switch {
	case o.Image != "":
		return c.setImage(o.Image)
	case o.URL != "":
		return c.setURL(o.URL)
	default:
		return c.setCommand(o.Command)
	}
}

// builds are the flags that hand over a build.
func (o Overrides) builds() (given []string) {
	if o.Image != "" {
		given = append(given, "--image")
	}
	if len(o.Command) > 0 {
		given = append(given, "--command")
	}
	if o.URL != "" {
		given = append(given, "--url")
	}
	return given
}

// withoutLauncher leaves out what was said of a launcher that has been replaced.
func withoutLauncher(warnings []string) []string {
	return slices.DeleteFunc(slices.Clone(warnings), func(w string) bool {
		return strings.Contains(w, ": engine.docker.") || strings.Contains(w, ": engine.process.")
	})
}

// setImage replaces the image of a docker launcher.
func (c *Config) setImage(ref string) error {
	if c.Engine.Docker == nil {
		return &runner.PlanError{What: "--image: the config starts no container, expected engine.docker in it", Remedy: "hand the build over with --command or --url, or configure engine.docker"}
	}
	d := *c.Engine.Docker
	c.Engine.Docker = &d
	if w := unpinned(ref); w != "" {
		c.Warnings = append(c.Warnings, "--image: "+w)
	}
	return set("--image", image(&d.Image), ref)
}

// setCommand replaces the command of a process launcher. One that comes in another
// launcher's place takes over what it knows of environment and patience.
func (c *Config) setCommand(words []string) error {
	p := newProcess()
	switch e := c.Engine; {
	case e.Process != nil:
		*p = *e.Process
	case e.Docker != nil:
		p.Env, p.Secrets, p.ReadyTimeout = e.Docker.Env, e.Docker.Secrets, e.Docker.ReadyTimeout
	}
	p.Command = words
	c.Engine.Process, c.Engine.Docker, c.Engine.Attach = p, nil, nil
	return checkCommand(words)
}

// setURL attaches to a server.
func (c *Config) setURL(url string) error {
	a := newAttach()
	if c.Engine.Attach != nil {
		*a = *c.Engine.Attach
	}
	c.Engine.Attach, c.Engine.Docker, c.Engine.Process = a, nil, nil
	return set("--url", baseURL(&a.URL), url)
}

// set gives a value from outside the same treatment as one from the file.
func set(flag string, s strict.Scalar, text string) error {
	p := s.Set(text)
	if p == nil {
		return nil
	}
	if p.What == "" {
		p.What = strconv.Quote(text)
	}
	if p.Hint == "" {
		p.Hint = "for example: " + flag + " " + s.Example
	}
	return &runner.PlanError{What: flag + ": " + p.What + ", expected " + s.Expected, Remedy: p.Hint}
}
