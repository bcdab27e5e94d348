package scheduler

// Batch is the work of one step. It is valid until the next Plan.
type Batch struct {
	Entries   []Entry
	Tokens    int        // computed in the step, at most MaxBatchedTokens
	Preempted []*Request // sent back to the queue while the step was planned
}

// Entry is one request's part of a step.
type Entry struct {
	Request *Request
	Tokens  int  // computed for it: a chunk of its prompt, or one and its draft tokens
	Decode  bool // it decodes; else it prefills
	KV      int  // tokens of its context at the end of the step
	Cached  int  // where this step admits it: tokens taken over from the prefix cache
	First   bool // this step admits it for the first time
}

// Finish is how a request ended, as the API spells it; empty while it goes on.
type Finish string

// The ends. Abort is never reported by Commit: whoever aborts knows.
const (
	Length Finish = "length"
	Stop   Finish = "stop"
	Abort  Finish = "abort"
)

// Output is what a step brought one request. Steps that only carry a prefill on
// bring none.
type Output struct {
	Request     *Request
	Tokens      int // new output tokens, at least 1
	Total       int // output tokens so far
	Finish      Finish
	Cached      int // prompt tokens taken over from the prefix cache at first admission
	Preemptions int // times that the request was preempted so far
}

// Plan picks the work of the next step. It must be followed by Commit; called twice it
// returns the same step. The batch is empty if nothing is there to do.
func (s *Scheduler) Plan() *Batch {
	if s.planned {
		return &s.batch
	}
	s.planned = true
	s.batch = Batch{Entries: s.batch.Entries[:0], Preempted: s.batch.Preempted[:0]}
	s.planRunning()
	if len(s.batch.Preempted) == 0 {
		s.admit()
	}
	return &s.batch
}

func (s *Scheduler) planRunning() {
	for i := 0; i < len(s.running) && s.batch.Tokens < s.cfg.MaxBatchedTokens; i++ {
		seq := s.running[i]
		n := seq.known() - seq.computed
		if seq.decoding() {
			// Drafts beyond the last wanted token would be thrown away.
			n = min(1+s.cfg.DraftTokens, seq.req.MaxTokens-seq.outputs)
		}
		n = min(n, s.cfg.MaxBatchedTokens-s.batch.Tokens)
		if !s.makeRoom(seq, seq.computed+n) {
			return
		}
		s.add(seq, Entry{Tokens: n, Decode: seq.decoding()})
	}
}

// makeRoom gives seq the blocks for its first n tokens, preempting from the youngest
// on. It returns false when seq itself had to go. Whoever is preempted comes after seq
// and has no part in the step yet, because running requests are planned in order.
func (s *Scheduler) makeRoom(seq *sequence, n int) bool {
	for {
		var ok bool
		if seq.blocks, ok = s.pool.grow(seq.blocks, s.blocksFor(n)); ok {
			return true
		}
		victim := s.running[len(s.running)-1]
		s.running = s.running[:len(s.running)-1]
		s.preempt(victim)
		if victim == seq {
			return false
		}
	}
}

func (s *Scheduler) preempt(seq *sequence) {
	s.pool.release(seq.blocks)
	seq.blocks, seq.computed, seq.indexed = seq.blocks[:0], 0, 0
	seq.state = waiting
	seq.preempts++
	s.waiting.pushFront(seq)
	s.batch.Preempted = append(s.batch.Preempted, seq.req)
	s.stats.Preemptions++
}

func (s *Scheduler) admit() {
	for s.waiting.len > 0 && len(s.running) < s.cfg.MaxSeqs && s.batch.Tokens < s.cfg.MaxBatchedTokens {
		seq := s.waiting.head
		hits := s.lookup(seq)
		hit := len(hits) * s.cfg.BlockSize
		n := min(seq.known()-hit, s.cfg.MaxBatchedTokens-s.batch.Tokens)
		if !s.cfg.ChunkedPrefill && n < seq.known()-hit {
			return
		}
		blocks := s.blocksFor(hit + n)
		if !s.pool.fits(hits, blocks-len(hits)) {
			return
		}
		s.waiting.remove(seq)
		seq.blocks = s.pool.claim(seq.blocks, hits)
		seq.blocks, _ = s.pool.grow(seq.blocks, blocks)
		seq.computed, seq.indexed = hit, len(hits)
		seq.state = running
		s.running = append(s.running, seq)
		s.add(seq, Entry{Tokens: n, Cached: hit, First: s.countAdmission(seq, hit)})
	}
}

// lookup returns the hashes of the blocks that seq can take over. Its last token is
// never among them: that one is computed in any case, for its logits say what is next.
func (s *Scheduler) lookup(seq *sequence) []uint64 {
	if !s.cfg.PrefixCaching {
		return nil
	}
	n := seq.known() - 1
	seq.hashUpTo(n, s.cfg.BlockSize)
	return seq.hashes[:s.pool.lookup(seq.hashes[:min(len(seq.hashes), n/s.cfg.BlockSize)])]
}

// countAdmission reports whether this is the first admission of seq. Later ones, after
// a preemption, are not counted in the cache's statistics, because what they hit is
// mostly what they left behind.
func (s *Scheduler) countAdmission(seq *sequence, hit int) bool {
	if seq.admitted {
		return false
	}
	seq.admitted, seq.cached = true, hit
	if s.cfg.PrefixCaching {
		s.stats.PrefixQueries += len(seq.req.Prompt)
		s.stats.PrefixHits += hit
	}
	return true
}

// add enters seq into the step and offers the blocks that the step fills to the index.
// They count as cached from now on, as in vLLM: a request that is planned later in the
// same step may take them over, because the step writes them before it reads them.
func (s *Scheduler) add(seq *sequence, e Entry) {
	e.Request = seq.req
	e.KV = seq.computed + e.Tokens
	s.batch.Entries = append(s.batch.Entries, e)
	s.batch.Tokens += e.Tokens

	if !s.cfg.PrefixCaching {
		return
	}
	known := min(e.KV, seq.known()) // drafts are not known yet
	seq.hashUpTo(known, s.cfg.BlockSize)
	full := min(known/s.cfg.BlockSize, len(seq.hashes))
	for ; seq.indexed < full; seq.indexed++ {
		s.pool.cache(seq.blocks[seq.indexed], seq.hashes[seq.indexed])
	}
}

func (s *Scheduler) blocksFor(tokens int) int {
	return (tokens + s.cfg.BlockSize - 1) / s.cfg.BlockSize
}

// Commit ends the planned step and returns what it brought, in the order of the batch.
// The slice is valid until the next Commit. Without a planned step it returns nil.
func (s *Scheduler) Commit() []Output {
	if !s.planned {
		return nil
	}
	s.planned = false
	s.outputs = s.outputs[:0]
	ended := false
	for _, e := range s.batch.Entries {
		seq := e.Request.seq
		if seq.state != running {
			continue // aborted during the step
		}
		if out, ok := seq.advance(e); ok {
			ended = ended || out.Finish != ""
			s.outputs = append(s.outputs, out)
		}
	}
	if ended {
		s.retire()
	}
	return s.outputs
}

// advance applies one entry of the step to its sequence.
func (q *sequence) advance(e Entry) (Output, bool) {
	yield := 1
	if e.Decode {
		if q.req.Burst != nil {
			yield = max(1, min(q.req.Burst(q.outputs), e.Tokens))
		}
		yield = min(yield, q.end()-q.outputs)
		q.computed += yield // the drafts that were refused leave nothing behind
	} else {
		q.computed += e.Tokens
		if q.computed < q.known() {
			return Output{}, false
		}
	}
	q.outputs += yield
	out := Output{Request: q.req, Tokens: yield, Total: q.outputs, Cached: q.cached, Preemptions: q.preempts}
	if q.outputs == q.end() {
		out.Finish = q.finish()
		q.state = finished
	}
	return out, true
}

// retire takes the finished sequences out and frees their blocks.
func (s *Scheduler) retire() {
	keep := s.running[:0]
	for _, seq := range s.running {
		if seq.state != finished {
			keep = append(keep, seq)
			continue
		}
		s.pool.release(seq.blocks)
		seq.blocks = nil
	}
	clear(s.running[len(keep):])
	s.running = keep
}
