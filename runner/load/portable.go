package load

import (
	"math"
	"math/rand/v2"
)

// The functions below give the same bits on every platform, which package math does
// not promise: it has its own assembly for some of them on some processors, and a
// compiler may fuse x*y + z into one operation of another rounding. The conversions
// float64(x*y) forbid that (Go specification, "Floating-point operators").

// uniform draws from (0, 1], in steps of 2^-53.
func uniform(r *rand.Rand) float64 {
	return float64(r.Uint64()>>11+1) / (1 << 53)
}

// normal draws from the standard normal distribution by Marsaglia's polar method.
func normal(r *rand.Rand) float64 {
	for {
		u, v := 2*uniform(r)-1, 2*uniform(r)-1
		s := float64(u*u) + float64(v*v)
		if s > 0 && s < 1 {
			return u * math.Sqrt(-2*ln(s)/s)
		}
	}
}

// ln is the natural logarithm of x > 0, to about 1e-16: with x = m 2^e it sums
// ln m = 2 (s + s^3/3 + s^5/5 + ...), s = (m-1)/(m+1), |s| < 0.18.
func ln(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	s := (m - 1) / (m + 1)
	s2 := float64(s * s)
	sum := 0.0
	for k := 23; k >= 1; k -= 2 {
		sum = 1/float64(k) + float64(s2*sum)
	}
	return float64(2*s*sum) + float64(float64(e)*math.Ln2)
}

// exp is e^x for x <= 0, to about 1e-16: with x = k ln 2 + r it sums the Taylor series
// of e^r, |r| < 0.35.
func exp(x float64) float64 {
	k := math.Round(x / math.Ln2)
	r := x - float64(k*math.Ln2)
	sum := 1.0
	for n := 17; n >= 1; n-- {
		sum = 1 + float64(float64(r*sum)/float64(n))
	}
	return math.Ldexp(sum, int(k))
}
