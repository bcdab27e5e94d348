package gate

import (
	"math"
	"slices"
	"time"
)

// Unknown is the value of a token count that nobody told. It is not zero: an engine
// that reports no cached tokens has not reported that there were none.
const Unknown = -1

// Outcome is what became of a request: exactly one of the constants below.
type Outcome string

// The outcomes. Only OK counts towards latencies and goodput; all of them count as issued.
const (
	OK          Outcome = "ok"
	HTTP4xx     Outcome = "http_4xx"      // any 4xx but 429
	HTTP5xx     Outcome = "http_5xx"      // any 5xx but 503
	Rejected    Outcome = "rejected"      // 429 or 503: the engine's queue was full
	Connect     Outcome = "connect"       // no connection, or it broke before the first byte of the answer
	Timeout     Outcome = "timeout"       // not done within the request timeout
	Cancelled   Outcome = "cancelled"     // given up by us: interrupt, or end of the drain
	InBandError Outcome = "in_band_error" // an error frame under HTTP 200
	Truncated   Outcome = "truncated"     // the stream ended without its terminator
	Empty       Outcome = "empty"         // a complete answer with no output at all
	Malformed   Outcome = "malformed"     // not the protocol, or usage tells of tokens that no frame showed
	ShortOutput Outcome = "short_output"  // fewer tokens than asked for although EOS is ignored
)

// Outcomes lists every outcome in the order in which reports print them.
var Outcomes = []Outcome{
	OK, HTTP4xx, HTTP5xx, Rejected, Connect, Timeout, Cancelled,
	InBandError, Truncated, Empty, Malformed, ShortOutput,
}

// Phase is the part of a repetition that a request was issued in.
type Phase string

// The phases of a repetition, in order. Only the requests of Measure can lie in the
// window; those of Drain keep the load up until the last measured request has ended.
const (
	Warmup  Phase = "warmup"
	Measure Phase = "measure"
	Drain   Phase = "drain"
)

// Request is the raw record of one request. All times are offsets from the start of
// the repetition on one monotonic clock; Sent, Done and the Arrivals are zero, or
// missing, where that moment never came.
type Request struct {
	Index  int   // place in its phase's sequence, from 0: fixes length and content
	Phase  Phase // the part of the repetition that it was issued in
	Stream int   // closed loop: the stream that issued it, from 0; open loop: 0

	Due      time.Duration
	Sent     time.Duration
	Arrivals []time.Duration // one for each frame that carried output, ascending
	Done     time.Duration

	// ChunkTokens holds the tokens that each arrival brought, where token ids or a
	// running usage count showed them and they are not all one. Else it is nil.
	ChunkTokens []int

	WantInput  int // prompt tokens asked for
	WantOutput int // output tokens asked for (max_tokens)
	Input      int // prompt tokens by the server's usage, or Unknown
	Output     int // output tokens by the server's usage, or Unknown
	Cached     int // prompt tokens served from the prefix cache by usage, or Unknown

	Outcome Outcome
	Status  int    // HTTP status, 0 if none came
	Finish  string // finish_reason as the engine gave it
	Error   string // what went wrong, in one line; empty for ok
}

// First is the arrival of the first frame that carried output, 0 if none came.
func (r *Request) First() time.Duration {
	if len(r.Arrivals) == 0 {
		return 0
	}
	return r.Arrivals[0]
}

// Last is the arrival of the last frame that carried output, 0 if none came.
func (r *Request) Last() time.Duration {
	if len(r.Arrivals) == 0 {
		return 0
	}
	return r.Arrivals[len(r.Arrivals)-1]
}

// start is the moment r was sent, or was to be sent where it never was.
func (r *Request) start() time.Duration {
	if r.Sent > 0 {
		return r.Sent
	}
	return r.Due
}

// end is the last moment that is known of r: its Done, and where that never came (or
// precedes output that the kernel had already taken) its last output or its start.
func (r *Request) end() time.Duration {
	return max(r.start(), r.Done, r.Last())
}

// widestGap is the longest time between two consecutive arrivals, 0 where there are not two.
func (r *Request) widestGap() time.Duration {
	widest := time.Duration(0)
	for i := 1; i < len(r.Arrivals); i++ {
		widest = max(widest, r.Arrivals[i]-r.Arrivals[i-1])
	}
	return widest
}

// The largest values that a record may hold. Up to 2^53 ns (104 days) a float64 holds
// every whole nanosecond; and no sum of token counts below 2^31 overflows.
const (
	maxOffset = time.Duration(1) << 53
	maxTokens = 1 << 31
)

// impossible says in a few words what can't be in r as a record of cell c, or "" where
// nothing is: such a record was damaged, or made by a clock that jumped. Whatever an
// engine may do to a request is possible.
func (r *Request) impossible(c Cell) string {
	switch {
	case !slices.Contains(Outcomes, r.Outcome):
		return "unknown outcome"
	case r.Phase != Warmup && r.Phase != Measure && r.Phase != Drain:
		return "unknown phase"
	case min(r.Due, r.Sent, r.Done) < 0, max(r.Due, r.Sent, r.Done, r.Last()) > maxOffset:
		return "time out of range"
	case r.First() < 0, !slices.IsSorted(r.Arrivals):
		return "arrivals not in ascending order"
	case min(r.WantInput, r.WantOutput) < 0, min(r.Input, r.Output, r.Cached) < Unknown,
		max(r.WantInput, r.WantOutput, r.Input, r.Output, r.Cached) > maxTokens:
		return "token count out of range"
	case r.ChunkTokens != nil && len(r.ChunkTokens) != len(r.Arrivals):
		return "token counts that don't match the arrivals"
	case slices.ContainsFunc(r.ChunkTokens, func(n int) bool { return n < 0 || n > maxTokens }):
		return "token count out of range"
	case r.Outcome == OK && (r.Sent == 0 || r.Done == 0):
		return "ok, but never sent or never ended"
	case r.Outcome == OK && c.Streaming && len(r.Arrivals) == 0:
		return "ok, but no output arrived"
	case r.Outcome == OK && c.answered(r) <= r.Sent, r.Outcome == OK && c.Streaming && r.First() <= r.Sent:
		return "answered before it was sent"
	}
	return ""
}

// Cell is one point of the benchmark matrix, as far as the metrics need to know it.
type Cell struct {
	ID        string `json:"id"`       // workload@load
	Workload  string `json:"workload"` // name of the workload
	Load      string `json:"load"`     // name of the load
	Streaming bool   `json:"streaming"`
	// Concurrency is the number of streams of a closed loop, 0 for an open loop.
	Concurrency int `json:"concurrency,omitempty"`
	SLO         SLO `json:"slo"`
	// FixedOutput says whether the engine honours ignore_eos, so that output lengths are
	// checked against what was asked for.
	FixedOutput bool `json:"fixed_output"`
	// HitRatio is the share of prompt tokens that the prefix cache is meant to serve, from
	// 0 to 1; nil where none is aimed at. The observed one is checked against it.
	HitRatio *float64 `json:"cache_hit_ratio,omitempty"`
}

// open reports whether requests arrive by a schedule, and not in a closed loop.
func (c Cell) open() bool { return c.Concurrency <= 0 }

// issued is the moment that decides whether r lies in the window: its due time in an open
// loop; in a closed loop the moment it was sent, or was to be sent where it never was.
func (c Cell) issued(r *Request) time.Duration {
	if c.open() {
		return r.Due
	}
	return r.start()
}

// answered is the moment at which an ok request had its whole answer: the last frame with
// output, or the end of the body where nothing is streamed.
func (c Cell) answered(r *Request) time.Duration {
	if c.Streaming {
		return r.Last()
	}
	return r.Done
}

// SLO holds the limits that a good request keeps, in seconds. Zero is no limit.
type SLO struct {
	TTFT   float64 `json:"ttft,omitempty"`    // the request's TTFT
	E2E    float64 `json:"e2e,omitempty"`     // the request's E2E
	TPOT   float64 `json:"tpot,omitempty"`    // the request's TPOT
	ITL    float64 `json:"itl,omitempty"`     // the mean of the request's chunk gaps
	ITLMax float64 `json:"itl_max,omitempty"` // every chunk gap of the request
}

// IsZero reports whether no limit is set; goodput is then ok requests per second.
func (s SLO) IsZero() bool { return s == SLO{} }

// goodness says whether a request was good.
type goodness int

const (
	bad goodness = iota
	good
	// undecided is a request that keeps all other limits, and whose TPOT exists but can't
	// be told, since the server gave no usage. To count it either way would be a guess.
	undecided
)

// judge says whether r is good: ok and within every limit that applies. A limit whose
// quantity doesn't exist for the request (one chunk, one token, not streamed) doesn't.
func (c Cell) judge(r *Request) goodness {
	if r.Outcome != OK || !within(c.answered(r)-r.Sent, c.SLO.E2E, 1) {
		return bad
	}
	if !c.Streaming {
		return good
	}
	span, gaps := r.Last()-r.First(), len(r.Arrivals)-1
	switch {
	case !within(r.First()-r.Sent, c.SLO.TTFT, 1),
		gaps > 0 && !within(span, c.SLO.ITL, gaps),
		!within(r.widestGap(), c.SLO.ITLMax, 1),
		r.Output > 1 && !within(span, c.SLO.TPOT, r.Output-1):
		return bad
	case c.SLO.TPOT > 0 && r.Output == Unknown && span > 0:
		return undecided
	}
	return good
}

// within reports whether the mean of n durations that add up to total keeps limit, in
// seconds; the limit itself is kept. It is compared in whole nanoseconds, so that no
// rounding of a quotient decides.
func within(total time.Duration, limit float64, n int) bool {
	return !(limit > 0) || float64(total) <= math.Round(limit*1e9)*float64(n)
}
