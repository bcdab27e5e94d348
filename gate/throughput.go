package gate

import (
	"fmt"
	"slices"
)

// flow is what completed and what arrived in the window, of the ok requests of every phase.
type flow struct {
	completed int
	tokens    int64     // output tokens of the requests whose output arrived in it entirely
	parts     []float64 // output tokens in the window of each request that has some outside
	prompts   int64     // prompt tokens of the requests whose first output arrived in it
	noOutput  int       // requests that belong to tokens or parts, but whose output tokens are unknown
	noInput   int       // the same for prompts
}

func flowOf(c Cell, w Window, reqs []Request) flow {
	var f flow
	for i := range reqs {
		r := &reqs[i]
		if r.Outcome != OK {
			continue
		}
		if w.Contains(r.Done) {
			f.completed++
		}
		f.addOutput(c, w, r)
		begun := r.Done
		if c.Streaming {
			begun = r.First()
		}
		switch {
		case !w.Contains(begun):
		case r.Input == Unknown:
			f.noInput++
		default:
			f.prompts += int64(r.Input)
		}
	}
	// The sum of rounded numbers depends on their order; that of the records must not show.
	slices.Sort(f.parts)
	return f
}

func (f *flow) addOutput(c Cell, w Window, r *Request) {
	in, all := w.arrived(c, r)
	switch {
	case in == 0:
	case r.Output == Unknown:
		f.noOutput++
	case in == all:
		f.tokens += int64(r.Output)
	default:
		f.parts = append(f.parts, float64(r.Output)*float64(in)/float64(all))
	}
}

// arrived says what share of the output of r arrived in the window: in of all. Where the
// tokens of each arrival are known they are the weights (the sum is left to the usage: a
// closing token may have had no frame); else every arrival weighs the same. What wasn't
// streamed arrived at the end.
func (w Window) arrived(c Cell, r *Request) (in, all int64) {
	if !c.Streaming {
		if w.Contains(r.Done) {
			return 1, 1
		}
		return 0, 1
	}
	weighed := slices.ContainsFunc(r.ChunkTokens, func(n int) bool { return n > 0 })
	for i, at := range r.Arrivals {
		weight := int64(1)
		if weighed {
			weight = int64(r.ChunkTokens[i])
		}
		all += weight
		if w.Contains(at) {
			in += weight
		}
	}
	return in, all
}

// outputTokens is the number of output tokens that arrived in the window.
func (f *flow) outputTokens() float64 {
	sum := float64(f.tokens)
	for _, p := range f.parts {
		sum += p
	}
	return sum
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
