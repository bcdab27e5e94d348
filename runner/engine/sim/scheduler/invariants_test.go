package scheduler

import "fmt"

// check holds a scheduler to its invariants: every block is either free or referenced
// exactly as often as sequences hold it, the index and the blocks agree, sequences hold
// the blocks that they need, and the step keeps to its budgets.
func check(s *Scheduler) error {
	held := make([]int32, s.cfg.Blocks)
	for _, seq := range s.running {
		if seq.state != running {
			return fmt.Errorf("a sequence in state %d is running", seq.state)
		}
		for _, b := range seq.blocks {
			held[b]++
		}
		if need := s.blocksFor(seq.computed); len(seq.blocks) < need {
			return fmt.Errorf("%d computed tokens in %d blocks", seq.computed, len(seq.blocks))
		}
		if seq.computed > seq.known() {
			return fmt.Errorf("computed %d of %d known tokens", seq.computed, seq.known())
		}
	}
	if len(s.running) > s.cfg.MaxSeqs {
		return fmt.Errorf("%d run, more than %d", len(s.running), s.cfg.MaxSeqs)
	}
	if err := checkQueue(s); err != nil {
		return err
	}
	if err := checkPool(s.pool, held); err != nil {
		return err
	}
	return checkBatch(s)
}

func checkQueue(s *Scheduler) error {
	n := 0
	for seq := s.waiting.head; seq != nil; seq = seq.next {
		n++
		if seq.state != waiting || len(seq.blocks) != 0 || seq.computed != 0 {
			return fmt.Errorf("a waiting sequence has state %d, %d blocks, %d computed tokens", seq.state, len(seq.blocks), seq.computed)
		}
		if seq.next == nil && s.waiting.tail != seq {
			return fmt.Errorf("the queue's tail is not its last element")
		}
	}
	if n != s.waiting.len {
		return fmt.Errorf("the queue holds %d, its length says %d", n, s.waiting.len)
	}
	return nil
}

func checkPool(p *pool, held []int32) error {
	free := make([]bool, len(held))
	n, ring := 0, int32(len(held))
	for b := p.next[ring]; b != ring; b = p.next[b] {
		if free[b] {
			return fmt.Errorf("block %d is in the free list twice", b)
		}
		free[b] = true
		n++
	}
	if n != p.free {
		return fmt.Errorf("%d blocks in the free list, the count says %d", n, p.free)
	}
	indexed := 0
	for b := range held {
		if p.refs[b] != held[b] {
			return fmt.Errorf("block %d has %d references, %d sequences hold it", b, p.refs[b], held[b])
		}
		if free[b] != (held[b] == 0) {
			return fmt.Errorf("block %d: free %v, held by %d", b, free[b], held[b])
		}
		if p.cached[b] {
			indexed++
			if got, ok := p.index[p.hash[b]]; !ok || got != int32(b) {
				return fmt.Errorf("block %d is cached, the index has %d for its hash", b, got)
			}
		}
	}
	if indexed != len(p.index) {
		return fmt.Errorf("%d blocks are cached, the index holds %d", indexed, len(p.index))
	}
	return nil
}

func checkBatch(s *Scheduler) error {
	tokens := 0
	for _, e := range s.batch.Entries {
		if e.Tokens < 1 {
			return fmt.Errorf("an entry of %d tokens", e.Tokens)
		}
		tokens += e.Tokens
	}
	if tokens != s.batch.Tokens || tokens > s.cfg.MaxBatchedTokens {
		return fmt.Errorf("the step's entries hold %d tokens, its sum says %d, the budget %d", tokens, s.batch.Tokens, s.cfg.MaxBatchedTokens)
	}
	return nil
}
