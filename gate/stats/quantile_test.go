package stats

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// The wanted values of the longer rows were made with numpy 2.4.6:
//
//	x = sorted((i*7919)%1009*1000003 for i in range(1, 301))
//	[np.quantile(x, q) for q in (.5, .9, .95, .99)]
//	x = sorted(((i*7919)%1009)/7 for i in range(1, 60))
//	[np.quantile(x, q) for q in (.5, .9, .95, .99)]
func TestQuantile(t *testing.T) {
	short := []float64{1, 2, 3, 4, 10}
	tests := []struct {
		name    string
		x       []float64
		q, want float64
	}{
		{"minimum", short, 0, 1},
		{"between the first two", short, .1, 1.4},
		{"on a sample", short, .25, 2},
		{"median", short, .5, 3},
		{"p90", short, .9, 7.6},
		{"p95", short, .95, 8.8},
		{"p99", short, .99, 9.76},
		{"maximum", short, 1, 10},
		{"below 0", short, -3, 1},
		{"above 1", short, 7, 10},
		{"one sample", []float64{5}, .99, 5},
		{"two samples", []float64{1, 2}, .5, 1.5},
		{"nothing", nil, .5, math.NaN()},
		{"no quantile", short, math.NaN(), math.NaN()},
		{"numpy 300, p50", scattered(300, 1000003), .5, 511001533},
		{"numpy 300, p90", scattered(300, 1000003), .9, 906402719.2},
		{"numpy 300, p95", scattered(300, 1000003), .95, 956202868.6},
		{"numpy 300, p99", scattered(300, 1000003), .99, 997042991.12},
		{"numpy 59, p50", scattered(59, 1./7), .5, 73.28571428571429},
		{"numpy 59, p90", scattered(59, 1./7), .9, 127.25714285714287},
		{"numpy 59, p95", scattered(59, 1./7), .95, 135.6428571428571},
		{"numpy 59, p99", scattered(59, 1./7), .99, 141.16857142857143},
	}
	for _, tt := range tests {
		got := Quantile(tt.x, tt.q)
		if !same(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// scattered returns n values without order in the making, sorted.
func scattered(n int, scale float64) []float64 {
	var x []float64
	for i := 1; i <= n; i++ {
		x = append(x, float64(i*7919%1009)*scale)
	}
	slices.Sort(x)
	return x
}

func same(got, want float64) bool {
	if math.IsNaN(want) {
		return math.IsNaN(got)
	}
	return math.Abs(got-want) <= 1e-12*math.Abs(want)
}

// TestQuantileExact holds Quantile against the definition in exact arithmetic.
func TestQuantileExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		x := make([]int64, 1+rng.IntN(400))
		for i := range x {
			x[i] = rng.Int64N(1 << 40)
		}
		slices.Sort(x)
		percent := rng.Int64N(101)
		got := Quantile(x, float64(percent)/100)
		// 1-based position 1 + (n-1) p, as Hyndman and Fan have it.
		at := big.NewRat(int64(len(x)-1)*percent, 100)
		k := new(big.Int).Quo(at.Num(), at.Denom()).Int64()
		exact := new(big.Rat).SetInt64(x[k])
		if int(k) < len(x)-1 {
			part := new(big.Rat).Sub(at, new(big.Rat).SetInt64(k))
			exact.Add(exact, part.Mul(part, new(big.Rat).SetInt64(x[k+1]-x[k])))
		}
		want, _ := exact.Float64()
		if math.Abs(got-want) > 1e-9*want+1e-3 {
			t.Fatalf("p%d of %d values: got %v, want %v", percent, len(x), got, want)
		}
	}
}

func TestFloor(t *testing.T) {
	tests := []struct {
		q    float64
		want int
	}{
		{.5, 5},
		{.9, 29},
		{.95, 59},
		{.99, 299},
		{.999, 2995},
		{.05, 1},
		{0, 1},
		{-1, 1},
		{1, math.MaxInt},
		{2, math.MaxInt},
		{math.NaN(), math.MaxInt},
	}
	for _, tt := range tests {
		if got := Floor(tt.q); got != tt.want {
			t.Errorf("Floor(%v): got %d, want %d", tt.q, got, tt.want)
		}
	}
}

// TestFloorIsSmallest checks the defining property: the bound exists with n samples, and
// doesn't with n-1.
func TestFloorIsSmallest(t *testing.T) {
	for permille := 60; permille < 1000; permille++ {
		q := float64(permille) / 1000
		n := Floor(q)
		if 1-math.Pow(q, float64(n)) < .95-1e-12 {
			t.Errorf("Floor(%v) = %d is too small", q, n)
		}
		if 1-math.Pow(q, float64(n-1)) >= .95 {
			t.Errorf("Floor(%v) = %d is not the smallest", q, n)
		}
	}
}
