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
