package openai

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/servegate/servegate/gate"
)

// FuzzAnswer checks that whatever a server sends, the record is one that the gate can
// take, and the same however the answer is cut into reads.
func FuzzAnswer(f *testing.F) {
	names, calls, answers := transcripts(f)
	for _, name := range names {
		if len(answers[name]) < 1000 { // longer ones are tested as they are
			f.Add(answers[name], calls[name].Params.Stream, uint(100))
		}
	}
	f.Add([]byte("HTTP/1.1 200 OK\r\n\r\n{\"choices\":[{\"text\":\"a\"}]}"), false, uint(30))
	f.Add([]byte("HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata:{\"error\":{}}\r\rdata:[DONE]"), true, uint(70))
	f.Add([]byte("HTTP/1.1 301 x\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n"), true, uint(7))
	f.Fuzz(func(t *testing.T, in []byte, stream bool, at uint) {
		call := Call{Params: Params{Stream: stream, MaxTokens: 5}, FixedOutput: true}
		whole := play(t, call, in)
		check(t, whole, stream)
		whole = wordless(timeless(whole))
		cut := int(at % uint(len(in)+1))
		for _, pieces := range [][][]byte{{in[:cut], in[cut:]}, bytewise(in)} {
			got := play(t, call, pieces...)
			check(t, got, stream)
			if got := wordless(timeless(got)); !reflect.DeepEqual(whole, got) {
				t.Fatalf("%d pieces: record differs (-whole +cut):\n%s", len(pieces), cmp.Diff(whole, got))
			}
		}
	})
}

// wordless leaves out how a malformed answer is quoted: what was read by then varies.
func wordless(r gate.Request) gate.Request {
	if r.Outcome == gate.Malformed {
		r.Error = ""
	}
	return r
}

// check holds a record to what gate takes for possible.
func check(t *testing.T, r gate.Request, stream bool) {
	t.Helper()
	switch {
	case !slices.Contains(gate.Outcomes, r.Outcome):
		t.Errorf("got outcome %q", r.Outcome)
	case (r.Outcome == gate.OK) != (r.Error == "") || strings.ContainsAny(r.Error, "\r\n"):
		t.Errorf("got outcome %s with error %q", r.Outcome, r.Error)
	case !slices.IsSorted(r.Arrivals), len(r.Arrivals) > 0 && r.First() <= r.Sent, r.Done < r.Last() || r.Done <= r.Sent:
		t.Errorf("got sent %v, arrivals %v, done %v", r.Sent, r.Arrivals, r.Done)
	case r.ChunkTokens != nil && len(r.ChunkTokens) != len(r.Arrivals):
		t.Errorf("got tokens of %d arrivals, %d arrivals", len(r.ChunkTokens), len(r.Arrivals))
	case r.Outcome == gate.OK && stream && len(r.Arrivals) == 0:
		t.Error("got an ok stream without arrivals")
	case bytes.ContainsRune([]byte(r.Error), 0x1b):
		t.Errorf("got an error with an escape: %q", r.Error)
	}
}
