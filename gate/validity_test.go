package gate

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// steady makes n requests, one a 100 ms, sent 0.1 ms late, with a TTFT of 20 ms.
func steady(n int) []Request {
	var reqs []Request
	for i := 1; i <= n; i++ {
		at := 100 * float64(i)
		reqs = append(reqs, as(answer(at, at+.1, at+51, 100, at+20.1, at+50.1), func(r *Request) {
			r.Index, r.WantInput, r.Input = i-1, 500, 500
		}))
	}
	return reqs
}

// each applies edit to every request of a copy of reqs.
func each(reqs []Request, edit func(i int, r *Request)) []Request {
	for i := range reqs {
		edit(i, &reqs[i])
	}
	return reqs
}

func TestValidity(t *testing.T) {
	open, closed := Cell{Streaming: true, FixedOutput: true}, Cell{Streaming: true, Concurrency: 2}
	half := .5
	cached := Cell{Streaming: true, HitRatio: &half}
	hits := func(n int) []Request { return each(steady(100), func(_ int, r *Request) { r.Cached = n }) }
	tests := []struct {
		name string
		cell Cell
		f    Facts
		reqs []Request
		want []string
	}{
		{name: "sound", cell: open, reqs: steady(100)},
		{name: "faults", cell: open, f: Facts{Faults: []string{"engine died", "GPU throttled"}}, reqs: steady(100), want: []string{"engine died", "GPU throttled"}},
		{name: "no request", cell: open, want: []string{"no request was issued in the measured phase"}},
		{name: "one request", cell: open, reqs: steady(1), want: []string{"the window is empty: all requests of the measured phase (1) were issued at one moment"}},
		{
			name: "damaged records", cell: open, reqs: each(steady(100), func(i int, r *Request) {
				if i == 50 || i == 70 {
					r.Arrivals[1] = r.Arrivals[0] - 1
				}
			}),
			want: []string{`2 of 100 request records can't be, among them number 50 of phase "measure": arrivals not in ascending order`},
		},

		{name: "input, just kept", cell: open, reqs: each(steady(100), func(_ int, r *Request) { r.Input = 510 })},
		{
			name: "input, too long", cell: open, reqs: each(steady(100), func(_ int, r *Request) { r.Input = 511 }),
			want: []string{"input tokens a request: 511 instead of 500, +2.2 % (tolerance 2 %)"},
		},
		{
			name: "input, too short", cell: open, reqs: each(steady(100), func(_ int, r *Request) { r.Input = 489 }),
			want: []string{"input tokens a request: 489 instead of 500, -2.2 % (tolerance 2 %)"},
		},
		{name: "input, unknown", cell: open, reqs: each(steady(100), func(_ int, r *Request) { r.Input = Unknown })},
		{name: "input of failed requests", cell: open, reqs: each(steady(100), func(i int, r *Request) {
			if i%2 == 0 {
				r.Outcome, r.Input, r.Output = Truncated, 1, 1
			}
		})},
		{name: "output, just kept", cell: open, reqs: each(steady(100), func(_ int, r *Request) { r.Output = 99 })},
		{
			name: "output, too short", cell: open, reqs: each(steady(100), func(_ int, r *Request) { r.Output = 98 }),
			want: []string{"output tokens a request: 98 instead of 100, -2.0 % (tolerance 1 %)"},
		},
		{name: "output, a tenth unknown", cell: open, reqs: untoldOf(10)},
		{
			name: "output, mostly unknown", cell: open, reqs: untoldOf(11),
			want: []string{"output tokens a request: 11 of 100 ok requests tell none that can be (at most 10 %), though the engine has told them: their length can't be checked"},
		},
		{
			name: "output, unknown", cell: open, reqs: untoldOf(100),
			want: []string{"output tokens a request: 100 of 100 ok requests tell none that can be (at most 10 %), though the engine has told them: their length can't be checked"},
		},
		{name: "output, unknown of an engine that never told", cell: Cell{Streaming: true}, reqs: untoldOf(100)},
		{name: "output, too short, where EOS isn't ignored", cell: Cell{Streaming: true}, reqs: each(steady(100), func(_ int, r *Request) { r.Output = 50 })},

		{
			name: "late by the letter", cell: open, reqs: each(steady(100), func(_ int, r *Request) { r.Due -= ms(1) }),
			want: []string{"the client was late: p99 of send lag is 1.100 ms, the limit 1.000 ms (sends over 1 ms late: 100)"},
		},
		{
			name: "late for a median TTFT of 100 ms", cell: open, reqs: each(steady(100), func(_ int, r *Request) { slower(r, 80); r.Due -= ms(2) }),
			want: []string{"the client was late: p99 of send lag is 2.100 ms, the limit 2.000 ms (sends over 1 ms late: 100)"},
		},
		{name: "not late for a median TTFT of 110 ms", cell: open, reqs: each(steady(100), func(_ int, r *Request) { slower(r, 90); r.Due -= ms(2) })},
		{
			name: "late for any TTFT", cell: open, reqs: each(steady(100), func(_ int, r *Request) { slower(r, 900); r.Due -= ms(5) }),
			want: []string{"the client was late: p99 of send lag is 5.100 ms, the limit 5.000 ms (sends over 1 ms late: 100)"},
		},
		{name: "one late send of 300", cell: open, reqs: each(steady(300), func(i int, r *Request) {
			if i == 9 {
				r.Due -= ms(50)
			}
		})},
		{
			name: "late in a closed loop", cell: closed, reqs: each(streams(2, 10, 500, 1000, 1500, 2000), func(_ int, r *Request) { r.Due -= ms(6) }),
			want: []string{"the client was late: p99 of send lag is 6.000 ms, the limit 5.000 ms (sends over 1 ms late: 8)"},
		},
		{
			name: "slower than its schedule", cell: open, reqs: each(steady(100), func(i int, r *Request) { r.Due = r.Due * 97 / 100 }),
			want: []string{
				"the client was late: p99 of send lag is 297.130 ms, the limit 1.000 ms (sends over 1 ms late: 100)",
				"requests sent a second: 10 instead of 10.31, -3.0 % (tolerance 2 %)",
			},
		},
		{name: "what couldn't be sent doesn't lower the rate", cell: open, reqs: each(steady(100), func(i int, r *Request) {
			if i > 50 {
				neverSent(r)
			}
		})},

		{name: "concurrency through turnarounds", cell: closed, reqs: append(streams(1, 10, 109, 208, 307), shifted(streams(1, 14, 113, 212, 311), 1)...)},
		{
			name: "too long turnarounds", cell: closed,
			reqs: []Request{busy(0, 10, 100), busy(0, 110, 200), busy(0, 210, 300), busy(0, 310, 400), busy(1, 10, 100), busy(1, 110, 200), busy(1, 210, 300), busy(1, 310, 400)},
			want: []string{"concurrency: 1.8 of 2 streams had a request in flight on average, 90.0 % (at least 95 %)"},
		},
		{name: "waiting after failures", cell: closed, reqs: each(
			[]Request{busy(0, 10, 100), busy(0, 110, 200), busy(0, 210, 300), busy(0, 310, 400), busy(1, 10, 100), busy(1, 110, 200), busy(1, 210, 300), busy(1, 310, 400)},
			func(_ int, r *Request) { failed(Rejected)(r) })},
		{
			name: "never that many", cell: closed, reqs: streams(1, 10, 109, 208, 307),
			want: []string{"the concurrency was never held: at most 1 of 2 streams were busy at once in the measured phase, and 2 are needed"},
		},
		{
			name: "stretch without a send", cell: closed,
			reqs: []Request{busy(0, 10, 100), busy(0, 300, 380), as(busy(1, 50, 120), inPhase(Drain)), as(busy(1, 320, 321), inPhase(Drain))},
			want: []string{"no request was issued in the window"},
		},

		{name: "hit ratio, just kept", cell: cached, reqs: hits(225)},
		{name: "hit ratio, too low", cell: cached, reqs: hits(220), want: []string{"cache-hit ratio: 44.0 % instead of 50.0 % (tolerance 5 points)"}},
		{name: "hit ratio, too high", cell: cached, reqs: hits(280), want: []string{"cache-hit ratio: 56.0 % instead of 50.0 % (tolerance 5 points)"}},
		{name: "hit ratio, unknown", cell: cached, reqs: hits(Unknown)},
		{name: "hit ratio, not aimed at", cell: open, reqs: hits(400)},

		{
			name: "frames in bursts", cell: Cell{Streaming: true}, reqs: each(steady(100), func(_ int, r *Request) { r.Arrivals[0] = r.Arrivals[1] }),
			want: []string{"itl.p95 is 0 s, which no latency can be; the frames came in bursts: does a proxy hold them back?"},
		},
		{name: "most frames in pairs", cell: Cell{Streaming: true}, reqs: each(steady(100), func(i int, r *Request) {
			if i%10 > 0 {
				r.Arrivals[0] = r.Arrivals[1]
			}
		})},
		{
			name: "answered before it was due", cell: Cell{Streaming: true}, reqs: each(steady(100), func(_ int, r *Request) { r.Due += ms(30) }),
			want: []string{
				"ttft_from_due.mean is -0.0099 s, which no latency can be",
				"ttft_from_due.p50 is -0.0099 s, which no latency can be",
				"ttft_from_due.p90 is -0.0099 s, which no latency can be",
				"ttft_from_due.p95 is -0.0099 s, which no latency can be",
				"ttft_from_due.max is -0.0099 s, which no latency can be",
			},
		},
	}
	for _, tt := range tests {
		rep := Derive(tt.cell, tt.f, tt.reqs)
		if diff := cmp.Diff(tt.want, rep.InvalidReasons); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if got, want := rep.Valid, tt.want == nil; got != want {
			t.Errorf("%s: valid: got %v, want %v", tt.name, got, want)
		}
	}
}

// untoldOf makes 100 requests, n of which have no count of output tokens.
func untoldOf(n int) []Request {
	return each(steady(100), func(i int, r *Request) {
		if i < n {
			r.Output = Unknown
		}
	})
}

// A client that stood still ends the window early, and would so hide that it did.
func TestCurtailedWindow(t *testing.T) {
	closed, pair := Cell{Streaming: true, Concurrency: 2}, streams(2, 10, 500, 1000, 1500, 2000)
	late := func(got, want string) []string {
		return []string{"the client was late: it left streams idle, and only " + got + " of " + want + " lie in a stretch at full concurrency"}
	}
	tests := []struct {
		name string
		cell Cell
		f    Facts
		reqs []Request
		want []string
	}{
		{"nothing planned", closed, Facts{}, pair, nil},
		{"all requests", closed, Facts{PlannedRequests: 8}, pair, nil},
		{"two thirds of the requests", closed, Facts{PlannedRequests: 12}, pair, late("8", "12 requests")},
		{"all of the time", closed, Facts{PlannedS: 1.5}, pair, nil},
		{"two thirds of the time", closed, Facts{PlannedS: 2.25}, pair, late("1.49", "2.25 s")},
		{"short for another reason", closed, Facts{PlannedRequests: 12, Faults: []string{"interrupted"}}, pair, []string{"interrupted"}},
		{"an open loop", Cell{Streaming: true}, Facts{PlannedRequests: 200}, steady(100), nil},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, Derive(tt.cell, tt.f, tt.reqs).InvalidReasons); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// slower delays the answer to r.
func slower(r *Request, by float64) {
	for i := range r.Arrivals {
		r.Arrivals[i] += ms(by)
	}
	r.Done += ms(by)
}

// shifted moves reqs to another stream.
func shifted(reqs []Request, stream int) []Request {
	return each(reqs, func(_ int, r *Request) { r.Stream += stream })
}

func TestTolerancesAreUsed(t *testing.T) {
	tight := Tolerances{SendLag: 10 * time.Microsecond, SendLagShare: .001, SendLagMost: time.Millisecond}
	rep := Derive(Cell{Streaming: true, FixedOutput: true}, Facts{}, steady(100))
	if got := tight.late(rep.Client, 20e6); len(got) != 1 {
		t.Errorf("send lag of 0.1 ms at a limit of 20 us: got %q", got)
	}
	if got := tight.late(rep.Client, math.NaN()); len(got) != 1 {
		t.Errorf("send lag of 0.1 ms at a limit of 10 us: got %q", got)
	}
	if got := tight.late(rep.Client, 1e15); len(got) != 0 {
		t.Errorf("send lag of 0.1 ms at a limit of 1 ms: got %q", got)
	}
	off := 500.5
	rep.Observed.InputTokens = &off
	if got := tight.astray(Cell{}, rep.Requests, rep.Observed); len(got) != 1 {
		t.Errorf("half a token more at no tolerance: got %q", got)
	}
	nan := math.NaN()
	rep.Observed.InputTokens = &nan
	if got := DefaultTolerances.astray(Cell{}, rep.Requests, rep.Observed); len(got) != 1 {
		t.Errorf("a NaN is never within its tolerance: got %q", got)
	}
}
