package load

import (
	"fmt"
	"math"
	"strconv"
)

// Spec says how a cell's requests arrive: a closed loop of Concurrency streams, or an
// open loop by Process at Rate.
type Spec struct {
	Concurrency int     // closed loop: the number of streams; 0: open loop
	Start       Start   // closed loop: how the streams begin
	Process     Kind    // open loop: the arrival process
	Rate        float64 // open loop: mean arrivals per second
	// Burstiness is the shape of a gamma process: 1 is Poisson, below 1 burstier,
	// towards infinity constant.
	Burstiness float64
}

// Start says how the streams of a closed loop begin.
type Start string

// The starts. Together keeps streams of equal requests in step; Spread, the default,
// spaces the first requests evenly over one request's duration.
const (
	Spread   Start = "spread"
	Together Start = "together"
)

// Kind is the kind of an open-loop arrival process.
type Kind string

// The arrival processes.
const (
	Constant Kind = "constant"
	Poisson  Kind = "poisson"
	Gamma    Kind = "gamma"
)

// The limits of what [Spec.Validate] accepts. Beyond them a schedule in whole
// nanoseconds, or the gamma sampler, no longer says what was asked for.
const (
	minRate, maxRate             = 0.001, 1e6 // arrivals per second
	minBurstiness, maxBurstiness = 0.01, 1e6
)

// Closed reports whether s is a closed loop.
func (s Spec) Closed() bool { return s.Concurrency > 0 }

// Validate says what is wrong with s, if anything.
func (s Spec) Validate() error {
	switch {
	case s.Concurrency < 0:
		return fmt.Errorf("concurrency is %d: must be at least 1", s.Concurrency)
	case s.Closed() && (s.Process != "" || s.Rate != 0 || s.Burstiness != 0):
		return fmt.Errorf("closed loop of %d streams has an arrival process too: choose one of them", s.Concurrency)
	case s.Closed():
		return s.Start.validate()
	case s.Start != "":
		return fmt.Errorf("start is %q: only a closed loop has streams to start", s.Start)
	}
	return s.validateOpen()
}

func (s Start) validate() error {
	switch s {
	case "", Spread, Together:
		return nil
	}
	return fmt.Errorf("start is %q: must be %s or %s", s, Spread, Together)
}

func (s Spec) validateOpen() error {
	if !(s.Rate >= minRate && s.Rate <= maxRate) { // also refuses NaN
		return fmt.Errorf("rate is %g/s: must lie between %g/s and %g/s", s.Rate, minRate, maxRate)
	}
	switch s.Process {
	case Constant, Poisson:
		if s.Burstiness != 0 {
			return fmt.Errorf("burstiness is %g: only a gamma process has one", s.Burstiness)
		}
	case Gamma:
		if !(s.Burstiness >= minBurstiness && s.Burstiness <= maxBurstiness) {
			return fmt.Errorf("burstiness is %g: must lie between %g and %g (1 is Poisson, below 1 burstier)",
				s.Burstiness, minBurstiness, maxBurstiness)
		}
	case "":
		return fmt.Errorf("load has neither streams nor an arrival process: set a concurrency, or one of %s, %s, %s with a rate",
			Constant, Poisson, Gamma)
	default:
		return fmt.Errorf("arrival process is %q: must be %s, %s or %s", s.Process, Constant, Poisson, Gamma)
	}
	return nil
}

// String is the canonical form of s, as it stands in the envelope: closed(32,spread),
// poisson(6/s), gamma(6/s,burstiness=0.5).
func (s Spec) String() string {
	if s.Closed() {
		return fmt.Sprintf("closed(%d,%s)", s.Concurrency, s.start())
	}
	rate := strconv.FormatFloat(s.Rate, 'g', -1, 64) + "/s"
	if s.Process == Gamma {
		return fmt.Sprintf("%s(%s,burstiness=%s)", s.Process, rate, strconv.FormatFloat(s.Burstiness, 'g', -1, 64))
	}
	return fmt.Sprintf("%s(%s)", s.Process, rate)
}

// start is s.Start with its default.
func (s Spec) start() Start {
	if s.Start == "" {
		return Spread
	}
	return s.Start
}

// ahead is how many requests of a phase are built before they are due: all that can
// fall due at once in a closed loop, about a second's worth in an open one.
func (s Spec) ahead() int {
	if s.Closed() {
		return s.Concurrency
	}
	return int(min(max(math.Ceil(s.Rate), 16), 4096))
}
