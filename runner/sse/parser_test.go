package sse_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/servegate/servegate/runner/sse"
)

// event is an sse.Event that owns its bytes.
type event struct {
	Name, Data string
	Partial    bool
}

// collect feeds the pieces to a parser and returns what came out.
func collect(limit int, pieces ...string) ([]event, error) {
	var got []event
	p := sse.Parser{Limit: limit}
	emit := func(ev sse.Event) error {
		got = append(got, event{string(ev.Name), string(ev.Data), ev.Partial})
		return nil
	}
	for _, piece := range pieces {
		b := []byte(piece)
		err := p.Feed(b, emit)
		clear(b) // nothing of the piece may be needed any more
		if err != nil {
			return got, err
		}
	}
	return got, p.End(emit)
}

var streams = []struct {
	name, in string
	want     []event
}{
	{"one event", "data: {}\n\n", []event{{Data: "{}"}}},
	{"no space behind the colon", "data:{}\n\n", []event{{Data: "{}"}}},
	{"only one space is taken off", "data:  x\n\n", []event{{Data: " x"}}},
	{"two events", "data: a\n\ndata: b\n\n", []event{{Data: "a"}, {Data: "b"}}},
	{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", []event{{Data: "a"}, {Data: "b"}}},
	{"CR", "data: a\r\rdata: b\r\r", []event{{Data: "a"}, {Data: "b"}}},
	{"mixed line ends", "data: a\r\n\ndata: b\r\r\ndata: c\n\r", []event{{Data: "a"}, {Data: "b"}, {Data: "c"}}},
	{"byte-order mark", "\xef\xbb\xbfdata: a\n\n", []event{{Data: "a"}}},
	{"a second byte-order mark is no line start", "data: a\n\n\xef\xbb\xbfdata: b\n\n", []event{{Data: "a"}}},
	{"joined lines", "data: a\ndata: b\ndata:\ndata: c\n\n", []event{{Data: "a\nb\n\nc"}}},
	{"empty data", "data:\n\n", []event{{Data: ""}}},
	{"data without a colon", "data\n\n", []event{{Data: ""}}},
	{"comments", ": ping\n\n:\n\ndata: a\n: ping\ndata: b\n\n", []event{{Data: "a\nb"}}},
	{"event name", "event: error\ndata: x\n\ndata: y\n\n", []event{{Name: "error", Data: "x"}, {Data: "y"}}},
	{"last event name holds", "event: a\nevent: b\ndata: x\n\n", []event{{Name: "b", Data: "x"}}},
	{"a name alone is no event", "event: a\n\ndata: x\n\n", []event{{Data: "x"}}},
	{"id, retry and unknown fields", "id: 7\nretry: 100\nfoo: bar\ndatas: z\ndata: x\n\n", []event{{Data: "x"}}},
	{"leading space is another field", " data: a\n\ndata: b\n\n", []event{{Data: "b"}}},
	{"UTF-8", "data: gr\u00fc\u00df\u00ab\U0001f600\n\n", []event{{Data: "gr\u00fc\u00df\u00ab\U0001f600"}}},
	{"many blank lines", "\n\n\ndata: a\n\n\n\n", []event{{Data: "a"}}},
	{"end without a blank line", "data: a\n\ndata: [DONE]\n", []event{{Data: "a"}, {Data: "[DONE]", Partial: true}}},
	{"end without a line end", "data: a\n\ndata: [DONE]", []event{{Data: "a"}, {Data: "[DONE]", Partial: true}}},
	{"end within a line", "data: {\"a", []event{{Data: "{\"a", Partial: true}}},
	{"nothing", "", nil},
	{"frame over 64 KiB", "data: " + strings.Repeat("x", 70_000) + "\n\n", []event{{Data: strings.Repeat("x", 70_000)}}},
}

func TestParserEvents(t *testing.T) {
	for _, c := range streams {
		t.Run(c.name, func(t *testing.T) {
			for cut := 0; cut <= min(len(c.in), 200); cut++ {
				got, err := collect(0, c.in[:cut], c.in[cut:])
				if err != nil {
					t.Fatalf("cut at %d: got error %v, want none", cut, err)
				}
				if d := cmp.Diff(c.want, got); d != "" {
					t.Fatalf("cut at %d: events differ (-want +got):\n%s", cut, d)
				}
			}
			got, err := collect(0, strings.Split(c.in, "")...)
			if d := cmp.Diff(c.want, got); d != "" || err != nil {
				t.Errorf("character by character: error %v, events differ (-want +got):\n%s", err, d)
			}
		})
	}
}

func TestParserMegabyteFrame(t *testing.T) {
	data := strings.Repeat("0123456789abcdef", 1<<16)
	in := "data: a\n\ndata: " + data + "\n\ndata: b\n\n"
	var pieces []string
	for len(in) > 0 {
		n := min(len(in), 32<<10)
		pieces, in = append(pieces, in[:n]), in[n:]
	}
	got, err := collect(0, pieces...)
	if d := cmp.Diff([]event{{Data: "a"}, {Data: data}, {Data: "b"}}, got); d != "" || err != nil {
		t.Errorf("error %v, events differ (-want +got):\n%.500s", err, d)
	}
}

func TestParserLimit(t *testing.T) {
	cases := []struct {
		name, in string
		events   int
		fails    bool
	}{
		{"line at the limit", "data: a\n\ndata: 890123456\n\n", 2, false},
		{"line over it", "data: a\n\ndata: 8901234567\n\n", 1, true},
		{"comment over it", "data: a\n\n:234567890123456\n\n", 1, true},
		{"unfinished line over it", "data: a\n\ndata: 8901234567", 1, true},
		{"joined data at it", "data: 1234567\ndata: 9012345\n\n", 1, false},
		{"joined data over it", "data: 1234567\ndata: 90123456\n\n", 0, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, pieces := range [][]string{{c.in}, strings.Split(c.in, "")} {
				got, err := collect(15, pieces...)
				if len(got) != c.events || errors.Is(err, sse.ErrTooLong) != c.fails {
					t.Errorf("%d pieces: got %d events, error %v, want %d, too long %v", len(pieces), len(got), err, c.events, c.fails)
				}
			}
		})
	}
}

func TestParserEmitError(t *testing.T) {
	boom := errors.New("boom")
	var p sse.Parser
	n := 0
	emit := func(sse.Event) error { n++; return boom }
	in := []byte("data: a\n\ndata: b\n\n")
	for range 2 {
		if err := p.Feed(in, emit); err != boom {
			t.Errorf("got error %v, want %v", err, boom)
		}
	}
	if err := p.End(emit); err != boom || n != 1 {
		t.Errorf("got error %v at the end and %d events, want %v and 1", err, n, boom)
	}
}

func TestParserAllocatesNothing(t *testing.T) {
	in := vllmStream(100)
	var p sse.Parser
	n := 0
	emit := func(ev sse.Event) error { n += len(ev.Data); return nil }
	if got := testing.AllocsPerRun(20, func() {
		if err := p.Feed(in, emit); err != nil {
			t.Fatal(err)
		}
	}); got != 0 {
		t.Errorf("got %v allocations for 100 frames, want 0", got)
	}
}

// vllmStream is n frames as vLLM sends them for a completion with token ids.
func vllmStream(n int) []byte {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `data: {"id":"cmpl-6e4d1c2f9a8b4f0e9d3c7b5a1f2e4d6c","object":"text_completion","created":1767225600,`+
			`"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,"text":" token%d","logprobs":null,`+
			`"finish_reason":null,"stop_reason":null,"token_ids":[%d],"prompt_token_ids":null}],"usage":null}`+"\n\n", i%10, 1000+i)
	}
	return []byte(b.String())
}

func BenchmarkParser(b *testing.B) {
	for _, c := range []struct {
		name  string
		piece int
	}{{"frames in one read", 32 << 10}, {"frames cut by reads", 1000}, {"one frame a read", 0}} {
		b.Run(c.name, func(b *testing.B) {
			in := vllmStream(1000)
			piece := c.piece
			if piece == 0 {
				piece = strings.Index(string(in), "\n\n") + 2
			}
			var p sse.Parser
			n := 0
			emit := func(ev sse.Event) error { n += len(ev.Data); return nil }
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				for rest := in; len(rest) > 0; {
					k := min(len(rest), piece)
					if err := p.Feed(rest[:k], emit); err != nil {
						b.Fatal(err)
					}
					rest = rest[k:]
				}
			}
		})
	}
}
