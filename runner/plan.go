// Package runner runs a plan: it boots the engine, waits until it is ready, warms it
// up, measures each cell with its repetitions, drains, tears down, and writes the run
// directory as it goes.
//
// When requests are due is decided by runner/load, what they are by runner/workload,
// how one is sent and timed by runner/openai, how the engine is started by the
// packages under runner/engine. What is computed from the records stands in gate, and
// how they are stored in gate/rundir. The package compares nothing and judges no
// build: it only says whether a repetition is a valid measurement.
package runner

import (
	"math"
	"time"

	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/runner/load"
	"github.com/servegate/servegate/runner/workload"
)

// Plan is everything that a run needs to know: what to boot, what to measure, and how.
// It is made from a config by cmd/internal/config; [Run] executes it.
type Plan struct {
	Engine  Engine
	Model   string // name that requests ask for
	Cells   []Cell // in the order in which they are measured
	Measure Measure
	Subject gate.Subject // what the config and the flags tell of the build under test
	// Declared holds the envelope fields that the config tells for all cells.
	Declared gate.Envelope
}

// Engine says how the engine comes to run: exactly one of Process and Attach is set.
type Engine struct {
	Kind         string // vllm, sglang, trtllm, llamacpp, tgi, ollama, dynamo, openai, sim
	Process      *Process
	Attach       *Attach
	ReadyTimeout time.Duration // from launch to the first real token
	StopGrace    time.Duration // between asking the engine to end and killing it
	// APIKey is the name of the environment variable with the bearer token that the
	// engine's API asks for; empty: none.
	APIKey string
}

// Process is an engine that the runner starts as a child process.
type Process struct {
	// Command holds the program and its arguments. {model} and {port} are replaced
	// in each; nothing else is, and no shell reads it.
	Command []string
	Dir     string            // working directory; empty: ours
	Env     map[string]string // set in the engine's environment
	PassEnv []string          // names passed on from ours, beside a built-in allowlist
	Secrets []string          // names passed on from ours whose values are masked in logs and files
}

// Attach is an engine that runs already.
type Attach struct{ URL string }

// Cell is one cell to be measured.
type Cell struct {
	gate.Cell
	Workload workload.Spec
	Load     load.Spec
}

// Measure says how much is measured. Exactly one of Requests and Duration is set.
type Measure struct {
	Requests       int           // requests in the window, at least
	Duration       time.Duration // length of the measured phase
	Warmup         int           // requests before the measured phase; 0: chosen by load (see Cell.WarmupRequests)
	Repetitions    int
	Seed           uint64
	Boot           Boot
	RequestTimeout time.Duration // a request that takes longer is a timeout
	DrainTimeout   time.Duration // requests that are still in flight after it are cancelled
	// HangTimeout is how long an engine may send no output while requests are in flight
	// before it counts as hung; 0: for ever. Where a cell isn't streamed it is at least
	// RequestTimeout.
	HangTimeout time.Duration
}

// Boot says how often the engine is booted.
type Boot string

// The boot policies. An attached engine is never booted.
const (
	BootPerRepetition Boot = "repetition" // once for each round of repetitions over all cells
	BootOnce          Boot = "run"
)

// WarmupRequests is the number of requests before the measured phase: what m says, or
// else twice the concurrency of a closed loop, and five seconds of an open one.
func (c Cell) WarmupRequests(m Measure) int {
	switch {
	case m.Warmup > 0:
		return m.Warmup
	case c.Load.Closed():
		return 2 * c.Load.Concurrency
	default:
		return max(minWarmup, int(math.Ceil(c.Load.Rate*warmupTime.Seconds())))
	}
}

// The default warm-up of an open loop.
const (
	minWarmup  = 16
	warmupTime = 5 * time.Second
)
