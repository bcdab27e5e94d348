// Package frame reads what the frames of an OpenAI-compatible stream tell: whether one
// carries output, how many tokens it brought, why the answer ended, what the usage says,
// and whether it is an error under HTTP 200. A whole answer is read the same way.
//
// It looks at each frame in one pass and builds nothing, since it runs thousands of
// times a second beside the engine that is measured. Reading the bytes and their arrival
// times, and what becomes of the request, are left to package openai.
package frame

import "github.com/servegate/servegate/gate"

// Frame is what the client needs to know of one frame of a stream, or of a whole
// answer: both have the same members, but for "delta" and "message".
type Frame struct {
	Choices int    // entries of "choices"
	Finish  string // the first finish_reason that isn't empty
	Usage   Usage
	Failure string // what an error told, in one line; empty: no error

	output bool // it has text, reasoning, tool calls or token log-probabilities
	role   bool // it tells a role
	ids    int  // token ids that it shows, -1 where it has no member for them
}

// Usage is what a server told of token counts; each that it didn't is gate.Unknown.
type Usage struct{ Prompt, Completion, Cached int }

// NoUsage is the usage of a server that told none.
var NoUsage = Usage{gate.Unknown, gate.Unknown, gate.Unknown}

// add takes over what later tells.
func (u *Usage) add(later Usage) {
	for _, p := range [...]struct {
		to   *int
		from int
	}{{&u.Prompt, later.Prompt}, {&u.Completion, later.Completion}, {&u.Cached, later.Cached}} {
		if p.from != gate.Unknown {
			*p.to = p.from
		}
	}
}

// CarriesOutput says whether the frame itself shows output. A running usage count that
// grew is evidence too, but only a [Tally] knows the earlier frames.
func (f *Frame) CarriesOutput() bool { return f.output || f.ids > 0 }

// Scan reads a frame, and returns false where it isn't one JSON object.
func Scan(b []byte) (Frame, bool) {
	f := Frame{ids: -1, Usage: NoUsage}
	c := cursor{b: b}
	for c.open('{'); c.more('}'); {
		switch string(c.key()) {
		case "choices":
			f.scanChoices(&c)
		case "usage":
			f.scanUsage(&c)
		case "error":
			if raw := c.skip(); string(raw) != "null" && !c.bad {
				f.Failure = DescribeError(raw)
			}
		case "object":
			// SGLang's errors have no "error" member on some routes.
			if string(c.skip()) == `"error"` && f.Failure == "" {
				f.Failure = DescribeError(b)
			}
		default:
			c.skip()
		}
	}
	return f, c.end()
}

func (f *Frame) scanChoices(c *cursor) {
	if c.peek() != '[' {
		c.skip()
		return
	}
	for c.open('['); c.more(']'); f.Choices++ {
		if c.peek() != '{' {
			c.skip()
			continue
		}
		f.scanChoice(c)
	}
}

func (f *Frame) scanChoice(c *cursor) {
	for c.open('{'); c.more('}'); {
		switch string(c.key()) {
		case "text":
			f.output = c.filled() || f.output
		case "delta", "message":
			f.scanDelta(c)
		case "token_ids":
			if n := c.length(); n >= 0 {
				f.ids = max(f.ids, 0) + n
			}
		case "logprobs":
			f.scanLogprobs(c)
		case "finish_reason":
			if reason := c.text(); f.Finish == "" {
				f.Finish = reason
			}
		default:
			c.skip()
		}
	}
}

func (f *Frame) scanDelta(c *cursor) {
	if c.peek() != '{' {
		c.skip()
		return
	}
	for c.open('{'); c.more('}'); {
		switch string(c.key()) {
		case "content", "reasoning_content", "reasoning", "tool_calls", "function_call", "refusal":
			f.output = c.filled() || f.output
		case "role":
			f.role = c.filled() || f.role
		default:
			c.skip()
		}
	}
}

// scanLogprobs reads either form: completions have the tokens in "tokens", chats a list
// of objects in "content" or "refusal".
func (f *Frame) scanLogprobs(c *cursor) {
	if c.peek() != '{' {
		c.skip()
		return
	}
	for c.open('{'); c.more('}'); {
		switch string(c.key()) {
		case "tokens", "token_logprobs", "content", "refusal":
			f.output = c.length() > 0 || f.output
		default:
			c.skip()
		}
	}
}

func (f *Frame) scanUsage(c *cursor) {
	if c.peek() != '{' {
		c.skip()
		return
	}
	for c.open('{'); c.more('}'); {
		switch string(c.key()) {
		case "prompt_tokens":
			f.Usage.Prompt = c.count(gate.Unknown)
		case "completion_tokens":
			f.Usage.Completion = c.count(gate.Unknown)
		case "prompt_tokens_details":
			f.scanPromptDetails(c)
		default:
			c.skip()
		}
	}
}

func (f *Frame) scanPromptDetails(c *cursor) {
	if c.peek() != '{' {
		c.skip()
		return
	}
	for c.open('{'); c.more('}'); {
		if string(c.key()) == "cached_tokens" {
			f.Usage.Cached = c.count(gate.Unknown)
		} else {
			c.skip()
		}
	}
}
