package gate

import (
	"math/rand/v2"
	"testing"
	"time"
)

// benchCell and benchRequests are one repetition of an open loop at 100/s: n requests, all
// in the window, of 16 chunks of one token.
var benchCell = Cell{
	ID: "chat@near", Workload: "chat", Load: "near", Streaming: true, FixedOutput: true,
	SLO: SLO{TTFT: .1, ITL: .025},
}

func benchRequests(n int) []Request {
	rng := rand.New(rand.NewPCG(1, 1))
	reqs := make([]Request, n)
	due := 100 * time.Millisecond
	for i := range reqs {
		due += time.Duration(rng.ExpFloat64() * 1e7)
		sent := due + 50*time.Microsecond + time.Duration(rng.IntN(50_000))
		at := sent + 50*time.Millisecond + time.Duration(rng.ExpFloat64()*2e7)
		arrivals := make([]time.Duration, 16)
		for k := range arrivals {
			arrivals[k] = at
			at += 20*time.Millisecond + time.Duration(rng.NormFloat64()*2e6)
		}
		reqs[i] = Request{
			Index: i, Phase: Measure, Due: due, Sent: sent, Arrivals: arrivals, Done: arrivals[15] + 1000,
			WantInput: 512, WantOutput: 16, Input: 512, Output: 16, Cached: 0,
			Outcome: OK, Status: 200, Finish: "length",
		}
	}
	return reqs
}

// BenchmarkDerive is one of the 120 repetitions that 10^6 requests of 16 chunks are.
func BenchmarkDerive(b *testing.B) {
	reqs := benchRequests(8333)
	b.Run("open", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Derive(benchCell, Facts{}, reqs)
		}
	})
	b.Run("closed", func(b *testing.B) {
		c := benchCell
		c.Concurrency = 32
		for i := range reqs {
			reqs[i].Stream = i % 32
		}
		b.ReportAllocs()
		for b.Loop() {
			Derive(c, Facts{}, reqs)
		}
	})
}
