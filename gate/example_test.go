package gate_test

import (
	"fmt"
	"time"

	"github.com/servegate/servegate/gate"
)

// Ten requests, one a second, each answered by three tokens of which the last two came
// together: enough samples for a median, not for a tail.
func ExampleDerive() {
	cell := gate.Cell{ID: "chat@slow", Streaming: true, SLO: gate.SLO{TTFT: .100}}
	var reqs []gate.Request
	for i := range 10 {
		sent := time.Duration(i+1) * time.Second
		first := sent + time.Duration(60+10*i)*time.Millisecond
		reqs = append(reqs, gate.Request{
			Index: i, Phase: gate.Measure, Due: sent, Sent: sent,
			Arrivals: []time.Duration{first, first + 40*time.Millisecond}, ChunkTokens: []int{1, 2},
			Done: first + 41*time.Millisecond, Input: 7, WantInput: 7, Output: 3, WantOutput: 3,
			Cached: gate.Unknown, Outcome: gate.OK,
		})
	}
	rep := gate.Derive(cell, gate.Facts{Index: 1}, reqs)

	fmt.Println("valid:", rep.Valid)
	fmt.Printf("goodput: %.3f requests/s over %g s\n", *rep.Metrics[gate.Goodput].Value, rep.WindowS)
	ttft := rep.Metrics[gate.TTFT]
	fmt.Printf("TTFT: %d samples, p50 %.3f s, p99 withheld: %v\n", ttft.Count, *ttft.P50, ttft.P99 == nil)
	fmt.Printf("TPOT: p50 %.3f s at %.1f tokens a chunk\n", *rep.Metrics[gate.TPOT].P50, *rep.Observed.TokensPerChunk)
	// Output:
	// valid: true
	// goodput: 0.556 requests/s over 9 s
	// TTFT: 10 samples, p50 0.105 s, p99 withheld: true
	// TPOT: p50 0.020 s at 1.5 tokens a chunk
}
