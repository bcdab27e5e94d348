package gate

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// mixed makes n requests of every kind, phase and outcome, sound ones only.
func mixed(seed uint64, n, streams int) []Request {
	rng := rand.New(rand.NewPCG(seed, 9))
	free := make([]time.Duration, max(streams, 1))
	reqs := make([]Request, n)
	for i := range reqs {
		s := i % len(free)
		due := free[s] + time.Duration(1+rng.IntN(200_000))
		r := Request{
			Index: i, Phase: Measure, Stream: s, Due: due, Sent: due + time.Duration(rng.IntN(90_000)),
			WantInput: 100, WantOutput: 8, Input: 99 + rng.IntN(3), Output: 8, Cached: rng.IntN(50), Outcome: OK,
		}
		switch {
		case i < n/5:
			r.Phase = Warmup
		case i > n-n/5:
			r.Phase = Drain
		}
		at := r.Sent + ms(5) + time.Duration(rng.IntN(1e7))
		for range 1 + rng.IntN(8) {
			r.Arrivals = append(r.Arrivals, at)
			at += time.Duration(rng.IntN(4e6))
		}
		r.Done = at
		if rng.IntN(8) == 0 {
			r.Outcome = Outcomes[rng.IntN(len(Outcomes))]
		}
		if rng.IntN(8) == 0 {
			r.ChunkTokens = make([]int, len(r.Arrivals))
			for k := range r.ChunkTokens {
				r.ChunkTokens[k] = rng.IntN(4)
			}
		}
		free[s] = at
		reqs[i] = r
	}
	return reqs
}

var lawCells = []Cell{
	{Streaming: true, SLO: SLO{TTFT: .01, ITL: .002}},
	{Streaming: true, Concurrency: 16, SLO: SLO{TPOT: .002, E2E: .02}},
	{},
	{Concurrency: 16},
}

func encoded(t testing.TB, rep Repetition) []byte {
	t.Helper()
	out, err := json.Marshal(rep)
	if err != nil {
		t.Fatalf("a repetition that can't be written: %v", err)
	}
	return out
}

func TestOrderDoesNotMatter(t *testing.T) {
	for i, c := range lawCells {
		reqs := mixed(uint64(i), 3000, c.Concurrency)
		want := encoded(t, Derive(c, Facts{}, reqs))
		rng := rand.New(rand.NewPCG(1, uint64(i)))
		for range 5 {
			rng.Shuffle(len(reqs), func(a, b int) { reqs[a], reqs[b] = reqs[b], reqs[a] })
			if got := encoded(t, Derive(c, Facts{}, reqs)); !bytes.Equal(got, want) {
				t.Fatalf("cell %d: a shuffle changed the result:\n%s", i, cmp.Diff(string(want), string(got)))
			}
		}
	}
}

// moved returns reqs with every moment that came mapped by f.
func moved(reqs []Request, f func(time.Duration) time.Duration) []Request {
	out := slices.Clone(reqs)
	for i := range out {
		r := &out[i]
		r.Due = f(r.Due)
		if r.Sent > 0 {
			r.Sent = f(r.Sent)
		}
		if r.Done > 0 {
			r.Done = f(r.Done)
		}
		r.Arrivals = slices.Clone(r.Arrivals)
		for k := range r.Arrivals {
			r.Arrivals[k] = f(r.Arrivals[k])
		}
	}
	return out
}

func TestShiftInTimeChangesNothing(t *testing.T) {
	for i, c := range lawCells {
		reqs := mixed(uint64(10+i), 1000, c.Concurrency)
		want := encoded(t, Derive(c, Facts{}, reqs))
		late := moved(reqs, func(d time.Duration) time.Duration { return d + 17*time.Hour + 3 })
		if got := encoded(t, Derive(c, Facts{}, late)); !bytes.Equal(got, want) {
			t.Errorf("cell %d: the same, 17 hours later:\n%s", i, cmp.Diff(string(want), string(got)))
		}
	}
}

// TestScaling: where everything takes four times as long, limits included, times are four
// times as long, rates a quarter, and ratios and counts the same, to the last bit.
func TestScaling(t *testing.T) {
	for i, c := range lawCells {
		reqs := mixed(uint64(20+i), 1000, c.Concurrency)
		base := Derive(c, Facts{}, reqs)
		wide := c
		wide.SLO = SLO{4 * c.SLO.TTFT, 4 * c.SLO.E2E, 4 * c.SLO.TPOT, 4 * c.SLO.ITL, 4 * c.SLO.ITLMax}
		slow := Derive(wide, Facts{}, moved(reqs, func(d time.Duration) time.Duration { return 4 * d }))
		if diff := cmp.Diff(base.Requests, slow.Requests); diff != "" {
			t.Errorf("cell %d: counts (-base +slow):\n%s", i, diff)
		}
		for m, want := range base.Metrics {
			factor := map[Unit]float64{Seconds: 4, RequestsPerSecond: .25, TokensPerSecond: .25, Ratio: 1}[want.Unit]
			got := slow.Metrics[m]
			pairs := append(want.statistics(), statistic{"value", want.Value})
			for k, st := range append(got.statistics(), statistic{"value", got.Value}) {
				if (st.value == nil) != (pairs[k].value == nil) || st.value != nil && !near(*st.value, factor**pairs[k].value) {
					t.Errorf("cell %d: %s.%s: got %s, want %v x %s", i, m, st.name, show(st.value), factor, show(pairs[k].value))
				}
			}
		}
	}
}

// TestFailureChangesNoLatency: one more failed request in the window stands in every
// denominator, and moves no latency.
func TestFailureChangesNoLatency(t *testing.T) {
	c := lawCells[0]
	reqs := mixed(30, 1000, 0)
	base := Derive(c, Facts{}, reqs)
	more := Derive(c, Facts{}, append(slices.Clone(reqs), Request{Phase: Measure, Due: reqs[500].Due, Outcome: Timeout, Output: Unknown}))
	if got, want := more.Requests.Issued, base.Requests.Issued+1; got != want {
		t.Errorf("issued: got %d, want %d", got, want)
	}
	for _, d := range Metrics {
		if d.Distribution && !reflect.DeepEqual(more.Metrics[d.Metric], base.Metrics[d.Metric]) {
			t.Errorf("%s changed", d.Metric)
		}
	}
	if !(*more.Metrics[GoodRatio].Value < *base.Metrics[GoodRatio].Value && *more.Metrics[ErrorRate].Value > *base.Metrics[ErrorRate].Value) {
		t.Error("good ratio and error rate didn't get worse")
	}
}

func TestDeriveLeavesTheRecordsAlone(t *testing.T) {
	reqs := mixed(40, 500, 16)
	keep := moved(reqs, func(d time.Duration) time.Duration { return d })
	Derive(lawCells[1], Facts{}, reqs)
	if diff := cmp.Diff(keep, reqs); diff != "" {
		t.Errorf("records (-before +after):\n%s", diff)
	}
}

// FuzzDerive feeds records of any content: the result can always be written and read back,
// has no number that isn't finite, doesn't depend on the order of the records, and its
// counts add up.
func FuzzDerive(f *testing.F) {
	f.Add([]byte{}, 0, true)
	f.Add([]byte{1, 2, 3}, 0, false)
	f.Add(bytes.Repeat([]byte{0x10, 0x41, 7}, 200), 2, true)
	f.Add(bytes.Repeat([]byte{0xff}, 300), -1, true)
	for i, c := range lawCells {
		rng := rand.New(rand.NewPCG(50, uint64(i)))
		seed := make([]byte, 400)
		for k := range seed {
			seed[k] = byte(rng.UintN(256))
		}
		f.Add(seed, c.Concurrency, c.Streaming)
	}
	f.Fuzz(func(t *testing.T, data []byte, concurrency int, streaming bool) {
		c := Cell{Streaming: streaming, Concurrency: concurrency, SLO: SLO{TTFT: .001, TPOT: .001, ITLMax: math.Inf(1)}, FixedOutput: true}
		reqs := hostile(data)
		rep := Derive(c, Facts{}, reqs)
		out := encoded(t, rep)
		var back Repetition
		if err := json.Unmarshal(out, &back); err != nil {
			t.Fatalf("can't be read back: %v", err)
		}
		if again := encoded(t, back); !bytes.Equal(again, out) {
			t.Fatalf("changed by reading:\n%s", cmp.Diff(string(out), string(again)))
		}
		slices.Reverse(reqs)
		if again := encoded(t, Derive(c, Facts{}, reqs)); !bytes.Equal(again, out) {
			t.Fatalf("changed by order:\n%s", cmp.Diff(string(out), string(again)))
		}
		if rep.Valid && (rep.WindowS <= 0 || rep.Requests.Issued == 0) {
			t.Fatalf("valid without a measurement: %s", out)
		}
		_, _ = WindowOf(c, reqs) // of unsifted records, too
	})
}

// hostile makes records of bytes: every field takes any value, small ones most often.
func hostile(data []byte) []Request {
	rest := data
	next := func() int64 {
		if len(rest) == 0 {
			return 0
		}
		b := rest[0]
		rest = rest[1:]
		switch {
		case b < 0xf0 || len(rest) < 8:
			return int64(b)
		case b < 0xf4:
			return int64(binary.LittleEndian.Uint64(rest[:8]))
		case b < 0xf8:
			return math.MinInt64 + int64(b)
		case b < 0xfc:
			return math.MaxInt64 - int64(b)
		}
		return -int64(b - 0xfa)
	}
	var reqs []Request
	for len(rest) > 0 && len(reqs) < 1000 {
		r := Request{
			Index: int(next()), Stream: int(next() % 4), Due: time.Duration(next()), Sent: time.Duration(next()), Done: time.Duration(next()),
			WantInput: int(next()), WantOutput: int(next()), Input: int(next()), Output: int(next()), Cached: int(next()),
		}
		kind := uint64(next())
		r.Phase = []Phase{Measure, Measure, Measure, Warmup, Drain, "?"}[kind%6]
		r.Outcome = slices.Concat(Outcomes, []Outcome{"?", OK, OK, OK, OK})[kind/6%uint64(len(Outcomes)+5)]
		at := r.Sent
		for range uint64(next()) % 8 {
			at += time.Duration(next())
			r.Arrivals = append(r.Arrivals, at)
			if kind%2 == 0 {
				r.ChunkTokens = append(r.ChunkTokens, int(next()))
			}
		}
		if kind%3 == 0 {
			r.Done = max(r.Done, at)
		}
		reqs = append(reqs, r)
	}
	return reqs
}
