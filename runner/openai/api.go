package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/runner/openai/internal/frame"
)

// maxPlainBody is the most bytes that a call off the measured path reads.
const maxPlainBody = 16 << 20

// StatusError says that a server answered a call off the measured path without success.
type StatusError struct {
	Status  int    // HTTP status
	Message string // what the server said, in one line
	Remedy  string // perhaps empty
}

func (e *StatusError) Error() string {
	line := fmt.Sprintf("HTTP %d", e.Status)
	if text := http.StatusText(e.Status); text != "" {
		line += " " + text
	}
	if e.Message != "" {
		line += ": " + e.Message
	}
	return line
}

// Hint says what to do about it.
func (e *StatusError) Hint() string { return e.Remedy }

// Model is a model that a server lists.
type Model struct {
	ID      string // the name that requests ask for
	OwnedBy string // vllm, sglang, llamacpp, ...
	Root    string // path or repository, where the engine tells it
	// MaxLen is the most tokens of a prompt and its output together; 0: not told.
	MaxLen int
}

// Models returns the models that the server lists, by GET /v1/models. A [StatusError]
// is in the chain of its error where the server refused, and a system error such as
// [syscall.ECONNREFUSED] where it couldn't be reached.
func (c *Client) Models(ctx context.Context) ([]Model, error) {
	var list struct {
		Data []struct {
			ID          string `json:"id"`
			OwnedBy     string `json:"owned_by"`
			Root        string `json:"root"`
			MaxModelLen int    `json:"max_model_len"` // vLLM, SGLang
			Meta        struct {
				Context int `json:"n_ctx"` // llama.cpp, of one slot
			} `json:"meta"`
		} `json:"data"`
	}
	if err := c.get(ctx, "/v1/models", &list); err != nil {
		return nil, fmt.Errorf("list models: %w", err)
	}
	var models []Model
	for _, m := range list.Data {
		models = append(models, Model{ID: m.ID, OwnedBy: m.OwnedBy, Root: m.Root, MaxLen: max(m.MaxModelLen, m.Meta.Context)})
	}
	return models, nil
}

// Version returns what GET /version tells: vLLM, TensorRT-LLM and servegate's own
// engine have it, others answer 404 (a [StatusError] in the chain of the error).
func (c *Client) Version(ctx context.Context) (string, error) {
	var v struct {
		Version string `json:"version"`
	}
	if err := c.get(ctx, "/version", &v); err != nil {
		return "", fmt.Errorf("ask version: %w", err)
	}
	return v.Version, nil
}

// Tokenize returns the token ids of a text, by POST /tokenize, without special tokens.
// vLLM reads the text from "prompt" and llama.cpp from "content": both are sent. A
// server that has no such route answers 404 (a [StatusError] in the chain of the error).
func (c *Client) Tokenize(ctx context.Context, model, text string) ([]int, error) {
	body, err := json.Marshal(map[string]any{
		"model": model, "prompt": text, "content": text, "add_special_tokens": false, "add_special": false,
	})
	if err != nil {
		return nil, fmt.Errorf("tokenize: %w", err)
	}
	var answer struct {
		Tokens []int `json:"tokens"`
	}
	if err := c.post(ctx, "/tokenize", body, &answer); err != nil {
		return nil, fmt.Errorf("tokenize: %w", err)
	}
	if len(answer.Tokens) == 0 {
		return nil, errors.New("tokenize: the answer has no tokens")
	}
	return answer.Tokens, nil
}

func (c *Client) get(ctx context.Context, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.route(path).String(), http.NoBody)
	if err != nil {
		return err
	}
	return c.call(req, into)
}

func (c *Client) post(ctx context.Context, path string, body []byte, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.route(path).String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	return c.call(req, into)
}

// call makes a request and decodes its answer.
func (c *Client) call(req *http.Request, into any) error {
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "servegate")
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	resp, err := c.plain.Do(req)
	if err != nil {
		return c.unreachable(err)
	}
	defer resp.Body.Close()
	limit := int64(maxPlainBody)
	if resp.StatusCode != http.StatusOK {
		limit = maxErrorBody
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit))
	if err != nil {
		return fmt.Errorf("read answer: %w", cause(err))
	}
	if resp.StatusCode != http.StatusOK {
		return c.statusError(resp, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		mediaType, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
		what := describeBody(strings.ToLower(strings.TrimSpace(mediaType)), body)
		return hinted(fmt.Errorf("HTTP 200, but no JSON that fits: %s", c.redact(what)), remedyFor(what, resp.StatusCode))
	}
	return nil
}

func (c *Client) statusError(resp *http.Response, body []byte) error {
	mediaType, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	what := describeBody(strings.ToLower(strings.TrimSpace(mediaType)), body)
	if to := resp.Header.Get("Location"); to != "" {
		what = "points to " + frame.OneLine(to)
	}
	return &StatusError{Status: resp.StatusCode, Message: c.redact(what), Remedy: remedyFor(what, resp.StatusCode)}
}

// remedyFor says what to look at when a server answers otherwise than an engine does.
func remedyFor(what string, status int) string {
	switch {
	case strings.HasPrefix(what, "an HTML page"):
		return "that is a web page: is the port right?"
	case strings.Contains(what, "HTTPS server"):
		return "use https:// in the URL"
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return "is the API key set, and right?"
	case status >= 300 && status < 400:
		return "redirects aren't followed: give that address as the URL"
	case status == http.StatusNotFound:
		return "is that the base of an OpenAI-compatible API?"
	}
	return ""
}

// unreachable makes one line of an error of net/http, which repeats method and URL.
func (c *Client) unreachable(err error) error {
	var about *url.Error
	if errors.As(err, &about) {
		err = about.Err
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer from %s: %w", hostPort(c.base), err)
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return hinted(fmt.Errorf("connect to %s: the server doesn't speak TLS", hostPort(c.base)), "use http:// in the URL")
	case strings.Contains(err.Error(), "malformed HTTP"):
		return hinted(fmt.Errorf("no answer from %s: %s", hostPort(c.base), frame.OneLine(err.Error())), "is the port right, and is it http, not https?")
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF):
		return fmt.Errorf("no answer from %s: %w", hostPort(c.base), cause(err))
	}
	return dialError(hostPort(c.base), err)
}

// Complete makes one request at once and returns its record: an engine is ready when it
// has answered a real one. The error says why the outcome isn't ok; the record tells
// more (a [gate.Rejected] or [gate.Connect] may pass while an engine boots).
func (c *Client) Complete(ctx context.Context, p Params) (gate.Request, error) {
	r, _, err := c.complete(ctx, p)
	return r, err
}

func (c *Client) complete(ctx context.Context, p Params) (gate.Request, *answer, error) {
	prepared, err := c.Prepare(Call{Params: p})
	if err != nil {
		return gate.Request{}, nil, err
	}
	r, a := prepared.send(ctx)
	if r.Outcome == gate.Cancelled {
		return r, a, fmt.Errorf("complete: %w", context.Cause(ctx))
	}
	if r.Outcome != gate.OK {
		return r, a, fmt.Errorf("complete: %s: %s", r.Outcome, r.Error)
	}
	return r, a, nil
}
