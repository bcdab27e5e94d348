package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Params says what a request asks for.
type Params struct {
	Model string
	Chat  bool // /v1/chat/completions; else /v1/completions
	// IDs is the prompt as token ids, which chats don't take; Text is the prompt as
	// text, sent where IDs is empty. In a chat it is the one message, by the user.
	IDs  []int
	Text string

	MaxTokens int // output tokens asked for
	// CompletionLimit names the limit max_completion_tokens, as newer chat APIs want it.
	CompletionLimit bool
	MinTokens       int // where an engine has it, output can't end before; 0: not sent
	Stream          bool
	IgnoreEOS       bool
	// Seed is sent with its lower 31 bits, which is what every engine takes.
	Seed uint64

	// ReturnTokenIDs and ContinuousUsage ask a stream to show a token that has no text:
	// by its id (return_token_ids) or by a running count (continuous_usage_stats).
	ReturnTokenIDs  bool
	ContinuousUsage bool

	// Extra holds further members of the body by name; one that this package would send
	// itself is replaced.
	Extra map[string]json.RawMessage
}

// Body returns the JSON body of a request. Sampling is pinned (temperature 0, top_p 1,
// the seed), since engines take defaults from the model's own files; an engine that has
// further knobs (repetition_penalty) gets them by Extra. A stream is asked for its
// usage. The error is about Params that can't be sent.
func Body(p Params) ([]byte, error) { return p.bodyBehind(0) }

// bodyBehind returns the body with room bytes in front of it, for the head of the
// request: so a body of a megabyte isn't copied to get there.
func (p *Params) bodyBehind(room int) ([]byte, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	b := bodyWriter{extra: p.Extra, first: true, buf: make([]byte, room, room+512+len(p.Text)+7*len(p.IDs))}
	b.member("model", func() { b.str(p.Model) })
	p.writePrompt(&b)
	limit := "max_tokens"
	if p.CompletionLimit {
		limit = "max_completion_tokens"
	}
	b.number(limit, uint64(p.MaxTokens))
	if p.MinTokens > 0 {
		b.number("min_tokens", uint64(p.MinTokens))
	}
	b.number("temperature", 0)
	b.number("top_p", 1)
	b.number("seed", p.Seed&0x7fffffff)
	if p.IgnoreEOS {
		b.flag("ignore_eos")
	}
	if p.ReturnTokenIDs {
		b.flag("return_token_ids")
	}
	if p.Stream {
		b.flag("stream")
		options := `{"include_usage":true}`
		if p.ContinuousUsage {
			options = `{"include_usage":true,"continuous_usage_stats":true}`
		}
		b.member("stream_options", func() { b.buf = append(b.buf, options...) })
	}
	for _, name := range slices.Sorted(maps.Keys(p.Extra)) {
		b.open(name)
		b.buf = append(b.buf, bytes.TrimSpace(p.Extra[name])...)
	}
	return append(b.buf, '}'), nil
}

func (p *Params) check() error {
	switch {
	case p.MaxTokens < 1:
		return fmt.Errorf("build request: max tokens %d, want 1 or more", p.MaxTokens)
	case p.Chat && len(p.IDs) > 0:
		return errors.New("build request: a chat takes no token ids")
	case p.ContinuousUsage && !p.Stream:
		return errors.New("build request: continuous usage without a stream")
	}
	for name, value := range p.Extra {
		if !json.Valid(value) {
			return fmt.Errorf("build request: extra member %q is no JSON", name)
		}
	}
	return nil
}

func (p *Params) writePrompt(b *bodyWriter) {
	switch {
	case p.Chat:
		b.member("messages", func() {
			b.buf = append(b.buf, `[{"role":"user","content":`...)
			b.str(p.Text)
			b.buf = append(b.buf, `}]`...)
		})
	case len(p.IDs) > 0:
		b.member("prompt", func() {
			b.buf = append(b.buf, '[')
			for i, id := range p.IDs {
				if i > 0 {
					b.buf = append(b.buf, ',')
				}
				b.buf = strconv.AppendInt(b.buf, int64(id), 10)
			}
			b.buf = append(b.buf, ']')
		})
	default:
		b.member("prompt", func() { b.str(p.Text) })
	}
}

// bodyWriter writes the members of one JSON object. Prompts of 100,000 ids go by it, so
// that it appends to one buffer.
type bodyWriter struct {
	buf   []byte
	first bool // no member has been written
	extra map[string]json.RawMessage
}

// member writes a member whose value write appends, unless an extra one replaces it.
func (b *bodyWriter) member(name string, write func()) {
	if _, replaced := b.extra[name]; replaced {
		return
	}
	b.open(name)
	write()
}

// open writes what stands before a member's value.
func (b *bodyWriter) open(name string) {
	if b.first {
		b.first = false
		b.buf = append(b.buf, '{')
	} else {
		b.buf = append(b.buf, ',')
	}
	b.str(name)
	b.buf = append(b.buf, ':')
}

func (b *bodyWriter) number(name string, n uint64) {
	b.member(name, func() { b.buf = strconv.AppendUint(b.buf, n, 10) })
}

func (b *bodyWriter) flag(name string) {
	b.member(name, func() { b.buf = append(b.buf, "true"...) })
}

func (b *bodyWriter) str(s string) {
	quoted, _ := json.Marshal(s) // a string can't fail
	b.buf = append(b.buf, quoted...)
}
