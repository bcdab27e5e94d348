package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSort(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	tests := []struct {
		name string
		n    int
		draw func() int64
	}{
		{"nothing", 0, rng.Int64},
		{"short", 100, rng.Int64},
		{"just below the radix sort", radixFrom - 1, rng.Int64},
		{"just at the radix sort", radixFrom, rng.Int64},
		{"one digit", 5000, func() int64 { return rng.Int64N(7) }},
		{"two digits", 5000, func() int64 { return rng.Int64N(1 << 20) }},
		{"gaps", 50_000, func() int64 { return int64(2e7 + 3e6*rng.NormFloat64()) }},
		{"negative too", 5000, func() int64 { return rng.Int64N(2000) - 1000 }},
		{"all equal", 5000, func() int64 { return -5 }},
		{"whole range", 5000, func() int64 { return int64(rng.Uint64()) }},
		{"extremes", 5000, func() int64 { return []int64{math.MinInt64, math.MaxInt64, 0, -1}[rng.IntN(4)] }},
	}
	for _, tt := range tests {
		got := make([]int64, tt.n)
		for i := range got {
			got[i] = tt.draw()
		}
		want := slices.Clone(got)
		slices.Sort(want)
		Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: not as slices.Sort has it", tt.name)
		}
	}
}

func TestSortFloats(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	extremes := []float64{0, math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, -1, 1}
	tests := []struct {
		name string
		n    int
		draw func() float64
	}{
		{"nothing", 0, rng.Float64},
		{"short", 100, rng.NormFloat64},
		{"just at the radix sort", radixFrom, rng.NormFloat64},
		{"positive", 8000, func() float64 { return 2e7 + 1e6*rng.Float64() }},
		{"both signs", 8000, func() float64 { return 1e6 * rng.NormFloat64() }},
		{"extremes", 8000, func() float64 { return extremes[rng.IntN(len(extremes))] }},
	}
	for _, tt := range tests {
		got := make([]float64, tt.n)
		for i := range got {
			got[i] = tt.draw()
		}
		want := slices.Clone(got)
		slices.Sort(want)
		SortFloats(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: not as slices.Sort has it", tt.name)
		}
	}
}

func BenchmarkSort(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	gaps := make([]int64, 125_000)
	for i := range gaps {
		gaps[i] = int64(2e7 + 3e6*rng.NormFloat64())
	}
	work := make([]int64, len(gaps))
	b.Run("radix", func(b *testing.B) {
		for b.Loop() {
			copy(work, gaps)
			Sort(work)
		}
	})
	b.Run("comparing", func(b *testing.B) {
		for b.Loop() {
			copy(work, gaps)
			slices.Sort(work)
		}
	})
}
