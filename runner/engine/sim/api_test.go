package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/servegate/servegate/runner/engine/sim/wire"
)

func TestRoutes(t *testing.T) {
	o := quick()
	o.APIKey = "secret"
	c := serve(t, o)
	models := `"id":"sim","max_model_len":8192,"object":"model","owned_by":"servegate-sim"`
	for _, tt := range []struct {
		method, path, body, key string
		status                  int
		want                    string
	}{
		{"GET", "/health", "", "", 200, ""},
		{"GET", "/ping", "", "", 200, ""},
		{"GET", "/version", "", "", 200, `{"version":"0.1.0+sim"}`},
		{"GET", "/v1/models", "", "secret", 200, models},
		{"GET", "/v1/models", "", "", 401, `{"error":"Unauthorized"}`},
		{"POST", "/v1/completions", `{}`, "wrong", 401, `{"error":"Unauthorized"}`},
		{"GET", "/server_info?config_format=json", "", "", 200, `"num_gpu_blocks":4096`},
		{"GET", "/server_info", "", "", 200, `"vllm_config":"map[`},
		{"GET", "/server_info", "", "", 200, `"step-base":"200µs"`},
		{"POST", "/reset_prefix_cache", "", "", 200, `{"success":true}`},
		{"POST", "/tokenize", `{"prompt":"the server tok4000"}`, "", 200, `"count":3,"max_model_len":8192,"tokens":[261,754,4000]`},
		{"POST", "/tokenize", `{"messages":[{"role":"user","content":"the"}],"return_token_strs":true}`, "", 200, `"token_strs":["","use`},
		{"POST", "/tokenize", `{}`, "", 400, "neither prompt nor messages"},
		{"POST", "/detokenize", `{"tokens":[4000,31999]}`, "", 200, `{"prompt":" tok4000 tok31999"}`},
		{"GET", "/metrics", "", "", 200, "vllm:num_requests_running{"},
		{"GET", "/nowhere", "", "", 404, "Not Found"},
	} {
		t.Run(tt.method+" "+tt.path+" "+tt.body, func(t *testing.T) {
			req, err := http.NewRequest(tt.method, c.url+tt.path, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			if tt.key != "" {
				req.Header.Set("Authorization", "Bearer "+tt.key)
			}
			status, body := c.read(c.http.Do(req))
			if strings.Contains(body, o.APIKey) {
				t.Error("the answer gives the key away")
			}
			if status != tt.status || !strings.Contains(body, tt.want) {
				t.Errorf("got %d %s, want %d and %q", status, body, tt.status, tt.want)
			}
		})
	}
}

func TestWithoutDevMode(t *testing.T) {
	o := quick()
	o.DevMode = false
	c := serve(t, o)
	if status, _ := c.get("/server_info"); status != 404 {
		t.Errorf("/server_info: got %d, want 404", status)
	}
	if status, _ := c.post("/reset_prefix_cache", ""); status != 404 {
		t.Errorf("/reset_prefix_cache: got %d, want 404", status)
	}
}

func TestRefusals(t *testing.T) {
	c := serve(t, quick())
	for _, tt := range []struct {
		name, body string
		status     int
		want       string
	}{
		{"another model", `{"model":"gpt","prompt":"x"}`, 404, "The model `gpt` does not exist. Valid aliases: sim."},
		{"too long", idsBody(8193, 0, 1, ""), 400, "This model's maximum context length is 8192 tokens. However, your prompt contains 8193 input tokens"},
		{"no JSON", `{"prompt":`, 400, "JSON decode error"},
	} {
		if status, body := c.post("/v1/completions", tt.body); status != tt.status || !strings.Contains(body, tt.want) {
			t.Errorf("%s: got %d %.300s, want %d and %q", tt.name, status, body, tt.status, tt.want)
		}
	}
	resp, err := c.http.Post(c.url+"/v1/completions", "text/plain", strings.NewReader(`{"prompt":"x"}`))
	if status, body := c.read(resp, err); status != 400 || !strings.Contains(body, "application/json") {
		t.Errorf("without the content type: got %d %s, want 400", status, body)
	}
	if got := metric(c.scrape(), "prompt_tokens_total"); got != 0 {
		t.Errorf("prompt tokens after refusals only: got %v, want 0", got)
	}
}

func TestStreamAndBodyAgree(t *testing.T) {
	c := serve(t, quick())
	for _, path := range []string{"/v1/completions", "/v1/chat/completions"} {
		ask := `"messages":[{"role":"user","content":"the server"}]`
		if path == "/v1/completions" {
			ask = `"prompt":"the server"`
		}
		s := c.stream(path, `{`+ask+`,"max_tokens":7,"ignore_eos":true,"stream":true,"return_token_ids":true,"stream_options":{"include_usage":true}}`)
		if s.err != "" || !s.done || s.finish != "length" || len(s.ids) != 7 || len(s.at) != 7 {
			t.Fatalf("%s: got %+v, want 7 tokens in 7 frames and a regular end", path, s)
		}
		if s.usage == nil || s.usage.Completion != 7 || s.usage.Total != s.usage.Prompt+7 {
			t.Errorf("%s: usage: got %+v", path, s.usage)
		}
		_, body := c.post(path, `{`+ask+`,"max_tokens":7,"ignore_eos":true,"return_token_ids":true}`)
		var whole struct {
			Choices []struct {
				Text    string
				Message struct{ Content string }
				IDs     []int32 `json:"token_ids"`
				Finish  string  `json:"finish_reason"`
			}
			Usage usage
		}
		if err := json.Unmarshal([]byte(body), &whole); err != nil {
			t.Fatalf("%s: %v in %s", path, err, body)
		}
		got := whole.Choices[0]
		if text := got.Text + got.Message.Content; text != s.text || !slices.Equal(got.IDs, s.ids) || got.Finish != "length" {
			t.Errorf("%s: the body says %q, the stream said %q", path, text, s.text)
		}
		if whole.Usage.Completion != 7 || whole.Usage.Prompt != s.usage.Prompt {
			t.Errorf("%s: usage of the body: got %+v, want that of the stream %+v", path, whole.Usage, s.usage)
		}
	}
}

func TestChatBeginsWithItsRole(t *testing.T) {
	c := serve(t, quick())
	s := c.stream("/v1/chat/completions", `{"messages":[{"role":"user","content":"the"}],"max_tokens":2,"stream":true,"ignore_eos":true}`)
	if !strings.Contains(s.raw[0], `"delta":{"role":"assistant","content":""}`) {
		t.Errorf("first frame: got %s, want the role and no text", s.raw[0])
	}
	if len(s.raw) != 4 || len(s.at) != 2 {
		t.Errorf("got %d frames, %d with text, want role, two tokens, [DONE]", len(s.raw), len(s.at))
	}
}

func TestEndOfText(t *testing.T) {
	o := quick()
	o.EOSRate = 1
	c := serve(t, o)
	short := 0
	for i := range 20 {
		body := strings.Replace(idsBody(20, i, 40, `,"min_tokens":5`), `"ignore_eos":true,`, "", 1)
		s := c.stream("/v1/completions", body)
		if s.finish != "stop" || len(s.ids) != s.usage.Completion || s.ids[len(s.ids)-1] != 2 || len(s.ids) <= 5 || len(s.ids) > 40 {
			t.Fatalf("request %d: got %q after %d tokens, want stop with token 2 after 6 to 40", i, s.finish, len(s.ids))
		}
		if len(s.ids) < 40 {
			short++
		}
		if again := c.stream("/v1/completions", body); !slices.Equal(again.ids, s.ids) {
			t.Errorf("request %d: the same request got another answer", i)
		}
	}
	if short < 10 {
		t.Errorf("%d of 20 ended early, want most", short)
	}
	one, two := c.stream("/v1/completions", idsBody(20, 1, 40, "")), c.stream("/v1/completions", idsBody(20, 1, 40, `,"seed":7`))
	if slices.Equal(one.ids, two.ids) {
		t.Error("another seed: got the same answer")
	}
	if s := one; s.finish != "length" || len(s.ids) != 40 {
		t.Errorf("with ignore_eos: got %q after %d tokens, want length after 40", s.finish, len(s.ids))
	}
}

// TestStyles plays other engines.
func TestStyles(t *testing.T) {
	ask := idsBody(8, 1, 3, "")
	ask = strings.Replace(ask, `"include_usage":true`, `"include_usage":true,"continuous_usage_stats":true`, 1)
	tests := []struct {
		name   string
		change func(*Options)
		check  func(*seen) error
	}{
		{"vLLM", func(*Options) {}, func(s *seen) error {
			if len(s.raw) != 5 || !strings.Contains(s.raw[0], `"completion_tokens":1}`) || !strings.Contains(s.raw[3], `"choices":[],`) {
				return fmt.Errorf("want running usage and a closing usage frame")
			}
			return nil
		}},
		{"llama.cpp: usage on the last frame, unasked, no running usage, no ids", func(o *Options) {
			o.Style.Usage, o.Style.RunningUsage, o.Style.TokenIDs = wire.UsageLast, false, false
		}, func(s *seen) error {
			if len(s.raw) != 4 || strings.Contains(s.raw[1], "usage") || !strings.Contains(s.raw[2], `"usage":{"prompt_tokens":8`) || len(s.ids) != 0 {
				return fmt.Errorf("want usage on the third frame only, no ids")
			}
			return nil
		}},
		{"no usage at all", func(o *Options) { o.Style.Usage = wire.UsageNone }, func(s *seen) error {
			if s.usage != nil || len(s.raw) != 4 {
				return fmt.Errorf("want no usage")
			}
			return nil
		}},
		{"dummy weights: ids, but no text", func(o *Options) { o.Style.EmptyText = true }, func(s *seen) error {
			if s.text != "" || len(s.ids) != 3 || len(s.at) != 3 {
				return fmt.Errorf("want three frames with an id and no text")
			}
			return nil
		}},
		{"no cached tokens in usage", func(o *Options) { o.Style.CachedTokens = false }, func(s *seen) error {
			if s.usage.Details != nil {
				return fmt.Errorf("want no details")
			}
			return nil
		}},
		{"ignore_eos is ignored", func(o *Options) { o.Style.HonorIgnoreEOS, o.EOSRate = false, 1 }, func(s *seen) error {
			if s.finish != "stop" {
				return fmt.Errorf("want stop")
			}
			return nil
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := quick()
			tt.change(&o)
			s := serve(t, o).stream("/v1/completions", ask)
			if err := tt.check(s); err != nil || s.err != "" {
				t.Errorf("%v %s; got\n%s", err, s.err, strings.Join(s.raw, "\n"))
			}
		})
	}
}

func TestSpeculativeChunks(t *testing.T) {
	o := quick()
	o.Scheduler.DraftTokens, o.AcceptanceLength = 3, 2.5
	c := serve(t, o)
	var chunks, tokens int
	for i := range 4 {
		s := c.stream("/v1/completions", idsBody(16, i, 500, ""))
		if len(s.ids) != 500 || s.tokens[0] != 1 {
			t.Fatalf("got %d tokens, %d in the first frame, want 500 and 1", len(s.ids), s.tokens[0])
		}
		for _, n := range s.tokens[1:] {
			if n > 4 {
				t.Fatalf("got a frame of %d tokens, want 4 at most", n)
			}
		}
		chunks += len(s.tokens) - 1
		tokens += 499
	}
	if mean := float64(tokens) / float64(chunks); mean < 2.35 || mean > 2.65 {
		t.Errorf("tokens a frame: got %.3f, want about 2.5", mean)
	}
	m := c.scrape()
	for name, want := range map[string]int{"drafts": chunks, "draft_tokens": 3 * chunks, "accepted_tokens": tokens - chunks} {
		if got := metric(m, "spec_decode_num_"+name+"_total"); got != float64(want) {
			t.Errorf("%s: got %v, want %d", name, got, want)
		}
	}
}

// The next turn of a conversation finds the last one and its answer in the cache.
func TestConversationHitsTheCache(t *testing.T) {
	c := serve(t, quick())
	turn := func(messages string) *seen {
		t.Helper()
		s := c.stream("/v1/chat/completions", `{"messages":[`+messages+`],"max_tokens":64,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true}}`)
		if s.err != "" || s.usage == nil {
			t.Fatalf("got %+v", s)
		}
		return s
	}
	question := `{"role":"user","content":"` + strings.Repeat("the server and the token ", 10) + `"}`
	first := turn(question)
	second := turn(question + `,{"role":"assistant","content":"` + first.text + `"},{"role":"user","content":"more"}`)
	if first.usage.Details.Cached != 0 {
		t.Errorf("first turn: got %d cached tokens, want 0", first.usage.Details.Cached)
	}
	// All full blocks of the first turn but for its last token, which was never computed.
	want := (first.usage.Total - 1) / 16 * 16
	if got := second.usage.Details.Cached; got != want {
		t.Errorf("second turn: got %d cached tokens, want %d", got, want)
	}
	if status, body := c.post("/reset_prefix_cache", ""); status != 200 || body != "{\"success\":true}\n" {
		t.Errorf("reset: got %d %s", status, body)
	}
	if got := turn(question).usage.Details.Cached; got != 0 {
		t.Errorf("after the reset: got %d cached tokens, want 0", got)
	}
}

// TestCountersAddUp holds /metrics against what clients saw.
func TestCountersAddUp(t *testing.T) {
	o := quick()
	o.Scheduler.Blocks, o.Scheduler.MaxModelLen = 40, 256 // tight: requests are preempted
	c := serve(t, o)
	results := make(chan *seen, 60)
	for i := range 60 {
		go func() { results <- c.stream("/v1/completions", idsBody(20+i, i%7, 100, "")) }()
	}
	var prompt, output, cached float64
	for range 60 {
		s := <-results
		if s.err != "" || len(s.ids) != 100 {
			t.Fatalf("got error %q and %d tokens, want 100", s.err, len(s.ids))
		}
		prompt += float64(s.usage.Prompt)
		output += float64(s.usage.Completion)
		cached += float64(s.usage.Details.Cached)
	}
	got := c.scrape()
	if metric(got, "num_preemptions_total") == 0 {
		t.Error("no request was preempted: the test doesn't test what it should")
	}
	want := map[string]float64{
		"prompt_tokens_total": prompt, "generation_tokens_total": output,
		"prefix_cache_queries_total": prompt, "prefix_cache_hits_total": cached, "prompt_tokens_cached_total": cached,
		"time_to_first_token_seconds_count": 60, "e2e_request_latency_seconds_count": 60,
		"inter_token_latency_seconds_count": 60 * 99, "request_queue_time_seconds_count": 60,
		"request_prompt_tokens_sum": prompt, "request_generation_tokens_sum": output,
		"num_requests_running": 0, "num_requests_waiting": 0, "kv_cache_usage_perc": 0,
	}
	for name, v := range want {
		if g := metric(got, name); g != v {
			t.Errorf("%s: got %v, want %v", name, g, v)
		}
	}
	finished := map[string]float64{}
	for name, v := range got {
		if strings.HasPrefix(name, "vllm:request_success_total{") && v > 0 {
			finished[name] = v
		}
	}
	if diff := cmp.Diff(map[string]float64{`vllm:request_success_total{engine="0",finished_reason="length",model_name="sim"}`: 60}, finished); diff != "" {
		t.Errorf("finished requests (-want +got):\n%s", diff)
	}
}
