package stats

import "math"

// GeometricMean returns the geometric mean of v and true, or false where v is empty or
// holds a value that is not positive and finite, for which there is none.
func GeometricMean(v []float64) (float64, bool) {
	if len(v) == 0 {
		return 0, false
	}
	sum := 0.0
	for _, x := range v {
		if !(x > 0) || math.IsInf(x, 1) {
			return 0, false
		}
		sum += math.Log(x)
	}
	return math.Exp(sum / float64(len(v))), true
}
