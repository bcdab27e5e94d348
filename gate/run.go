package gate

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

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
	Envelope    Envelope `json:"envelope"`
	Fingerprint string   `json:"fingerprint"` // of Envelope, see [Envelope.Fingerprint]
	Planned     int      `json:"planned"`     // valid repetitions that were planned
	// Invalid says why the cell could not be measured; empty where it could.
	Invalid     string       `json:"invalid,omitempty"`
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
	// encoding, base64, of whole nanoseconds with three significant digits; what is
	// longer than an hour stands in it as an hour. No statistic is taken from it.
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
	// What was to be measured: requests in the window, or seconds. 0: it was the other
	// one, or nobody tells.
	PlannedRequests int     `json:"planned_requests,omitempty"`
	PlannedS        float64 `json:"planned_s,omitempty"`
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

// MarshalJSON writes the counts as one flat object: issued and ok always, the other
// outcomes where they aren't zero. Counts that don't add up are an error.
func (c Counts) MarshalJSON() ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("encode requests: %w", err)
	}
	out := fmt.Appendf(nil, `{"issued":%d`, c.Issued)
	for _, o := range Outcomes {
		if n := c.By[o]; n != 0 || o == OK {
			out = fmt.Appendf(out, `,"%s":%d`, o, n)
		}
	}
	return append(out, '}'), nil
}

// UnmarshalJSON reads what [Counts.MarshalJSON] writes. Unknown outcomes, negative counts
// and counts that don't add up are errors.
func (c *Counts) UnmarshalJSON(data []byte) error {
	var flat map[Outcome]int
	if err := json.Unmarshal(data, &flat); err != nil {
		return fmt.Errorf("decode requests: %w", err)
	}
	issued, told := flat["issued"]
	delete(flat, "issued")
	if _, ok := flat[OK]; !told || !ok {
		return errors.New(`decode requests: want "issued" and "ok"`)
	}
	got := Counts{Issued: issued, By: flat}
	if err := got.check(); err != nil {
		return fmt.Errorf("decode requests: %w", err)
	}
	*c = got
	return nil
}

// check says what is wrong with c.
func (c Counts) check() error {
	if c.Issued < 0 {
		return fmt.Errorf("negative count: issued %d", c.Issued)
	}
	left := c.Issued
	for _, o := range slices.Sorted(maps.Keys(c.By)) {
		switch n := c.By[o]; {
		case !slices.Contains(Outcomes, o):
			return fmt.Errorf("unknown outcome %q", o)
		case n < 0:
			return fmt.Errorf("negative count: %s %d", o, n)
		case n > left:
			return fmt.Errorf("the outcomes add up to more than the %d issued", c.Issued)
		default:
			left -= n
		}
	}
	if left > 0 {
		return fmt.Errorf("%d of the %d issued have no outcome", left, c.Issued)
	}
	return nil
}

// Summary is one metric of one repetition. A scalar has Value; a distribution has
// Count and, above their sample floors, the statistics. A nil statistic is withheld
// (or, for a scalar, undefined) and stands in the file as null.
type Summary struct {
	Unit       Unit
	Definition string
	// Distribution says that the metric has statistics in place of one value. One with a
	// count or a statistic is a distribution even where it isn't set.
	Distribution bool
	// Reason says why a scalar is undefined, or why a distribution lacks samples that
	// there could have been. Empty where nothing is missing.
	Reason string
	Value  *float64 // scalar
	Count  int      // distribution: the number of samples
	Mean   *float64
	P50    *float64
	P90    *float64
	P95    *float64
	P99    *float64
	Max    *float64
}

// Observed is what happened, beside what the envelope declared. Nil: not observable.
// Lengths and the counts are of the window's ok requests.
type Observed struct {
	InputTokens     *float64 `json:"input_tokens,omitempty"`      // mean of ok requests
	WantInput       float64  `json:"input_tokens_wanted"`         // mean asked for, same requests
	OutputTokens    *float64 `json:"output_tokens,omitempty"`     // mean of ok requests
	WantOutput      float64  `json:"output_tokens_wanted"`        // mean asked for, same requests
	ArrivalRate     *float64 `json:"arrival_rate,omitempty"`      // open loop: sends per second, from the window's first to its last; one that couldn't be sent counts when it was due
	ScheduleRate    *float64 `json:"schedule_rate,omitempty"`     // open loop: arrivals per second of the drawn schedule over the window, taken the same way
	Concurrency     *float64 `json:"concurrency,omitempty"`       // requests in flight (sent, not ended) of any phase, averaged over the window
	FailureIdle     *float64 `json:"failure_idle,omitempty"`      // closed loop: streams between a failed request and their next one, averaged likewise
	HitRatio        *float64 `json:"cache_hit_ratio,omitempty"`   // cached / prompt tokens of ok requests
	TokensPerChunk  *float64 `json:"tokens_per_chunk,omitempty"`  // of ok streamed requests
	OneTokenOutputs int      `json:"one_token_outputs,omitempty"` // ok requests without a TPOT since N < 2
	// OneMomentOutputs counts ok requests with N >= 2 whose tokens all arrived at one
	// moment. They have no TPOT: a 0 would be how the answer was packed, not a speed.
	OneMomentOutputs int `json:"one_moment_outputs,omitempty"`
	UnknownUsage     int `json:"unknown_usage,omitempty"` // ok requests for which the server told no output tokens
}

// Client is what the instrument says of itself.
type Client struct {
	SendLag   *SendLagStatistics `json:"send_lag,omitempty"` // of the window's sends; nil: nothing was sent
	LateSends int                `json:"late_sends"`         // sent more than 1 ms after due
}

// SendLagStatistics describes the send lag of one repetition, in seconds. Its percentiles
// say how the sends were and infer nothing, so that they have no sample floor.
type SendLagStatistics struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}
