package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
)

// MaxLength is the largest length in tokens that is ever drawn.
const MaxLength = 16 << 20

// minShare is the least share of a normal or lognormal distribution that may lie
// between Min and Max. What is left of a smaller one no longer has its shape.
const minShare = 1e-6

// Validate says what is wrong with l, if anything.
func (l Lengths) Validate() error {
	switch l.Distribution {
	case Fixed:
		if l.Mean != math.Trunc(l.Mean) || !(l.Mean >= 1 && l.Mean <= MaxLength) {
			return fmt.Errorf("length is %g: must be a whole number from 1 to %d", l.Mean, MaxLength)
		}
		return nil
	case Uniform:
		if l.Min < 1 || l.Max < l.Min || l.Max > MaxLength {
			return fmt.Errorf("lengths are %d to %d: must be an ascending range within 1 to %d", l.Min, l.Max, MaxLength)
		}
		return nil
	case Normal, Lognormal:
		return l.validateBell()
	case "":
		return fmt.Errorf("length has no distribution: must be %s, %s, %s or %s", Fixed, Uniform, Normal, Lognormal)
	}
	return fmt.Errorf("distribution is %q: must be %s, %s, %s or %s", l.Distribution, Fixed, Uniform, Normal, Lognormal)
}

func (l Lengths) validateBell() error {
	switch {
	case !(l.Mean > 0 && l.Mean <= MaxLength):
		return fmt.Errorf("mean is %g: must be above 0 and at most %d", l.Mean, MaxLength)
	case !(l.SD > 0 && l.SD <= MaxLength):
		return fmt.Errorf("sd is %g: must be above 0 and at most %d (for equal lengths use %s)", l.SD, MaxLength, Fixed)
	case l.Min < 0 || l.Max < 0 || l.Max > MaxLength || l.Max > 0 && l.Max < l.Min:
		return fmt.Errorf("truncation is %d to %d: must be an ascending range within 1 to %d", l.Min, l.Max, MaxLength)
	}
	b := l.bell()
	if share := phi(b.high) - phi(b.low); share < minShare {
		return fmt.Errorf("truncation to %d..%d leaves %.2g of the distribution: move mean, min or max", l.Low(), l.Max, share)
	}
	return nil
}

// String is the canonical form of l, as it stands in the envelope: fixed(512),
// uniform(128,384), lognormal(mean=512,sd=200,min=1,max=2048). Without a Max there is
// no max.
func (l Lengths) String() string {
	switch l.Distribution {
	case Fixed:
		return "fixed(" + number(l.Mean) + ")"
	case Uniform:
		return fmt.Sprintf("uniform(%d,%d)", l.Min, l.Max)
	}
	s := fmt.Sprintf("%s(mean=%s,sd=%s,min=%d", l.Distribution, number(l.Mean), number(l.SD), l.Low())
	if l.Max > 0 {
		s += ",max=" + strconv.Itoa(l.Max)
	}
	return s + ")"
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// Low is the least length that is drawn, in tokens.
func (l Lengths) Low() int {
	if l.Distribution == Fixed {
		return int(l.Mean)
	}
	return max(l.Min, 1)
}

// High is the largest length that is drawn, in tokens. bounded is false where only
// [MaxLength] limits it.
func (l Lengths) High() (tokens int, bounded bool) {
	switch {
	case l.Distribution == Fixed:
		return int(l.Mean), true
	case l.Max > 0:
		return l.Max, true
	}
	return MaxLength, false
}

// Expected is the mean of the drawn lengths in tokens, truncation included. It is
// exact for fixed and uniform lengths. For the others it is that of the lengths before
// they are rounded, which matters (by less than half a token) for means of a few tokens.
func (l Lengths) Expected() float64 {
	switch l.Distribution {
	case Fixed:
		return l.Mean
	case Uniform:
		return (float64(l.Min) + float64(l.Max)) / 2
	}
	b := l.bell()
	share := phi(b.high) - phi(b.low)
	if l.Distribution == Normal {
		density := func(z float64) float64 { return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) }
		return l.Mean + l.SD*(density(b.low)-density(b.high))/share
	}
	return l.Mean * (phi(b.high-b.sd) - phi(b.low-b.sd)) / share
}

// Draw draws a length in tokens from l, which Validate has no objection to. It takes
// one number from r.
//
// Normal and lognormal lengths are rounded to the nearest token. They are drawn by
// inversion from the part of the distribution that rounds to Min..Max: the same
// distribution as drawing again and again until a length fits, and never a heap of
// lengths at either end.
func (l Lengths) Draw(r rand.Source) int {
	switch l.Distribution {
	case Fixed:
		return int(l.Mean)
	case Uniform:
		return l.Min + below(r, l.Max-l.Min+1)
	}
	b := l.bell()
	low, high := phi(b.low), phi(b.high)
	u := (float64(r.Uint64()>>12) + 0.5) / (1 << 52) // within (0, 1), both ends excluded
	z := math.Sqrt2 * math.Erfinv(2*(low+float64((high-low)*u))-1)
	x := b.mean + float64(b.sd*z)
	if l.Distribution == Lognormal {
		x = math.Exp(min(x, 64)) // far beyond MaxLength, and finite
	}
	most, _ := l.High()
	return int(math.Round(min(max(x, float64(l.Low())), float64(most))))
}

// bell is a truncated normal distribution: that of the length, or of its logarithm.
type bell struct {
	mean, sd  float64
	low, high float64 // truncation, in standard deviations from the mean
}

// bell gives the parameters of a normal or lognormal l. Mean and SD are those of the
// length itself, so for a lognormal one, with m and s for them, the logarithm has
//
//	variance  ln(1 + s^2/m^2)
//	mean      ln m - variance/2
func (l Lengths) bell() bell {
	b := bell{mean: l.Mean, sd: l.SD}
	scale := func(x float64) float64 { return x }
	if l.Distribution == Lognormal {
		variance := math.Log1p(l.SD / l.Mean * (l.SD / l.Mean))
		b.sd = math.Sqrt(variance)
		b.mean = math.Log(l.Mean) - variance/2
		scale = math.Log
	}
	most, _ := l.High()
	b.low = (scale(float64(l.Low())-0.5) - b.mean) / b.sd
	b.high = (scale(float64(most)+0.5) - b.mean) / b.sd
	return b
}

// phi is the distribution function of the standard normal distribution.
func phi(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
