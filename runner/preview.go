package runner

import (
	"context"
	"time"

	"github.com/servegate/servegate/gate"
)

// Preview returns the cells of p as far as they are known before any engine was
// asked: their envelopes hold what config and host tell, and no repetition.
func Preview(ctx context.Context, p Plan) []gate.CellRun {
	s := &session{plan: p, machine: readMachine(ctx)}
	return s.planned()
}

// Expected is how long one repetition of c takes at least, boot and drain not counted,
// and false for a closed loop of a number of requests: it takes as long as the engine
// needs.
func (m Measure) Expected(c Cell) (time.Duration, bool) {
	if c.Load.Closed() {
		return m.Duration, m.Duration > 0
	}
	warmup := float64(c.WarmupRequests(m)) / c.Load.Rate
	measured := m.Duration.Seconds()
	if m.Duration == 0 {
		measured = float64(m.Requests) / c.Load.Rate
	}
	return time.Duration((warmup + measured) * float64(time.Second)).Round(time.Second), true
}
