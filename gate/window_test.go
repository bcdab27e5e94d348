package gate

import (
	"strings"
	"testing"
	"time"
)

// ms is x milliseconds.
func ms(x float64) time.Duration { return time.Duration(x * float64(time.Millisecond)) }

// busy makes a closed-loop request of the measured phase that was in flight from start to
// end, both in milliseconds, with one token in the middle.
func busy(stream int, start, end float64) Request {
	return Request{
		Phase: Measure, Stream: stream, Due: ms(start), Sent: ms(start),
		Arrivals: []time.Duration{ms((start + end) / 2)}, Done: ms(end),
		WantInput: 8, WantOutput: 1, Input: 8, Output: 1, Cached: Unknown, Outcome: OK,
	}
}

// as returns r with what edit does to it.
func as(r Request, edit func(*Request)) Request {
	edit(&r)
	return r
}

func inPhase(p Phase) func(*Request)         { return func(r *Request) { r.Phase = p } }
func failed(o Outcome) func(*Request)        { return func(r *Request) { r.Outcome, r.Arrivals = o, nil } }
func neverSent(r *Request)                   { r.Outcome, r.Sent, r.Arrivals = Connect, 0, nil }
func neverEnded(r *Request)                  { r.Outcome, r.Done = Cancelled, 0 }
func dueAt(due float64, p Phase) (r Request) { return Request{Phase: p, Due: ms(due), Outcome: OK} }

func TestWindowOf(t *testing.T) {
	tests := []struct {
		name        string
		concurrency int
		reqs        []Request
		start, end  float64 // milliseconds
		fault       string  // part of the error
	}{
		{name: "nothing", fault: "no request was issued"},
		{name: "open: first to last due of the measured phase", reqs: []Request{
			dueAt(1, Warmup), dueAt(5, Measure), dueAt(30, Measure), dueAt(20, Measure), dueAt(40, Drain),
		}, start: 5, end: 30},
		{name: "open: one moment", reqs: []Request{dueAt(5, Measure), dueAt(5, Measure)}, start: 5, end: 5, fault: "issued at one moment"},
		{name: "open: only warm-up", reqs: []Request{dueAt(5, Warmup)}, fault: "no request was issued"},
		{name: "open: failed requests count", reqs: []Request{
			as(dueAt(5, Measure), neverSent), as(dueAt(9, Measure), neverSent),
		}, start: 5, end: 9},

		{name: "closed: one stream through its turnarounds", concurrency: 1, reqs: []Request{
			busy(0, 10, 20), busy(0, 20.1, 30), busy(0, 30.1, 40),
		}, start: 10, end: 30.1},
		{name: "closed: cut to the sends of the measured phase", concurrency: 1, reqs: []Request{
			as(busy(0, 0, 10), inPhase(Warmup)), busy(0, 10.1, 20), busy(0, 20.1, 30), as(busy(0, 30.1, 90), inPhase(Drain)),
		}, start: 10.1, end: 20.1},
		{name: "closed: both streams are needed", concurrency: 2, reqs: []Request{
			busy(0, 0, 10), busy(0, 10.1, 20), busy(0, 20.1, 30), busy(1, 6, 14), busy(1, 14.1, 26),
		}, start: 6, end: 20.1},
		{name: "closed: 19 of 20 are enough", concurrency: 20, reqs: streams(19, 0, 50, 100), start: 0, end: 50},
		{name: "closed: 18 of 20 are not", concurrency: 20, reqs: streams(18, 0, 50, 100), start: 0, end: 50, fault: "at most 18 of 20 streams were busy at once in the measured phase, and 19 are needed"},
		{name: "closed: warm-up and drain of other streams keep the load up", concurrency: 2, reqs: []Request{
			busy(0, 10, 20), busy(0, 20.1, 30), busy(0, 30.1, 40),
			as(busy(1, 0, 25), inPhase(Warmup)), as(busy(1, 25.1, 60), inPhase(Drain)),
		}, start: 10, end: 30.1},
		{name: "closed: a pause as long as the longest request is turnaround", concurrency: 1, reqs: []Request{
			busy(0, 0, 10), busy(0, 20, 25), busy(0, 25, 30),
		}, start: 0, end: 25},
		{name: "closed: a longer pause ends the stretch, the longest counts", concurrency: 1, reqs: []Request{
			busy(0, 0, 10), busy(0, 20.5, 25), busy(0, 25, 30), busy(0, 30, 40), busy(0, 40, 41),
		}, start: 20.5, end: 40},
		{name: "closed: of equal stretches the first", concurrency: 1, reqs: []Request{
			busy(0, 0, 10), busy(0, 30, 40), busy(0, 60, 61),
		}, start: 0, end: 10},
		{name: "closed: a pause after a failure is the engine's", concurrency: 1, reqs: []Request{
			busy(0, 0, 10), as(busy(0, 10, 11), failed(Rejected)), busy(0, 111, 120), busy(0, 120, 130),
		}, start: 0, end: 120},
		{name: "closed: nothing is ok", concurrency: 1, reqs: []Request{
			as(busy(0, 0, 1), failed(HTTP5xx)), as(busy(0, 100, 101), failed(HTTP5xx)), as(busy(0, 200, 201), failed(HTTP5xx)),
		}, start: 0, end: 200},
		{name: "closed: never sent counts from due", concurrency: 1, reqs: []Request{
			as(busy(0, 5, 10), neverSent), busy(0, 10, 20), as(busy(0, 25, 26), neverSent),
		}, start: 5, end: 25},
		{name: "closed: never ended lasts to its last output", concurrency: 2, reqs: []Request{
			busy(0, 0, 10), busy(0, 10, 20), busy(0, 20, 30), busy(0, 30, 40), as(busy(1, 0, 44), neverEnded),
		}, start: 0, end: 22},
		{name: "closed: two requests of one stream at once are one stream", concurrency: 2, reqs: []Request{
			busy(0, 0, 30), busy(0, 5, 10), busy(0, 6, 40),
		}, start: 0, end: 6, fault: "at most 1 of 2 streams"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := WindowOf(Cell{Concurrency: tt.concurrency, Streaming: true}, tt.reqs)
			if want := (Window{ms(tt.start), ms(tt.end)}); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
			if (err != nil) != (tt.fault != "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("got error %v, want %q", err, tt.fault)
			}
		})
	}
}

// streams makes n streams that each send at the given moments and end at the last.
func streams(n int, at ...float64) []Request {
	var reqs []Request
	for s := range n {
		for i := 1; i < len(at); i++ {
			reqs = append(reqs, busy(s, at[i-1], at[i]))
		}
	}
	return reqs
}

func TestConcurrencyOfWindow(t *testing.T) {
	w := Window{ms(10), ms(30)}
	reqs := []Request{
		busy(0, 1, 14),                               // 4 ms of it in the window
		busy(0, 16, 20),                              // 4 after a turnaround of 2
		as(busy(0, 20, 21), failed(Rejected)),        // 1, then 3 idle after the failure
		as(busy(0, 24, 25), neverSent),               // none in flight, 1 idle, and 1 more
		busy(0, 26, 99),                              // 4
		as(busy(1, 12, 44), neverEnded),              // to its last output at 28: 16
		as(busy(2, 1, 100), inPhase(Warmup)),         // 20
		as(busy(3, 1, 9), failed(Rejected)),          // ended before
		as(busy(3, 29, 60), failed(Timeout)),         // 1, after 19 idle in the window
		as(busy(4, 5, 12), neverSent),                // 2 idle; nothing follows
		as(as(busy(5, 0, 8), neverSent), neverEnded), // no time at all
	}
	c := Cell{Concurrency: 5}
	if got, want := w.inFlight(reqs), (4+4+1+4+16+20+1)/20.; got != want {
		t.Errorf("in flight: got %v, want %v", got, want)
	}
	if got, want := w.failureIdle(flightsOf(c, reqs)), (3+1+1+19+2)/20.; got != want {
		t.Errorf("idle after failure: got %v, want %v", got, want)
	}
}
