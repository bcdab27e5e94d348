package wire

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var vllm = Style{Usage: UsageAsked, RunningUsage: true, TokenIDs: true, CachedTokens: true}

// TestGolden writes whole answers as each style has them.
func TestGolden(t *testing.T) {
	llama := Style{Usage: UsageLast, CachedTokens: true}
	full := Call{Prompt: []int32{7, 8, 9}, Stream: true, Usage: true, RunningUsage: true, TokenIDs: true}
	bare := Call{Prompt: []int32{7, 8, 9}, Stream: true}
	chat := full
	chat.Chat = true
	bareChat := bare
	bareChat.Chat = true
	tests := []struct {
		file  string
		call  Call
		style Style
	}{
		{"completion", bare, vllm},
		{"completion_full", full, vllm},
		{"chat", bareChat, vllm},
		{"chat_full", chat, vllm},
		{"llamacpp", full, llama},
		{"no_usage", full, Style{Usage: UsageNone, TokenIDs: true}},
		{"empty_text", full, Style{Usage: UsageAsked, TokenIDs: true, EmptyText: true}},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			encoder := func() *Encoder { return NewEncoder(&tt.call, tt.style, `a "model"`, "1", 1700000000) }
			e := encoder()
			e.Cached(2)
			out := e.Frame(nil, []int32{4000}, "")
			out = e.Frame(out, []int32{4001, 31999}, "")
			out = e.Frame(out, []int32{2}, "stop")
			out = e.Close(out)
			out = append(out, "-- body --\n"...)
			tt.call.Stream = false
			e = encoder()
			e.Cached(2)
			out = append(e.Body(out, []int32{4000, 4001, 2}, "stop"), '\n')
			out = append(out, "-- error --\n"...)
			out = encoder().Fail(out, Internal())
			checkJSON(t, string(out))
			golden(t, tt.file+".golden", out)
		})
	}
}

// checkJSON wants each line that isn't a marker to hold JSON.
func checkJSON(t *testing.T, out string) {
	t.Helper()
	for line := range strings.Lines(out) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "data: ")
		if line == "" || line == "[DONE]" || strings.HasPrefix(line, "--") {
			continue
		}
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestMalformedIsNoJSON(t *testing.T) {
	e := NewEncoder(&Call{Prompt: []int32{1}}, vllm, "m", "1", 1)
	data, ok := strings.CutPrefix(string(e.Malformed(nil)), "data: ")
	if !ok || !strings.HasSuffix(data, "\n\n") || json.Valid([]byte(strings.TrimSpace(data))) {
		t.Errorf("got %q, want an event that isn't JSON", data)
	}
}

// A frame must cost no allocation.
func TestFrameAllocates(t *testing.T) {
	call := &Call{Prompt: []int32{7, 8, 9}, Usage: true, RunningUsage: true, TokenIDs: true}
	e, buf, ids := NewEncoder(call, vllm, "m", "1", 1), make([]byte, 0, 4096), []int32{4000}
	if n := testing.AllocsPerRun(100, func() { buf = e.Frame(buf[:0], ids, "") }); n != 0 {
		t.Errorf("got %v allocations a frame, want none", n)
	}
}

func BenchmarkFrame(b *testing.B) {
	call := &Call{Prompt: []int32{7, 8, 9}, Usage: true, RunningUsage: true, TokenIDs: true}
	e, buf, ids := NewEncoder(call, vllm, "m", "1", 1), make([]byte, 0, 4096), []int32{4000}
	b.ReportAllocs()
	for b.Loop() {
		buf = e.Frame(buf[:0], ids, "")
	}
}
