package wire

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/servegate/servegate/runner/engine/sim/tokenizer"
)

var limits = Limits{Model: "sim", MaxModelLen: 64}

func TestParse(t *testing.T) {
	text := func(s string) []int32 { return tokenizer.Encode(nil, s) }
	chat := func(m ...tokenizer.Message) []int32 { return tokenizer.EncodeChat(m) }
	tests := []struct {
		name  string
		parse func([]byte, Limits) (*Call, *Error)
		body  string
		want  Call
	}{
		{"a text", ParseCompletion, `{"model":"sim","prompt":"the server"}`, Call{Prompt: text("the server"), MaxTokens: 16}},
		{"a list of one text", ParseCompletion, `{"prompt":["the server"],"max_tokens":3}`, Call{Prompt: text("the server"), MaxTokens: 3}},
		{"ids", ParseCompletion, `{"prompt":[1, 22 ,31999],"max_tokens":3}`, Call{Prompt: []int32{1, 22, 31999}, MaxTokens: 3}},
		{"a list of one list of ids", ParseCompletion, `{"prompt":[ [5,6] ],"max_tokens":3}`, Call{Prompt: []int32{5, 6}, MaxTokens: 3}},
		{"output is cut to the context", ParseCompletion, `{"prompt":[1,2,3,4],"max_tokens":64}`, Call{Prompt: []int32{1, 2, 3, 4}, MaxTokens: 60}},
		{
			"everything a gate asks for", ParseCompletion,
			`{"prompt":[1],"max_tokens":9,"min_tokens":2,"ignore_eos":true,"seed":-1,"stream":true,"n":1,"best_of":1,"temperature":0,` +
				`"logprobs":null,"return_token_ids":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true},"unknown":{}}`,
			Call{Prompt: []int32{1}, MaxTokens: 9, MinTokens: 2, IgnoreEOS: true, Seed: 1<<64 - 1, Stream: true, TokenIDs: true, Usage: true, RunningUsage: true},
		},
		{
			"running usage comes only with the closing one", ParseCompletion,
			`{"prompt":[1],"stream":true,"stream_options":{"continuous_usage_stats":true}}`,
			Call{Prompt: []int32{1}, MaxTokens: 16, Stream: true},
		},
		{"a chat fills the context", ParseChat, `{"messages":[{"role":"user","content":"the"}]}`, Call{Chat: true, Prompt: chat(tokenizer.Message{Role: "user", Content: "the"}), MaxTokens: 64 - len(chat(tokenizer.Message{Role: "user", Content: "the"}))}},
		{
			"parts, null, and the newer name of max_tokens", ParseChat,
			`{"messages":[{"role":"system","content":null},{"role":"user","content":[{"type":"text","text":"th"},{"type":"text","text":"e"}]}],"max_completion_tokens":2,"max_tokens":9}`,
			Call{Chat: true, Prompt: chat(tokenizer.Message{Role: "system"}, tokenizer.Message{Role: "user", Content: "the"}), MaxTokens: 2},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, fault := tt.parse([]byte(tt.body), limits)
			if fault != nil {
				t.Fatalf("got %v, want a call", fault)
			}
			if diff := cmp.Diff(tt.want, *got); diff != "" {
				t.Errorf("call (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	long := "[" + strings.Repeat("7,", 64) + "7]"
	tests := []struct {
		name, body  string
		chat        bool
		param, want string
	}{
		{"no JSON", `{"prompt":`, false, "", "JSON decode error"},
		{"a number as a body", `7`, false, "", "JSON decode error"},
		{"no prompt", `{}`, false, "prompt", "Field required"},
		{"no messages", `{}`, true, "messages", "Field required"},
		{"an empty prompt", `{"prompt":""}`, false, "prompt", "cannot be empty"},
		{"an empty list", `{"prompt":[ ]}`, false, "prompt", "cannot be empty"},
		{"a number as a prompt", `{"prompt":7}`, false, "prompt", "must be a string or a list"},
		{"fractions", `{"prompt":[1,2.5]}`, false, "prompt", "must be a string or a list"},
		{"objects", `{"prompt":[{}]}`, false, "prompt", "must be a string or a list"},
		{"a hole", `{"prompt":[1,null]}`, false, "prompt", "must be a string or a list"},
		{"two prompts", `{"prompt":["a","b"]}`, false, "prompt", "one prompt a request, got 2"},
		{"two prompts of ids", `{"prompt":[[1],[2]]}`, false, "prompt", "one prompt a request, got 2"},
		{"beyond the vocabulary", `{"prompt":[32000]}`, false, "prompt", "Token id 32000 is out of vocabulary"},
		{"far beyond", `{"prompt":[99999999999999999999999999]}`, false, "prompt", "is out of vocabulary"},
		{"negative ids", `{"prompt":[-1]}`, false, "prompt", "must be a string or a list"},
		{"too long", `{"prompt":` + long + `}`, false, "input_tokens", "This model's maximum context length is 64 tokens. However, your prompt contains 65 input tokens, which exceeds"},
		{"no room for output", `{"prompt":` + long[:128] + `]}`, false, "max_tokens", "max_tokens must be at least 1, got 0."},
		{"no output", `{"prompt":[1],"max_tokens":0}`, false, "max_tokens", "max_tokens must be at least 1, got 0."},
		{"more output than context", `{"prompt":[1],"max_tokens":65}`, false, "max_tokens", "max_tokens=65 cannot be greater than max_model_len=64."},
		{"by the newer name", `{"messages":[{"role":"user","content":"a"}],"max_completion_tokens":65}`, true, "max_completion_tokens", "max_completion_tokens=65 cannot"},
		{"too much at least", `{"prompt":[1],"max_tokens":5,"min_tokens":6}`, false, "min_tokens", "less than or equal to max_tokens=5"},
		{"several answers", `{"prompt":[1],"n":2}`, false, "n", "n must be 1"},
		{"the best of several", `{"prompt":[1],"best_of":2}`, false, "best_of", "best_of must be 1"},
		{"echo", `{"prompt":[1],"echo":true}`, false, "echo", "not supported"},
		{"logprobs", `{"prompt":[1],"logprobs":1}`, false, "logprobs", "not supported"},
		{"stream options alone", `{"prompt":[1],"stream_options":{}}`, false, "stream_options", "`stream=True`"},
		{"a picture", `{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, true, "messages", `message 0: content of type "image_url"`},
		{"a number as content", `{"messages":[{"role":"user","content":7}]}`, true, "messages", "message 0: content must be"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			parse := ParseCompletion
			if tt.chat {
				parse = ParseChat
			}
			_, fault := parse([]byte(tt.body), limits)
			if fault == nil || fault.Status != http.StatusBadRequest || fault.Param != tt.param || !strings.Contains(fault.Message, tt.want) {
				t.Errorf("got %+v, want 400 about %q with %q", fault, tt.param, tt.want)
			}
		})
	}
}

func TestUnknownModel(t *testing.T) {
	_, fault := ParseCompletion([]byte(`{"model":"x\"y","prompt":[1]}`), limits)
	want := `{"error":{"message":"The model ` + "`x\\\"y`" + ` does not exist. Valid aliases: sim.","type":"NotFoundError","param":"model","code":404}}`
	if fault == nil || string(fault.Append(nil)) != want {
		t.Errorf("got %s, want %s", fault.Append(nil), want)
	}
	if got := string(EngineDead().Append(nil)); !strings.Contains(got, `"param":null,"code":500`) {
		t.Errorf("an error without a parameter: got %s", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, body := range []string{
		`{"prompt":"x"}`, `{"prompt":[1,2]}`, `{"prompt":[[1]]}`, `{"prompt":["a"]}`, `{"prompt":[`, `[]`, `{"prompt":[[[["a"]]]]}`,
		`{"messages":[{"role":"user","content":"x"}],"max_tokens":3}`, `{"prompt":[1],"max_tokens":-9223372036854775808}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, parse := range []func([]byte, Limits) (*Call, *Error){ParseCompletion, ParseChat} {
			c, fault := parse(body, limits)
			if (c == nil) == (fault == nil) {
				t.Fatalf("got call %v and error %v, want one of them", c, fault)
			}
			if c == nil {
				continue
			}
			if len(c.Prompt) == 0 || c.MaxTokens < 1 || len(c.Prompt)+c.MaxTokens > limits.MaxModelLen || c.MinTokens > c.MaxTokens {
				t.Fatalf("got a call beyond the limits: %+v", c)
			}
			for _, id := range c.Prompt {
				if id < 0 || id >= tokenizer.Size {
					t.Fatalf("got token id %d", id)
				}
			}
		}
	})
}

func BenchmarkParseIDs(b *testing.B) {
	body := []byte(`{"prompt":[` + strings.Repeat("12345,", 1023) + `1],"max_tokens":16}`)
	l := Limits{Model: "sim", MaxModelLen: 8192}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, fault := ParseCompletion(body, l); fault != nil {
			b.Fatal(fault)
		}
	}
}
