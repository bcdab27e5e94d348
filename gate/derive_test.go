package gate

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// answer makes an ok request of n output tokens; all times are milliseconds.
func answer(due, sent, done float64, n int, arrivals ...float64) Request {
	r := Request{
		Phase: Measure, Due: ms(due), Sent: ms(sent), Done: ms(done),
		WantInput: 10, WantOutput: n, Input: 10, Output: n, Cached: Unknown, Outcome: OK, Status: 200,
	}
	for _, at := range arrivals {
		r.Arrivals = append(r.Arrivals, ms(at))
	}
	return r
}

// The repetition that is computed by hand: an open loop whose window is 2 s, from the
// first due time of the measured phase, 1000 ms, to the last, 3000 ms.
var (
	handCell = Cell{ID: "chat@near", Workload: "chat", Load: "near", Streaming: true, FixedOutput: true, SLO: SLO{TTFT: .1, ITL: .02}}
	handReqs = []Request{
		// Warm-up: its end and 2 of its 3 tokens lie in the window, its first output doesn't.
		as(answer(900, 900, 1050, 3, 950, 1000, 1050), inPhase(Warmup)),
		// TTFT 50, gaps 10 and 10, TPOT 20/2, E2E 70, lag .5
		as(answer(1000, 1000.5, 1071, 3, 1050.5, 1060.5, 1070.5), func(r *Request) { r.Cached = 5 }),
		// TTFT 120: not good. Gap 20, TPOT 20/4, E2E 140
		as(answer(1500, 1500, 1641, 5, 1620, 1640), func(r *Request) { r.ChunkTokens = []int{2, 3} }),
		// One token: TTFT 50, neither gap nor TPOT, E2E 50, lag 2
		answer(2000, 2002, 2053, 1, 2052),
		// Four tokens at one moment: TTFT 30, gap 0, no TPOT, E2E 30
		answer(2200, 2200, 2231, 4, 2230, 2230),
		as(answer(2500, 2500, 2501, 0), func(r *Request) { r.Outcome, r.Status, r.Output = Rejected, 503, Unknown }),
		as(answer(2800, 0, 2801, 0), func(r *Request) { r.Outcome, r.Status, r.Output = Connect, 0, Unknown }),
		// Issued at the end of the window: latencies count, tokens and completion don't.
		// TTFT 50, gap 10, TPOT 10, E2E 60
		answer(3000, 3000, 3060, 2, 3050, 3060),
		as(answer(3200, 3200, 3300, 2, 3250, 3290), inPhase(Drain)),
	}
)

func TestDeriveByHand(t *testing.T) {
	rep := Derive(handCell, Facts{Index: 1, Seed: 7}, handReqs)

	if got, want := rep.WindowS, 2.; got != want {
		t.Errorf("window: got %v s, want %v", got, want)
	}
	wantCounts := Counts{Issued: 7, By: map[Outcome]int{OK: 5, Rejected: 1, Connect: 1}}
	if diff := cmp.Diff(wantCounts, rep.Requests); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	scalars := map[Metric]float64{
		Goodput:               4 / 2.,
		GoodRatio:             4 / 7.,
		TokenGoodput:          (3 + 1 + 4 + 2) / 2.,
		RequestThroughput:     5 / 2.,
		OutputTokenThroughput: (2 + 3 + 5 + 1 + 4) / 2.,
		TotalTokenThroughput:  (2 + 3 + 5 + 1 + 4 + 4*10) / 2.,
		ErrorRate:             2 / 7.,
	}
	for m, want := range scalars {
		if got := rep.Metrics[m].Value; got == nil || !near(*got, want) {
			t.Errorf("%s: got %v, want %v", m, show(got), want)
		}
	}
	nan := math.NaN() // withheld
	distributions := []struct {
		m              Metric
		n              int
		mean, p50, max float64 // milliseconds
	}{
		{TTFT, 5, (50 + 120 + 50 + 30 + 50) / 5., 50, 120},
		{ITL, 5, (10 + 10 + 20 + 0 + 10) / 5., 10, 20},
		{TPOT, 3, (10 + 5 + 10) / 3., nan, 10},
		{E2E, 5, (70 + 140 + 50 + 30 + 60) / 5., 60, 140},
		{NormalizedLatency, 5, (70/3. + 28 + 50 + 7.5 + 30) / 5, 28, 50},
		{TTFTFromDue, 5, (50.5 + 120 + 52 + 30 + 50) / 5, 50.5, 120},
		{E2EFromDue, 5, (70.5 + 140 + 52 + 30 + 60) / 5, 60, 140},
		{SendLag, 6, 2.5 / 6, 0, 2},
	}
	for _, d := range distributions {
		s := rep.Metrics[d.m]
		if s.Count != d.n || !nearMS(s.Mean, d.mean) || !nearMS(s.P50, d.p50) || !nearMS(s.Max, d.max) || s.P90 != nil {
			t.Errorf("%s: got n %d, mean %s, p50 %s, max %s, p90 %s; want %+v", d.m, s.Count, show(s.Mean), show(s.P50), show(s.Max), show(s.P90), d)
		}
	}
	if got, want := len(rep.Metrics), len(Metrics); got != want {
		t.Errorf("got %d metrics, want all %d", got, want)
	}
	f := func(v float64) *float64 { return &v }
	wantObserved := Observed{
		InputTokens: f(10), WantInput: 10, OutputTokens: f(3), WantOutput: 3,
		ArrivalRate: f(6 / 1.9995), ScheduleRate: f(3),
		Concurrency: f((50 + 70.5 + 141 + 51 + 31 + 1) / 2000),
		HitRatio:    f(.5), TokensPerChunk: f(1.5), OneTokenOutputs: 1, OneMomentOutputs: 1,
	}
	if diff := cmp.Diff(wantObserved, rep.Observed, cmp.Comparer(near)); diff != "" {
		t.Errorf("observed (-want +got):\n%s", diff)
	}
	wantClient := Client{SendLag: &SendLagStatistics{P99: 1.925e-3, Max: 2e-3}, LateSends: 1}
	if diff := cmp.Diff(wantClient, rep.Client, cmp.Comparer(near)); diff != "" {
		t.Errorf("client (-want +got):\n%s", diff)
	}
	wantReasons := []string{"the client was late: p99 of send lag is 1.925 ms, the limit 1.000 ms (sends over 1 ms late: 1)"}
	if diff := cmp.Diff(wantReasons, rep.InvalidReasons); diff != "" || rep.Valid {
		t.Errorf("valid: %v, reasons (-want +got):\n%s", rep.Valid, diff)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12*max(math.Abs(a), math.Abs(b)) }

func nearMS(got *float64, want float64) bool {
	if got == nil || math.IsNaN(want) {
		return got == nil && math.IsNaN(want)
	}
	return near(*got*1e3, want)
}

func show(v *float64) string {
	if v == nil {
		return "null"
	}
	return fmt.Sprint(*v)
}

// TestGolden pins how a repetition stands in run.json. The histograms are left out: their
// bytes may change with the compressor of a new Go release, see TestHistograms.
func TestGolden(t *testing.T) {
	rep := Derive(handCell, Facts{
		Index: 2, Seed: 7, Fresh: true, Boot: 1, Start: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		Stamps: KernelStamps, Faults: []string{"engine restarted"},
	}, handReqs)
	for m := range rep.Histograms {
		rep.Histograms[m] = ""
	}
	got, err := json.MarshalIndent(rep, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	path := filepath.Join("testdata", "repetition.json")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("repetition (-want +got):\n%s", diff)
	}
	var back Repetition
	if err := json.Unmarshal(want, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rep, back); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

// spaced makes n requests, one a 100 ms, the i-th of them (from 1) with a TTFT of i ms and a
// single gap of 2i ms.
func spaced(n int) []Request {
	var reqs []Request
	for i := 1; i <= n; i++ {
		at, ttft := float64(100*i), float64(i)
		reqs = append(reqs, answer(at, at, at+3*ttft, 2, at+ttft, at+3*ttft))
	}
	return reqs
}

func TestPercentilesAndFloors(t *testing.T) {
	nan := math.NaN()
	tests := []struct {
		n                  int
		p50, p90, p95, p99 float64 // milliseconds, by 1 + (n-1) q
	}{
		{4, nan, nan, nan, nan},
		{5, 3, nan, nan, nan},
		{28, 14.5, nan, nan, nan},
		{29, 15, 26.2, nan, nan},
		{58, 29.5, 52.3, nan, nan},
		{59, 30, 53.2, 56.1, nan},
		{298, 149.5, 268.3, 283.15, nan},
		{299, 150, 269.2, 284.1, 296.02},
	}
	for _, tt := range tests {
		rep := Derive(Cell{Streaming: true}, Facts{}, spaced(tt.n))
		if !rep.Valid {
			t.Errorf("n %d: invalid: %q", tt.n, rep.InvalidReasons)
		}
		for m, scale := range map[Metric]float64{TTFT: 1, ITL: 2, TPOT: 2, E2E: 3, NormalizedLatency: 1.5} {
			s := rep.Metrics[m]
			if !nearMS(s.P50, scale*tt.p50) || !nearMS(s.P90, scale*tt.p90) || !nearMS(s.P95, scale*tt.p95) || !nearMS(s.P99, scale*tt.p99) {
				t.Errorf("n %d: %s: got %s %s %s %s, want %v x %+v", tt.n, m, show(s.P50), show(s.P90), show(s.P95), show(s.P99), scale, tt)
			}
			if s.Count != tt.n || !nearMS(s.Max, scale*float64(tt.n)) || !nearMS(s.Mean, scale*float64(tt.n+1)/2) {
				t.Errorf("n %d: %s: got n %d, max %s, mean %s", tt.n, m, s.Count, show(s.Max), show(s.Mean))
			}
		}
	}
}

func TestHistograms(t *testing.T) {
	reqs := append(spaced(299), answer(30000, 30000, 2*3.6e6+30000, 2, 30001, 2*3.6e6+30000)) // a gap of 2 h
	rep := Derive(Cell{Streaming: true}, Facts{}, reqs)
	for _, d := range Metrics {
		if text, ok := rep.Histograms[d.Metric]; ok != d.Distribution {
			t.Errorf("%s: got histogram %q", d.Metric, text)
		}
	}
	h, err := hdrhistogram.Decode([]byte(rep.Histograms[TTFT]))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := h.TotalCount(), int64(300); got != want {
		t.Errorf("got %d values, want %d", got, want)
	}
	for _, q := range []float64{1, 50, 95, 99.9} {
		want := math.Ceil(q*3) * 1e6 // the TTFTs are 1 ms to 299 ms, and 1 ms once more
		if got := float64(h.ValueAtPercentile(q)); math.Abs(got-want) > 1e6+want/1000 {
			t.Errorf("p%v: got %v ns, want %v", q, got, want)
		}
	}
	h, err = hdrhistogram.Decode([]byte(rep.Histograms[E2E]))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := h.Max(), int64(time.Hour); math.Abs(float64(got-want)) > 1e-3*float64(want) {
		t.Errorf("what is beyond the range: got %d, want %d", got, want)
	}
	if got, want := *rep.Metrics[E2E].Max, 7200.; got != want {
		t.Errorf("max of the samples: got %v s, want %v", got, want)
	}
}

// TestWhichMetrics checks that a cell has the metrics that apply to it, and no others.
func TestWhichMetrics(t *testing.T) {
	base := []Metric{
		Goodput, GoodRatio, TokenGoodput, E2E, NormalizedLatency, SendLag,
		RequestThroughput, OutputTokenThroughput, TotalTokenThroughput, ErrorRate,
	}
	tests := []struct {
		name string
		cell Cell
		more []Metric
	}{
		{"open, streaming", Cell{Streaming: true}, []Metric{TTFT, ITL, TPOT, TTFTFromDue, E2EFromDue}},
		{"open, not streaming", Cell{}, []Metric{E2EFromDue}},
		{"closed, streaming", Cell{Streaming: true, Concurrency: 1}, []Metric{TTFT, ITL, TPOT}},
		{"closed, not streaming", Cell{Concurrency: 1}, nil},
	}
	for _, tt := range tests {
		for _, reqs := range [][]Request{nil, spaced(3), handReqs} {
			rep := Derive(tt.cell, Facts{}, reqs)
			var got []Metric
			for m := range rep.Metrics {
				got = append(got, m)
			}
			want := slices.Concat(base, tt.more)
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %d requests (-want +got):\n%s", tt.name, len(reqs), diff)
			}
		}
	}
}

func TestNotStreaming(t *testing.T) {
	// Without a stream everything is at done, whatever else a record holds.
	reqs := []Request{
		answer(1000, 1000, 1100, 4),
		answer(1500, 1500, 1700, 5, 1510, 1520),
		as(answer(2000, 2000, 2600, 6), inPhase(Measure)),
		as(answer(900, 900, 1001, 7), inPhase(Warmup)),
	}
	rep := Derive(Cell{SLO: SLO{TTFT: 1e-9, ITL: 1e-9, ITLMax: 1e-9, TPOT: 1e-9, E2E: .2}}, Facts{}, reqs)
	if !rep.Valid {
		t.Errorf("invalid: %q", rep.InvalidReasons)
	}
	for m, want := range map[Metric]float64{
		Goodput:               2, // the limits of a stream don't apply
		TokenGoodput:          9,
		RequestThroughput:     3,
		OutputTokenThroughput: 4 + 5 + 7,
		TotalTokenThroughput:  4 + 5 + 7 + 3*10,
	} {
		if got := rep.Metrics[m].Value; got == nil || *got != want {
			t.Errorf("%s: got %s, want %v", m, show(got), want)
		}
	}
	if s := rep.Metrics[E2E]; s.Count != 3 || !nearMS(s.Mean, 300) || !nearMS(s.Max, 600) {
		t.Errorf("e2e: got n %d, mean %s, max %s", s.Count, show(s.Mean), show(s.Max))
	}
	if o := rep.Observed; o.TokensPerChunk != nil || o.OneTokenOutputs != 0 || o.OneMomentOutputs != 0 {
		t.Errorf("observed of a stream: %+v", o)
	}
}

func TestClosedLoop(t *testing.T) {
	// Two streams; the window is from 12 to 32.2, the last send of the measured phase.
	reqs := []Request{
		as(busy(0, 2, 10), inPhase(Warmup)), busy(0, 12, 22), busy(0, 22.1, 32), busy(0, 32.2, 42),
		as(busy(1, 2, 11), inPhase(Warmup)), as(busy(1, 12, 20), neverSent), busy(1, 21, 30),
		as(busy(1, 31, 41), inPhase(Drain)),
	}
	rep := Derive(Cell{Streaming: true, Concurrency: 2}, Facts{}, reqs)
	if got, want := rep.WindowS, .0202; !near(got, want) {
		t.Errorf("window: got %v s, want %v", got, want)
	}
	want := Counts{Issued: 5, By: map[Outcome]int{OK: 4, Connect: 1}}
	if diff := cmp.Diff(want, rep.Requests); diff != "" {
		t.Errorf("a request that couldn't be sent counts as issued (-want +got):\n%s", diff)
	}
	// In flight 10 + 9.9 + 0 and 9 + 1.2 ms; 8 + 1 ms idle for the failure.
	if got, want := *rep.Observed.Concurrency, 30.1/20.2; !near(got, want) {
		t.Errorf("concurrency: got %v, want %v", got, want)
	}
	if got, want := *rep.Observed.FailureIdle, 9/20.2; !near(got, want) {
		t.Errorf("idle after failure: got %v, want %v", got, want)
	}
	if !rep.Valid { // (30.1 + 9) / 20.2 of 2 streams are 96.8 %
		t.Errorf("invalid: %q", rep.InvalidReasons)
	}
	if rep.Observed.ArrivalRate != nil || rep.Observed.ScheduleRate != nil {
		t.Errorf("a closed loop has no schedule: %+v", rep.Observed)
	}
}

// TestNothingOK: what the engine did to requests makes no repetition invalid.
func TestNothingOK(t *testing.T) {
	for _, o := range Outcomes[1:] {
		for _, c := range []Cell{{Streaming: true}, {}, {Streaming: true, Concurrency: 1}} {
			reqs := spaced(10)
			for i := range reqs {
				reqs[i].Outcome = o
			}
			rep := Derive(c, Facts{}, reqs)
			if !rep.Valid {
				t.Errorf("%s: invalid: %q", o, rep.InvalidReasons)
			}
			for m, want := range map[Metric]float64{Goodput: 0, GoodRatio: 0, TokenGoodput: 0, RequestThroughput: 0, ErrorRate: 1} {
				if got := rep.Metrics[m].Value; got == nil || *got != want {
					t.Errorf("%s: %s: got %s, want %v", o, m, show(got), want)
				}
			}
			if s := rep.Metrics[E2E]; s.Count != 0 || s.Mean != nil || s.P50 != nil || s.Max != nil {
				t.Errorf("%s: e2e of no samples: %+v", o, s)
			}
			if rep.Observed.InputTokens != nil || rep.Observed.TokensPerChunk != nil {
				t.Errorf("%s: lengths are of ok requests: %+v", o, rep.Observed)
			}
		}
	}
}

func TestUnknownUsage(t *testing.T) {
	noOutput := func(r *Request) { r.Output = Unknown }
	noInput := func(r *Request) { r.Input = Unknown }
	tests := []struct {
		name     string
		slo      SLO
		edit     func(*Request) // of one of the ten
		untold   []Metric       // undefined
		tpot     int            // samples
		ofReason string
	}{
		{"all told", SLO{TPOT: 1}, func(*Request) {}, nil, 10, ""},
		{"no output tokens", SLO{TTFT: 1}, noOutput, []Metric{TokenGoodput, OutputTokenThroughput, TotalTokenThroughput}, 9, "output tokens for 1 ok"},
		{"no prompt tokens", SLO{TTFT: 1}, noInput, []Metric{TotalTokenThroughput}, 10, "prompt tokens for 1 ok"},
		{
			"nobody can tell the TPOT",
			SLO{TPOT: 1},
			noOutput,
			[]Metric{Goodput, GoodRatio, TokenGoodput, OutputTokenThroughput, TotalTokenThroughput},
			9, "output tokens for 1 ok",
		},
		{"a failed request needs no usage", SLO{TPOT: 1}, func(r *Request) { r.Outcome, r.Output, r.Input = Truncated, Unknown, Unknown }, nil, 9, ""},
		{"not good for another limit", SLO{TPOT: 1, TTFT: 1e-6}, noOutput, []Metric{OutputTokenThroughput, TotalTokenThroughput}, 9, "output tokens for 1 ok"},
	}
	for _, tt := range tests {
		reqs := spaced(10)
		tt.edit(&reqs[4])
		rep := Derive(Cell{Streaming: true, SLO: tt.slo}, Facts{}, reqs)
		for _, d := range Metrics {
			s := rep.Metrics[d.Metric]
			undefined := slices.Contains(tt.untold, d.Metric)
			if !d.Distribution && (s.Value == nil) != undefined {
				t.Errorf("%s: %s: got %s", tt.name, d.Metric, show(s.Value))
			}
			if undefined && !strings.Contains(s.Reason, tt.ofReason) {
				t.Errorf("%s: %s: got reason %q, want one with %q", tt.name, d.Metric, s.Reason, tt.ofReason)
			}
		}
		if got := rep.Metrics[TPOT].Count; got != tt.tpot {
			t.Errorf("%s: got %d TPOTs, want %d", tt.name, got, tt.tpot)
		}
		if !rep.Valid {
			t.Errorf("%s: invalid: %q", tt.name, rep.InvalidReasons)
		}
	}
}

func TestArrived(t *testing.T) {
	w := Window{ms(10), ms(20)}
	at := func(arrivals ...float64) Request { return answer(1, 1, 25, 7, arrivals...) }
	weighed := func(r Request, tokens ...int) Request { r.ChunkTokens = tokens; return r }
	tests := []struct {
		name    string
		r       Request
		in, all int64
	}{
		{"all inside, ends included", at(10, 15, 20), 3, 3},
		{"all before", at(2, 9.999), 0, 2},
		{"all after", at(20.001, 21), 0, 2},
		{"around", at(9, 12, 14, 21), 2, 4},
		{"weighed", weighed(at(9, 12, 14, 21), 1, 2, 3, 4), 5, 10},
		{"weights of nothing", weighed(at(9, 12), 0, 0), 1, 2},
		{"an arrival without a token", weighed(at(9, 12), 3, 0), 0, 3},
	}
	for _, tt := range tests {
		in, all := w.arrived(Cell{Streaming: true}, &tt.r)
		if in != tt.in || all != tt.all {
			t.Errorf("%s: got %d of %d, want %d of %d", tt.name, in, all, tt.in, tt.all)
		}
	}
}
