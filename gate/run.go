package gate

import "time"

// RunSchema names the format of run.json that this package writes and reads.
const RunSchema = "servegate.run/v1"

// Run is all cells x repetitions of one subject in one environment: run.json.
type Run struct {
	Schema   string    `json:"schema"`
	ID       string    `json:"id"` // random, names the run in stores and nonces
	Tool     Tool      `json:"tool"`
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished,omitzero"`
	// Complete is written last. A run that lacks it was cut short: by an interrupt,
	// a kill, a full disk, or an engine that died; Incomplete says which where known.
	Complete   bool      `json:"complete"`
	Incomplete string    `json:"incomplete,omitempty"`
	Subject    Subject   `json:"subject"`
	Context    Context   `json:"context"`
	Cells      []CellRun `json:"cells"`
	Warnings   []string  `json:"warnings,omitempty"`
}

// Tool is the servegate that measured.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Subject is what is under test. It may differ between two runs; each difference is shown.
type Subject struct {
	Engine  string   `json:"engine"`            // kind: vllm, sglang, openai, sim, ...
	Version string   `json:"version,omitempty"` // as the engine tells it
	Commit  string   `json:"commit,omitempty"`
	Image   string   `json:"image,omitempty"` // with its digest
	Command []string `json:"command,omitempty"`
	URL     string   `json:"url,omitempty"`
}

// Context is the environment beside the envelope: path to value, e.g. "kernel",
// "host.cpu". It must match by policy.
type Context map[string]string

// CellRun is one cell of a run with its conditions and its repetitions.
type CellRun struct {
	Cell
	Envelope    Envelope     `json:"envelope"`
	Fingerprint string       `json:"fingerprint"` // of Envelope, see [Envelope.Fingerprint]
	Repetitions []Repetition `json:"repetitions"`
}

// Repetition is one complete, warmed measurement of one cell.
type Repetition struct {
	Facts
	Valid bool `json:"valid"`
	// InvalidReasons says why Valid is false, one line each.
	InvalidReasons []string           `json:"invalid_reasons,omitempty"`
	WindowS        float64            `json:"window_s"` // length of the window in seconds
	Requests       Counts             `json:"requests"` // of the window
	Metrics        map[Metric]Summary `json:"metrics"`
	// Histograms holds each distribution as an HdrHistogram in its V2 compressed
	// encoding, base64, of whole nanoseconds with three significant digits.
	Histograms map[Metric]string `json:"histograms,omitempty"`
	Observed   Observed          `json:"observed"`
	Client     Client            `json:"client"`
}

// Facts is what is known of a repetition beside its requests.
type Facts struct {
	Index   int    `json:"index"` // from 1, within its cell
	Seed    uint64 `json:"seed"`
	Fresh   bool   `json:"fresh"`             // the engine was booted for it
	Boot    int    `json:"boot"`              // which boot of the run served it, from 1
	Repeats int    `json:"repeats,omitempty"` // index of the invalid repetition that it repeats
	// Start is when the repetition began, by the wall clock.
	Start time.Time `json:"start"`
	// Stamps says where arrival times come from.
	Stamps StampSource `json:"stamps"`
	// Faults are reasons of invalidity that no request record shows: an engine that
	// died or restarted, counters that don't add up, an interrupt.
	Faults []string    `json:"faults,omitempty"`
	Engine EngineFacts `json:"engine"`
}

// StampSource says who took the arrival times.
type StampSource string

// The sources of arrival times.
const (
	KernelStamps StampSource = "kernel" // SO_TIMESTAMPING receive timestamps
	ReadStamps   StampSource = "read"   // taken by the client after its read
)

// EngineFacts is what the engine's own counters said over the repetition.
// A nil count was not told.
type EngineFacts struct {
	Requests     *int64 `json:"requests,omitempty"`      // finished with success, by the engine
	PromptTokens *int64 `json:"prompt_tokens,omitempty"` // processed or taken from the cache
	OutputTokens *int64 `json:"output_tokens,omitempty"`
	Preemptions  *int64 `json:"preemptions,omitempty"`
}

// Counts is the number of requests of the window, by outcome.
type Counts struct {
	Issued int
	By     map[Outcome]int
}

// Summary is one metric of one repetition. A scalar has Value; a distribution has
// Count and, above their sample floors, the statistics. A nil statistic is withheld
// (or, for a scalar, undefined) and stands in the file as null.
type Summary struct {
	Unit       Unit
	Definition string
	Value      *float64 // scalar
	Count      int      // distribution: the number of samples
	Mean       *float64
	P50        *float64
	P90        *float64
	P95        *float64
	P99        *float64
	Max        *float64
}

// Observed is what happened, beside what the envelope declared. Nil: not observable.
type Observed struct {
	InputTokens     *float64 `json:"input_tokens,omitempty"`      // mean of ok requests
	WantInput       float64  `json:"input_tokens_wanted"`         // mean asked for, same requests
	OutputTokens    *float64 `json:"output_tokens,omitempty"`     // mean of ok requests
	WantOutput      float64  `json:"output_tokens_wanted"`        // mean asked for, same requests
	ArrivalRate     *float64 `json:"arrival_rate,omitempty"`      // open loop: sends per second of the window
	ScheduleRate    *float64 `json:"schedule_rate,omitempty"`     // open loop: due times per second of the window
	Concurrency     *float64 `json:"concurrency,omitempty"`       // time-averaged requests in flight over the window
	HitRatio        *float64 `json:"cache_hit_ratio,omitempty"`   // cached / prompt tokens of ok requests
	TokensPerChunk  *float64 `json:"tokens_per_chunk,omitempty"`  // of ok streamed requests
	OneTokenOutputs int      `json:"one_token_outputs,omitempty"` // ok requests without a TPOT since N < 2
}

// Client is what the instrument says of itself.
type Client struct {
	SendLagP50 *float64 `json:"send_lag_p50,omitempty"` // seconds
	SendLagP99 *float64 `json:"send_lag_p99,omitempty"`
	SendLagMax *float64 `json:"send_lag_max,omitempty"`
	LateSends  int      `json:"late_sends"` // sent more than 1 ms after due
}
