package runner_test

import (
	"testing"
	"time"

	"github.com/servegate/servegate/runner"
	"github.com/servegate/servegate/runner/engine/sim"
	"github.com/servegate/servegate/runner/workload"
)

// An answer that takes longer than the hang timeout is no hang while its tokens come.
func TestLongAnswersAreNoHang(t *testing.T) {
	url := serve(t, func(o *sim.Options) { o.Cost.Base = 20 * time.Millisecond })
	p := plan(url, func(p *runner.Plan) {
		p.Cells[0].Concurrency, p.Cells[0].Load.Concurrency = 1, 1
		p.Cells[0].Workload.Output = workload.Lengths{Distribution: workload.Fixed, Mean: 100}
		p.Measure.Requests, p.Measure.Warmup, p.Measure.HangTimeout = 2, 1, time.Second
	})
	run, _, err := execute(t, t.Context(), p, nil)
	if run.Cells[0].Invalid != "" {
		t.Errorf("got %v: %s", err, run.Cells[0].Invalid)
	}
}
