package gate

import (
	"fmt"
	"math"
	"time"

	"github.com/servegate/servegate/gate/stats"
)

// Tolerances says how far what happened may be from what was meant to happen before a
// repetition is no valid measurement. Shares are of 1.
type Tolerances struct {
	Input  float64 // mean prompt tokens, as a share of those asked for
	Output float64 // mean output tokens, likewise; only where the engine honours ignore_eos
	// Untold is the share of the ok requests that may go without a count of output tokens
	// where the engine honours ignore_eos, which only such counts have shown: lengths that
	// nobody tells can't be checked.
	Untold      float64
	ArrivalRate float64 // open loop: achieved rate, as a share of the drawn schedule's
	HitRatio    float64 // cache-hit ratio, in absolute terms
	// Concurrency is the least share of a closed loop's streams that must have had a
	// request in flight, on average over the window.
	Concurrency float64
	// Window is the least share of the planned requests, or of the planned duration, that
	// the window of a closed loop must hold. It is the longest stretch at full concurrency,
	// and so ends where the client stood still: what would show that lies outside of it.
	Window float64
	// The p99 of send lag may be SendLag, or SendLagShare of the median TTFT where that
	// is longer, but never over SendLagMost.
	SendLag      time.Duration
	SendLagShare float64
	SendLagMost  time.Duration
}

// DefaultTolerances are the tolerances that [Derive] applies: 2 % of the prompt tokens,
// 1 % of the output tokens, which a tenth of the requests may leave untold, 2 % of the
// arrival rate, 5 points of the cache-hit ratio, 95 % of the concurrency, 90 % of what
// was to be measured; a p99 of send lag of 1 ms or 2 % of the median TTFT, at most 5 ms.
var DefaultTolerances = Tolerances{
	Input:        .02,
	Output:       .01,
	Untold:       .1,
	ArrivalRate:  .02,
	HitRatio:     .05,
	Concurrency:  .95,
	Window:       .9,
	SendLag:      time.Millisecond,
	SendLagShare: .02,
	SendLagMost:  5 * time.Millisecond,
}

// late says whether the client sent too late to be believed. medianTTFT is in nanoseconds,
// NaN where there is none.
func (tol Tolerances) late(c Client, medianTTFT float64) []string {
	limit := float64(tol.SendLag)
	if share := tol.SendLagShare * medianTTFT; share > limit {
		limit = min(share, float64(tol.SendLagMost))
	}
	if c.SendLag == nil || c.SendLag.P99 <= seconds(limit) {
		return nil
	}
	return []string{fmt.Sprintf("the client was late: p99 of send lag is %.3f ms, the limit %.3f ms (sends over 1 ms late: %d)",
		c.SendLag.P99*1e3, limit/1e6, c.LateSends)}
}

// curtailed says that the window of a closed loop holds too little of what was planned.
func (tol Tolerances) curtailed(c Cell, f Facts, n Counts, windowS float64) []string {
	var share string
	switch {
	case c.open():
		return nil
	case float64(n.Issued) < tol.Window*float64(f.PlannedRequests):
		share = fmt.Sprintf("%d of %d requests", n.Issued, f.PlannedRequests)
	case windowS < tol.Window*f.PlannedS:
		share = fmt.Sprintf("%.3g of %.3g s", windowS, f.PlannedS)
	default:
		return nil
	}
	return []string{"the client was late: it left streams idle, and only " + share + " lie in a stretch at full concurrency"}
}

// astray says where the load that was applied is not the one that was asked for.
func (tol Tolerances) astray(c Cell, n Counts, o Observed) []string {
	var lines []string
	off := func(what string, got *float64, want, tolerance float64) {
		// Negated, so that a NaN is off.
		if got != nil && want != 0 && !(math.Abs(*got-want) <= tolerance*want) {
			lines = append(lines, fmt.Sprintf("%s: %.4g instead of %.4g, %+.1f %% (tolerance %.3g %%)",
				what, *got, want, (*got/want-1)*100, tolerance*100))
		}
	}
	if n.Issued == 0 {
		lines = append(lines, "no request was issued in the window")
	}
	off("input tokens a request", o.InputTokens, o.WantInput, tol.Input)
	if c.FixedOutput {
		off("output tokens a request", o.OutputTokens, o.WantOutput, tol.Output)
		if ok := n.By[OK]; float64(o.UnknownUsage) > tol.Untold*float64(ok) {
			lines = append(lines, fmt.Sprintf("output tokens a request: %d of %d ok requests tell none that can be (at most %.3g %%), though the engine has told them: their length can't be checked",
				o.UnknownUsage, ok, tol.Untold*100))
		}
	}
	if o.ScheduleRate != nil {
		off("requests sent a second", o.ArrivalRate, *o.ScheduleRate, tol.ArrivalRate)
	}
	if o.FailureIdle != nil {
		if reached := (*o.Concurrency + *o.FailureIdle) / float64(c.Concurrency); !(reached >= tol.Concurrency) {
			lines = append(lines, fmt.Sprintf("concurrency: %.4g of %d streams had a request in flight on average, %.1f %% (at least %.3g %%)",
				*o.Concurrency, c.Concurrency, reached*100, tol.Concurrency*100))
		}
	}
	if c.HitRatio != nil && o.HitRatio != nil && !(math.Abs(*o.HitRatio-*c.HitRatio) <= tol.HitRatio) {
		lines = append(lines, fmt.Sprintf("cache-hit ratio: %.1f %% instead of %.1f %% (tolerance %.3g points)",
			*o.HitRatio*100, *c.HitRatio*100, tol.HitRatio*100))
	}
	return lines
}

// implausible says which latencies are not positive and finite, though no latency can be
// anything else. Send lag can be 0. So can a gap, where two frames came in one packet, and
// with it the middle of a distribution of gaps; where even its p95 or p99 are, almost
// nothing is left of the gaps that the engine made, and no change can be told from them.
func implausible(metrics map[Metric]Summary) []string {
	var lines []string
	for _, d := range Metrics {
		s := metrics[d.Metric]
		if !d.Distribution || d.Metric == SendLag {
			continue
		}
		checked, hint := s.statistics(), ""
		if d.Metric == ITL {
			checked = []statistic{{"p95", s.P95}, {"p99", s.P99}}
			hint = "; the frames came in bursts: does a proxy hold them back?"
		}
		for _, st := range checked {
			if st.value != nil && !(*st.value > 0 && !math.IsInf(*st.value, 1)) {
				lines = append(lines, fmt.Sprintf("%s.%s is %g s, which no latency can be%s", d.Metric, st.name, *st.value, hint))
			}
		}
	}
	return lines
}

// lateSend is the send lag from which a send counts as late.
const lateSend = int64(time.Millisecond)

// client says what the window's sends tell of the client.
func (t *tally) client() Client {
	lag := t.samples.lag
	if len(lag) == 0 {
		return Client{}
	}
	at := func(q float64) float64 { return seconds(stats.Quantile(lag, q)) }
	c := Client{SendLag: &SendLagStatistics{P50: at(.5), P99: at(.99), Max: at(1)}}
	for _, ns := range lag {
		if ns > lateSend {
			c.LateSends++
		}
	}
	return c
}

// ratio is a / b, or nil where b is 0.
func ratio(a, b float64) *float64 {
	if b == 0 {
		return nil
	}
	v := a / b
	return &v
}

// observe says what happened in the window; reqs and flights are those of the repetition.
func (t *tally) observe(reqs []Request, flights []flight) Observed {
	o := Observed{OneTokenOutputs: t.oneToken, OneMomentOutputs: t.oneMoment, UnknownUsage: t.unknownUsage}
	t.observeTokens(&o)
	if t.window.End > t.window.Start {
		n := t.window.inFlight(reqs)
		o.Concurrency = &n
		if !t.cell.open() {
			idle := t.window.failureIdle(flights)
			o.FailureIdle = &idle
		}
	}
	if t.cell.open() {
		o.ArrivalRate = rate(t.members, (*Request).start)
		o.ScheduleRate = rate(t.members, func(r *Request) time.Duration { return r.Due })
	}
	return o
}

// observeTokens fills in what the usage of the window's ok requests tells.
func (t *tally) observeTokens(o *Observed) {
	var input, output lengths
	var cached, cacheable, chunked, chunks int
	for _, r := range t.members {
		if r.Outcome != OK {
			continue
		}
		input.add(r.Input, r.WantInput)
		output.add(r.Output, r.WantOutput)
		if r.Cached != Unknown && r.Input != Unknown {
			cached, cacheable = cached+r.Cached, cacheable+r.Input
		}
		if t.cell.Streaming && r.Output != Unknown {
			chunked, chunks = chunked+r.Output, chunks+len(r.Arrivals)
		}
	}
	o.InputTokens, o.WantInput = input.means()
	o.OutputTokens, o.WantOutput = output.means()
	o.HitRatio = ratio(float64(cached), float64(cacheable))
	o.TokensPerChunk = ratio(float64(chunked), float64(chunks))
}

// lengths adds up token counts of requests beside what was asked for.
type lengths struct{ got, want, n int }

func (l *lengths) add(got, want int) {
	if got != Unknown {
		l.got, l.want, l.n = l.got+got, l.want+want, l.n+1
	}
}

// means returns the mean count, and the mean of what was asked of the same requests; nil
// and 0 where no count is known.
func (l *lengths) means() (got *float64, want float64) {
	if l.n == 0 {
		return nil, 0
	}
	return ratio(float64(l.got), float64(l.n)), float64(l.want) / float64(l.n)
}

// rate is the number of arrivals per second from the first to the last of the moments
// that at gives: n moments have n-1 intervals. It is nil where they span no time.
func rate(reqs []*Request, at func(*Request) time.Duration) *float64 {
	if len(reqs) == 0 {
		return nil
	}
	first, last := at(reqs[0]), at(reqs[0])
	for _, r := range reqs {
		first, last = min(first, at(r)), max(last, at(r))
	}
	return ratio(float64(len(reqs)-1), seconds(float64(last-first)))
}
