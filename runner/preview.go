package runner

import (
	"context"
	"time"

	"github.com/servegate/servegate/gate"
)

// Preview returns the run of p as far as it is known before any engine was asked: the
// envelopes of its cells hold what config and host tell, and it has no repetition.
func Preview(ctx context.Context, p Plan) *gate.Run {
	return newSession(ctx, p, Options{}).run
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
