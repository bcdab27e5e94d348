package load

import (
	"math"
	"math/rand/v2"
	"strconv"
)

// Process is a renewal arrival process: a value without state that says how the gaps
// between arrivals are distributed. Its rate is left to [Schedule].
type Process interface {
	// Gap draws the gap before the next arrival, in units of the mean gap: it is at
	// least 0 and its expectation is 1.
	Gap(r *rand.Rand) float64
	// String names the process with its parameters.
	String() string
}

// NewProcess is the arrival process that s asks for. s is an open loop for which
// [Spec.Validate] has no objection.
func NewProcess(s Spec) Process {
	switch s.Process {
	case Poisson:
		return poisson{}
	case Gamma:
		return gamma{shape: s.Burstiness}
	default:
		return constant{}
	}
}

// constant has equal gaps.
type constant struct{}

func (constant) Gap(*rand.Rand) float64 { return 1 }
func (constant) String() string         { return string(Constant) }

// poisson has exponential gaps, drawn by inversion.
type poisson struct{}

func (poisson) Gap(r *rand.Rand) float64 { return -ln(uniform(r)) }
func (poisson) String() string           { return string(Poisson) }

// gamma has gamma gaps of the given shape; their coefficient of variation is
// 1/sqrt(shape).
type gamma struct{ shape float64 }

// Gap draws by G. Marsaglia, W. W. Tsang: A simple method for generating gamma
// variables, ACM TOMS 26 (2000). Their method needs a shape of at least 1; below it,
// Gamma(a) = Gamma(a+1) * U^(1/a).
func (g gamma) Gap(r *rand.Rand) float64 {
	shape, boost := g.shape, 1.0
	if shape < 1 {
		boost = exp(ln(uniform(r)) / shape)
		shape++
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := normal(r)
		v := 1 + float64(c*x)
		if v <= 0 {
			continue
		}
		v *= float64(v * v)
		x2 := float64(x * x)
		if ln(uniform(r)) < float64(x2/2)+d-float64(d*v)+float64(d*ln(v)) {
			return d * v * boost / g.shape
		}
	}
}

func (g gamma) String() string {
	return string(Gamma) + "(burstiness=" + strconv.FormatFloat(g.shape, 'g', -1, 64) + ")"
}
