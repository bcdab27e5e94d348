package stats

import (
	"math"
	"testing"
)

// The values are those of scipy 1.17.1, stats.hypergeom.sf(failed - 1, n + otherN, failed
// + otherFailed, n), the p value of stats.fisher_exact(..., alternative="greater").
func TestFisherGreater(t *testing.T) {
	tests := []struct {
		failed, n, otherFailed, otherN int
		want                           float64
	}{
		{0, 10, 0, 10, 1},
		{1, 10, 0, 10, .5},
		{8, 10, 1, 10, .0027387473207906646},
		{5, 1000, 5, 1000, .6233555730949243},
		{20, 1000, 5, 1000, .0019295103124280463},
		{30, 3000, 12, 6000, 4.793059851143712e-07},
		{0, 1000, 9, 1000, 1},
		{1000, 1000, 0, 1000, 0}, // 1 / (2000 over 1000), below the smallest float
		{1000, 1000, 1000, 1000, 1},
		{10_300, 1_000_000, 10_000, 1_000_000, .01745805947409193},
		{500, 1_000_000, 400, 1_000_000, .0004769578651175192},
		{510_000, 1_000_000, 500_000, 1_000_000, 1.0530340302338604e-45},
		{3, 5, 100, 6000, 4.78099743133232e-05},
		{40, 50, 2, 1_000_000, 7.207367829703964e-180},
		{9_800, 1_000_000, 10_000, 1_000_000, .9244383183128424},
		{0, 0, 3, 10, 1},
		{3, 10, 0, 0, 1},
	}
	for _, tt := range tests {
		if got := FisherGreater(tt.failed, tt.n, tt.otherFailed, tt.otherN); !near(got, tt.want, 1e-7) {
			t.Errorf("%d of %d against %d of %d: got %v, want %v", tt.failed, tt.n, tt.otherFailed, tt.otherN, got, tt.want)
		}
	}
}

func TestFisherGreaterOfCountsThatCannotBe(t *testing.T) {
	for _, c := range [][4]int{{-1, 10, 0, 10}, {11, 10, 0, 10}, {0, 10, -1, 10}, {0, 10, 11, 10}, {0, -1, 0, 10}} {
		if got := FisherGreater(c[0], c[1], c[2], c[3]); !math.IsNaN(got) {
			t.Errorf("%v: got %v, want NaN", c, got)
		}
	}
}

// TestFisherGreaterOfHugeCounts: 10^12 trials a side, by the normal approximation. Three
// digits are left of p there.
func TestFisherGreaterOfHugeCounts(t *testing.T) {
	n := 1_000_000_000_000
	same := FisherGreater(n/2, n, n/2, n)
	if !near(same, .5, 1e-3) {
		t.Errorf("no difference: got %v, want one half", same)
	}
	// d = 2e6 failures more; z = 2e6 / sqrt(2 x n/4) = 2.83, P(Z > 2.8284) = .002339
	if got := FisherGreater(n/2+2_000_000, n, n/2, n); !near(got, .002339, .01) {
		t.Errorf("2.83 standard errors: got %v, want .00234", got)
	}
}

// TestFisherTailsAddUp: P(X >= k) on one side is 1 - P(Y >= failures - k + 1) on the other.
func TestFisherTailsAddUp(t *testing.T) {
	for k := 1; k <= 40; k++ {
		p := FisherGreater(k, 300, 40-k, 200)
		other := FisherGreater(40-k+1, 200, k-1, 300)
		if math.Abs(p+other-1) > 1e-12 {
			t.Errorf("k %d: %v and %v don't add up to 1", k, p, other)
		}
	}
}
