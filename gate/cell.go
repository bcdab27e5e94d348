package gate

import (
	"math"
	"time"
)

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
