package load_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/runner/load"
)

// An open loop of 200 arrivals a second: 10 to warm up, 50 that are measured.
func ExampleDrive() {
	var measured atomic.Int64
	prepare := func(phase gate.Phase, index int) load.Send {
		// build the body of request index here, before it is due
		return func(ctx context.Context, t load.Ticket) {
			// write it here, and follow the answer until ctx ends
			if phase == gate.Measure {
				measured.Add(1)
			}
		}
	}
	res, err := load.Drive(context.Background(), load.Options{
		Spec:         load.Spec{Process: load.Constant, Rate: 200},
		Amount:       load.Amount{Warmup: 10, Requests: 50},
		Seed:         1,
		DrainTimeout: time.Second,
	}, prepare)
	fmt.Println(res.Warmup, res.Measure, measured.Load(), res.MeasureLast-res.MeasureStart, err)
	// Output: 10 50 50 245ms <nil>
}
