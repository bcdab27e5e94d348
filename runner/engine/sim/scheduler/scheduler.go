// Package scheduler is a continuous-batching scheduler with paged KV memory, as a
// pure state machine: it has no clock, no goroutine and no I/O, and the same calls
// give the same answers.
//
// Requests are handed in by [Scheduler.Submit]. The caller then alternates
// [Scheduler.Plan], which picks the work of one step, and [Scheduler.Commit], which
// says what the step brought once it is over. How long the step takes in between is
// the caller's affair.
//
// The rules are those of vLLM's V1 scheduler with its first-come, first-served policy:
//
//   - A step computes at most MaxBatchedTokens tokens. Running requests come first, in
//     the order of their admission: one token for each that decodes (plus its draft
//     tokens), the next chunk for each that prefills. What is left of the budget goes
//     to waiting requests, in order, while fewer than MaxSeqs run and blocks suffice;
//     the first that doesn't fit holds up those behind it.
//   - KV memory is Blocks blocks of BlockSize tokens. Full blocks are indexed by the
//     hash of all tokens up to their end. A new request takes over the longest indexed
//     chain that its prompt begins with, but computes at least its last token. Blocks
//     that nobody references stay indexed until they are needed; the least recently
//     used goes first, and of one request the tail before the head.
//   - If a running request needs a block and none is free, the request admitted last is
//     preempted: its blocks are given back and it returns to the front of the queue,
//     keeping the tokens that it has produced. They are computed again, as part of its
//     prompt, when it is admitted next. A step that preempts admits nobody.
//
// Prefill and decode in one engine is all there is so far. A request whose KV comes
// from elsewhere would enter with computed blocks, which is the path that prefix hits
// take already.
package scheduler

import (
	"errors"
	"fmt"
)

// Config is the shape of a scheduler. All counts are positive, DraftTokens may be 0.
type Config struct {
	MaxBatchedTokens int  // token budget of a step
	MaxSeqs          int  // running requests at most
	MaxModelLen      int  // tokens of a request, prompt and output, at most
	BlockSize        int  // tokens of a KV block
	Blocks           int  // KV blocks
	PrefixCaching    bool // reuse blocks of equal content
	ChunkedPrefill   bool // a prompt may be spread over steps; if not, it waits for a step that takes it whole
	DraftTokens      int  // speculative tokens that each decode step verifies
}

// Check reports all that is wrong with c.
func (c Config) Check() error {
	var errs []error
	for _, f := range []struct {
		name  string
		value int
	}{
		{"max batched tokens", c.MaxBatchedTokens},
		{"max seqs", c.MaxSeqs},
		{"max model len", c.MaxModelLen},
		{"block size", c.BlockSize},
		{"blocks", c.Blocks},
	} {
		if f.value < 1 {
			errs = append(errs, fmt.Errorf("%s: got %d, want at least 1", f.name, f.value))
		}
	}
	if c.DraftTokens < 0 {
		errs = append(errs, fmt.Errorf("draft tokens: got %d, want 0 or more", c.DraftTokens))
	}
	if c.Blocks*c.BlockSize < c.MaxModelLen {
		errs = append(errs, fmt.Errorf("max model len %d is larger than the %d tokens that %d KV blocks of %d hold: raise the blocks or lower the length",
			c.MaxModelLen, c.Blocks*c.BlockSize, c.Blocks, c.BlockSize))
	}
	if !c.ChunkedPrefill && c.MaxBatchedTokens < c.MaxModelLen {
		errs = append(errs, fmt.Errorf("max batched tokens %d is below the max model len %d, which needs chunked prefill",
			c.MaxBatchedTokens, c.MaxModelLen))
	}
	return errors.Join(errs...)
}

// Request is one request. Its fields belong to the scheduler from Submit until the
// request has finished or was aborted.
type Request struct {
	Prompt    []int32
	MaxTokens int // output tokens at most, at least 1
	// EOSAt is the number of output tokens after which the model ends the text by
	// itself; 0, or more than MaxTokens: it never does.
	EOSAt int
	// Output is the i-th output token, from 0. Nil: blocks that hold output tokens are
	// not reused.
	Output func(i int) int32
	// Burst is how many tokens a decode step yields that begins after the i-th output
	// token; it is cut to 1 + DraftTokens. Nil: one.
	Burst func(i int) int
	// Owner is the caller's own; the scheduler leaves it alone.
	Owner any

	seq *sequence
}

// Scheduler is the state machine. It is not safe for concurrent use.
type Scheduler struct {
	cfg     Config
	pool    *pool
	waiting queue
	running []*sequence // in the order of admission
	planned bool        // between Plan and Commit
	batch   Batch
	outputs []Output
	stats   Stats
}

// Stats counts since New; the first three fields are of the moment.
type Stats struct {
	Running    int
	Waiting    int
	UsedBlocks int // referenced by running requests

	Preemptions   int
	PrefixQueries int // prompt tokens looked up, once a request
	PrefixHits    int // of them, tokens that were found
}

// New returns an empty scheduler. The error is that of [Config.Check].
func New(cfg Config) (*Scheduler, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	return &Scheduler{cfg: cfg, pool: newPool(cfg.Blocks)}, nil
}

// Submit puts r at the end of the queue. It fails if r can never be served.
func (s *Scheduler) Submit(r *Request) error {
	switch {
	case r.seq != nil:
		return errors.New("submit request: it was submitted before")
	case len(r.Prompt) == 0:
		return errors.New("submit request: the prompt is empty")
	case r.MaxTokens < 1:
		return fmt.Errorf("submit request: max tokens is %d, want at least 1", r.MaxTokens)
	case len(r.Prompt)+r.MaxTokens > s.cfg.MaxModelLen:
		return fmt.Errorf("submit request: %d prompt tokens and %d output tokens exceed the max model len %d",
			len(r.Prompt), r.MaxTokens, s.cfg.MaxModelLen)
	}
	r.seq = &sequence{req: r, state: waiting}
	s.waiting.pushBack(r.seq)
	return nil
}

// Abort ends r at once, whatever state it is in, and frees its blocks. Of a request
// that is part of a planned step Commit then says nothing. It returns false where r
// is not here: never submitted, finished, or aborted before.
func (s *Scheduler) Abort(r *Request) bool {
	seq := r.seq
	if seq == nil || seq.state == finished {
		return false
	}
	if seq.state == waiting {
		s.waiting.remove(seq)
	} else {
		s.dropRunning(seq)
		s.pool.release(seq.blocks)
	}
	seq.blocks, seq.state = nil, finished
	return true
}

// Busy reports whether any request is unfinished.
func (s *Scheduler) Busy() bool { return len(s.running) > 0 || s.waiting.len > 0 }

// Stats returns the counts as they stand.
func (s *Scheduler) Stats() Stats {
	st := s.stats
	st.Running, st.Waiting = len(s.running), s.waiting.len
	st.UsedBlocks = s.cfg.Blocks - s.pool.free
	return st
}

// ResetPrefixCache forgets all cached content. It does nothing and returns false while
// a running request holds blocks, as vLLM's does.
func (s *Scheduler) ResetPrefixCache() bool { return s.pool.reset() }

func (s *Scheduler) dropRunning(seq *sequence) {
	for i, r := range s.running {
		if r == seq {
			s.running = append(s.running[:i], s.running[i+1:]...)
			return
		}
	}
}
