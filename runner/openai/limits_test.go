package openai

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/runner/openai/internal/frame"
)

func TestLimits(t *testing.T) {
	tests := []struct {
		tokens, request, maxFrame int
		want                      limits
	}{
		{8, 0, 0, limits{1 << 20, 1056, 16<<20 + 128<<10}},
		{8, 1000, 0, limits{1<<20 + 2000, 1056, 16<<20 + 128<<10 + 2000}},
		{2048, 0, 0, limits{64<<10 + 2<<20, 9216, 48 << 20}},
		{1 << 20, 0, 0, limits{16 << 20, 4<<20 + 1024, 16<<20 + 1<<30}},
		{8, 1000, 500, limits{500, 1056, 16<<20 + 128<<10 + 2000}},
	}
	for _, tt := range tests {
		if got := limitsOf(tt.tokens, tt.request, tt.maxFrame); got != tt.want {
			t.Errorf("%d tokens, request of %d bytes, frames of %d: got %+v, want %+v", tt.tokens, tt.request, tt.maxFrame, got, tt.want)
		}
	}
}

// A server that sends on and on gets no further than an answer could.
func TestEndlessAnswers(t *testing.T) {
	head := func(status int, mediaType string) string {
		return fmt.Sprintf("HTTP/1.1 %d x\r\nContent-Type: %s\r\n\r\n", status, mediaType)
	}
	const text = `data: {"choices":[{"text":"a"}]}` + "\n\n"
	tests := []struct {
		name       string
		stream     bool
		head, more string
		want       gate.Outcome
		say        string
		most       int // bytes that may be held
	}{
		{"frames", true, head(200, "text/event-stream"), text, gate.Malformed, "over 1056 frames with output", 64 << 10},
		{"pings", true, head(200, "text/event-stream"), ": ping\n\n", gate.Malformed, "read stream: over 16908288 bytes", 64 << 10},
		{"one frame", true, head(200, "text/event-stream") + "data: ", "x", gate.Malformed, "event too long", 2 << 20},
		{"JSON for a stream", true, head(200, "application/json") + `{"choices":"`, "x", gate.Malformed, "a stream was asked for", 64 << 10},
		{"JSON", false, head(200, "application/json") + `{"choices":"`, "x", gate.Malformed, "read answer: over 1048576 bytes", 2 << 20},
		{"an error", true, head(500, "text/plain"), "x", gate.HTTP5xx, "HTTP 500", 16 << 10},
		{"a page", true, head(200, "text/html"), "x", gate.Malformed, "text/html", 4 << 10},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			call := Call{Params: Params{Stream: tt.stream, MaxTokens: 8}}
			x := &exchange{ctx: context.Background(), client: playClient(), answer: newAnswer(&call.Params, limitsOf(8, 0, 0)), sent: sent}
			x.answer.take([]byte(tt.head), frame.Arrival{At: sent + 1})
			more, fed := []byte(strings.Repeat(tt.more, 32<<10/len(tt.more))), 0
			for i := 0; !x.answer.finished() && fed < 64<<20; i++ {
				x.answer.take(more, frame.Arrival{At: sent + 1, Read: i})
				fed += len(more)
			}
			r := x.record(&call)
			if r.Outcome != tt.want || !strings.Contains(r.Error, tt.say) {
				t.Errorf("got %s (%s) after %d bytes, want %s (%s)", r.Outcome, r.Error, fed, tt.want, tt.say)
			}
			if held := cap(x.answer.kept) + 8*cap(x.answer.tally.Arrivals); held > tt.most {
				t.Errorf("got %d bytes held, want at most %d", held, tt.most)
			}
			if n := len(r.Arrivals); n > 1057 || !slices.IsSorted(r.Arrivals) {
				t.Errorf("got %d arrivals, want at most 1057", n)
			}
		})
	}
}
