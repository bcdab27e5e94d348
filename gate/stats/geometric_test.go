package stats

import (
	"math"
	"testing"
)

func TestGeometricMean(t *testing.T) {
	tests := []struct {
		name string
		v    []float64
		want float64
		ok   bool
	}{
		{"empty", nil, 0, false},
		{"one", []float64{3}, 3, true},
		{"two", []float64{1, 4}, 2, true},
		{"three", []float64{1, 10, 100}, 10, true},
		{"zero", []float64{1, 0}, 0, false},
		{"negative", []float64{-1, 1}, 0, false},
		{"infinite", []float64{1, math.Inf(1)}, 0, false},
		{"nan", []float64{math.NaN()}, 0, false},
		{"huge", []float64{1e300, 1e300}, 1e300, true},
	}
	for _, tt := range tests {
		got, ok := GeometricMean(tt.v)
		if ok != tt.ok || math.Abs(got-tt.want) > 1e-9*math.Abs(tt.want) {
			t.Errorf("%s: got %v, %v, want %v, %v", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}
