package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/runner/openai/internal/frame"
)

var update = flag.Bool("update", false, "write the golden files anew")

// sent is when the requests of these tests went out; piece k of the answer arrives at
// sent+1+k.
const sent = time.Duration(1000)

// playClient sends nothing: the exchanges of play only need its settings.
var playClient = sync.OnceValue(func() *Client {
	c, err := New(Options{BaseURL: "http://127.0.0.1:1", APIKey: "sk-secret", MaxFrame: 4 << 20})
	if err != nil {
		panic(err)
	}
	return c
})

// play hands the pieces to an exchange as reads, ends the connection, and returns the
// record.
func play(t testing.TB, call Call, pieces ...[]byte) gate.Request {
	t.Helper()
	c := playClient()
	x := &exchange{ctx: context.Background(), client: c, answer: newAnswer(&call.Params, limitsOf(call.MaxTokens, 0, c.maxFrame)), sent: sent}
	now := sent
	for i, piece := range pieces {
		now++
		if len(piece) > 0 && !x.answer.finished() {
			x.answer.take(piece, frame.Arrival{At: now, Read: i})
		}
	}
	if x.over = now + 1; !x.answer.finished() {
		x.answer.cut()
	}
	return x.record(&call)
}

// timeless is a record without what depends on how its answer was cut into reads.
func timeless(r gate.Request) gate.Request {
	for i := range r.Arrivals {
		r.Arrivals[i] = 0
	}
	r.Done = 0
	return r
}

// golden is what a transcript comes out as, in a line.
type golden struct {
	Name                  string
	Outcome               gate.Outcome
	Status                int
	Frames                int // with output
	Tokens                []int
	Input, Output, Cached int
	Finish, Error         string
}

// measured tells the transcripts of requests for output from those of other routes.
var measured = regexp.MustCompile(`^made/|/(chat|completions|error)-`)

// transcripts returns the recorded answers by name, with what they were asked for.
func transcripts(t testing.TB) (names []string, calls map[string]Call, answers map[string][]byte) {
	t.Helper()
	calls, answers = map[string]Call{}, map[string][]byte{}
	recorded, _ := filepath.Glob("testdata/*/*.response")
	made, _ := filepath.Glob("testdata/made/*.sse")
	if len(recorded) < 30 || len(made) < 10 {
		t.Fatalf("got %d recorded and %d made transcripts: some are gone", len(recorded), len(made))
	}
	for _, path := range append(recorded, made...) {
		name := strings.TrimPrefix(strings.TrimSuffix(filepath.ToSlash(path), filepath.Ext(path)), "testdata/")
		if !measured.MatchString(name) {
			continue
		}
		answer, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		asked := struct {
			Stream    bool `json:"stream"`
			MaxTokens int  `json:"max_tokens"`
		}{true, 1}
		if filepath.Ext(path) == ".sse" {
			answer = chunked(answer)
		} else {
			request, err := os.ReadFile(strings.TrimSuffix(path, ".response") + ".request")
			if err != nil {
				t.Fatal(err)
			}
			_, body, _ := bytes.Cut(request, []byte("\r\n\r\n"))
			asked.Stream = false
			if json.Unmarshal(body, &asked) != nil && !strings.Contains(name, "error") {
				t.Fatalf("%s: its request has no JSON", name)
			}
		}
		names = append(names, name)
		answers[name] = answer
		calls[name] = Call{Params: Params{Stream: asked.Stream, MaxTokens: asked.MaxTokens}}
	}
	return names, calls, answers
}

// chunked makes an answer of a stream: a chunk for each event, as engines send them.
func chunked(stream []byte) []byte {
	b := []byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n")
	for _, event := range bytes.SplitAfter(stream, []byte("\n\n")) {
		if len(event) > 0 {
			b = fmt.Appendf(b, "%x\r\n%s\r\n", len(event), event)
		}
	}
	return append(b, "0\r\n\r\n"...)
}

func TestTranscripts(t *testing.T) {
	names, calls, answers := transcripts(t)
	var got bytes.Buffer
	for _, name := range names {
		r := play(t, calls[name], answers[name])
		line, err := json.Marshal(golden{name, r.Outcome, r.Status, len(r.Arrivals), r.ChunkTokens, r.Input, r.Output, r.Cached, r.Finish, r.Error})
		if err != nil {
			t.Fatal(err)
		}
		got.Write(append(line, '\n'))
	}
	const path = "testdata/transcripts.golden"
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); d != "" {
		t.Errorf("records differ (-want +got):\n%s", d)
	}
}

// However an answer is cut into reads, the record is the same but for its times.
func TestTranscriptsCutAnywhere(t *testing.T) {
	names, calls, answers := transcripts(t)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			call, in := calls[name], answers[name]
			want := timeless(play(t, call, in))
			for cut := 0; cut < len(in); cut += 1 + len(in)/300 {
				if got := timeless(play(t, call, in[:cut], in[cut:])); !reflect.DeepEqual(want, got) {
					t.Fatalf("cut at %d: record differs (-whole +cut):\n%s", cut, cmp.Diff(want, got))
				}
			}
			if got := timeless(play(t, call, bytewise(in)...)); !reflect.DeepEqual(want, got) {
				t.Fatalf("byte by byte: record differs (-whole +cut):\n%s", cmp.Diff(want, got))
			}
		})
	}
}

func bytewise(b []byte) [][]byte {
	var pieces [][]byte
	for i := range b {
		pieces = append(pieces, b[i:i+1])
	}
	return pieces
}
