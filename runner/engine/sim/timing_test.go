package sim

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/servegate/runner/engine/sim/pacer"
	"github.com/servegate/servegate/runner/engine/sim/timing"
)

// TestPredict holds the formulas of the package's documentation, with figures worked
// out by hand, against Predict.
func TestPredict(t *testing.T) {
	us := func(v float64) time.Duration { return time.Duration(v * 1000) }
	tests := []struct {
		name   string
		change func(*Options)
		group  Group
		want   Prediction
	}{
		{
			// 4800 + 6*256 + .02*256; 4800 + 20 + .02*(257..266), mean 261.5
			name: "a lone request", group: Group{Streams: 1, Prompt: 256, Output: 11},
			want: Prediction{TTFT: us(6341.12), ITL: us(4825.23), E2E: us(6341.12 + 48252.3)},
		},
		{
			name: "a prefix hit saves its prefill", group: Group{Streams: 1, Prompt: 256, Cached: 240, Output: 1},
			want: Prediction{TTFT: us(4800 + 6*16 + .02*256), E2E: us(4901.12)},
		},
		{
			name:   "eight in step",
			change: func(o *Options) { o.BatchDelay = time.Millisecond },
			group:  Group{Streams: 8, Prompt: 256, Output: 2},
			want:   Prediction{TTFT: us(1000 + 4800 + 8*(1536+5.12)), ITL: us(4800 + 8*(20+5.14)), E2E: us(18128.96 + 5001.12)},
		},
		{
			name:   "three chunks, three bases",
			change: func(o *Options) { o.Scheduler.MaxBatchedTokens = 100 },
			group:  Group{Streams: 1, Prompt: 256, Output: 1},
			want:   Prediction{TTFT: us(3*4800 + 6*256 + .02*(100+200+256)), E2E: us(3*4800 + 1536 + 11.12)},
		},
		{
			name:   "slow prefill moves the first token only",
			change: func(o *Options) { o.Cost.PrefillSlowdown = 2 },
			group:  Group{Streams: 1, Prompt: 256, Output: 2},
			want:   Prediction{TTFT: us(4800 + 3072 + 5.12), ITL: us(4825.14), E2E: us(7877.12 + 4825.14)},
		},
		{
			name:   "slow decode moves the gaps only",
			change: func(o *Options) { o.Cost.DecodeSlowdown = 2 },
			group:  Group{Streams: 1, Prompt: 256, Output: 2},
			want:   Prediction{TTFT: us(6341.12), ITL: us(9650.28), E2E: us(6341.12 + 9650.28)},
		},
		{
			name: "the queue's delays stand in front",
			change: func(o *Options) {
				o.Faults.QueueDelay, o.BatchDelay = 10*time.Millisecond, 2*time.Millisecond
			},
			group: Group{Streams: 1, Prompt: 256, Output: 1},
			want:  Prediction{TTFT: us(18341.12), E2E: us(18341.12)},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := Defaults()
			if tt.change != nil {
				tt.change(&o)
			}
			got, err := o.Predict(tt.group)
			if err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
			synctest.Test(t, func(t *testing.T) { holdToModel(t, o, tt.group, got) })
		})
	}
}

// holdToModel serves a group on a fake clock and wants exactly what was predicted.
func holdToModel(t *testing.T, o Options, g Group, want Prediction) {
	c, stop := serveFake(t, o)
	defer stop()
	if g.Cached > 0 {
		c.stream("/v1/completions", idsBody(g.Cached, 0, 1, ""))
	}
	time.Sleep(time.Second) // let it fall idle, off any beat
	results := make([]*seen, g.Streams)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() { results[i] = c.stream("/v1/completions", idsBody(g.Prompt, i, g.Output, "")) })
	}
	all.Wait()
	for i, s := range results {
		if s.err != "" || len(s.at) != g.Output || s.usage.Details.Cached != g.Cached {
			t.Fatalf("stream %d: got error %q, %d frames, usage %+v", i, s.err, len(s.at), s.usage)
		}
		if s.ttft() != want.TTFT || s.e2e() != want.E2E {
			t.Errorf("stream %d: got TTFT %s, E2E %s, want %s, %s", i, s.ttft(), s.e2e(), want.TTFT, want.E2E)
		}
	}
}

// gaps returns the times between a stream's frames.
func gaps(s *seen) []time.Duration {
	var g []time.Duration
	for i := 1; i < len(s.at); i++ {
		g = append(g, s.at[i].Sub(s.at[i-1]))
	}
	return g
}

// A prompt that is computed while others decode lengthens one of their gaps by its own
// share, and waits for the step that runs when it comes.
func TestPrefillDisturbsDecode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Defaults()
		o.Cost.KVToken = 0
		c, stop := serveFake(t, o)
		defer stop()
		var long, short *seen
		var both sync.WaitGroup
		both.Go(func() { long = c.stream("/v1/completions", idsBody(100, 1, 8, "")) })
		time.Sleep(12 * time.Millisecond) // in the second decode step of long
		both.Go(func() { short = c.stream("/v1/completions", idsBody(500, 2, 1, "")) })
		both.Wait()

		const decode = 4820 * time.Microsecond
		const prefill = 500 * 6 * time.Microsecond
		for i, got := range gaps(long) {
			want := decode
			if i == 2 {
				want += prefill
			}
			if got != want {
				t.Errorf("gap %d: got %s, want %s", i, got, want)
			}
		}
		// Steps of long end at 5.4, 10.22 and 15.04 ms; short rides on the next.
		if got, want := short.ttft(), 3040*time.Microsecond+decode+prefill; got != want {
			t.Errorf("TTFT of the second request: got %s, want %s", got, want)
		}
	})
}

// A request that comes while the last step of another runs waits for its end, although
// the engine has nothing else to do then.
func TestStepsDontOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Defaults()
		o.Cost.KVToken = 0
		c, stop := serveFake(t, o)
		defer stop()
		var first, second *seen
		var both sync.WaitGroup
		both.Go(func() { first = c.stream("/v1/completions", idsBody(100, 1, 1, "")) })
		time.Sleep(2 * time.Millisecond)
		both.Go(func() { second = c.stream("/v1/completions", idsBody(100, 2, 1, "")) })
		both.Wait()
		const step = 5400 * time.Microsecond
		if first.ttft() != step || second.ttft() != 2*step-2*time.Millisecond {
			t.Errorf("TTFT: got %s and %s, want 5.4 and 8.8 ms", first.ttft(), second.ttft())
		}
	})
}

// lazy is a sleeper that oversleeps, by an amount that it is told for each sleep.
type lazy struct {
	*pacer.Timer
	late func(sleep int) time.Duration
	n    int
}

func (l *lazy) Until(t time.Time) {
	if time.Until(t) > 0 {
		l.n++
		t = t.Add(l.late(l.n))
	}
	l.Timer.Until(t)
}

// Waking up late delays the frames of that step and of no other, unless it is so late
// that a whole step was missed: then the schedule moves, and no two steps end together.
func TestLatenessDoesntAddUp(t *testing.T) {
	const step, eps = 5 * time.Millisecond, time.Millisecond
	tests := []struct {
		name string
		late func(sleep int) time.Duration
		want time.Duration // from the first to the last of ten frames
	}{
		{"always a little", func(int) time.Duration { return eps }, 9 * step},
		{"once a little", func(n int) time.Duration { return map[int]time.Duration{4: eps}[n] }, 9 * step},
		{"once a lot", func(n int) time.Duration { return map[int]time.Duration{4: 22 * time.Millisecond}[n] }, 9*step + 22*time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := Defaults()
				o.Cost = timing.Cost{Base: step, PrefillSlowdown: 1, DecodeSlowdown: 1, PrefillToken: 1, Decode: 0}
				c, stop := serveFakeWith(t, o, &lazy{Timer: pacer.NewTimer(), late: tt.late})
				defer stop()
				s := c.stream("/v1/completions", idsBody(8, 1, 10, ""))
				if got := s.at[9].Sub(s.at[0]); got != tt.want {
					t.Errorf("ten frames: got %s from first to last, want %s", got, tt.want)
				}
				for i, g := range gaps(s) {
					if g < step-eps {
						t.Errorf("gap %d: got %s, want a step or hardly less", i, g)
					}
				}
			})
		})
	}
}

// Noise has the size that was asked for, and comes again with the same seed and boot.
func TestNoise(t *testing.T) {
	measure := func(change func(*Options)) (first, gap time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			o := Defaults()
			o.Boot = 1
			o.Noise = Noise{Boot: .1, Request: .1, Step: .1}
			change(&o)
			c, stop := serveFake(t, o)
			defer stop()
			s := c.stream("/v1/completions", idsBody(256, 1, 2, ""))
			first, gap = s.ttft(), gaps(s)[0]
		})
		return first, gap
	}
	first, gap := measure(func(*Options) {})
	if f, g := measure(func(*Options) {}); f != first || g != gap {
		t.Errorf("same seed and boot: got %s and %s, want %s and %s", f, g, first, gap)
	}
	for name, change := range map[string]func(*Options){
		"boot": func(o *Options) { o.Boot = 2 },
		"seed": func(o *Options) { o.Seed = 2 },
	} {
		if f, g := measure(change); f == first || g == gap {
			t.Errorf("another %s: got %s and %s again, want other draws", name, f, g)
		}
	}
	quiet := func(keep func(*Noise)) (time.Duration, time.Duration) {
		return measure(func(o *Options) { o.Noise = Noise{}; keep(&o.Noise) })
	}
	// One source at a time: a boot's factor is the same on both steps, a request's touches
	// its share only, a step's differs from step to step.
	plainF, plainG := quiet(func(*Noise) {})
	bf, bg := quiet(func(n *Noise) { n.Boot = .1 })
	if a, b := ratio(bf, plainF), ratio(bg, plainG); a == 1 || a-b > 1e-6 || b-a > 1e-6 {
		t.Errorf("boot noise: got factors %v and %v, want one and the same, not 1", a, b)
	}
	rf, rg := quiet(func(n *Noise) { n.Request = .1 })
	if a, b := (rf-plainF)-(rg-plainG), rg-plainG; a == 0 || b == 0 || max(b, -b) > 20*time.Microsecond {
		t.Errorf("request noise: got changes of %s and %s, want it on prompt tokens and one decode only", rf-plainF, b)
	}
	sf, sg := quiet(func(n *Noise) { n.Step = .1 })
	if a, b := ratio(sf, plainF), ratio(sg, plainG); a == 1 || b == 1 || a == b {
		t.Errorf("step noise: got factors %v and %v, want two, not 1", a, b)
	}
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Defaults()
		o.Cost.KVToken, o.Cost.Decode = 0, 0
		o.Throttle.Period, o.Throttle.Duty, o.Throttle.Factor = time.Second, .25, 3
		c, stop := serveFake(t, o)
		defer stop()
		s := c.stream("/v1/completions", idsBody(16, 1, 400, ""))
		slow := time.Duration(0)
		for _, g := range gaps(s) {
			switch g {
			case 4800 * time.Microsecond:
			case 3 * 4800 * time.Microsecond:
				slow += g
			default:
				t.Fatalf("got a gap of %s, want 4.8 or 14.4 ms", g)
			}
		}
		if share := ratio(slow, s.e2e()); share < .2 || share > .3 {
			t.Errorf("slow share of the time: got %.3f, want about 0.25", share)
		}
	})
}

// TestServedTiming holds the timing over a real socket to the model: a request never
// sees less, and of fifteen at least one sees at most a quarter more. A fault of factor
// 1.5 breaks one of the two; a busy machine, which only adds, would have to disturb all
// fifteen.
func TestServedTiming(t *testing.T) {
	if testing.Short() {
		t.Skip("takes two seconds of real time")
	}
	o := Defaults()
	o.Cost.Base, o.Cost.Decode, o.Cost.PrefillToken = 8*time.Millisecond, 2*time.Millisecond, 40*time.Microsecond
	c := serve(t, o)
	want, err := o.Predict(Group{Streams: 1, Prompt: 300, Output: 6})
	if err != nil {
		t.Fatal(err)
	}
	best := Prediction{TTFT: time.Hour, ITL: time.Hour, E2E: time.Hour}
	for i := range 15 {
		s := c.stream("/v1/completions", idsBody(300, i, 6, ""))
		if s.err != "" || len(s.at) != 6 {
			t.Fatalf("request %d: got error %q and %d frames", i, s.err, len(s.at))
		}
		got := Prediction{TTFT: s.ttft(), E2E: s.e2e(), ITL: (s.e2e() - s.ttft()) / 5}
		best = Prediction{TTFT: min(best.TTFT, got.TTFT), E2E: min(best.E2E, got.E2E), ITL: min(best.ITL, got.ITL)}
	}
	for _, m := range []struct {
		name      string
		got, want time.Duration
		early     float64
	}{
		{"TTFT", best.TTFT, want.TTFT, 1},
		{"E2E", best.E2E, want.E2E, 1},
		{"ITL", best.ITL, want.ITL, 0}, // a late first frame shortens the gaps after it; E2E catches what is too fast
	} {
		if r := ratio(m.got, m.want); r < m.early || r > 1.25 {
			t.Errorf("%s: the best of 15 is %s, the model says %s (ratio %.3f)", m.name, m.got, m.want, r)
		}
	}
	t.Logf("best %+v, model %+v", best, want)
}
