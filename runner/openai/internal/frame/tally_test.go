package frame

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTally(t *testing.T) {
	const (
		role     = `{"choices":[{"delta":{"role":"assistant","content":""}}]}`
		roleZero = `{"choices":[{"delta":{"role":"assistant","content":""}}],"usage":{"completion_tokens":0}}`
		text     = `{"choices":[{"text":"a"}]}`
		empty    = `{"choices":[{"text":""}]}`
		usage4   = `{"choices":[],"usage":{"completion_tokens":4}}`
		empty1   = `{"choices":[{"text":""}],"usage":{"completion_tokens":1}}`
		empty2   = `{"choices":[{"text":""}],"usage":{"completion_tokens":2}}`
		empty4   = `{"choices":[{"text":"","finish_reason":"length"}],"usage":{"completion_tokens":4}}`
		text1    = `{"choices":[{"text":"a"}],"usage":{"completion_tokens":1}}`
		text4    = `{"choices":[{"text":"abc"}],"usage":{"completion_tokens":4}}`
		ids1     = `{"choices":[{"text":"","token_ids":[1]}]}`
		ids3     = `{"choices":[{"text":"","token_ids":[1,2,3]}]}`
		closing0 = `{"choices":[{"text":"","finish_reason":"length","token_ids":[]}]}`
	)
	cases := []struct {
		name   string
		frames []string
		want   []int // places of the frames with output
		tokens []int
		output int
	}{
		{"text", []string{text, text}, []int{0, 1}, nil, -1},
		{"role and usage are no output", []string{role, text, text, usage4}, []int{1, 2}, nil, 4},
		{"a total on the closing frame is no token", []string{text, text, empty4}, []int{0, 1}, nil, 4},
		{"nor is it before a usage frame", []string{text, empty4, usage4}, []int{0}, nil, 4},
		{"nor behind empty frames", []string{empty, empty, empty4, usage4}, nil, nil, 4},
		{"nor behind a role", []string{role, empty, empty4, usage4}, nil, nil, 4},
		{"nor alone", []string{empty4}, nil, nil, 4},
		{"two totals are no growth", []string{text, empty1, empty4}, []int{0}, nil, 4},
		{"running count", []string{empty1, empty2, empty4, usage4}, []int{0, 1, 2}, []int{1, 1, 2}, 4},
		{"running count behind a role", []string{role, empty1, empty2}, []int{1, 2}, nil, 2},
		{"running count from 0", []string{roleZero, empty1, empty2}, []int{1, 2}, nil, 2},
		{"a count that stands still", []string{text1, empty1, empty2}, []int{0, 2}, nil, 2},
		{"one token, by a running count", []string{empty1, `{"choices":[],"usage":{"completion_tokens":1}}`}, []int{0}, nil, 1},
		{"text with a running count", []string{text1, text4}, []int{0, 1}, []int{1, 3}, 4},
		{"a count, then text without one", []string{empty4, text, text, empty4}, []int{1, 2}, nil, 4},
		{"ids", []string{ids1, ids1, closing0, usage4}, []int{0, 1}, nil, 4},
		{"several ids a frame", []string{ids1, ids3, closing0}, []int{0, 1}, []int{1, 3}, -1},
		{"ids not on all frames", []string{ids3, text, ids1}, []int{0, 1, 2}, nil, -1},
		{"one frame with all", []string{text4}, []int{0}, []int{4}, 4},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tally := NewTally(0)
			for i, in := range c.frames {
				f, ok := Scan([]byte(in))
				if !ok {
					t.Fatalf("frame %d is no frame", i)
				}
				tally.Add(&f, Arrival{At: time.Duration(i), Read: i})
			}
			var got []int
			for _, at := range tally.Arrivals {
				got = append(got, int(at))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("frames with output differ (-want +got):\n%s", d)
			}
			if d := cmp.Diff(c.tokens, tally.ChunkTokens()); d != "" {
				t.Errorf("tokens differ (-want +got):\n%s", d)
			}
			if tally.Usage.Completion != c.output {
				t.Errorf("got %d output tokens, want %d", tally.Usage.Completion, c.output)
			}
		})
	}
}

func TestTallyCoalesced(t *testing.T) {
	tally := NewTally(0)
	for i, read := range []int{1, 2, 2, 2, 3} {
		f, _ := Scan([]byte(`{"choices":[{"text":"a"}]}`))
		if i == 3 {
			f, _ = Scan([]byte(`{"choices":[],"usage":{"completion_tokens":4}}`))
		}
		tally.Add(&f, Arrival{At: time.Duration(read), Read: read})
	}
	if tally.Coalesced != 1 {
		t.Errorf("got %d coalesced, want 1: the second of read 2", tally.Coalesced)
	}
}
