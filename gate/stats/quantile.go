package stats

import "math"

// confidence is the level of the one-sided bound that [Floor] asks for.
const confidence = 0.95

// Quantile returns the q-quantile of sorted, which is in ascending order, by linear
// interpolation between order statistics: type 7 of Hyndman and Fan (1996), the default
// of R and numpy. q is cut to [0, 1]. The quantile of nothing is NaN.
func Quantile[T ~int64 | ~float64](sorted []T, q float64) float64 {
	n := len(sorted)
	if n == 0 || math.IsNaN(q) {
		return math.NaN()
	}
	// The conversions keep each product from being fused with the sum after it, which
	// would round differently from one architecture to the next.
	h := float64(float64(n-1) * min(max(q, 0), 1))
	low := int(h)
	if low >= n-1 {
		return float64(sorted[n-1])
	}
	a, b := float64(sorted[low]), float64(sorted[low+1])
	return a + float64((h-float64(low))*(b-a))
}

// Floor returns the smallest number of samples from which a distribution-free,
// one-sided 95 % upper bound on the q-quantile exists. The largest of n samples is such
// a bound with confidence 1 - q^n, so it is the smallest n with 1 - q^n >= 0.95: 5 for
// the median, 29, 59 and 299 for the 90th, 95th and 99th percentile. It is 1 for q <= 0,
// and for q >= 1 no number is enough: [math.MaxInt].
func Floor(q float64) int {
	switch {
	case q <= 0:
		return 1
	case !(q < 1):
		return math.MaxInt
	}
	n := math.Ceil(math.Log(1-confidence) / math.Log(q))
	return max(int(n), 1)
}
