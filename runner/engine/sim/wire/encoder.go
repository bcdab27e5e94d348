package wire

import (
	"strconv"

	"github.com/servegate/servegate/runner/engine/sim/tokenizer"
)

// Usage is when an engine tells how many tokens a request had.
type Usage string

// The usages: vLLM's closing frame without choices for those who ask, llama.cpp's on
// the last frame of text asked or not, and none at all.
const (
	UsageAsked Usage = "asked"
	UsageLast  Usage = "last"
	UsageNone  Usage = "none"
)

// Style is how an engine's answers look. The zero value offers nothing.
type Style struct {
	Usage        Usage
	RunningUsage bool // continuous_usage_stats is honoured
	TokenIDs     bool // return_token_ids is honoured
	CachedTokens bool // usage tells the prompt tokens found in the cache
	EmptyText    bool // tokens have no text, as those of random weights often
}

// Encoder writes the answer to one call. It is made once a request and reused for each
// of its frames.
type Encoder struct {
	call   *Call
	style  Style
	head   []byte // a frame of text, up to the text
	tail   []byte // from the text to the value of finish_reason
	bare   []byte // the object, up to the elements of choices
	cached int
	total  int // output tokens so far
	opened bool
}

// NewEncoder returns the encoder of a call's answer. id is without the prefix that
// tells completions and chats apart; created is in seconds of Unix time.
func NewEncoder(call *Call, style Style, model, id string, created int64) *Encoder {
	e := &Encoder{call: call, style: style}
	prefix, object := "cmpl-", "text_completion"
	head, tail := `{"index":0,"text":"`, `","logprobs":null,"finish_reason":`
	if call.Chat {
		prefix, object = "chatcmpl-", "chat.completion"
		head, tail = `{"index":0,"delta":{"content":"`, `"},"logprobs":null,"finish_reason":`
		if call.Stream {
			object += ".chunk"
		}
	}
	name := marshal(model)
	e.bare = append(append(append(e.bare, `{"id":"`...), prefix...), id...)
	e.bare = append(append(e.bare, `","object":"`...), object...)
	e.bare = strconv.AppendInt(append(e.bare, `","created":`...), created, 10)
	e.bare = append(append(e.bare, `,"model":`...), name...)
	e.bare = append(e.bare, `,"choices":[`...)
	e.head = append(append(append(e.head, "data: "...), e.bare...), head...)
	e.tail = []byte(tail)
	return e
}

// Cached sets how many prompt tokens were found in the cache, for the usage.
func (e *Encoder) Cached(tokens int) { e.cached = tokens }

// Frame appends the frame of the tokens that one step brought; finish is empty while
// the text goes on. A chat's first frame is preceded by one with the role.
func (e *Encoder) Frame(dst []byte, ids []int32, finish string) []byte {
	first := !e.opened
	e.opened = true
	if first && e.call.Chat {
		dst = e.role(dst)
	}
	e.total += len(ids)
	dst = append(dst, e.head...)
	dst = e.text(dst, ids)
	dst = append(dst, e.tail...)
	dst = appendFinish(dst, finish)
	if !e.call.Chat || finish != "" {
		dst = append(dst, `,"stop_reason":null`...)
	}
	if !e.call.Chat {
		dst = e.promptIDs(append(dst, ','), first)
	}
	dst = append(dst, `,"token_ids":`...)
	dst = e.ids(dst, ids, true)
	dst = append(dst, `}]`...)
	if e.call.RunningUsage && e.style.RunningUsage && e.style.Usage == UsageAsked {
		dst = e.usage(dst, false)
	} else if finish != "" && e.style.Usage == UsageLast {
		dst = e.usage(dst, true)
	}
	return append(dst, "}\n\n"...)
}

func (e *Encoder) role(dst []byte) []byte {
	dst = append(append(dst, "data: "...), e.bare...)
	dst = append(dst, `{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],`...)
	dst = e.promptIDs(dst, true)
	if e.call.RunningUsage && e.style.RunningUsage && e.style.Usage == UsageAsked {
		dst = e.usage(dst, false)
	}
	return append(dst, "}\n\n"...)
}

// Close appends the closing usage, where asked for, and the terminator.
func (e *Encoder) Close(dst []byte) []byte {
	if e.call.Usage && e.style.Usage == UsageAsked {
		dst = append(append(dst, "data: "...), e.bare...)
		dst = append(dst, ']')
		dst = e.usage(dst, true)
		dst = append(dst, "}\n\n"...)
	}
	return append(dst, "data: [DONE]\n\n"...)
}

// Fail appends an error under the way, and the terminator, as vLLM does.
func (e *Encoder) Fail(dst []byte, fault *Error) []byte {
	dst = fault.Append(append(dst, "data: "...))
	return append(dst, "\n\ndata: [DONE]\n\n"...)
}

// Malformed appends a frame that breaks off in the middle of its JSON.
func (e *Encoder) Malformed(dst []byte) []byte {
	return append(append(dst, e.head...), "\n\n"...)
}

// Body appends the whole answer of a call that doesn't stream.
func (e *Encoder) Body(dst []byte, ids []int32, finish string) []byte {
	e.total = len(ids)
	dst = append(dst, e.bare...)
	if e.call.Chat {
		dst = append(dst, `{"index":0,"message":{"role":"assistant","content":"`...)
		dst = append(e.text(dst, ids), `"},"logprobs":null,"finish_reason":`...)
	} else {
		dst = append(dst, `{"index":0,"text":"`...)
		dst = append(e.text(dst, ids), `","logprobs":null,"finish_reason":`...)
	}
	dst = appendFinish(dst, finish)
	dst = append(dst, `,"stop_reason":null,"token_ids":`...)
	dst = e.ids(dst, ids, true)
	if e.call.Chat {
		dst = e.promptIDs(append(dst, `}],`...), true)
	} else {
		dst = append(e.promptIDs(append(dst, ','), true), `}]`...)
	}
	if e.style.Usage != UsageNone {
		dst = e.usage(dst, true)
	}
	return append(dst, '}')
}

// text appends the text of tokens. No character of a token's text needs an escape.
func (e *Encoder) text(dst []byte, ids []int32) []byte {
	if e.style.EmptyText {
		return dst
	}
	for _, id := range ids {
		dst = tokenizer.AppendText(dst, id)
	}
	return dst
}

func (e *Encoder) promptIDs(dst []byte, show bool) []byte {
	dst = append(dst, `"prompt_token_ids":`...)
	return e.ids(dst, e.call.Prompt, show)
}

func (e *Encoder) ids(dst []byte, ids []int32, show bool) []byte {
	if !show || !e.call.TokenIDs || !e.style.TokenIDs {
		return append(dst, `null`...)
	}
	dst = append(dst, '[')
	for i, id := range ids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(id), 10)
	}
	return append(dst, ']')
}

// usage appends the usage so far; only a final one has details.
func (e *Encoder) usage(dst []byte, final bool) []byte {
	prompt := int64(len(e.call.Prompt))
	dst = strconv.AppendInt(append(dst, `,"usage":{"prompt_tokens":`...), prompt, 10)
	dst = strconv.AppendInt(append(dst, `,"total_tokens":`...), prompt+int64(e.total), 10)
	dst = strconv.AppendInt(append(dst, `,"completion_tokens":`...), int64(e.total), 10)
	if final && e.style.CachedTokens {
		dst = strconv.AppendInt(append(dst, `,"prompt_tokens_details":{"cached_tokens":`...), int64(e.cached), 10)
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

func appendFinish(dst []byte, finish string) []byte {
	if finish == "" {
		return append(dst, `null`...)
	}
	dst = append(dst, '"')
	dst = append(dst, finish...)
	return append(dst, '"')
}
