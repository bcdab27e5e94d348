package scheduler

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// account is what a request has shown of itself, for the books to be balanced.
type account struct {
	r         *Request
	arrival   int // place in the order of submission
	admitted  bool
	tokens    int // output tokens reported
	computed  int // prefill tokens planned since the last admission, hits included
	preempted int
	finish    Finish
	aborted   bool
}

// world drives a scheduler by an arbitrary sequence of operations and keeps books of
// its own.
type world struct {
	s       *Scheduler
	rng     *rand.Rand
	all     []*account
	live    map[*Request]*account
	planned bool
	admits  int // arrival of the request that was admitted first last
	queries int
	hits    int
	lost    int // preemptions
}

func newWorld(cfg Config, seed uint64) (*world, error) {
	s, err := New(cfg)
	if err != nil {
		return nil, err
	}
	return &world{s: s, rng: rand.New(rand.NewPCG(seed, 1)), live: map[*Request]*account{}, admits: -1}, nil
}

func (w *world) submit() error {
	limit := w.s.cfg.MaxModelLen
	n := 1 + w.rng.IntN(limit-1)
	r := &Request{Prompt: prompt(n, int32(w.rng.IntN(3))*1000), MaxTokens: 1 + w.rng.IntN(limit-n)}
	if w.rng.IntN(3) == 0 {
		r.EOSAt = 1 + w.rng.IntN(r.MaxTokens+2)
	}
	if w.rng.IntN(2) == 0 {
		r.Output = func(i int) int32 { return int32(i) }
	}
	if w.s.cfg.DraftTokens > 0 {
		r.Burst = func(i int) int { return i % 4 } // 0 and too many are cut
	}
	if err := w.s.Submit(r); err != nil {
		return err
	}
	a := &account{r: r, arrival: len(w.all)}
	w.all = append(w.all, a)
	w.live[r] = a
	return nil
}

func (w *world) abort() error {
	if len(w.all) == 0 {
		return nil
	}
	a := w.all[w.rng.IntN(len(w.all))]
	if got, want := w.s.Abort(a.r), w.live[a.r] != nil; got != want {
		return fmt.Errorf("abort of request %d: got %v, want %v", a.arrival, got, want)
	}
	if w.live[a.r] != nil {
		a.aborted = true
		delete(w.live, a.r)
	}
	return nil
}

func (w *world) plan() error {
	b := w.s.Plan()
	if w.planned {
		return nil // the same step again: it is in the books
	}
	w.planned = true
	for _, r := range b.Preempted {
		w.live[r].preempted++
		w.live[r].computed = 0
		w.lost++
	}
	for _, e := range b.Entries {
		a := w.live[e.Request]
		if a == nil {
			return fmt.Errorf("a step has a request that is not there")
		}
		if e.First {
			if a.admitted || a.arrival <= w.admits {
				return fmt.Errorf("request %d is admitted after %d, or twice", a.arrival, w.admits)
			}
			a.admitted, w.admits = true, a.arrival
			w.queries += len(a.r.Prompt)
			w.hits += e.Cached
		}
		if e.Cached >= len(a.r.Prompt)+a.tokens || e.Cached%w.s.cfg.BlockSize != 0 {
			return fmt.Errorf("%d tokens from the cache for a request of %d", e.Cached, len(a.r.Prompt)+a.tokens)
		}
		if e.Decode && a.tokens == 0 {
			return fmt.Errorf("request %d decodes before its first token", a.arrival)
		}
		a.computed += e.Cached
		if !e.Decode {
			a.computed += e.Tokens
		}
	}
	return nil
}

func (w *world) commit() error {
	w.planned = false
	for _, o := range w.s.Commit() {
		a := w.live[o.Request]
		if a == nil {
			return fmt.Errorf("tokens for a request that is not there")
		}
		if a.tokens == 0 && a.computed != len(a.r.Prompt) {
			return fmt.Errorf("request %d: first token after %d of %d prompt tokens", a.arrival, a.computed, len(a.r.Prompt))
		}
		a.tokens += o.Tokens
		if o.Tokens < 1 || o.Tokens > 1+w.s.cfg.DraftTokens || o.Total != a.tokens || o.Preemptions != a.preempted {
			return fmt.Errorf("request %d: got %+v, the books say %+v", a.arrival, o, a)
		}
		if o.Finish != "" {
			a.finish = o.Finish
			delete(w.live, o.Request)
		}
	}
	return nil
}

// close lets everything run to its end and balances the books.
func (w *world) close() error {
	for i := 0; w.s.Busy(); i++ {
		if i > 100_000 {
			return fmt.Errorf("no end in sight")
		}
		if err := w.do(2); err != nil {
			return err
		}
		if err := w.do(3); err != nil {
			return err
		}
	}
	for _, a := range w.all {
		want, end := a.r.MaxTokens, Length
		if a.r.EOSAt > 0 && a.r.EOSAt <= want {
			want, end = a.r.EOSAt, Stop
		}
		if !a.aborted && (a.tokens != want || a.finish != end) {
			return fmt.Errorf("request %d: got %d tokens and %q, want %d and %q", a.arrival, a.tokens, a.finish, want, end)
		}
	}
	st := w.s.Stats()
	want := Stats{Preemptions: w.lost, PrefixQueries: w.queries, PrefixHits: w.hits}
	if !w.s.cfg.PrefixCaching {
		want.PrefixQueries = 0
	}
	if st != want {
		return fmt.Errorf("stats: got %+v, want %+v", st, want)
	}
	return nil
}

func (w *world) do(op byte) error {
	var err error
	switch op % 6 {
	case 0:
		err = w.submit()
	case 1:
		err = w.abort()
	case 2:
		err = w.plan()
	case 3:
		err = w.commit()
	case 4:
		used := w.s.Stats().UsedBlocks
		if got := w.s.ResetPrefixCache(); got != (used == 0) {
			err = fmt.Errorf("reset with %d blocks in use: got %v", used, got)
		}
	case 5:
		if err = w.submit(); err == nil {
			err = w.plan()
		}
	}
	if err != nil {
		return err
	}
	return check(w.s)
}

func FuzzScheduler(f *testing.F) {
	f.Add(uint64(1), byte(0), []byte{0, 0, 2, 3, 2, 3, 1, 2, 3})
	f.Add(uint64(2), byte(255), []byte{5, 5, 5, 3, 2, 1, 3, 4, 5, 2, 3})
	for seed := range byte(24) {
		ops := make([]byte, 300)
		for i := range ops {
			ops[i] = "\x00\x02\x03\x02\x03\x05\x03\x02\x03\x02\x03\x01\x02\x03\x04"[(i*7+int(seed)*i)%15]
		}
		f.Add(uint64(seed), seed*11, ops)
	}
	f.Fuzz(func(t *testing.T, seed uint64, shape byte, ops []byte) {
		if len(ops) > 2000 {
			return
		}
		cfg := small()
		cfg.Blocks += int(shape % 4)
		cfg.PrefixCaching = shape&4 == 0
		cfg.DraftTokens = int(shape >> 3 & 3)
		cfg.MaxSeqs += int(shape >> 5 & 3)
		if shape&128 != 0 {
			cfg.ChunkedPrefill, cfg.MaxBatchedTokens = false, cfg.MaxModelLen
		}
		w, err := newWorld(cfg, seed)
		if err != nil {
			t.Fatal(err)
		}
		for i, op := range ops {
			if err := w.do(op); err != nil {
				t.Fatalf("operation %d (%d): %v", i, op%6, err)
			}
		}
		if err := w.close(); err != nil {
			t.Fatal(err)
		}
	})
}

// BenchmarkStep plans and commits steps of 256 decoding requests.
func BenchmarkStep(b *testing.B) {
	s, err := New(Config{
		MaxBatchedTokens: 8192, MaxSeqs: 256, MaxModelLen: 8192, BlockSize: 16, Blocks: 1 << 17,
		PrefixCaching: true, ChunkedPrefill: true,
	})
	if err != nil {
		b.Fatal(err)
	}
	n := int32(0)
	b.ReportAllocs()
	for b.Loop() {
		for st := s.Stats(); st.Running+st.Waiting < 256; st.Waiting++ {
			n++
			if err := s.Submit(&Request{Prompt: prompt(256, n*4096), MaxTokens: 2048}); err != nil {
				b.Fatal(err)
			}
		}
		s.Plan()
		s.Commit()
	}
	b.ReportMetric(256*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
}
