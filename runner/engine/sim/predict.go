package sim

import (
	"errors"
	"time"

	"github.com/servegate/servegate/runner/engine/sim/scheduler"
	"github.com/servegate/servegate/runner/engine/sim/timing"
)

// workOf sums up a step for the cost model, with each request's noise factor.
func workOf(b *scheduler.Batch, noise func(*scheduler.Request) float64) timing.Work {
	var w timing.Work
	for _, e := range b.Entries {
		f := noise(e.Request)
		if e.Decode {
			w.Decode += f
		} else {
			w.Prefill += f * float64(e.Tokens)
		}
		w.KV += f * float64(e.KV)
	}
	return w
}

// Group is a number of equal requests that arrive together at an idle engine.
type Group struct {
	Streams int // requests, at least 1
	Prompt  int // prompt tokens of each
	Cached  int // of them, found in the prefix cache: whole blocks, fewer than Prompt
	Output  int // output tokens of each
}

// Prediction is what each request of a group sees, counted from its arrival at the
// engine; what the network adds is not in it.
type Prediction struct {
	TTFT time.Duration
	ITL  time.Duration // mean over the gaps; 0 where there is one token
	E2E  time.Duration
}

// Predict computes what the requests of g see from an engine with these options,
// without noise and throttling, by the formulas of the package's documentation. It
// fails where these don't hold: several requests whose prompts don't fit into one step
// together, more than run at a time, more context than KV memory, draft tokens.
func (o *Options) Predict(g Group) (Prediction, error) {
	cfg := o.Scheduler
	fresh := g.Prompt - g.Cached
	switch {
	case g.Streams < 1 || g.Output < 1 || g.Cached < 0 || fresh < 1:
		return Prediction{}, errors.New("predict: want at least one request, one fresh prompt token and one output token")
	case g.Prompt+g.Output > cfg.MaxModelLen:
		return Prediction{}, errors.New("predict: the request is longer than the max model len")
	case cfg.DraftTokens > 0:
		return Prediction{}, errors.New("predict: the number of tokens a step is random with draft tokens")
	case g.Streams > cfg.MaxSeqs || g.Streams > 1 && g.Streams*fresh > cfg.MaxBatchedTokens:
		return Prediction{}, errors.New("predict: the requests don't fit into one step together")
	case g.Streams*(1+(g.Prompt+g.Output)/cfg.BlockSize) > cfg.Blocks:
		return Prediction{}, errors.New("predict: the requests don't fit into the KV memory together")
	}
	n := float64(g.Streams)
	p := Prediction{TTFT: o.Faults.QueueDelay + o.BatchDelay}
	for done := g.Cached; done < g.Prompt; {
		chunk := min(g.Prompt-done, cfg.MaxBatchedTokens)
		done += chunk
		p.TTFT += o.Cost.Step(timing.Work{Prefill: n * float64(chunk), KV: n * float64(done)})
	}
	p.E2E = p.TTFT
	for j := 1; j < g.Output; j++ {
		p.E2E += o.Cost.Step(timing.Work{Decode: n, KV: n * float64(g.Prompt+j)})
	}
	if g.Output > 1 {
		p.ITL = (p.E2E - p.TTFT) / time.Duration(g.Output-1)
	}
	return p, nil
}
