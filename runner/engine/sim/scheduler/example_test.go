package scheduler_test

import (
	"fmt"

	"github.com/servegate/servegate/runner/engine/sim/scheduler"
)

// One request is prefilled in two chunks and then decoded.
func Example() {
	s, err := scheduler.New(scheduler.Config{
		MaxBatchedTokens: 4, MaxSeqs: 8, MaxModelLen: 16, BlockSize: 4, Blocks: 8, ChunkedPrefill: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := s.Submit(&scheduler.Request{Prompt: []int32{1, 2, 3, 4, 5, 6}, MaxTokens: 2}); err != nil {
		fmt.Println(err)
		return
	}
	for s.Busy() {
		fmt.Println(s.Plan().Tokens, "tokens computed")
		for _, out := range s.Commit() {
			fmt.Printf("output token %d, finish %q\n", out.Total, out.Finish)
		}
	}
	// Output:
	// 4 tokens computed
	// 2 tokens computed
	// output token 1, finish ""
	// 1 tokens computed
	// output token 2, finish "length"
}
