package gate

import (
	"math"
	"testing"
	"time"
)

func TestImpossible(t *testing.T) {
	tests := []struct {
		name  string
		edit  func(*Request)
		open  string // what is found in a streaming cell
		plain string // what is found in one that isn't
	}{
		{"sound", func(*Request) {}, "", ""},
		{"no outcome", func(r *Request) { r.Outcome = "" }, "unknown outcome", "unknown outcome"},
		{"strange outcome", func(r *Request) { r.Outcome = "great" }, "unknown outcome", "unknown outcome"},
		{"strange phase", func(r *Request) { r.Phase = "later" }, "unknown phase", "unknown phase"},
		{"negative due", func(r *Request) { r.Due = -1 }, "time out of range", "time out of range"},
		{"negative sent", func(r *Request) { r.Sent = -1 }, "time out of range", "time out of range"},
		{"negative done", func(r *Request) { r.Done = math.MinInt64 }, "time out of range", "time out of range"},
		{"done in the far future", func(r *Request) { r.Done = math.MaxInt64 }, "time out of range", "time out of range"},
		{"done at the edge", func(r *Request) { r.Done = maxOffset }, "", ""},
		{"arrival in the far future", func(r *Request) { r.Arrivals[2] = maxOffset + 1 }, "time out of range", "time out of range"},
		{"arrivals out of order", func(r *Request) { r.Arrivals[0] = ms(175) }, "arrivals not in ascending order", "arrivals not in ascending order"},
		{"negative arrival", func(r *Request) { r.Arrivals[0] = -1 }, "arrivals not in ascending order", "arrivals not in ascending order"},
		{"two arrivals at once", func(r *Request) { r.Arrivals[0] = r.Arrivals[1] }, "", ""},
		{"usage below unknown", func(r *Request) { r.Output = -2 }, "token count out of range", "token count out of range"},
		{"negative length wanted", func(r *Request) { r.WantInput = -1 }, "token count out of range", "token count out of range"},
		{"absurd usage", func(r *Request) { r.Input = math.MaxInt }, "token count out of range", "token count out of range"},
		{"usage unknown", func(r *Request) { r.Input, r.Output, r.Cached = Unknown, Unknown, Unknown }, "", ""},
		{"tokens of other arrivals", func(r *Request) { r.ChunkTokens = []int{1, 2} }, "token counts that don't match the arrivals", "token counts that don't match the arrivals"},
		{"negative tokens of an arrival", func(r *Request) { r.ChunkTokens = []int{1, -2, 3} }, "token count out of range", "token count out of range"},
		{"ok but never sent", func(r *Request) { r.Sent = 0 }, "ok, but never sent or never ended", "ok, but never sent or never ended"},
		{"ok but never ended", func(r *Request) { r.Done = 0 }, "ok, but never sent or never ended", "ok, but never sent or never ended"},
		{"ok without output", func(r *Request) { r.Arrivals = nil }, "ok, but no output arrived", ""},
		{"first output at the send", func(r *Request) { r.Arrivals[0] = r.Sent }, "answered before it was sent", ""},
		{"done before the send", func(r *Request) { r.Done = r.Sent - 1 }, "", "answered before it was sent"},
		// A kernel stamp of the last frame may lie after our own stamp of the end.
		{"done before the last arrival", func(r *Request) { r.Done = r.Last() - 1 }, "", ""},
		{"failed: anything may be missing", func(r *Request) { *r = Request{Phase: Drain, Outcome: Connect} }, "", ""},
		{"failed: never ended", func(r *Request) { r.Outcome, r.Done = Cancelled, 0 }, "", ""},
	}
	for _, tt := range tests {
		for _, c := range []Cell{{Streaming: true}, {}} {
			r := answer(90, 100, 200, 7, 150, 160, 170)
			tt.edit(&r)
			want := tt.plain
			if c.Streaming {
				want = tt.open
			}
			if got := r.impossible(c); got != want {
				t.Errorf("%s, streaming %v: got %q, want %q", tt.name, c.Streaming, got, want)
			}
		}
	}
}

func TestStartAndEnd(t *testing.T) {
	tests := []struct {
		name       string
		r          Request
		start, end float64
	}{
		{"complete", answer(1, 2, 9, 1, 5), 2, 9},
		{"never sent", Request{Due: ms(1), Done: ms(3)}, 1, 3},
		{"never sent, never ended", Request{Due: ms(1)}, 1, 1},
		{"never ended, without output", Request{Due: ms(1), Sent: ms(2)}, 2, 2},
		{"never ended, with output", Request{Due: ms(1), Sent: ms(2), Arrivals: []time.Duration{ms(4), ms(7)}}, 2, 7},
	}
	for _, tt := range tests {
		if start, end := tt.r.start(), tt.r.end(); start != ms(tt.start) || end != ms(tt.end) {
			t.Errorf("%s: got %v to %v, want %v to %v ms", tt.name, start, end, tt.start, tt.end)
		}
	}
}

// TestJudge is about one request: sent at 100 ms, TTFT 50 ms, gaps 10, 20 and 30 ms (mean
// 20), E2E 110 ms, TPOT 60 ms / (N - 1).
func TestJudge(t *testing.T) {
	r := answer(90, 100, 215, 7, 150, 160, 180, 210)
	same := func(*Request) {}
	one := func(r *Request) { r.Arrivals, r.Output = r.Arrivals[:1], 1 }
	tests := []struct {
		name   string
		edit   func(*Request)
		slo    SLO
		stream bool
		want   goodness
	}{
		{"no limit", same, SLO{}, true, good},
		{"no limit, failed", failed(Timeout), SLO{}, true, bad},
		{"ttft, just kept", same, SLO{TTFT: .05}, true, good},
		{"ttft, just missed", same, SLO{TTFT: .049999999}, true, bad},
		{"ttft is not counted from due", func(r *Request) { r.Due = 0 }, SLO{TTFT: .05}, true, good},
		{"e2e, just kept", same, SLO{E2E: .11}, true, good},
		{"e2e, just missed", same, SLO{E2E: .109999999}, true, bad},
		{"itl, the mean just kept", same, SLO{ITL: .02}, true, good},
		{"itl, the mean just missed", same, SLO{ITL: .019999999}, true, bad},
		{"itl_max, just kept", same, SLO{ITLMax: .03}, true, good},
		{"itl_max, just missed by one gap", same, SLO{ITLMax: .029999999}, true, bad},
		{"tpot, just kept", same, SLO{TPOT: .01}, true, good},
		{"tpot, just missed", same, SLO{TPOT: .009999999}, true, bad},
		{"tpot, N of usage counts and not the frames", func(r *Request) { r.Output = 61 }, SLO{TPOT: .001}, true, good},
		{"all kept", same, SLO{.05, .11, .01, .02, .03}, true, good},
		{"all but one kept", same, SLO{.05, .11, .01, .02, .029}, true, bad},
		{"one token has no gap and no tpot", one, SLO{ITL: 1e-9, ITLMax: 1e-9, TPOT: 1e-9}, true, good},
		{"one token has a ttft", one, SLO{TTFT: .049}, true, bad},
		{"no usage, tpot asked for", func(r *Request) { r.Output = Unknown }, SLO{TPOT: .01}, true, undecided},
		{"no usage, tpot not asked for", func(r *Request) { r.Output = Unknown }, SLO{ITL: .02}, true, good},
		{"no usage, not good anyway", func(r *Request) { r.Output = Unknown }, SLO{TPOT: .01, TTFT: .01}, true, bad},
		{"no usage, but no time between tokens", func(r *Request) { one(r); r.Output = Unknown }, SLO{TPOT: .01}, true, good},
		{"not streamed: e2e is done - sent, kept", same, SLO{TTFT: 1e-9, ITL: 1e-9, ITLMax: 1e-9, TPOT: 1e-9, E2E: .115}, false, good},
		{"not streamed: e2e is done - sent, missed", same, SLO{E2E: .114999999}, false, bad},
		{"limit not a number", same, SLO{TTFT: math.NaN()}, true, good},
		{"limit infinite", same, SLO{TTFT: math.Inf(1), TPOT: math.Inf(1)}, true, good},
	}
	for _, tt := range tests {
		r := as(r, tt.edit)
		if got := (Cell{Streaming: tt.stream, SLO: tt.slo}).judge(&r); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
