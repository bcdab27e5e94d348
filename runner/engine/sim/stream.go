package sim

import (
	"sync"
	"time"

	"github.com/servegate/servegate/runner/engine/sim/draw"
	"github.com/servegate/servegate/runner/engine/sim/scheduler"
	"github.com/servegate/servegate/runner/engine/sim/tokenizer"
	"github.com/servegate/servegate/runner/engine/sim/wire"
)

// stream is one request on its way through the engine: the engine's loop puts chunks
// in, the request's handler takes them out. A handler that lags, because its client
// doesn't read, holds up nobody: the chunks are a few bytes each and wait here.
type stream struct {
	call    *wire.Call
	request scheduler.Request
	content draw.Source // of the text: same seed and prompt, same text
	accept  float64     // probability that a draft token is accepted, given that those before it were
	noise   float64     // factor on this request's share of its steps

	// Of the engine, under its lock or in its loop.
	number   int       // place among all requests that reached the engine, from 1
	arrived  time.Time // submission
	due      time.Time // when the scheduler may see it
	admitted time.Time
	first    time.Time // token
	last     time.Time
	total    int // output tokens

	wake   chan struct{} // has a token where there is something to take
	mu     sync.Mutex
	chunks []chunk
	fault  *wire.Error // the engine died
	cut    bool        // the engine was stopped
}

// chunk is what one step brought.
type chunk struct {
	tokens int
	cached int // prompt tokens found in the cache; the same in all chunks
	finish scheduler.Finish
}

// newStream prepares a call for the engine.
func newStream(call *wire.Call, o *Options) *stream {
	s := &stream{call: call, wake: make(chan struct{}, 1)}
	s.content = draw.New(o.Seed, 0).Derive(hashPrompt(call.Prompt)).Derive(call.Seed)
	s.request = scheduler.Request{
		Prompt: call.Prompt, MaxTokens: call.MaxTokens, EOSAt: s.endOfText(o), Output: s.token, Owner: s,
	}
	if k := o.Scheduler.DraftTokens; k > 0 {
		s.accept = acceptance(o.AcceptanceLength, k)
		s.request.Burst = func(i int) int { return burst(s.content.Uniform(draw.Acceptance, uint64(i)), s.accept, k) }
	}
	return s
}

// endOfText draws the number of output tokens after which the text ends by itself; 0
// for never.
func (s *stream) endOfText(o *Options) int {
	room := s.call.MaxTokens - s.call.MinTokens
	if s.call.IgnoreEOS && o.Style.HonorIgnoreEOS || room < 1 || s.content.Uniform(draw.EOS, 0) >= o.EOSRate {
		return 0
	}
	return s.call.MinTokens + 1 + int(s.content.Uniform(draw.EOSPlace, 0)*float64(room))
}

// token is the i-th output token, from 0.
func (s *stream) token(i int) int32 {
	if i+1 == s.request.EOSAt {
		return tokenizer.End
	}
	return tokenizer.Generated(s.content.Bits(draw.Content, uint64(i)))
}

// put hands the handler a chunk.
func (s *stream) put(c chunk) {
	s.mu.Lock()
	s.chunks = append(s.chunks, c)
	s.mu.Unlock()
	s.signal()
}

// end tells the handler that nothing more will come: because the engine died, or
// because it was stopped (nil).
func (s *stream) end(fault *wire.Error) {
	s.mu.Lock()
	s.fault, s.cut = fault, fault == nil
	s.mu.Unlock()
	s.signal()
}

func (s *stream) signal() {
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// take moves what has come to dst.
func (s *stream) take(dst []chunk) (chunks []chunk, fault *wire.Error, cut bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dst = append(dst, s.chunks...)
	s.chunks = s.chunks[:0]
	return dst, s.fault, s.cut
}

func hashPrompt(prompt []int32) uint64 {
	h := uint64(len(prompt))
	for _, id := range prompt {
		h = (h ^ uint64(uint32(id))) * 0x9e3779b97f4a7c15
		h ^= h >> 32
	}
	return h
}

// burst turns a uniform number into the tokens of a speculative step: one, and each
// draft while all before it were accepted, each with probability p.
func burst(u, p float64, drafts int) int {
	n, reach := 1, p
	for n <= drafts && u < reach {
		n++
		reach *= p
	}
	return n
}

// acceptance is the probability p for which 1 + p + ... + p^drafts is mean.
func acceptance(mean float64, drafts int) float64 {
	low, high := 0.0, 1.0
	for range 60 {
		p, sum, power := (low+high)/2, 1.0, 1.0
		for range drafts {
			power *= p
			sum += power
		}
		if sum < mean {
			low = p
		} else {
			high = p
		}
	}
	return high
}
