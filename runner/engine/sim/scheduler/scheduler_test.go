package scheduler

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// small is a scheduler in which everything is scarce.
func small() Config {
	return Config{
		MaxBatchedTokens: 16, MaxSeqs: 3, MaxModelLen: 32, BlockSize: 4, Blocks: 10,
		PrefixCaching: true, ChunkedPrefill: true,
	}
}

func prompt(n int, first int32) []int32 {
	p := make([]int32, n)
	for i := range p {
		p[i] = first + int32(i)
	}
	return p
}

// script drives a scheduler and writes down what each step does, one line a step.
type script struct {
	t     *testing.T
	s     *Scheduler
	names map[*Request]string
	lines []string
}

func newScript(t *testing.T, cfg Config) *script {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &script{t: t, s: s, names: map[*Request]string{}}
}

func (c *script) submit(name string, r *Request) *Request {
	c.t.Helper()
	if err := c.s.Submit(r); err != nil {
		c.t.Fatal(err)
	}
	c.names[r] = name
	return r
}

// step plans and commits one step: "a:p8" prefills 8 tokens, "a:p8+4" after taking 4
// over from the cache, "a:d1" decodes; after "->" the tokens brought and the end;
// after "!" who was preempted.
func (c *script) step() string {
	c.t.Helper()
	var in, out []string
	b := c.s.Plan()
	if err := check(c.s); err != nil {
		c.t.Fatalf("after plan: %v", err)
	}
	for _, e := range b.Entries {
		kind := "p"
		if e.Decode {
			kind = "d"
		}
		text := fmt.Sprintf("%s:%s%d", c.names[e.Request], kind, e.Tokens)
		if e.Cached > 0 {
			text += fmt.Sprintf("+%d", e.Cached)
		}
		in = append(in, text)
	}
	for _, r := range b.Preempted {
		in = append(in, "!"+c.names[r])
	}
	for _, o := range c.s.Commit() {
		text := fmt.Sprintf("%s%d", c.names[o.Request], o.Tokens)
		if o.Finish != "" {
			text += "." + string(o.Finish)
		}
		out = append(out, text)
	}
	if err := check(c.s); err != nil {
		c.t.Fatalf("after commit: %v", err)
	}
	line := strings.Join(in, " ") + " -> " + strings.Join(out, " ")
	c.lines = append(c.lines, line)
	return line
}

func (c *script) run() []string {
	c.t.Helper()
	for steps := 0; c.s.Busy(); steps++ {
		if steps == 1000 {
			c.t.Fatalf("not done after 1000 steps; the last: %q", c.lines[len(c.lines)-3:])
		}
		c.step()
	}
	return c.lines
}

func TestSteps(t *testing.T) {
	ids := func(i int) int32 { return 900 + int32(i) }
	tests := []struct {
		name   string
		config func(*Config)
		submit func(*script)
		want   []string
	}{
		{
			name:   "a lone request: the prefill brings the first token",
			submit: func(c *script) { c.submit("a", &Request{Prompt: prompt(5, 0), MaxTokens: 3}) },
			want:   []string{"a:p5 -> a1", "a:d1 -> a1", "a:d1 -> a1.length"},
		},
		{
			name: "a prompt beyond the budget goes in chunks, decodes first",
			submit: func(c *script) {
				c.submit("a", &Request{Prompt: prompt(4, 0), MaxTokens: 4})
				c.submit("b", &Request{Prompt: prompt(26, 100), MaxTokens: 1})
			},
			want: []string{
				"a:p4 b:p12 -> a1", "a:d1 b:p14 -> a1 b1.length",
				"a:d1 -> a1", "a:d1 -> a1.length",
			},
		},
		{
			name:   "without chunked prefill a prompt waits for a step that takes it whole",
			config: func(c *Config) { c.ChunkedPrefill, c.MaxModelLen = false, 16 },
			submit: func(c *script) {
				c.submit("a", &Request{Prompt: prompt(10, 0), MaxTokens: 2})
				c.submit("b", &Request{Prompt: prompt(10, 100), MaxTokens: 1})
				c.submit("c", &Request{Prompt: prompt(2, 200), MaxTokens: 1})
			},
			want: []string{"a:p10 -> a1", "a:d1 b:p10 c:p2 -> a1.length b1.length c1.length"},
		},
		{
			name: "the end of the text comes before max tokens",
			submit: func(c *script) {
				c.submit("a", &Request{Prompt: prompt(4, 0), MaxTokens: 9, EOSAt: 2})
				c.submit("b", &Request{Prompt: prompt(4, 50), MaxTokens: 2, EOSAt: 3})
				c.submit("c", &Request{Prompt: prompt(4, 90), MaxTokens: 1, EOSAt: 1})
			},
			want: []string{"a:p4 b:p4 c:p4 -> a1 b1 c1.stop", "a:d1 b:d1 -> a1.stop b1.length"},
		},
		{
			name: "max seqs holds the queue up, first come, first served",
			submit: func(c *script) {
				for i, name := range []string{"a", "b", "c", "d", "e"} {
					c.submit(name, &Request{Prompt: prompt(2, int32(100*i)), MaxTokens: 1 + i%2})
				}
			},
			want: []string{"a:p2 b:p2 c:p2 -> a1.length b1 c1.length", "b:d1 d:p2 e:p2 -> b1.length d1 e1.length", "d:d1 -> d1.length"},
		},
		{
			name: "an equal prefix is taken over in whole blocks, never the last token",
			submit: func(c *script) {
				c.submit("a", &Request{Prompt: prompt(8, 0), MaxTokens: 1})
				c.submit("b", &Request{Prompt: prompt(8, 0), MaxTokens: 1})
				c.submit("c", &Request{Prompt: prompt(9, 0), MaxTokens: 1})
			},
			want: []string{"a:p8 b:p4+4 c:p1+8 -> a1.length b1.length c1.length"},
		},
		{
			name:   "and not with the prefix cache off",
			config: func(c *Config) { c.PrefixCaching = false },
			submit: func(c *script) {
				c.submit("a", &Request{Prompt: prompt(8, 0), MaxTokens: 1})
				c.submit("b", &Request{Prompt: prompt(8, 0), MaxTokens: 1})
			},
			want: []string{"a:p8 b:p8 -> a1.length b1.length"},
		},
		{
			name: "drafts: a burst a step, cut to the drafts and to what is wanted",
			config: func(c *Config) {
				c.DraftTokens = 2
			},
			submit: func(c *script) {
				c.submit("a", &Request{Prompt: prompt(4, 0), MaxTokens: 8, Burst: func(i int) int { return []int{0, 2, 0, 9, 0, 0, 3, 0}[i] }})
			},
			want: []string{"a:p4 -> a1", "a:d3 -> a2", "a:d3 -> a3", "a:d2 -> a2.length"},
		},
		{
			name:   "out of blocks: the youngest goes back and loses nothing",
			config: func(c *Config) { c.Blocks = 8 },
			submit: func(c *script) {
				c.submit("a", &Request{Prompt: prompt(14, 0), MaxTokens: 8, Output: ids})
				c.submit("b", &Request{Prompt: prompt(14, 100), MaxTokens: 5, Output: ids})
			},
			want: []string{
				"a:p14 b:p2 -> a1",
				"a:d1 b:p12 -> a1 b1",
				"a:d1 b:d1 -> a1 b1", // both hold four blocks now, and a needs a fifth
				"a:d1 !b -> a1", "a:d1 -> a1", "a:d1 -> a1", "a:d1 -> a1", "a:d1 -> a1.length",
				"b:p8+8 -> b1", // two of its own blocks are still there
				"b:d1 -> b1", "b:d1 -> b1.length",
			},
		},
		{
			name:   "a step that preempts admits nobody, though a piece would fit",
			config: func(c *Config) { c.Blocks, c.PrefixCaching, c.MaxBatchedTokens = 8, false, 8 },
			submit: func(c *script) {
				c.submit("a", &Request{Prompt: prompt(15, 0), MaxTokens: 4})
				c.submit("b", &Request{Prompt: prompt(15, 100), MaxTokens: 1})
			},
			want: []string{
				"a:p8 -> ", "a:p7 b:p1 -> a1", "a:d1 b:p7 -> a1",
				"a:d1 !b -> a1", "a:d1 b:p7 -> a1.length", "b:p8 -> b1.length",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := small()
			if tt.config != nil {
				tt.config(&cfg)
			}
			c := newScript(t, cfg)
			tt.submit(c)
			if diff := cmp.Diff(tt.want, c.run()); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if st := c.s.Stats(); st.Running != 0 || st.Waiting != 0 || st.UsedBlocks != 0 {
				t.Errorf("after the end: got %+v, want nothing in use", st)
			}
		})
	}
}

func TestPreemptedGoesFirst(t *testing.T) {
	cfg := small()
	cfg.Blocks = 8
	c := newScript(t, cfg)
	c.submit("a", &Request{Prompt: prompt(15, 0), MaxTokens: 4})
	c.step()
	c.submit("b", &Request{Prompt: prompt(15, 100), MaxTokens: 4})
	c.submit("c", &Request{Prompt: prompt(2, 200), MaxTokens: 1})
	want := []string{
		"a:p15 -> a1", "a:d1 b:p15 -> a1 b1",
		"a:d1 !b -> a1",     // no admission in a step that preempts, though c would fit
		"a:d1 -> a1.length", // and none past b
		"b:p4+12 c:p2 -> b1 c1.length", "b:d1 -> b1", "b:d1 -> b1.length",
	}
	if diff := cmp.Diff(want, c.run()); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if got := c.s.Stats().Preemptions; got != 1 {
		t.Errorf("preemptions: got %d, want 1", got)
	}
}

func TestPrefixCache(t *testing.T) {
	c := newScript(t, small())
	ids := func(i int) int32 { return 900 + int32(i) }
	one := func(name string, r *Request) string {
		t.Helper()
		c.submit(name, r)
		first := c.step()
		c.run()
		return first
	}
	steps := []struct{ name, got, want string }{
		{"cold", one("a", &Request{Prompt: prompt(9, 0), MaxTokens: 5, Output: ids}), "a:p9 -> a1"},
		{"the next turn finds prompt and answer", one("b", &Request{
			Prompt: append(prompt(9, 0), 900, 901, 902, 903, 904, 7), MaxTokens: 1,
		}), "b:p3+12 -> b1.length"},
		{"another answer differs from its first token on", one("c", &Request{
			Prompt: append(prompt(9, 0), 77, 901, 902, 903), MaxTokens: 1,
		}), "c:p5+8 -> c1.length"},
		// 10 blocks: a's and b's first three, and c's third, are cached. Seven blocks for
		// e: three were never used or hold no cached content; four are evicted.
		{"a big one evicts the tails of what was used longest ago", one("e", &Request{Prompt: prompt(16, 500), MaxTokens: 13}), "e:p16 -> e1"},
		{"the head is still there", one("f", &Request{Prompt: prompt(9, 0), MaxTokens: 1}), "f:p1+8 -> f1.length"},
	}
	for _, s := range steps {
		if s.got != s.want {
			t.Errorf("%s: got %q, want %q", s.name, s.got, s.want)
		}
	}
	st := c.s.Stats()
	if st.PrefixQueries != 9+15+13+16+9 || st.PrefixHits != 12+8+8 {
		t.Errorf("prefix queries, hits: got %d, %d, want %d, %d", st.PrefixQueries, st.PrefixHits, 62, 28)
	}
}

func TestResetPrefixCache(t *testing.T) {
	c := newScript(t, small())
	c.submit("a", &Request{Prompt: prompt(9, 0), MaxTokens: 2})
	c.step()
	if c.s.ResetPrefixCache() {
		t.Error("reset while a request runs: got true, want false")
	}
	c.run()
	if !c.s.ResetPrefixCache() {
		t.Error("reset of an idle scheduler: got false, want true")
	}
	c.submit("b", &Request{Prompt: prompt(9, 0), MaxTokens: 1})
	if got, want := c.step(), "b:p9 -> b1.length"; got != want {
		t.Errorf("after the reset: got %q, want %q", got, want)
	}
}

func TestAbort(t *testing.T) {
	c := newScript(t, small())
	a := c.submit("a", &Request{Prompt: prompt(8, 0), MaxTokens: 9})
	b := c.submit("b", &Request{Prompt: prompt(8, 100), MaxTokens: 9})
	d := c.submit("d", &Request{Prompt: prompt(8, 200), MaxTokens: 2})
	e := c.submit("e", &Request{Prompt: prompt(8, 300), MaxTokens: 1})
	if !c.s.Abort(e) {
		t.Error("abort of a waiting request: got false, want true")
	}
	c.step()
	c.s.Plan()
	if !c.s.Abort(a) {
		t.Error("abort during a step: got false, want true")
	}
	if err := check(c.s); err != nil {
		t.Error(err)
	}
	if got, want := c.step(), "a:d1 b:d1 d:p8 -> b1 d1"; got != want {
		t.Errorf("the step under way: got %q, want %q", got, want)
	}
	if !c.s.Abort(b) || c.s.Abort(b) || c.s.Abort(&Request{}) {
		t.Error("abort twice, or of a stranger: want true only for the first")
	}
	if got, want := c.step(), "d:d1 -> d1.length"; got != want {
		t.Errorf("what is left: got %q, want %q", got, want)
	}
	if c.s.Abort(d) || c.s.Busy() || c.s.Stats().UsedBlocks != 0 {
		t.Errorf("at the end: got %+v, want an idle scheduler", c.s.Stats())
	}
}

func TestPlanAndCommitOutOfTurn(t *testing.T) {
	c := newScript(t, small())
	if got := c.s.Commit(); got != nil {
		t.Errorf("commit without a plan: got %v, want nothing", got)
	}
	c.submit("a", &Request{Prompt: prompt(4, 0), MaxTokens: 1})
	first, again := *c.s.Plan(), *c.s.Plan()
	if len(first.Entries) != 1 || len(again.Entries) != 1 {
		t.Errorf("plan twice: got %d and %d entries, want the same one", len(first.Entries), len(again.Entries))
	}
	if got := len(c.s.Commit()); got != 1 {
		t.Errorf("commit: got %d outputs, want 1", got)
	}
}

func TestSubmitRefuses(t *testing.T) {
	s, err := New(small())
	if err != nil {
		t.Fatal(err)
	}
	again := &Request{Prompt: prompt(1, 0), MaxTokens: 1}
	if err := s.Submit(again); err != nil {
		t.Fatal(err)
	}
	for want, r := range map[string]*Request{
		"submitted before":         again,
		"prompt is empty":          {MaxTokens: 1},
		"max tokens is 0":          {Prompt: prompt(1, 0)},
		"exceed the max model len": {Prompt: prompt(30, 0), MaxTokens: 3},
	} {
		if err := s.Submit(r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

func TestConfigCheck(t *testing.T) {
	if err := small().Check(); err != nil {
		t.Errorf("got %v, want no error", err)
	}
	err := Config{DraftTokens: -1, MaxModelLen: 9, BlockSize: 4, Blocks: 2}.Check()
	for _, want := range []string{
		"max batched tokens: got 0", "max seqs: got 0", "draft tokens: got -1",
		"9 is larger than the 8 tokens", "needs chunked prefill",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to say %q", err, want)
		}
	}
}
