package sim_test

import (
	"fmt"

	"github.com/servegate/servegate/runner/engine/sim"
)

// What a lone request of 256 prompt tokens and 12 output tokens sees, and what eight of
// them see that come together.
func ExampleOptions_Predict() {
	opts := sim.Defaults()
	for _, streams := range []int{1, 8} {
		p, err := opts.Predict(sim.Group{Streams: streams, Prompt: 256, Output: 12})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d: TTFT %s, ITL %s, E2E %s\n", streams, p.TTFT, p.ITL, p.E2E)
	}
	// Output:
	// 1: TTFT 6.34112ms, ITL 4.82524ms, E2E 59.41876ms
	// 8: TTFT 17.12896ms, ITL 5.00192ms, E2E 72.15008ms
}
