package gate

import (
	"math"
	"testing"
)

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
