package sse_test

import (
	"fmt"

	"github.com/servegate/servegate/runner/sse"
)

// A frame is emitted by the piece that completes it.
func ExampleParser() {
	var p sse.Parser
	for i, piece := range []string{"data: {\"tex", "t\":\"Hi\"}\n", "\n: ping\n\ndata: [DONE]\n\n"} {
		err := p.Feed([]byte(piece), func(ev sse.Event) error {
			fmt.Printf("piece %d: %s\n", i, ev.Data)
			return nil
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// piece 2: {"text":"Hi"}
	// piece 2: [DONE]
}
