package runner

import (
	"context"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/servegate/servegate/runner/engine"
	"github.com/servegate/servegate/runner/engine/attach"
	"github.com/servegate/servegate/runner/engine/process"
)

// interruptGrace is how long an engine has to end once the run was interrupted: who
// pressed Ctrl-C waits for it, and CI kills us after 7.5 s.
const interruptGrace = 3 * time.Second

// engineLog is the role under which the engine's log is stored.
const engineLog = "engine"

// booted is an engine that is ready, and what it can do.
type booted struct {
	handle engine.Handle
	boot   int // which boot of the run it is, from 1
	traits traits
}

// ensureEngine boots the engine, or attaches to it, where none is there.
func (s *session) ensureEngine(ctx context.Context) error {
	if s.engine != nil {
		return nil
	}
	s.boots++
	launcher, what, err := s.launcher()
	if err != nil {
		return s.stage(ctx, "boot engine", err)
	}
	s.options.Notify(Event{Kind: Booting, Boot: s.boots, Text: what})
	start := time.Now()
	handle, err := launcher.Launch(ctx)
	if err != nil {
		return s.stage(ctx, "boot engine", err)
	}
	s.engine = &booted{handle: handle, boot: s.boots}
	if err := engine.AwaitReady(ctx, handle, s.probe()); err != nil {
		return s.stage(ctx, "boot engine", err)
	}
	s.options.Notify(Event{Kind: Ready, Boot: s.boots, Spent: time.Since(start)})
	t, err := s.learn(ctx, handle.URL())
	if err != nil {
		return s.stage(ctx, "probe engine", err)
	}
	s.engine.traits = t
	return nil
}

// launcher is the one that the plan asks for, and what it does in words.
func (s *session) launcher() (engine.Launcher, string, error) {
	e := s.plan.Engine
	if e.Attach != nil {
		base, err := attach.BaseURL(e.Attach.URL)
		return attach.Launcher{URL: e.Attach.URL}, "attaching to " + base, err
	}
	p := e.Process
	secrets := p.Secrets
	if e.APIKey != "" {
		secrets = append(slices.Clone(secrets), e.APIKey)
	}
	log, err := s.options.Out.LogPath(engineLog)
	return process.Launcher{
		Command:    ourselves(p.Command),
		Model:      s.plan.Model,
		Dir:        p.Dir,
		Env:        p.Env,
		PassEnv:    p.PassEnv,
		Secrets:    secrets,
		LogPath:    log,
		Grace:      e.StopGrace,
		Supervisor: s.options.Supervisor,
	}, "starting " + strings.Join(p.Command, " "), err
}

// probe says how the engine shows that it is ready.
func (s *session) probe() engine.Probe {
	header := http.Header{}
	if key := s.apiKey(); key != "" {
		header.Set("Authorization", "Bearer "+key)
	}
	return engine.Probe{
		Header:     header,
		Timeout:    s.plan.Engine.ReadyTimeout,
		FirstToken: s.firstToken,
	}
}

// apiKey is the bearer token of the engine's API, empty if it has none.
func (s *session) apiKey() string {
	if s.plan.Engine.APIKey == "" {
		return ""
	}
	return s.options.Getenv(s.plan.Engine.APIKey)
}

// reboot stops the engine where the plan wants a new one for each repetition. One that
// was only attached to stays as it is.
func (s *session) reboot(ctx context.Context) error {
	if s.plan.Engine.Attach != nil || s.plan.Measure.Boot != BootPerRepetition {
		return nil
	}
	if err := s.stop(ctx); err != nil {
		return s.stage(ctx, "stop engine", err)
	}
	return nil
}

// stop ends the engine, if one runs, and waits until all of it is gone: with the grace
// of the plan, or with a short one where the run was interrupted.
func (s *session) stop(ctx context.Context) error {
	if s.engine == nil {
		return nil
	}
	e := s.engine
	s.engine = nil
	if s.plan.Engine.Attach == nil {
		s.options.Notify(Event{Kind: Stopping, Boot: e.boot})
	}
	patient, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	// An interrupt before or during the stop shortens the grace.
	release := context.AfterFunc(ctx, func() { time.AfterFunc(interruptGrace, cancel) })
	defer release()
	return e.handle.Stop(patient)
}

// ourselves replaces the program "servegate" by the running one, so that a config with
// the built-in engine needs nothing in PATH and can't meet another version there.
func ourselves(command []string) []string {
	if len(command) == 0 || command[0] != "servegate" {
		return command
	}
	self, err := os.Executable()
	if err != nil {
		return command
	}
	return append([]string{self}, command[1:]...)
}
