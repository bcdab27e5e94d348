// Package draw gives the simulated engine its random draws: pure functions of a
// seed, a boot, a purpose and an index.
//
// A draw does not depend on how many draws were made before it, so the noise of
// request 17 is the same whether or not request 16 came, and two engines with the
// same seed and boot behave alike. What is drawn, and what it does, is left to the
// callers. The draws are not fit for cryptography.
package draw

import "math"

// Purpose separates the draws that share a seed and an index.
type Purpose uint64

// The purposes.
const (
	BootNoise    Purpose = iota + 1 // one draw a boot
	RequestNoise                    // one draw a request
	StepNoise                       // one draw a step
	Fault                           // which planted fault hits a request
	FaultFrame                      // after how many frames it hits
	Content                         // output token ids
	EOS                             // whether a request ends early
	EOSPlace                        // where it does
	Acceptance                      // tokens that a speculative step yields
)

// Source is one family of draws. The zero value is the family of seed 0 and boot 0.
type Source struct{ key uint64 }

// New returns the draws of one boot of an engine with this seed.
func New(seed, boot uint64) Source {
	return Source{key: mix(mix(seed) ^ boot*0xd6e8feb86659fd93)}
}

// Derive returns a family of its own, for instance that of one request's content.
func (s Source) Derive(i uint64) Source {
	return Source{key: mix(s.key ^ mix(i))}
}

// Bits returns 64 random bits.
func (s Source) Bits(p Purpose, i uint64) uint64 {
	return mix(mix(s.key^uint64(p)*0x9fb21c651e98df25) ^ i)
}

// Uniform returns a number in [0, 1).
func (s Source) Uniform(p Purpose, i uint64) float64 {
	return unit(s.Bits(p, i))
}

// Normal returns a standard normal number (Box-Muller, one of the pair).
func (s Source) Normal(p Purpose, i uint64) float64 {
	bits := s.Bits(p, i)
	u, v := 1-unit(bits), unit(mix(bits)) // 1-u: never the logarithm of 0
	return math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*v)
}

// Lognormal returns a factor whose mean is 1 and whose logarithm has standard
// deviation sd; exactly 1 where sd is 0.
func (s Source) Lognormal(p Purpose, i uint64, sd float64) float64 {
	if sd == 0 {
		return 1
	}
	return math.Exp(sd*s.Normal(p, i) - sd*sd/2)
}

func unit(bits uint64) float64 { return float64(bits>>11) / (1 << 53) }

// mix is the finalizer of splitmix64 (Steele, Lea, Flood 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
