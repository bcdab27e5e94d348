package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/runner/openai"
)

// engine replays what an engine was recorded to answer, by path.
func engine(t *testing.T, name string) *openai.Client {
	t.Helper()
	files := map[string]string{"/v1/models": "models", "/tokenize": "tokenize", "/version": "version"}
	var s *rawServer
	s = serve(t, func(c *rawConn) bool {
		all := s.requests()
		answer, err := os.ReadFile("testdata/" + name + "/" + files[all[len(all)-1].URL.Path] + ".response")
		if err != nil {
			answer, err = os.ReadFile("testdata/" + name + "/error-no-route.response")
		}
		if err != nil {
			t.Error(err)
		}
		c.write(string(answer))
		return false
	})
	c, err := openai.New(openai.Options{BaseURL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestRecordedEngines(t *testing.T) {
	cases := []struct {
		name    string
		owner   string
		maxLen  int
		tokens  int
		version string
	}{
		{"vllm", "vllm", 4096, 16, "0.32.0"},
		{"llamacpp", "llamacpp", 2048, 11, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			client := engine(t, c.name)
			models, err := client.Models(context.Background())
			if err != nil || len(models) != 1 || models[0].OwnedBy != c.owner || models[0].MaxLen != c.maxLen || models[0].ID != "servegate-random" {
				t.Errorf("got models %+v, error %v, want one of %s with context %d", models, err, c.owner, c.maxLen)
			}
			ids, err := client.Tokenize(context.Background(), "servegate-random", "Once upon a time")
			if err != nil || len(ids) != c.tokens {
				t.Errorf("got tokens %v, error %v, want %d of them", ids, err, c.tokens)
			}
			version, err := client.Version(context.Background())
			var status *openai.StatusError
			if version != c.version || c.version == "" && (!errors.As(err, &status) || status.Status != http.StatusNotFound) {
				t.Errorf("got version %q, error %v, want %q", version, err, c.version)
			}
		})
	}
}

func TestAPIErrors(t *testing.T) {
	reply := func(status int, mediaType, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", mediaType)
			w.Header().Set("Location", map[bool]string{true: "http://elsewhere/"}[status == 302])
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	cases := []struct {
		name    string
		handler http.HandlerFunc
		want    string
		hint    string
	}{
		{"401", reply(401, "application/json", `{"error":"bad key sk-secret"}`), "list models: HTTP 401 Unauthorized: bad key ***", "API key"},
		{"404", reply(404, "application/json", `{"detail":"Not Found"}`), "list models: HTTP 404 Not Found: Not Found", "base of an OpenAI-compatible API"},
		{"503", reply(503, "application/json", `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`), "list models: HTTP 503 Service Unavailable: code 503: Loading model", ""},
		{"redirect", reply(302, "text/html", "<html></html>"), "list models: HTTP 302 Found: points to http://elsewhere/", "redirects aren't followed"},
		{"HTML under 200", reply(200, "text/html", "<!doctype html><html><head><title>Login</title></head></html>"), `list models: HTTP 200, but no JSON that fits: an HTML page "Login"`, "web page"},
		{"text under 200", reply(200, "text/plain", "Ollama is running"), "list models: HTTP 200, but no JSON that fits: Ollama is running", ""},
		{"JSON of another shape", reply(200, "application/json", `[1]`), "list models: HTTP 200, but no JSON that fits: [1]", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := httptest.NewServer(c.handler)
			defer s.Close()
			checkModelsError(t, s.URL, c.want, c.hint)
		})
	}
	t.Run("plain server over TLS", func(t *testing.T) {
		s := httptest.NewServer(nil)
		defer s.Close()
		addr := strings.TrimPrefix(s.URL, "http://")
		checkModelsError(t, "https://"+addr, "list models: connect to "+addr+": the server doesn't speak TLS", "http://")
	})
	t.Run("TLS server over plain HTTP", func(t *testing.T) {
		s := httptest.NewTLSServer(nil)
		defer s.Close()
		checkModelsError(t, "http"+strings.TrimPrefix(s.URL, "https"), "list models: HTTP 400 Bad Request: Client sent an HTTP request to an HTTPS server.", "https://")
	})
	t.Run("another protocol", func(t *testing.T) {
		s := serve(t, func(c *rawConn) bool { c.write("SSH-2.0-x\r\n"); return false })
		checkModelsError(t, s.URL, "list models: no answer from "+strings.TrimPrefix(s.URL, "http://")+": net/http: HTTP/1.x transport connection broken: malformed HTTP response", "is the port right")
	})
	t.Run("reset", func(t *testing.T) {
		s := serve(t, func(c *rawConn) bool { c.reset(); return false })
		checkModelsError(t, s.URL, "list models: no answer from "+strings.TrimPrefix(s.URL, "http://")+": connection reset by peer", "")
	})
	t.Run("closed", func(t *testing.T) {
		s := serve(t, func(*rawConn) bool { return false })
		checkModelsError(t, s.URL, "list models: no answer from "+strings.TrimPrefix(s.URL, "http://")+": EOF", "")
	})
}

// checkModelsError holds the error of listing a server's models to its text and hint.
func checkModelsError(t *testing.T, url, want, hint string) {
	t.Helper()
	c, err := openai.New(openai.Options{BaseURL: url, APIKey: "sk-secret"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Models(context.Background())
	if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Fatalf("got error %v, want %q in one line", err, want)
	}
	var h interface{ Hint() string }
	got := ""
	if errors.As(err, &h) {
		got = h.Hint()
	}
	if !strings.Contains(got, hint) || hint == "" && got != "" {
		t.Errorf("got hint %q, want %q", got, hint)
	}
}

func TestAPIRefusedConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	checkModelsError(t, "http://"+addr, "list models: connect to "+addr+": connection refused", "is the engine running")
	c, err := openai.New(openai.Options{BaseURL: "http://" + addr})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Version(context.Background()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got error %v, want ECONNREFUSED in its chain", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.Version(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want context.Canceled in its chain", err)
	}
	if _, err := c.Complete(ctx, openai.Params{Model: "m", Text: "x", MaxTokens: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want context.Canceled in its chain", err)
	}
}

func TestComplete(t *testing.T) {
	s := serve(t, answerText)
	c := connect(t, openai.Options{BaseURL: s.URL}, 0)
	r, err := c.Complete(context.Background(), openai.Params{Model: "m", Text: "x", MaxTokens: 1, Stream: true})
	if err != nil || r.Outcome != gate.OK || len(r.Arrivals) != 1 {
		t.Errorf("got %s with %d frames, error %v, want ok with 1", r.Outcome, len(r.Arrivals), err)
	}
	r, err = c.Complete(context.Background(), openai.Params{Model: "m", Text: "x", MaxTokens: 1})
	if err == nil || !strings.HasPrefix(err.Error(), "complete: malformed: ") || r.Outcome != gate.Malformed {
		t.Errorf("got %s, error %v, want malformed: a stream came unasked", r.Outcome, err)
	}
}

// strict is a server that refuses members that it doesn't know, and shows what it knows.
func strict(t *testing.T, noIDs bool, known ...string) *openai.Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		_, hasIDs := body["prompt"].([]any)
		options, _ := body["stream_options"].(map[string]any)
		for _, name := range []string{"ignore_eos", "return_token_ids", "continuous_usage_stats"} {
			if (body[name] != nil || options[name] != nil) && !strings.Contains(strings.Join(known, " "), name) {
				http.Error(w, `{"error":{"message":"unknown: `+name+`"}}`, http.StatusBadRequest)
				return
			}
		}
		if hasIDs && noIDs {
			http.Error(w, `{"error":{"message":"prompt must be a string"}}`, http.StatusBadRequest)
			return
		}
		answerProbe(w, body, hasIDs)
	}))
	t.Cleanup(s.Close)
	c, err := openai.New(openai.Options{BaseURL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// answerProbe streams as many tokens as were asked for if EOS is ignored, else two.
func answerProbe(w http.ResponseWriter, body map[string]any, hasIDs bool) {
	n, prompt, finish := 2, 5, `"stop"`
	if body["ignore_eos"] != nil {
		n, finish = int(body["max_tokens"].(float64)), `"length"`
	}
	if hasIDs {
		prompt = len(body["prompt"].([]any))
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for i := range n {
		choice := map[string]any{"text": "a"}
		if body["return_token_ids"] != nil {
			choice["token_ids"] = []int{i}
		}
		if i == n-1 {
			choice["finish_reason"] = json.RawMessage(finish)
		}
		frame := map[string]any{"choices": []any{choice}}
		if body["stream_options"].(map[string]any)["continuous_usage_stats"] != nil {
			frame["usage"] = map[string]int{"prompt_tokens": prompt, "completion_tokens": i + 1}
		}
		writeEvent(w, frame)
	}
	writeEvent(w, map[string]any{"choices": []any{}, "usage": map[string]int{"prompt_tokens": prompt, "completion_tokens": n}})
	_, _ = w.Write([]byte("data: [DONE]\n\n"))
}

func writeEvent(w http.ResponseWriter, v any) {
	line, _ := json.Marshal(v) // maps of numbers and strings
	_, _ = w.Write(append(append([]byte("data: "), line...), '\n', '\n'))
}

func TestProbe(t *testing.T) {
	cases := []struct {
		name    string
		client  *openai.Client
		want    openai.Abilities
		refused int
	}{
		{"vLLM", strict(t, false, "ignore_eos", "return_token_ids", "continuous_usage_stats"), openai.Abilities{TokenIDs: true, IgnoreEOS: true, Usage: true, ReturnTokenIDs: true, ContinuousUsage: true}, 0},
		{"ids and ignore_eos", strict(t, false, "ignore_eos"), openai.Abilities{TokenIDs: true, IgnoreEOS: true, Usage: true}, 1},
		{"ids alone", strict(t, false), openai.Abilities{TokenIDs: true, Usage: true}, 2},
		{"text with all", strict(t, true, "ignore_eos", "return_token_ids", "continuous_usage_stats"), openai.Abilities{IgnoreEOS: true, Usage: true, ReturnTokenIDs: true, ContinuousUsage: true}, 3},
		{"bare text", strict(t, true), openai.Abilities{Usage: true}, 5},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.client.Probe(context.Background(), openai.Params{Model: "m", IDs: []int{1, 2, 3, 4}, Text: "hello", MaxTokens: 16})
			if err != nil || len(got.Refused) != c.refused {
				t.Errorf("got refusals %q, error %v, want %d refusals", got.Refused, err, c.refused)
			}
			got.Refused = nil
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("abilities differ (-want +got):\n%s", d)
			}
		})
	}
}

func TestProbeErrors(t *testing.T) {
	s := serve(t, func(c *rawConn) bool {
		c.write(whole(404, "application/json", `{"error":{"message":"no such model"}}`))
		return true
	})
	c := connect(t, openai.Options{BaseURL: s.URL}, 1)
	_, err := c.Probe(context.Background(), openai.Params{Model: "m", Text: "hello", MaxTokens: 16})
	if want := "probe server: complete: http_4xx: HTTP 404 Not Found: no such model"; err == nil || err.Error() != want {
		t.Errorf("got error %v, want %q", err, want)
	}
	if got := len(s.requests()); got != 3 {
		t.Errorf("got %d requests, want the three forms with text", got)
	}
	if _, err := c.Probe(context.Background(), openai.Params{Model: "m", MaxTokens: 16}); err == nil {
		t.Error("got no error without a prompt")
	}
}
