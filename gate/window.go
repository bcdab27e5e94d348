package gate

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"time"
)

// Window is the stretch of time that is measured. Both ends belong to it; they are offsets
// from the start of the repetition.
type Window struct{ Start, End time.Duration }

// Seconds is the length of the window in seconds.
func (w Window) Seconds() float64 { return seconds(float64(w.End - w.Start)) }

// Contains reports whether t lies in the window.
func (w Window) Contains(t time.Duration) bool { return w.Start <= t && t <= w.End }

// overlap is how much of the time from start to end lies in the window.
func (w Window) overlap(start, end time.Duration) time.Duration {
	return max(min(end, w.End)-max(start, w.Start), 0)
}

// holds reports whether r counts towards latencies, outcomes and goodput: those of the
// measured phase that were issued in the window do, and are followed to their end.
func (w Window) holds(c Cell, r *Request) bool {
	return r.Phase == Measure && w.Contains(c.issued(r))
}

// WindowOf returns the window of a repetition of cell c.
//
// In an open loop it reaches from the first to the last due time of the measured phase.
// In a closed loop it is the longest stretch in which at least 95 % of the streams are
// occupied (the first of equal ones), cut to the first and last send of the measured
// phase; requests of every phase keep a stream occupied.
//
// A stream is occupied from its first request to the end of its last. It isn't taken for
// idle in the turnaround between two requests, which would break the stretch of any
// concurrency below 20 at every completion: all turnarounds together are held against
// [Tolerances.Concurrency] instead. But it is idle in a pause longer than the longest ok
// request of the cell, in which another whole request would have had its place; unless
// the pause follows a failed request, for then waiting is the engine's doing. A request
// that was never sent starts when it was due; one that never ended lasts until the last
// that is known of it.
//
// With an error, which says why there is no window, comes the whole measured phase, so
// that there is something to look at; or a zero Window where nothing was issued in it.
func WindowOf(c Cell, reqs []Request) (Window, error) {
	return windowOf(c, reqs, flightsOf(c, reqs))
}

// windowOf is WindowOf where the flights are known.
func windowOf(c Cell, reqs []Request, flights []flight) (Window, error) {
	w, n := measuredPhase(c, reqs)
	if n == 0 {
		return w, errors.New("no request was issued in the measured phase")
	}
	if w.End <= w.Start {
		return w, fmt.Errorf("the window is empty: all requests of the measured phase (%d) were issued at one moment", n)
	}
	if c.open() {
		return w, nil
	}
	need := c.Concurrency - c.Concurrency/20 // 95 %, rounded up
	stretch, most := fullStretch(need, occupied(flights), w)
	if stretch.End <= stretch.Start {
		return w, fmt.Errorf("the concurrency was never held: at most %d of %d streams were busy at once in the measured phase, and %d are needed", most, c.Concurrency, need)
	}
	return stretch, nil
}

// measuredPhase is the time from the first to the last request that the measured phase
// issued, and how many these are.
func measuredPhase(c Cell, reqs []Request) (w Window, n int) {
	for i := range reqs {
		if reqs[i].Phase != Measure {
			continue
		}
		t := c.issued(&reqs[i])
		if n == 0 {
			w = Window{t, t}
		}
		w.Start, w.End = min(w.Start, t), max(w.End, t)
		n++
	}
	return w, n
}

// flight is a request as its stream sees it.
type flight struct {
	stream     int
	start, end time.Duration
	sent, ok   bool
}

// flightsOf returns the flights of all requests of a closed loop, stream by stream, in
// order of time. In an open loop there are no streams: nil.
func flightsOf(c Cell, reqs []Request) []flight {
	if c.open() {
		return nil
	}
	flights := make([]flight, len(reqs))
	for i := range reqs {
		r := &reqs[i]
		flights[i] = flight{r.Stream, r.start(), r.end(), r.Sent > 0, r.Outcome == OK}
	}
	slices.SortFunc(flights, flight.compare)
	return flights
}

// compare orders flights by stream, start and end; where these agree, so that no order of
// the records shows in a result, by what became of them.
func (f flight) compare(g flight) int {
	switch {
	case f.stream != g.stream:
		return cmp.Compare(f.stream, g.stream)
	case f.start != g.start:
		return cmp.Compare(f.start, g.start)
	case f.end != g.end:
		return cmp.Compare(f.end, g.end)
	case f.ok != g.ok:
		return trueFirst(f.ok)
	case f.sent != g.sent:
		return trueFirst(f.sent)
	}
	return 0
}

// trueFirst is the comparison of two bools that differ: true comes first.
func trueFirst(f bool) int {
	if f {
		return -1
	}
	return 1
}

// occupied returns the stretches of time in which single streams are occupied.
func occupied(flights []flight) []Window {
	patience := time.Duration(0)
	for _, f := range flights {
		if f.ok {
			patience = max(patience, f.end-f.start)
		}
	}
	var spans []Window
	failed := false // whether the request that ended last did
	for i, f := range flights {
		last := len(spans) - 1
		if i == 0 || f.stream != flights[i-1].stream || !failed && f.start-spans[last].End > patience {
			spans = append(spans, Window{f.start, f.end})
			failed = !f.ok
			continue
		}
		if f.end >= spans[last].End {
			spans[last].End, failed = f.end, !f.ok
		}
	}
	return spans
}

// fullStretch returns the longest stretch inside of within in which at least need spans
// lie over each other, and the most that ever do there.
func fullStretch(need int, spans []Window, within Window) (longest Window, most int) {
	var starts, ends []time.Duration
	for _, s := range spans {
		if s.End >= within.Start && s.Start <= within.End {
			starts, ends = append(starts, max(s.Start, within.Start)), append(ends, min(s.End, within.End))
		}
	}
	slices.Sort(starts)
	slices.Sort(ends)
	var from time.Duration
	for n := 0; len(ends) > 0; {
		if len(starts) > 0 && starts[0] <= ends[0] {
			if n++; n == need {
				from = starts[0]
			}
			most, starts = max(most, n), starts[1:]
			continue
		}
		if n == need && ends[0]-from > longest.End-longest.Start {
			longest = Window{from, ends[0]}
		}
		n, ends = n-1, ends[1:]
	}
	return longest, most
}

// inFlight is the number of requests in flight, averaged over the window.
func (w Window) inFlight(reqs []Request) float64 {
	var t total
	for i := range reqs {
		if r := &reqs[i]; r.Sent > 0 {
			t.add(w.overlap(r.Sent, r.end()))
		}
	}
	return t.nanoseconds() / float64(w.End-w.Start)
}

// failureIdle is the number of streams of a closed loop that have nothing in flight since
// their last request failed, or couldn't even be sent, averaged over the window.
func (w Window) failureIdle(flights []flight) float64 {
	var t total
	var before flight // of the stream's requests so far, the one that ended last
	for i, f := range flights {
		switch {
		case i == 0 || f.stream != flights[i-1].stream:
			before = flight{end: f.start, ok: true}
		case !before.ok:
			t.add(w.overlap(before.end, f.start))
		}
		if !f.sent {
			t.add(w.overlap(max(f.start, before.end), f.end))
		}
		if f.end >= before.end {
			before = f
		}
	}
	return t.nanoseconds() / float64(w.End-w.Start)
}

// total adds up durations exactly, and so in any order to the same sum.
type total struct{ high, low uint64 }

// add adds d, which isn't negative.
func (t *total) add(d time.Duration) {
	low, carry := bits.Add64(t.low, uint64(d), 0)
	t.low, t.high = low, t.high+carry
}

func (t total) nanoseconds() float64 { return float64(float64(t.high)*(1<<64)) + float64(t.low) }

// seconds turns nanoseconds into seconds, the unit in which times are stored.
func seconds(ns float64) float64 { return ns / 1e9 }

// flow is what completed and what arrived in the window, of the ok requests of every phase.
type flow struct {
	completed int
	tokens    int64     // output tokens of the requests whose output arrived in it entirely
	parts     []float64 // output tokens in the window of each request that has some outside
	prompts   int64     // prompt tokens of the requests whose first output arrived in it
	noOutput  int       // requests that belong to tokens or parts, but whose output tokens are unknown
	noInput   int       // the same for prompts
}

func flowOf(c Cell, w Window, reqs []Request) flow {
	var f flow
	for i := range reqs {
		r := &reqs[i]
		if r.Outcome != OK {
			continue
		}
		if w.Contains(r.Done) {
			f.completed++
		}
		f.addOutput(c, w, r)
		begun := r.Done
		if c.Streaming {
			begun = r.First()
		}
		switch {
		case !w.Contains(begun):
		case r.Input == Unknown:
			f.noInput++
		default:
			f.prompts += int64(r.Input)
		}
	}
	// The sum of rounded numbers depends on their order; that of the records must not show.
	slices.Sort(f.parts)
	return f
}

func (f *flow) addOutput(c Cell, w Window, r *Request) {
	in, all := w.arrived(c, r)
	switch {
	case in == 0:
	case r.Output == Unknown:
		f.noOutput++
	case in == all:
		f.tokens += int64(r.Output)
	default:
		f.parts = append(f.parts, float64(r.Output)*float64(in)/float64(all))
	}
}

// arrived says what share of the output of r arrived in the window: in of all. Where the
// tokens of each arrival are known they are the weights (the sum is left to the usage: a
// closing token may have had no frame); else every arrival weighs the same. What wasn't
// streamed arrived at the end.
func (w Window) arrived(c Cell, r *Request) (in, all int64) {
	if !c.Streaming {
		if w.Contains(r.Done) {
			return 1, 1
		}
		return 0, 1
	}
	weighed := slices.ContainsFunc(r.ChunkTokens, func(n int) bool { return n > 0 })
	for i, at := range r.Arrivals {
		weight := int64(1)
		if weighed {
			weight = int64(r.ChunkTokens[i])
		}
		all += weight
		if w.Contains(at) {
			in += weight
		}
	}
	return in, all
}

// outputTokens is the number of output tokens that arrived in the window.
func (f *flow) outputTokens() float64 {
	sum := float64(f.tokens)
	for _, p := range f.parts {
		sum += p
	}
	return sum
}
