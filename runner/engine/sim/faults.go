package sim

import (
	"fmt"

	"github.com/servegate/servegate/runner/engine/sim/draw"
)

// CrashError says that the engine crashed as planted. The process is to end with Code,
// which may be 0: an engine that dies and calls it success has been seen.
type CrashError struct{ Code int }

func (e *CrashError) Error() string {
	return fmt.Sprintf("run engine: crashed with exit code %d", e.Code)
}

// blow is what hits one request.
type blow int

const (
	none      blow = iota
	refused        // 500 in place of an answer
	inBand         // an error frame under 200
	cutOff         // the connection breaks
	cutShort       // the answer ends in order, without its terminator
	malformed      // a frame that isn't JSON
)

// maxFramesBefore is how many frames at most come before a blow in mid-stream.
const maxFramesBefore = 3

// strike draws what hits the n-th request, and after how many of its frames. A request
// that has fewer is hit in place of its last one.
func (f *Faults) strike(draws draw.Source, n uint64) (b blow, frames int) {
	u := draws.Uniform(draw.Fault, n)
	for _, c := range []struct {
		rate float64
		blow blow
	}{
		{f.ErrorRate, refused},
		{f.InBandRate, inBand},
		{f.TruncatedRate / 2, cutOff},
		{f.TruncatedRate / 2, cutShort},
		{f.MalformedRate, malformed},
	} {
		if u < c.rate {
			b = c.blow
			break
		}
		u -= c.rate
	}
	return b, int(draws.Bits(draw.FaultFrame, n) % (maxFramesBefore + 1))
}
