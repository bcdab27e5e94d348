package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/servegate/servegate/runner/engine/sim/tokenizer"
)

// Call is one request for a completion, checked against the model's limits.
type Call struct {
	Chat      bool
	Prompt    []int32
	MaxTokens int // output tokens; never so many that the context is exceeded
	MinTokens int // the text doesn't end by itself before
	IgnoreEOS bool
	Seed      uint64 // of the request; 0 if it has none
	Stream    bool
	// What the stream shall carry beside the text.
	Usage        bool // a closing usage frame
	RunningUsage bool // usage on every frame
	TokenIDs     bool
}

// Limits is what calls are checked against.
type Limits struct {
	Model       string // the one that is served; a call may leave it out
	MaxModelLen int    // prompt and output tokens together
}

// body is a request of either route. Fields that are not here are ignored, as vLLM
// ignores what it doesn't know; sampling parameters are, because nothing is sampled.
type body struct {
	Model               string          `json:"model"`
	Prompt              json.RawMessage `json:"prompt"`
	Messages            []message       `json:"messages"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	MinTokens           int             `json:"min_tokens"`
	IgnoreEOS           bool            `json:"ignore_eos"`
	N                   *int            `json:"n"`
	BestOf              *int            `json:"best_of"`
	Seed                *int64          `json:"seed"`
	Stream              bool            `json:"stream"`
	StreamOptions       *struct {
		IncludeUsage         bool `json:"include_usage"`
		ContinuousUsageStats bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
	ReturnTokenIDs bool            `json:"return_token_ids"`
	Logprobs       json.RawMessage `json:"logprobs"`
	Echo           bool            `json:"echo"`
}

type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// defaultMaxTokens is vLLM's for completions. A chat may fill the context.
const defaultMaxTokens = 16

// ParseCompletion reads the body of POST /v1/completions.
func ParseCompletion(data []byte, l Limits) (*Call, *Error) {
	b, fault := decode(data, l)
	if fault != nil {
		return nil, fault
	}
	if len(b.Prompt) == 0 {
		return nil, badRequest("prompt", "1 validation error:\n  {'type': 'missing', 'loc': ('body', 'prompt'), 'msg': 'Field required'}")
	}
	prompt, fault := parsePrompt(b.Prompt)
	if fault != nil {
		return nil, fault
	}
	limit := b.MaxTokens
	if limit == nil {
		limit = new(defaultMaxTokens)
	}
	return b.call(Call{Prompt: prompt}, limit, "max_tokens", l)
}

// ParseChat reads the body of POST /v1/chat/completions.
func ParseChat(data []byte, l Limits) (*Call, *Error) {
	b, fault := decode(data, l)
	if fault != nil {
		return nil, fault
	}
	if len(b.Messages) == 0 {
		return nil, badRequest("messages", "1 validation error:\n  {'type': 'missing', 'loc': ('body', 'messages'), 'msg': 'Field required'}")
	}
	turns := make([]tokenizer.Message, len(b.Messages))
	for i, m := range b.Messages {
		text, err := m.text()
		if err != nil {
			return nil, badRequest("messages", "message %d: %v", i, err)
		}
		turns[i] = tokenizer.Message{Role: m.Role, Content: text}
	}
	limit, param := b.MaxCompletionTokens, "max_completion_tokens"
	if limit == nil {
		limit, param = b.MaxTokens, "max_tokens"
	}
	return b.call(Call{Chat: true, Prompt: tokenizer.EncodeChat(turns)}, limit, param, l)
}

func decode(data []byte, l Limits) (*body, *Error) {
	var b body
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, badRequest("", "1 validation error:\n  {'type': 'json_invalid', 'loc': ('body',), 'msg': 'JSON decode error', 'ctx': {'error': %q}}", err.Error())
	}
	if b.Model != "" && b.Model != l.Model {
		return nil, &Error{
			Status: http.StatusNotFound, Type: "NotFoundError", Param: "model",
			Message: fmt.Sprintf("The model `%s` does not exist. Valid aliases: %s.", b.Model, l.Model),
		}
	}
	switch {
	case b.N != nil && *b.N != 1:
		return nil, badRequest("n", "n must be 1 on the simulated engine, got %d.", *b.N)
	case b.BestOf != nil && *b.BestOf != 1:
		return nil, badRequest("best_of", "best_of must be 1 on the simulated engine, got %d.", *b.BestOf)
	case b.Echo:
		return nil, badRequest("echo", "echo is not supported by the simulated engine.")
	case wantsLogprobs(b.Logprobs):
		return nil, badRequest("logprobs", "logprobs are not supported by the simulated engine.")
	case b.MinTokens < 0:
		return nil, badRequest("min_tokens", "min_tokens must be greater than or equal to 0, got %d.", b.MinTokens)
	case b.StreamOptions != nil && !b.Stream:
		return nil, badRequest("stream_options", "Stream options can only be defined when `stream=True`.")
	}
	return &b, nil
}

// wantsLogprobs reads a field that is a number on one route and a boolean on the other.
func wantsLogprobs(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "false", "0":
		return false
	}
	return true
}

// call completes c and checks its lengths: limit is the number of output tokens that
// the body asks for in the field param, nil for as many as fit.
func (b *body) call(c Call, limit *int, param string, l Limits) (*Call, *Error) {
	room := l.MaxModelLen - len(c.Prompt)
	c.MaxTokens = room
	if limit != nil {
		c.MaxTokens = min(*limit, room)
	}
	switch {
	case len(c.Prompt) == 0:
		return nil, badRequest("prompt", "The decoder prompt cannot be empty")
	case limit != nil && *limit < 1:
		return nil, badRequest(param, "%s must be at least 1, got %d.", param, *limit)
	case limit != nil && *limit > l.MaxModelLen:
		return nil, badRequest(param, "%s=%d cannot be greater than max_model_len=%d. Please request fewer output tokens.",
			param, *limit, l.MaxModelLen)
	case room < 0:
		return nil, badRequest("input_tokens", "This model's maximum context length is %d tokens. However, your prompt contains %d input tokens, "+
			"which exceeds this limit even without any output tokens. Please reduce the length of the input prompt.", l.MaxModelLen, len(c.Prompt))
	case c.MaxTokens < 1:
		return nil, badRequest("max_tokens", "max_tokens must be at least 1, got %d.", c.MaxTokens)
	case b.MinTokens > c.MaxTokens:
		return nil, badRequest("min_tokens", "min_tokens must be less than or equal to max_tokens=%d, got %d.", c.MaxTokens, b.MinTokens)
	}
	c.MinTokens, c.IgnoreEOS, c.Stream, c.TokenIDs = b.MinTokens, b.IgnoreEOS, b.Stream, b.ReturnTokenIDs
	if b.Seed != nil {
		c.Seed = uint64(*b.Seed)
	}
	if o := b.StreamOptions; o != nil {
		// As in vLLM, running usage comes only together with the closing one.
		c.Usage, c.RunningUsage = o.IncludeUsage, o.IncludeUsage && o.ContinuousUsageStats
	}
	return &c, nil
}

// text is the content of a message: a string, or a list of parts of type text.
func (m *message) text() (string, error) {
	var s string
	if len(m.Content) == 0 || json.Unmarshal(m.Content, &s) == nil {
		return s, nil // a null content leaves s empty
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(m.Content, &parts); err != nil {
		return "", errors.New("content must be a string or a list of parts")
	}
	for _, p := range parts {
		if p.Type != "text" {
			return "", fmt.Errorf("content of type %q is not supported by the simulated engine", p.Type)
		}
		s += p.Text
	}
	return s, nil
}

// parsePrompt reads a prompt: a string, token ids, or a list with one of either.
func parsePrompt(raw json.RawMessage) ([]int32, *Error) {
	raw = bytes.TrimSpace(raw)
	switch raw[0] {
	case '"':
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, badRequest("prompt", "prompt: %v", err)
		}
		return tokenizer.Encode(nil, text), nil
	case '[':
		inner := bytes.TrimSpace(raw[1 : len(raw)-1])
		if len(inner) == 0 {
			return nil, nil
		}
		if inner[0] == '"' || inner[0] == '[' {
			var list []json.RawMessage
			if err := json.Unmarshal(raw, &list); err != nil || len(list) != 1 {
				return nil, badRequest("prompt", "The simulated engine takes one prompt a request, got %d.", len(list))
			}
			return parsePrompt(list[0])
		}
		return parseIDs(inner)
	}
	return nil, badRequest("prompt", "prompt must be a string or a list of token ids.")
}

// parseIDs reads what stands between the brackets of a list of token ids. The text is
// valid JSON already; reading it by hand is several times as fast as by reflection, and
// prompts of thousands of ids are the common case.
func parseIDs(text []byte) ([]int32, *Error) {
	ids := make([]int32, 0, bytes.Count(text, []byte{','})+1)
	id, digits := int64(0), false
	for i := 0; i <= len(text); i++ {
		switch {
		case i == len(text) || text[i] == ',':
			if !digits {
				return nil, badRequest("prompt", "prompt must be a string or a list of token ids.")
			}
			if id >= tokenizer.Size {
				return nil, badRequest("prompt", "Token id %d is out of vocabulary", id)
			}
			ids = append(ids, int32(id))
			id, digits = 0, false
		case '0' <= text[i] && text[i] <= '9':
			id, digits = min(id*10+int64(text[i]-'0'), 1<<40), true
		case text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r':
		default:
			return nil, badRequest("prompt", "prompt must be a string or a list of token ids.")
		}
	}
	return ids, nil
}
