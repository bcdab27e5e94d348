package layout

// module is the path of the module that is held to the table.
const module = "github.com/servegate/servegate"

// room is one package of the house, or all packages below a folder.
type room struct {
	path string   // folder from the root; "x/..." is x and all below it
	ours []string // what it may import of this module, in the same notation
	// pure packages compute: no files, no network, no processes and no clock, and of
	// other modules only what outside names.
	pure    bool
	outside []string // modules of others that a pure package may import
	never   []string // standard packages that it may not import, beside those of pure
	reason  string   // why it is pure, or may never import what never names
}

// house is the table of the packages, from the cellar upwards: a room may only import
// rooms that stand above it in this list, so arrows can't run in a circle. A package may
// be absent; one that isn't in the list has no place in the house.
var house = []room{
	{path: "gate/stats", pure: true, outside: []string{"gonum.org/v1/gonum/stat/distuv"}, reason: "it is pure math"},
	{
		path: "gate", ours: []string{"gate/stats"}, pure: true, outside: []string{"github.com/HdrHistogram/hdrhistogram-go"},
		reason: "every verdict must follow from the records alone, on any machine, at any time",
	},
	{path: "gate/rundir", ours: []string{"gate"}, never: []string{"net/..."}, reason: "it reads and writes files, no more"},
	{
		path: "gate/report", ours: []string{"gate/rundir", "gate", "gate/stats"}, never: []string{"net/...", "os", "os/exec"},
		reason: "a report is deterministic and decides nothing",
	},
	{path: "gate/github", ours: []string{"gate"}},

	{path: "runner/sse", pure: true, reason: "it is a parser of bytes that others received"},
	{
		path: "runner/load", ours: []string{"gate"}, never: []string{"net/http"},
		reason: "it decides when requests are due, not what they are or how they are sent",
	},
	{path: "runner/workload", ours: []string{"gate"}, never: []string{"net/..."}, reason: "it decides what requests are, not how they are sent"},
	{path: "runner/openai/...", ours: []string{"runner/openai/...", "runner/sse", "runner/workload", "gate"}},
	{path: "runner/telemetry", ours: []string{"gate"}},
	{path: "runner/engine", ours: []string{"gate"}},
	{path: "runner/engine/enginetest", ours: []string{"runner/engine"}},
	{path: "runner/engine/process", ours: []string{"runner/engine"}},
	{path: "runner/engine/attach", ours: []string{"runner/engine"}},
	{path: "runner/engine/docker", ours: []string{"runner/engine"}},
	{path: "runner/engine/profile", ours: []string{"runner/engine", "runner/openai", "runner/telemetry", "gate"}},
	// The simulated engine is the other side of the wire: sharing code with the client
	// would let a fault of both go unseen.
	{path: "runner/engine/sim/...", ours: []string{"runner/engine/sim/..."}},
	{path: "runner", ours: []string{
		"runner/engine/...", "runner/load", "runner/openai", "runner/sse", "runner/workload", "runner/telemetry",
		"gate/rundir", "gate", "gate/stats",
	}},

	{path: "baselines", ours: []string{"gate/rundir", "gate", "gate/stats"}},
	{path: "baselines/...", ours: []string{"baselines", "gate/rundir", "gate", "gate/stats"}},

	{path: "cmd/internal/config/...", ours: []string{
		"cmd/internal/config/...", "runner/...", "baselines/...", "gate",
	}},
	{path: "cmd/internal/gating", ours: []string{"runner/...", "baselines/...", "gate/..."}},
	{path: "cmd/internal/cli", ours: []string{
		"cmd/internal/config", "cmd/internal/gating", "runner/...", "baselines/...", "gate/...",
	}},
	{path: "cmd/servegate", ours: []string{"cmd/internal/cli"}},
	{path: "cmd/internal/layout"},
}

// onlyFor says who may import a package, where that is fewer than the table would let.
var onlyFor = map[string][]string{
	"cmd/internal/config": {"cmd/internal/cli"},
	"cmd/internal/cli":    {"cmd/servegate"},
}

// atRoot is what may stand at the root of the repository, beside dotfiles and what
// .gitignore names.
var atRoot = []string{
	"action.yml", "cmd", "gate", "runner", "baselines", "go.mod", "go.sum", "Dockerfile", "README.md", "LICENSE",
}

// impure is what no pure package imports, and clock what it doesn't call of package time.
var (
	impure = []string{"os", "os/...", "net", "net/...", "syscall", "io/ioutil", "log", "log/...", "testing/...", "plugin"}
	clock  = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
)

// The limits of size, in lines, files and methods.
const (
	maxFunction  = 80
	maxFile      = 500
	maxFiles     = 15
	maxMain      = 20
	maxInterface = 3
)

// mayTalk are the files of libraries that may print or exit, and why.
var mayTalk = map[string]string{
	"runner/engine/process/guard.go":        "a process of its own, whose standard error is the engine's log",
	"runner/engine/enginetest/behaviour.go": "the test's engine, run as a process of its own",
}

// selfEvident are methods of interfaces that every Go programmer knows: a comment that
// says "implements error" helps nobody.
var selfEvident = []string{
	"Error", "Unwrap", "String", "Len", "Less", "Swap", "ServeHTTP",
	"MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText", "MarshalYAML", "UnmarshalYAML",
}

// bannedNames are no names of packages or files, bannedWords no words within any
// identifier, and bannedAlone no whole identifier.
var (
	bannedNames = []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "perf", "score"}
	bannedWords = []string{"util", "utils", "helper", "helpers", "perf", "score"}
	bannedAlone = []string{"latency", "common"}
)
