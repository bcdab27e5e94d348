package gate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/servegate/servegate/gate/stats"
)

// Derive computes everything that is said of one repetition of cell c from its raw
// records and from f, what is known beside them. It is the only place where a metric is
// computed, so that a stored repetition can be derived again, byte for byte.
//
// The order of reqs doesn't matter, and no record makes it fail: one that can't be (see
// InvalidReasons) is left out of everything, and the repetition is invalid. What is
// undefined is nil in the result, never a NaN or a stand-in. The repetition is checked
// against [DefaultTolerances].
func Derive(c Cell, f Facts, reqs []Request) Repetition {
	sound, damage := sift(c, reqs)
	flights := flightsOf(c, sound)
	w, noWindow := windowOf(c, sound, flights)
	t := tallyOf(c, w, sound)

	rep := Repetition{
		Facts:      f,
		WindowS:    w.Seconds(),
		Requests:   t.counts,
		Metrics:    map[Metric]Summary{},
		Histograms: map[Metric]string{},
		Observed:   t.observe(sound, flights),
		Client:     t.client(),
	}
	t.scalars(flowOf(c, w, sound), rep.Metrics)
	unwritten := t.distributions(&rep)

	reasons := append(slices.Clone(f.Faults), damage...)
	for _, err := range []error{noWindow, unwritten} {
		if err != nil {
			reasons = append(reasons, err.Error())
		}
	}
	tol := DefaultTolerances
	reasons = append(reasons, tol.late(rep.Client, stats.Quantile(t.samples.ttft, .5))...)
	if noWindow == nil {
		reasons = append(reasons, tol.astray(c, rep.Requests, rep.Observed)...)
	}
	reasons = append(reasons, implausible(rep.Metrics)...)
	if len(reasons) == 0 { // or the window may be short for what is told already
		reasons = tol.curtailed(c, f, rep.Requests, rep.WindowS)
	}
	rep.InvalidReasons = reasons
	rep.Valid = len(rep.InvalidReasons) == 0
	return rep
}

// sift returns the records that are possible, and a line about the others where there are any.
func sift(c Cell, reqs []Request) (sound []Request, damage []string) {
	type finding struct {
		r    *Request
		what string
	}
	var found []finding
	for i := range reqs {
		if what := reqs[i].impossible(c); what != "" {
			found = append(found, finding{&reqs[i], what})
		}
	}
	if len(found) == 0 {
		return reqs, nil
	}
	for i := range reqs {
		if reqs[i].impossible(c) == "" {
			sound = append(sound, reqs[i])
		}
	}
	first := slices.MinFunc(found, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.r.Phase, b.r.Phase), cmp.Compare(a.r.Index, b.r.Index), cmp.Compare(a.what, b.what))
	})
	return sound, []string{fmt.Sprintf("%d of %d request records can't be, among them number %d of phase %.20q: %s",
		len(found), len(reqs), first.r.Index, first.r.Phase, first.what)}
}

// tally is what the requests of the window add up to.
type tally struct {
	cell    Cell
	window  Window
	members []*Request // the requests of the window
	counts  Counts
	samples samples

	good         int   // good requests
	undecided    int   // ok requests of which nobody can tell whether they were good
	goodTokens   int64 // output tokens of the good ones, as far as known
	goodUntold   int   // good ones whose output tokens nobody told
	oneToken     int   // see Observed
	oneMoment    int
	unknownUsage int
}

// tallyOf goes through the requests of the window.
func tallyOf(c Cell, w Window, reqs []Request) *tally {
	t := &tally{cell: c, window: w, counts: Counts{By: map[Outcome]int{OK: 0}}}
	gaps := 0
	for i := range reqs {
		if r := &reqs[i]; w.holds(c, r) {
			t.members = append(t.members, r)
			gaps += len(r.Arrivals)
		}
	}
	t.samples = newSamples(len(t.members), gaps)
	for _, r := range t.members {
		t.counts.Issued++
		t.counts.By[r.Outcome]++
		if r.Sent > 0 {
			t.samples.lag = append(t.samples.lag, int64(r.Sent-r.Due))
		}
		if r.Outcome == OK {
			t.addOK(r)
		}
	}
	t.samples.sort()
	return t
}

// addOK adds what only ok requests count towards.
func (t *tally) addOK(r *Request) {
	t.samples.addE2E(t.cell, r)
	if t.cell.Streaming {
		t.samples.addStream(t.cell, r)
	}
	switch {
	case r.Output == Unknown:
		t.unknownUsage++
	case t.cell.Streaming && r.Output < 2:
		t.oneToken++
	case t.cell.Streaming && r.Last() == r.First():
		t.oneMoment++
	}
	switch t.cell.judge(r) {
	case good:
		t.good++
		if r.Output == Unknown {
			t.goodUntold++
		} else {
			t.goodTokens += int64(r.Output)
		}
	case undecided:
		t.undecided++
	}
}

// samples holds the distributions of a window, in nanoseconds.
type samples struct {
	lag, ttft, itl, e2e, ttftFromDue, e2eFromDue []int64
	tpot, normalized                             []float64
}

func newSamples(requests, gaps int) samples {
	ints := func(n int) []int64 { return make([]int64, 0, n) }
	return samples{
		lag: ints(requests), ttft: ints(requests), itl: ints(gaps), e2e: ints(requests),
		ttftFromDue: ints(requests), e2eFromDue: ints(requests),
		tpot: make([]float64, 0, requests), normalized: make([]float64, 0, requests),
	}
}

// addE2E adds the times of an ok request up to its end.
func (s *samples) addE2E(c Cell, r *Request) {
	end := c.answered(r)
	s.e2e = append(s.e2e, int64(end-r.Sent))
	if c.open() {
		s.e2eFromDue = append(s.e2eFromDue, int64(end-r.Due))
	}
	if r.Output > 0 {
		s.normalized = append(s.normalized, float64(end-r.Sent)/float64(r.Output))
	}
}

// addStream adds the times of an ok request that only a stream shows.
func (s *samples) addStream(c Cell, r *Request) {
	s.ttft = append(s.ttft, int64(r.First()-r.Sent))
	if c.open() {
		s.ttftFromDue = append(s.ttftFromDue, int64(r.First()-r.Due))
	}
	for i := 1; i < len(r.Arrivals); i++ {
		s.itl = append(s.itl, int64(r.Arrivals[i]-r.Arrivals[i-1]))
	}
	if span := r.Last() - r.First(); r.Output > 1 && span > 0 {
		s.tpot = append(s.tpot, float64(span)/float64(r.Output-1))
	}
}

func (s *samples) sort() {
	for _, x := range [][]int64{s.lag, s.ttft, s.itl, s.e2e, s.ttftFromDue, s.e2eFromDue} {
		stats.Sort(x)
	}
	stats.SortFloats(s.tpot)
	stats.SortFloats(s.normalized)
}

// scalars puts the metrics that are one value a repetition into to.
func (t *tally) scalars(f flow, to map[Metric]Summary) {
	length := t.window.Seconds()
	perSecond := func(m Metric, n float64, reason string) {
		if length <= 0 {
			reason = "the window is empty"
		}
		to[m] = scalar(m, n/length, reason)
	}
	perRequest := func(m Metric, n int, reason string) {
		if t.counts.Issued == 0 {
			reason = "no request was issued in the window"
		}
		to[m] = scalar(m, float64(n)/float64(t.counts.Issued), reason)
	}

	noVerdict := untold(t.undecided, "output", ", so that nobody can tell whether they keep the TPOT limit")
	perSecond(Goodput, float64(t.good), noVerdict)
	perRequest(GoodRatio, t.good, noVerdict)
	if noVerdict == "" {
		noVerdict = untold(t.goodUntold, "output", "")
	}
	perSecond(TokenGoodput, float64(t.goodTokens), noVerdict)

	noOutput := untold(f.noOutput, "output", "")
	perSecond(RequestThroughput, float64(f.completed), "")
	perSecond(OutputTokenThroughput, f.outputTokens(), noOutput)
	if noOutput == "" {
		noOutput = untold(f.noInput, "prompt", "")
	}
	perSecond(TotalTokenThroughput, f.outputTokens()+float64(f.prompts), noOutput)
	perRequest(ErrorRate, t.counts.Issued-t.counts.By[OK], "")
}

// untold says that the server gave no usage for n ok requests; "" where n is 0.
func untold(n int, which, consequence string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("the server told no %s tokens for %d ok requests%s", which, n, consequence)
}

// distributions summarizes the samples into rep, as far as the metrics apply to the cell.
func (t *tally) distributions(rep *Repetition) error {
	s, h := &t.samples, newHistogram()
	partial := untold(t.unknownUsage, "output", ", which are left out")
	return errors.Join(
		put(t.cell, rep, h, TTFT, s.ttft, ""),
		put(t.cell, rep, h, ITL, s.itl, ""),
		put(t.cell, rep, h, TPOT, s.tpot, partial),
		put(t.cell, rep, h, E2E, s.e2e, ""),
		put(t.cell, rep, h, NormalizedLatency, s.normalized, partial),
		put(t.cell, rep, h, TTFTFromDue, s.ttftFromDue, ""),
		put(t.cell, rep, h, E2EFromDue, s.e2eFromDue, ""),
		put(t.cell, rep, h, SendLag, s.lag, ""),
	)
}

// put stores the summary and the histogram of the sorted samples of m.
func put[T int64 | float64](c Cell, rep *Repetition, h *histogram, m Metric, sorted []T, reason string) error {
	d, _ := Define(m)
	if !d.Applies(c) {
		return nil
	}
	rep.Metrics[m] = summarize(d, sorted, reason)
	if len(sorted) == 0 {
		return nil
	}
	text, err := encode(h, sorted)
	if err != nil {
		return fmt.Errorf("encode histogram of %s: %w", m, err)
	}
	rep.Histograms[m] = text
	return nil
}
