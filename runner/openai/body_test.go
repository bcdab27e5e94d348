package openai_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/servegate/servegate/runner/openai"
)

func TestBody(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	cases := []struct {
		name string
		in   openai.Params
		want string
	}{
		{
			"ids",
			openai.Params{Model: "m", IDs: []int{1, 22, 333}, MaxTokens: 8, Seed: 7},
			`{"model":"m","prompt":[1,22,333],"max_tokens":8,"temperature":0,"top_p":1,"seed":7}`,
		},
		{
			"text",
			openai.Params{Model: "a/b", Text: "h\u00e4 \"x\"\n\x00\u2028", MaxTokens: 8},
			`{"model":"a/b","prompt":"h` + "\u00e4" + ` \"x\"\n\u0000\u2028","max_tokens":8,"temperature":0,"top_p":1,"seed":0}`,
		},
		{
			"chat",
			openai.Params{Model: "m", Chat: true, Text: "hi", MaxTokens: 8, CompletionLimit: true},
			`{"model":"m","messages":[{"role":"user","content":"hi"}],"max_completion_tokens":8,"temperature":0,"top_p":1,"seed":0}`,
		},
		{
			"all of it",
			openai.Params{Model: "m", IDs: []int{1}, MaxTokens: 8, MinTokens: 8, Stream: true, IgnoreEOS: true, Seed: 1<<63 | 5, ReturnTokenIDs: true, ContinuousUsage: true},
			`{"model":"m","prompt":[1],"max_tokens":8,"min_tokens":8,"temperature":0,"top_p":1,"seed":5,"ignore_eos":true,"return_token_ids":true,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`,
		},
		{
			"stream",
			openai.Params{Model: "m", IDs: []int{1}, MaxTokens: 8, Stream: true},
			`{"model":"m","prompt":[1],"max_tokens":8,"temperature":0,"top_p":1,"seed":0,"stream":true,"stream_options":{"include_usage":true}}`,
		},
		{
			"extra members, sorted, replacing ours",
			openai.Params{Model: "m", IDs: []int{1}, MaxTokens: 8, Extra: map[string]json.RawMessage{"top_k": raw("1"), "cache_prompt": raw(" false "), "temperature": raw("0.8"), "model": raw(`"x"`)}},
			`{"prompt":[1],"max_tokens":8,"top_p":1,"seed":0,"cache_prompt":false,"model":"x","temperature":0.8,"top_k":1}`,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := openai.Body(c.in)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if !json.Valid(got) {
				t.Error("got a body that is no JSON")
			}
		})
	}
}

func TestBodyErrors(t *testing.T) {
	cases := []struct {
		name string
		in   openai.Params
		want string
	}{
		{"no tokens", openai.Params{IDs: []int{1}}, "build request: max tokens 0, want 1 or more"},
		{"chat of ids", openai.Params{Chat: true, IDs: []int{1}, MaxTokens: 1}, "build request: a chat takes no token ids"},
		{"running usage without a stream", openai.Params{MaxTokens: 1, ContinuousUsage: true}, "build request: continuous usage without a stream"},
		{"extra that is no JSON", openai.Params{MaxTokens: 1, Extra: map[string]json.RawMessage{"x": json.RawMessage("{")}}, `build request: extra member "x" is no JSON`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if _, err := openai.Body(c.in); err == nil || err.Error() != c.want {
				t.Errorf("got error %v, want %q", err, c.want)
			}
		})
	}
}

func TestNew(t *testing.T) {
	cases := []struct{ url, key, want, hint string }{
		{"http://127.0.0.1:8000", "", "", ""},
		{" https://host/v1/ ", "k", "", ""},
		{"127.0.0.1:8000", "", `parse base URL: "127.0.0.1:8000" is no http or https URL`, "http://host:port"},
		{"localhost:8000", "", `parse base URL: "localhost:8000" is no http or https URL`, "http://host:port"},
		{"", "", `parse base URL: "" is no http or https URL`, "http://host:port"},
		{"ftp://host", "", `parse base URL: "ftp://host" is no http or https URL`, "http://host:port"},
		{"http://", "", `parse base URL: "http://" has no host`, "http://host:port"},
		{"http://user:secret@host", "", "parse base URL: it holds a user name", "API key"},
		{"user:secret@host", "", "parse base URL: it is no http or https URL", "http://host:port"},
		{"http://host/?key=secret", "", `parse base URL: it has a query or a fragment`, ""},
		{"http://host:port", "", `parse base URL: invalid port ":port" after host`, ""},
		{"http://host", "secret\n", "check API key: it has a character that no HTTP header may hold", "line break"},
	}
	for _, c := range cases {
		_, err := openai.New(openai.Options{BaseURL: c.url, APIKey: c.key})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want || strings.Contains(got, "secret") {
			t.Errorf("%q: got error %q, want %q", c.url, got, c.want)
		}
		var h interface{ Hint() string }
		if errors.As(err, &h) && !strings.Contains(h.Hint(), c.hint) {
			t.Errorf("%q: got hint %q, want %q", c.url, h.Hint(), c.hint)
		}
	}
}
