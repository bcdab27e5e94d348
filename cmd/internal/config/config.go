package config

import (
	"time"

	"github.com/servegate/servegate/cmd/internal/config/strict"
	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/runner"
	"github.com/servegate/servegate/runner/load"
	"github.com/servegate/servegate/runner/workload"
)

// Faults is everything that is wrong with a config, in the order of its lines.
type Faults = strict.Faults

// Fault is one thing that is wrong with a config, and where it stands.
type Fault = strict.Fault

// Config is a resolved config: every default is filled in, and nothing in it is at odds
// with anything else. [Load] makes it.
type Config struct {
	Version      int
	Engine       Engine
	Model        Model
	Hardware     Hardware
	Parallel     Parallel
	Quantization Quantization
	SLO          SLO
	Workloads    []Workload
	Loads        []NamedLoad
	Matrix       []Subset
	Measure      Measure
	Gate         Gate
	Baselines    Baselines
	Report       Report
	Cost         Cost

	// Warnings are things that work and may not be meant, a line each.
	Warnings []string

	source *strict.Reader // where each value stands, for faults that show later
}

// Engine says how the engine under test comes to run. Exactly one of Docker, Process
// and Attach is set.
type Engine struct {
	Kind      string
	Commit    string // of the source that the build was made from
	Docker    *Docker
	Process   *Process
	Attach    *Attach
	StopGrace time.Duration
	APIKey    string // name of an environment variable
}

// Docker is an engine in a container. This version validates it and has no launcher for it.
type Docker struct {
	Image        string
	Args         []string
	Entrypoint   []string // empty: the image's own
	GPUs         string   // none, all, a count, or device=ID,ID
	Env          map[string]string
	Secrets      []string // names of environment variables
	Mounts       []Mount
	ShmSize      int64 // bytes
	ReadyTimeout time.Duration
}

// Mount makes a directory or file of the host visible in a container.
type Mount struct {
	Source, Target string
	Writable       bool
}

// Process is an engine that is started as a child process.
type Process struct {
	runner.Process
	ReadyTimeout time.Duration
}

// Attach is an engine that runs already.
type Attach struct {
	runner.Attach
	ReadyTimeout time.Duration
}

// Model is the model that the engine serves.
type Model struct {
	Name       string // as the engine is told it
	Revision   string
	ServedName string // as requests ask for it; empty: Name
}

// Hardware is what the engine runs on, where neither it nor the host tells.
type Hardware struct {
	Class        string // the runner class
	Accelerator  string // product name
	Count        int
	Memory       int64 // of one accelerator, in bytes
	Partitioning string
}

// Parallel holds the parallel sizes; 0 is undeclared.
type Parallel struct{ TP, PP, DP, EP int }

// Quantization holds the formats of weights and KV cache; empty is undeclared.
type Quantization struct{ Weights, KVCache string }

// SLO holds the limits that a good request keeps. Zero is no limit.
type SLO struct{ TTFT, ITL, ITLMax, TPOT, E2E time.Duration }

// Limits returns the limits in the unit of gate.
func (s SLO) Limits() gate.SLO {
	return gate.SLO{
		TTFT:   s.TTFT.Seconds(),
		ITL:    s.ITL.Seconds(),
		ITLMax: s.ITLMax.Seconds(),
		TPOT:   s.TPOT.Seconds(),
		E2E:    s.E2E.Seconds(),
	}
}

// Workload is one entry of workloads.
type Workload struct {
	workload.Spec
	SLO *SLO // limits of its own, instead of the config's; nil: the config's
}

// NamedLoad is one entry of loads.
type NamedLoad struct {
	Name string
	load.Spec
}

// Subset is one entry of matrix: cells by their ids.
type Subset struct {
	Name  string
	Cells []string // workload@load
}

// Measure says how much is measured.
type Measure struct {
	Requests            int           // in the window, at least; 0: Duration is set
	Duration            time.Duration // of the measured phase; 0: Requests is set
	Warmup              int           // requests; 0: chosen by load
	Repetitions         int
	BaselineRepetitions int // of a run that becomes a baseline
	Seed                uint64
	Boot                runner.Boot
	RequestTimeout      time.Duration
	DrainTimeout        time.Duration
	HangTimeout         time.Duration // 0: never
}

// Gate is the policy that a verdict is made by.
type Gate struct {
	Metrics       []string           // the rows that gate: metric or metric.statistic
	Tolerances    map[string]float64 // of each of them: a regression up to this ratio is let through
	MustCatch     map[string]float64 // of each of them: a regression of this ratio must never pass
	Floors        map[string]time.Duration
	FailOn        []string // verdicts that fail; nil: by event, as the design's default
	ExpectChanged []string // envelope or subject paths that are meant to change
	Envelope      Strictness
	Subject       Strictness
	Context       map[string]ContextPolicy // by path; "default" is for all others

	tolerance, mustCatch float64 // one for all rows, as the file may give it
	failOn               string
}

// Strictness says what an undeclared envelope field, or an undeclared difference of
// the subject, leads to.
type Strictness string

// The strictnesses. BySituation is strict for a sign-off and Warn otherwise.
const (
	BySituation Strictness = "auto"
	Strict      Strictness = "strict" // not comparable
	Warn        Strictness = "warn"   // compared, and listed beside the verdict
)

// ContextPolicy says what a difference in the context leads to.
type ContextPolicy string

// The context policies.
const (
	ContextStrict ContextPolicy = "strict" // not comparable
	ContextWarn   ContextPolicy = "warn"   // compared, and listed beside the verdict
	ContextIgnore ContextPolicy = "ignore"
)

// Baselines says where baselines are kept and which of them count.
type Baselines struct {
	Dir     string   // relative to the working directory
	Promote []string // verdicts of cells that a recorded run promotes
	Pool    Pool
	MaxAge  time.Duration // of the newest one, before baseline check fails
	Keep    int           // records of a cell and runner class that pruning leaves
}

// Pool says how many records make up a baseline.
type Pool struct {
	Repetitions int           // records are added, newest first, until there are this many
	Span        time.Duration // between the newest and the oldest
}

// Report says what a report looks like.
type Report struct{ Title string }

// Cost holds prices.
type Cost struct {
	GPUHour float64 // USD an accelerator and hour; 0: no cost is reported
}
