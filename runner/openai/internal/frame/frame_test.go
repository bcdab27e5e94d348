package frame

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/servegate/servegate/gate"
)

// frames holds one frame of each kind that engines send.
var frames = []struct {
	name, in string
	want     Frame
}{
	{"completion text", `{"choices":[{"index":0,"text":" a","finish_reason":null}]}`, Frame{Choices: 1, output: true, ids: -1, Usage: NoUsage}},
	{"empty text", `{"choices":[{"text":""}]}`, Frame{Choices: 1, ids: -1, Usage: NoUsage}},
	{"no text at all", `{"choices":[{"index":0}]}`, Frame{Choices: 1, ids: -1, Usage: NoUsage}},
	{"null text", `{"choices":[{"text":null}]}`, Frame{Choices: 1, ids: -1, Usage: NoUsage}},
	{"text of a space", `{"choices":[{"text":" "}]}`, Frame{Choices: 1, output: true, ids: -1, Usage: NoUsage}},
	{"text of an escape", `{"choices":[{"text":"\n"}]}`, Frame{Choices: 1, output: true, ids: -1, Usage: NoUsage}},
	{"empty text with ids", `{"choices":[{"text":"","token_ids":[7,8]}]}`, Frame{Choices: 1, ids: 2, Usage: NoUsage}},
	{"empty ids", `{"choices":[{"text":"","token_ids":[]}]}`, Frame{Choices: 1, ids: 0, Usage: NoUsage}},
	{"null ids", `{"choices":[{"text":"","token_ids":null}]}`, Frame{Choices: 1, ids: -1, Usage: NoUsage}},
	{"prompt ids are no output", `{"choices":[{"text":"","prompt_token_ids":[1,2,3]}]}`, Frame{Choices: 1, ids: -1, Usage: NoUsage}},
	{"second choice", `{"choices":[{"index":0,"text":""},{"index":1,"text":"b","token_ids":[1]}]}`, Frame{Choices: 2, output: true, ids: 1, Usage: NoUsage}},
	{"role only", `{"choices":[{"delta":{"role":"assistant","content":""}}]}`, Frame{Choices: 1, role: true, ids: -1, Usage: NoUsage}},
	{"role with null content", `{"choices":[{"delta":{"role":"assistant","content":null,"tool_calls":[]}}]}`, Frame{Choices: 1, role: true, ids: -1, Usage: NoUsage}},
	{"content", `{"choices":[{"delta":{"content":"a"}}]}`, Frame{Choices: 1, output: true, ids: -1, Usage: NoUsage}},
	{"content of parts", `{"choices":[{"delta":{"content":[{"type":"text","text":"a"}]}}]}`, Frame{Choices: 1, output: true, ids: -1, Usage: NoUsage}},
	{"reasoning_content", `{"choices":[{"delta":{"content":null,"reasoning_content":"hm"}}]}`, Frame{Choices: 1, output: true, ids: -1, Usage: NoUsage}},
	{"reasoning", `{"choices":[{"delta":{"reasoning":"hm"}}]}`, Frame{Choices: 1, output: true, ids: -1, Usage: NoUsage}},
	{"tool call", `{"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}`, Frame{Choices: 1, output: true, ids: -1, Usage: NoUsage}},
	{"refusal", `{"choices":[{"delta":{"refusal":"no"}}]}`, Frame{Choices: 1, output: true, ids: -1, Usage: NoUsage}},
	{"empty delta with finish", `{"choices":[{"delta":{},"finish_reason":"stop"}]}`, Frame{Choices: 1, Finish: "stop", ids: -1, Usage: NoUsage}},
	{"SGLang's empty finish_reason", `{"choices":[{"text":"a","finish_reason":""}]}`, Frame{Choices: 1, output: true, ids: -1, Usage: NoUsage}},
	{"completion logprobs", `{"choices":[{"text":"","logprobs":{"tokens":["x"],"token_logprobs":[-1.5]}}]}`, Frame{Choices: 1, output: true, ids: -1, Usage: NoUsage}},
	{"chat logprobs", `{"choices":[{"delta":{"content":""},"logprobs":{"content":[{"token":"x"}]}}]}`, Frame{Choices: 1, output: true, ids: -1, Usage: NoUsage}},
	{"empty logprobs", `{"choices":[{"text":"","logprobs":{"tokens":[],"content":null}}]}`, Frame{Choices: 1, ids: -1, Usage: NoUsage}},
	{"whole chat answer", `{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"length"}]}`, Frame{Choices: 1, output: true, role: true, Finish: "length", ids: -1, Usage: NoUsage}},
	{
		"usage alone", `{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12,"prompt_tokens_details":{"cached_tokens":3}}}`,
		Frame{ids: -1, Usage: Usage{5, 7, 3}},
	},
	{"usage on a closing frame", `{"choices":[{"text":"","finish_reason":"length"}],"usage":{"completion_tokens":7,"prompt_tokens":5}}`, Frame{Choices: 1, Finish: "length", ids: -1, Usage: Usage{5, 7, gate.Unknown}}},
	{"null details are unknown", `{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":0,"prompt_tokens_details":null}}`, Frame{ids: -1, Usage: Usage{5, 0, gate.Unknown}}},
	{"null cached is unknown", `{"usage":{"prompt_tokens_details":{"cached_tokens":null}}}`, Frame{ids: -1, Usage: NoUsage}},
	{"null usage", `{"choices":[{"text":"a"}],"usage":null}`, Frame{Choices: 1, output: true, ids: -1, Usage: NoUsage}},
	{"counts in other notations", `{"usage":{"prompt_tokens":5.0,"completion_tokens":1e1}}`, Frame{ids: -1, Usage: Usage{5, 10, gate.Unknown}}},
	{"counts that are none", `{"usage":{"prompt_tokens":-1,"completion_tokens":99999999999,"prompt_tokens_details":{"cached_tokens":"3"}}}`, Frame{ids: -1, Usage: NoUsage}},
	{"escaped member name", `{"\u0063hoices":[{"text":"a"}]}`, Frame{Choices: 1, output: true, ids: -1, Usage: NoUsage}},
	{"error", `{"error":{"message":"engine died","type":"InternalServerError","code":500}}`, Frame{ids: -1, Usage: NoUsage, Failure: "code 500: engine died"}},
	{"full queue in a stream", `{"error":{"message":"The request queue is full.","code":503},"code":503}`, Frame{ids: -1, Usage: NoUsage, Failure: "code 503: The request queue is full."}},
	{"error of text", `{"error":"boom\nbang"}`, Frame{ids: -1, Usage: NoUsage, Failure: "boom bang"}},
	{"SGLang's flat error", `{"object":"error","message":"too long","type":"BadRequest","code":400}`, Frame{ids: -1, Usage: NoUsage, Failure: "code 400: too long"}},
	{"null error", `{"error":null,"choices":[{"text":"a"}]}`, Frame{Choices: 1, output: true, ids: -1, Usage: NoUsage}},
	{"odd members", `{"choices":{"0":1},"usage":[],"error":null,"object":"text_completion"}`, Frame{ids: -1, Usage: NoUsage}},
	{"odd choices", `{"choices":[null,1,{"delta":[],"text":["x"],"token_ids":{},"logprobs":3,"finish_reason":{}}]}`, Frame{Choices: 3, output: true, ids: -1, Usage: NoUsage}},
	{"white space", " { \"choices\" : [ { \"text\" : \"a\" } ] , \"x\" : [ ] } ", Frame{Choices: 1, output: true, ids: -1, Usage: NoUsage}},
}

func TestScan(t *testing.T) {
	for _, c := range frames {
		t.Run(c.name, func(t *testing.T) {
			got, ok := Scan([]byte(c.in))
			if !ok {
				t.Fatalf("got no frame, want one")
			}
			if d := cmp.Diff(c.want, got, cmp.AllowUnexported(Frame{})); d != "" {
				t.Errorf("frame differs (-want +got):\n%s", d)
			}
		})
	}
}

func TestScanRefuses(t *testing.T) {
	for _, in := range []string{
		``, `null`, `[]`, `"x"`, `7`, `{`, `{"choices":[{"te`, `{"a":1}x`, `{"a":1,}`, `{"a":[1,]}`, `{a:1}`, `{"a" 1}`, `{"a":tru}`,
		`{"a":01}`, `{"a":-}`, `{"a":1.}`, `{"a":1e}`, `{"a":"\x"}`, `{"a":"\u12g4"}`, "{\"a\":\"\n\"}", `{"a":"x`, `{"a":1 "b":2}`,
		`{"choices":[}`, `{"usage":{"prompt_tokens":}}`, `<html>`, strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300),
	} {
		if f, ok := Scan([]byte(in)); ok {
			t.Errorf("%.40q: got %+v, want it refused", in, f)
		}
	}
}

func TestScanAllocatesLittle(t *testing.T) {
	in := []byte(`{"id":"cmpl-1","object":"text_completion","choices":[{"index":0,"text":" a \"b\"","token_ids":[7]}],"usage":{"prompt_tokens":5,"completion_tokens":7}}`)
	if got := testing.AllocsPerRun(100, func() {
		if f, ok := Scan(in); !ok || f.Usage.Completion != 7 {
			t.Errorf("got %+v, %v", f, ok)
		}
	}); got != 0 {
		t.Errorf("got %v allocations a frame, want 0", got)
	}
}

func TestDescribeError(t *testing.T) {
	cases := []struct{ name, in, want string }{
		{"OpenAI", `{"error":{"message":"m","type":"t","param":null,"code":"c"}}`, "code c: m"},
		{"only a type", `{"error":{"message":"m","type":"t","code":null}}`, "t: m"},
		{"FastAPI text", `{"detail":"Not Found"}`, "Not Found"},
		{"FastAPI list", `{"detail":[{"loc":["body"],"msg":"required"}]}`, `[{"loc":["body"],"msg":"required"}]`},
		{"another object", `{"reason":"x"}`, `{"reason":"x"}`},
		{"message of an odd type", `{"error":{"message":{"a":1}}}`, `{"message":{"a":1}}`},
		{"text", `"x"`, "x"},
		{"no JSON", "a\r\nb\x1b[31m\u202ec", "a b [31m c"},
		{"long", strings.Repeat("\u00e4", 400), strings.Repeat("\u00e4", 150) + "..."},
		{"broken UTF-8", "a\xff\xfeb", "a\ufffdb"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := DescribeError([]byte(c.in)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func BenchmarkScan(b *testing.B) {
	in := []byte(`{"id":"cmpl-6e4d1c2f9a8b4f0e9d3c7b5a1f2e4d6c","object":"text_completion","created":1767225600,"model":"meta-llama/Llama-3.1-8B-Instruct",` +
		`"choices":[{"index":0,"text":" token","logprobs":null,"finish_reason":null,"stop_reason":null,"token_ids":[1000],"prompt_token_ids":null}],"usage":null}`)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := Scan(in); !ok {
			b.Fatal("refused")
		}
	}
}
