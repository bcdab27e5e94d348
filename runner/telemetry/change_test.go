package telemetry

import (
	"bufio"
	"bytes"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/servegate/servegate/gate"
)

// answer reads what a real engine answered, see runner/openai/testdata for how it was
// recorded.
func answer(t testing.TB, name string) *http.Response {
	t.Helper()
	file, err := os.ReadFile("testdata/" + name + ".response")
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(file)), nil)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

func recorded(t *testing.T, name string) Snapshot {
	t.Helper()
	s, err := read(answer(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parsed(t *testing.T, body string) Snapshot {
	t.Helper()
	s, err := Parse(textType, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func count(n int64) *int64 { return &n }

func TestFactsOfRealEngines(t *testing.T) {
	// Between before and after both engines answered the same 13 requests, one of them
	// with two choices: 201 output tokens by their usage. vLLM counts the prompt of the
	// two choices twice (408 = 384 by usage + 24) and a choice as a request; llama.cpp's
	// usage has it twice, its counters once (347 = 371 - 24).
	tests := []struct {
		engine string
		want   gate.EngineFacts
	}{
		{"vllm", gate.EngineFacts{Requests: count(14), PromptTokens: count(408), OutputTokens: count(201), Preemptions: count(0)}},
		{"llamacpp", gate.EngineFacts{PromptTokens: count(347), OutputTokens: count(201)}},
	}
	for _, tt := range tests {
		t.Run(tt.engine, func(t *testing.T) {
			change := Delta(recorded(t, tt.engine+"-before"), recorded(t, tt.engine+"-after"))
			if got := change.Restart(); got != "" {
				t.Errorf("Restart() = %q, want none", got)
			}
			if diff := cmp.Diff(tt.want, change.Facts()); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
			if got := Delta(change.after, change.before).Restart(); got == "" {
				t.Error("the snapshots in the wrong order show no restart")
			}
		})
	}
}

func TestFacts(t *testing.T) {
	tests := []struct {
		name, before, after string
		want                gate.EngineFacts
	}{
		{"an engine that speaks neither", "tgi_queue_size 1", "tgi_queue_size 2", gate.EngineFacts{}},
		{"nothing happened", "vllm:prompt_tokens_total 5", "vllm:prompt_tokens_total 5", gate.EngineFacts{PromptTokens: count(0)}},
		{"names without _total", "vllm:generation_tokens 5", "vllm:generation_tokens 7", gate.EngineFacts{OutputTokens: count(2)}},
		{"a label that came later", "", `vllm:generation_tokens_total{engine="0"} 7`, gate.EngineFacts{OutputTokens: count(7)}},
		{
			"several data-parallel ranks", "",
			"vllm:generation_tokens_total{engine=\"0\"} 7\nvllm:generation_tokens_total{engine=\"1\"} 4",
			gate.EngineFacts{OutputTokens: count(11)},
		},
		{
			"aborts and errors are no success", "vllm:request_success_total{finished_reason=\"stop\"} 1",
			"vllm:request_success_total{finished_reason=\"stop\"} 4\nvllm:request_success_total{finished_reason=\"abort\"} 9\nvllm:request_success_total{finished_reason=\"error\"} 9",
			gate.EngineFacts{Requests: count(3)},
		},
		{
			"llama.cpp that counts cached tokens apart", "",
			"llamacpp:prompt_tokens_total 10\nllamacpp:prompt_tokens_cached_total 5",
			gate.EngineFacts{PromptTokens: count(15)},
		},
		{"llama.cpp that doesn't count cached tokens", "", "llamacpp:prompt_tokens_total 10", gate.EngineFacts{}},
		{"after a restart", "vllm:prompt_tokens_total 5", "vllm:prompt_tokens_total 3\nvllm:generation_tokens_total 3", gate.EngineFacts{}},
		{"not a number", "", "vllm:prompt_tokens_total NaN\nvllm:generation_tokens_total +Inf", gate.EngineFacts{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Delta(parsed(t, tt.before), parsed(t, tt.after)).Facts()
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRestart(t *testing.T) {
	tests := []struct{ name, before, after, want string }{
		{"counters that grow", "a_total 1", "a_total 2", ""},
		{"a gauge that falls", "a 2", "a 1", ""},
		{"a gauge with a counter's suffix", "# TYPE a_total gauge\na_total 2", "# TYPE a_total gauge\na_total 1", ""},
		{"a time of creation that is unlike", "a_created 2", "a_created 1", ""},
		{"a start that is told by one only", "process_start_time_seconds 7", "up 1", ""},
		{"a counter that fell", "b_total 9\na_total 5", "b_total 1\na_total 3", "the engine's counter a_total fell from 5 to 3"},
		{"a histogram that fell", "a_count 5", "a_count 3", "the engine's counter a_count fell from 5 to 3"},
		{"a labelled counter that is gone", `a_total{reason="x"} 5`, "", "the engine's counter a_total fell from 5 to 0"},
		{
			"a new process", "process_start_time_seconds 1.79596974628e+09\na_total 1", "process_start_time_seconds 1.79596975e+09\na_total 1",
			"the engine's process start went from 1795969746.28 to 1795969750",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Delta(parsed(t, tt.before), parsed(t, tt.after)).Restart(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestValue(t *testing.T) {
	s := parsed(t, "a_total 1\nb 2\nb_total 3\nempty 0")
	tests := []struct {
		names  []string
		want   float64
		wantOK bool
	}{
		{[]string{"a"}, 1, true},
		{[]string{"a_total"}, 1, true},
		{[]string{"b"}, 2, true},
		{[]string{"no", "b"}, 2, true},
		{[]string{"a", "b"}, 1, true},
		{[]string{"empty"}, 0, true},
		{[]string{"no"}, 0, false},
		{nil, 0, false},
	}
	for _, tt := range tests {
		if got, ok := s.Value(tt.names...); got != tt.want || ok != tt.wantOK {
			t.Errorf("Value(%q) = %v, %t, want %v, %t", tt.names, got, ok, tt.want, tt.wantOK)
		}
	}
	if got := s.Len(); got != 4 {
		t.Errorf("Len() = %d, want 4", got)
	}
}
