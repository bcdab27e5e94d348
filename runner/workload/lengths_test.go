package workload

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestLengthsString(t *testing.T) {
	tests := []struct {
		lengths Lengths
		want    string
	}{
		{Lengths{Distribution: Fixed, Mean: 512}, "fixed(512)"},
		{Lengths{Distribution: Fixed, Mean: MaxLength}, "fixed(16777216)"},
		{Lengths{Distribution: Uniform, Min: 128, Max: 384}, "uniform(128,384)"},
		{Lengths{Distribution: Normal, Mean: 512.5, SD: 0.1}, "normal(mean=512.5,sd=0.1,min=1)"},
		{Lengths{Distribution: Lognormal, Mean: 512, SD: 200, Min: 1, Max: 2048}, "lognormal(mean=512,sd=200,min=1,max=2048)"},
	}
	for _, tt := range tests {
		if err := tt.lengths.Validate(); err != nil {
			t.Errorf("%s: %v", tt.want, err)
		}
		if got := tt.lengths.String(); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

func TestLengthsRefuse(t *testing.T) {
	tests := []struct {
		name    string
		lengths Lengths
		want    string // part of the error
	}{
		{"nothing", Lengths{}, "no distribution"},
		{"unknown", Lengths{Distribution: "zipf"}, `distribution is "zipf"`},
		{"zero", Lengths{Distribution: Fixed}, "length is 0"},
		{"half a token", Lengths{Distribution: Fixed, Mean: 1.5}, "length is 1.5"},
		{"no number", Lengths{Distribution: Fixed, Mean: math.NaN()}, "length is NaN"},
		{"too long", Lengths{Distribution: Fixed, Mean: MaxLength + 1}, "from 1 to 16777216"},
		{"uniform from zero", Lengths{Distribution: Uniform, Max: 10}, "lengths are 0 to 10"},
		{"uniform, descending", Lengths{Distribution: Uniform, Min: 10, Max: 5}, "lengths are 10 to 5"},
		{"no mean", Lengths{Distribution: Normal, SD: 1}, "mean is 0"},
		{"no sd", Lengths{Distribution: Lognormal, Mean: 10}, "sd is 0"},
		{"infinite sd", Lengths{Distribution: Lognormal, Mean: 10, SD: math.Inf(1)}, "sd is +Inf"},
		{"truncation, descending", Lengths{Distribution: Normal, Mean: 10, SD: 5, Min: 20, Max: 10}, "truncation is 20 to 10"},
		{"nothing left", Lengths{Distribution: Normal, Mean: 512, SD: 10, Min: 1000, Max: 2000}, "leaves 0 of the distribution"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.lengths.Validate()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// normalCDF and lognormalCDF say how much of the truncated distribution rounds to k
// tokens or fewer. They are written down a second time here, from the textbook
// (Johnson, Kotz, Balakrishnan: Continuous Univariate Distributions 1, chapters 13, 14).
func normalCDF(l Lengths) func(k int) float64 {
	return truncatedCDF(l, func(x float64) float64 { return (1 + math.Erf((x-l.Mean)/l.SD/math.Sqrt2)) / 2 })
}

func lognormalCDF(l Lengths) func(k int) float64 {
	w := 1 + l.SD*l.SD/l.Mean/l.Mean
	zeta, sigma := math.Log(l.Mean/math.Sqrt(w)), math.Sqrt(math.Log(w))
	return truncatedCDF(l, func(x float64) float64 { return (1 + math.Erf((math.Log(x)-zeta)/sigma/math.Sqrt2)) / 2 })
}

func truncatedCDF(l Lengths, cdf func(float64) float64) func(k int) float64 {
	low := cdf(float64(l.Low()) - 0.5)
	high := 1.0
	if l.Max > 0 {
		high = cdf(float64(l.Max) + 0.5)
	}
	return func(k int) float64 { return (cdf(float64(k)+0.5) - low) / (high - low) }
}

func TestDrawnLengths(t *testing.T) {
	normal := Lengths{Distribution: Normal, Mean: 512, SD: 100}
	cut := Lengths{Distribution: Normal, Mean: 100, SD: 100, Min: 32, Max: 150}
	lognormal := Lengths{Distribution: Lognormal, Mean: 512, SD: 200}
	wide := Lengths{Distribution: Lognormal, Mean: 100, SD: 300}
	cutLog := Lengths{Distribution: Lognormal, Mean: 512, SD: 400, Min: 100, Max: 1024}
	short := Lengths{Distribution: Lognormal, Mean: 2, SD: 2}
	uniform := Lengths{Distribution: Uniform, Min: 128, Max: 384}
	tests := []struct {
		lengths Lengths
		sd      float64 // of the drawn lengths, 0 where truncation moved it
		cdf     func(k int) float64
	}{
		{Lengths{Distribution: Fixed, Mean: 7}, 0, func(k int) float64 { return float64(min(1, k/7)) }},
		{uniform, math.Sqrt((257*257 - 1) / 12.0), func(k int) float64 { return float64(k-127) / 257 }},
		{normal, 100, normalCDF(normal)},
		{cut, 0, normalCDF(cut)},
		{lognormal, 200, lognormalCDF(lognormal)},
		{wide, 0, lognormalCDF(wide)},
		{cutLog, 0, lognormalCDF(cutLog)},
		{short, 0, lognormalCDF(short)},
	}
	for _, tt := range tests {
		t.Run(tt.lengths.String(), func(t *testing.T) {
			const n = 100_000
			counts, mean, sd := drawn(t, tt.lengths, n)
			rounding := 10 / tt.lengths.Mean / tt.lengths.Mean // see Lengths.Expected; 0 for uniform
			if tt.lengths.Distribution == Uniform {
				rounding = 0
			}
			if tol := 4*sd/math.Sqrt(n) + min(0.5, rounding); math.Abs(mean-tt.lengths.Expected()) > tol {
				t.Errorf("got mean %.3f, want %.3f within %.3f", mean, tt.lengths.Expected(), tol)
			}
			if tt.sd > 0 && math.Abs(sd/tt.sd-1) > 0.01 {
				t.Errorf("got sd %.2f, want %.2f", sd, tt.sd)
			}
			below, worst := 0, 0.0
			for k := tt.lengths.Low(); below < n; k++ {
				below += counts[k]
				worst = max(worst, math.Abs(float64(below)/n-tt.cdf(k)))
			}
			// 1.95/sqrt(n): Kolmogorov's critical value at 0.1 %
			if limit := 1.95 / math.Sqrt(n); worst > limit {
				t.Errorf("got Kolmogorov-Smirnov distance %.5f, want under %.5f", worst, limit)
			}
		})
	}
}

// drawn draws n lengths; all must lie within the bounds.
func drawn(t *testing.T, l Lengths, n int) (counts map[int]int, mean, sd float64) {
	t.Helper()
	r := rand.NewPCG(1, 2)
	counts = map[int]int{}
	var sum, squares float64
	most, _ := l.High()
	for range n {
		x := l.Draw(r)
		if x < l.Low() || x > most {
			t.Fatalf("got length %d, want %d to %d", x, l.Low(), most)
		}
		counts[x]++
		sum += float64(x)
		squares += float64(x) * float64(x)
	}
	mean = sum / float64(n)
	return counts, mean, math.Sqrt(max(0, squares/float64(n)-mean*mean))
}

// The heaviest tail that is accepted must neither overflow nor leave the bounds.
func TestDrawExtremes(t *testing.T) {
	for _, l := range []Lengths{
		{Distribution: Lognormal, Mean: 0.001, SD: MaxLength},
		{Distribution: Lognormal, Mean: MaxLength, SD: MaxLength},
		{Distribution: Normal, Mean: 1, SD: MaxLength},
		{Distribution: Normal, Mean: 512, SD: 0.001},
		{Distribution: Normal, Mean: 1000, SD: 100, Min: 1, Max: 600},
		{Distribution: Normal, Mean: 1000, SD: 100, Min: 1450},
	} {
		if err := l.Validate(); err != nil {
			t.Logf("%s: %v", l, err)
			continue
		}
		drawn(t, l, 20_000)
		for _, r := range []rand.Source{all(0), all(math.MaxUint64)} {
			most, _ := l.High()
			if x := l.Draw(r); x < l.Low() || x > most {
				t.Errorf("%s: got %d from %d, want %d to %d", l, x, r.Uint64(), l.Low(), most)
			}
		}
	}
}

// all is a source that gives one number only.
type all uint64

func (a all) Uint64() uint64 { return uint64(a) }
