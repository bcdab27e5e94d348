package load

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

// Closed reports whether s is a closed loop.
func (s Spec) Closed() bool { return s.Concurrency > 0 }
