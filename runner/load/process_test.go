package load

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/servegate/servegate/gate"
)

// The due moments of a seed are part of what a baseline was measured with: a change
// here makes every stored baseline incomparable. The values were computed by another
// program, in Python, with the library's logarithm.
func TestScheduleGolden(t *testing.T) {
	tests := []struct {
		spec  Spec
		seed  uint64
		phase gate.Phase
		want  []time.Duration
	}{
		{Spec{Process: Constant, Rate: 3}, 1, gate.Measure, []time.Duration{333333333, 666666667, 1000000000, 1333333333}},
		{Spec{Process: Poisson, Rate: 6}, 1, gate.Measure, []time.Duration{74213990, 172914519, 274462305, 389735361}},
		{Spec{Process: Poisson, Rate: 6}, 1, gate.Warmup, []time.Duration{119392913, 177595102, 461690826, 517081212}},
		{Spec{Process: Poisson, Rate: 6}, 2, gate.Measure, []time.Duration{531007198, 577700954, 691221539, 1118681886}},
		{Spec{Process: Gamma, Rate: 6, Burstiness: 0.25}, 1, gate.Measure, []time.Duration{558302871, 589596423, 589911357, 755744910}},
		{Spec{Process: Gamma, Rate: 6, Burstiness: 4}, 1, gate.Measure, []time.Duration{381813821, 537283561, 631680374, 851903908}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s seed %d %s", tt.spec, tt.seed, tt.phase), func(t *testing.T) {
			s := NewSchedule(NewProcess(tt.spec), tt.spec.Rate, tt.seed, tt.phase)
			var got []time.Duration
			for range 4 {
				got = append(got, s.Next())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("due moments in ns (-want +got):\n%s", diff)
			}
		})
	}
}

// A schedule of a million arrivals ends where it should, to the nanosecond.
func TestScheduleDoesNotDrift(t *testing.T) {
	s := NewSchedule(constant{}, 7, 1, gate.Measure)
	var last time.Duration
	for range 7_000_000 {
		last = s.Next()
	}
	if want := 1_000_000 * time.Second; last != want {
		t.Errorf("got arrival 7,000,000 at 7/s due at %v, want %v", last, want)
	}
}

// The same sequence of gaps at another rate is the same schedule on another scale.
func TestScheduleScalesWithRate(t *testing.T) {
	slow := NewSchedule(poisson{}, 1, 5, gate.Measure)
	fast := NewSchedule(poisson{}, 1000, 5, gate.Measure)
	for i := range 10_000 {
		a, b := slow.Next(), fast.Next()
		if d := a - 1000*b; d < -1000 || d > 1000 {
			t.Fatalf("arrival %d: got %v at 1/s and %v at 1000/s", i, a, b)
		}
	}
}

func TestGapDistributions(t *testing.T) {
	const n = 100_000
	tests := []struct {
		process Process
		cv      float64 // coefficient of variation of the gaps
		cdf     func(float64) float64
	}{
		{constant{}, 0, nil},
		{poisson{}, 1, func(x float64) float64 { return 1 - math.Exp(-x) }},
		{gamma{0.1}, 1 / math.Sqrt(0.1), gammaCDF(0.1)},
		{gamma{0.5}, 1 / math.Sqrt(0.5), gammaCDF(0.5)},
		{gamma{1}, 1, func(x float64) float64 { return 1 - math.Exp(-x) }},
		{gamma{2.5}, 1 / math.Sqrt(2.5), gammaCDF(2.5)},
		{gamma{30}, 1 / math.Sqrt(30), gammaCDF(30)},
	}
	for _, tt := range tests {
		t.Run(tt.process.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			gaps := make([]float64, n)
			var sum, squares float64
			for i := range gaps {
				gaps[i] = tt.process.Gap(r)
				sum += gaps[i]
				squares += gaps[i] * gaps[i]
			}
			mean := sum / n
			cv := math.Sqrt(max(squares/n-mean*mean, 0)) / mean
			if tol := 4*tt.cv/math.Sqrt(n) + 1e-12; math.Abs(mean-1) > tol {
				t.Errorf("got mean %.5f, want 1 within %.5f", mean, tol)
			}
			if math.Abs(cv-tt.cv) > 0.03*tt.cv+1e-12 {
				t.Errorf("got coefficient of variation %.4f, want %.4f", cv, tt.cv)
			}
			if tt.cdf == nil {
				return
			}
			// 1.95/sqrt(n): Kolmogorov's critical value at 0.1 %
			if d, limit := kolmogorov(gaps, tt.cdf), 1.95/math.Sqrt(n); d > limit {
				t.Errorf("got Kolmogorov-Smirnov distance %.5f, want under %.5f", d, limit)
			}
		})
	}
}

// kolmogorov is the largest distance between the empirical and the given distribution.
func kolmogorov(x []float64, cdf func(float64) float64) float64 {
	x = slices.Sorted(slices.Values(x))
	n, d := float64(len(x)), 0.0
	for i, v := range x {
		f := cdf(v)
		d = max(d, f-float64(i)/n, float64(i+1)/n-f)
	}
	return d
}

// gammaCDF is the distribution of a gamma variable of mean 1: the regularized lower
// incomplete gamma function P(shape, shape x) by its series (Abramowitz and Stegun
// 6.5.29), which converges everywhere and quickly enough here.
func gammaCDF(shape float64) func(float64) float64 {
	lgamma, _ := math.Lgamma(shape + 1)
	return func(x float64) float64 {
		z := shape * x
		if z == 0 {
			return 0
		}
		term := math.Exp(shape*math.Log(z) - z - lgamma)
		sum := term
		for k := 1.0; term > sum*1e-12; k++ {
			term *= z / (shape + k)
			sum += term
		}
		return min(sum, 1)
	}
}

// Gaps that follow on each other must not be correlated, nor those of two seeds.
func TestGapsAreIndependent(t *testing.T) {
	const n = 100_000
	draw := func(seed uint64, phase gate.Phase) []float64 {
		s := NewSchedule(poisson{}, 1, seed, phase)
		gaps, last := make([]float64, n), time.Duration(0)
		for i := range gaps {
			due := s.Next()
			gaps[i], last = (due - last).Seconds(), due
		}
		return gaps
	}
	one := draw(1, gate.Measure)
	for name, other := range map[string][]float64{
		"next gap":    one[1:],
		"next seed":   draw(2, gate.Measure),
		"other phase": draw(1, gate.Drain),
	} {
		sum := 0.0
		for i, x := range other {
			sum += (one[i] - 1) * (x - 1)
		}
		if r := sum / n; math.Abs(r) > 4/math.Sqrt(n) {
			t.Errorf("%s: got correlation %.4f, want 0 within %.4f", name, r, 4/math.Sqrt(n))
		}
	}
}

func TestPortableMathIsAccurate(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 100_000 {
		x := uniform(r)
		if got, want := ln(x), math.Log(x); math.Abs(got-want) > 4e-16*max(1, math.Abs(want)) {
			t.Fatalf("ln(%g): got %.17g, want %.17g", x, got, want)
		}
		y := -700 * uniform(r)
		if got, want := exp(y), math.Exp(y); math.Abs(got-want) > 1e-13*want {
			t.Fatalf("exp(%g): got %.17g, want %.17g", y, got, want)
		}
	}
	if got := ln(1); got != 0 {
		t.Errorf("ln(1): got %g, want 0", got)
	}
	if got := exp(-3600); got != 0 {
		t.Errorf("exp(-3600): got %g, want 0", got)
	}
}
