package stats

import "math"

// FisherGreater returns the one-sided p value of Fisher's exact test: the probability, if
// both sides fail alike, that of the failed+otherFailed failures among n+otherN trials at
// least failed lie among the n. It is NaN for counts that can't be (negative, or more
// failures than trials).
func FisherGreater(failed, n, otherFailed, otherN int) float64 {
	k, a := float64(failed), float64(n)
	m, b := float64(otherFailed), float64(otherN)
	if min(k, m, a-k, b-m) < 0 {
		return math.NaN()
	}
	h := hypergeometric{drawn: a, failures: k + m, rest: a + b - k - m}
	low, high := max(0, a-h.rest), min(a, h.failures)
	if k <= low {
		return 1
	}
	// The tail that doesn't hold the mode is summed: its terms fall from the first on.
	if mode := (a + 1) * (h.failures + 1) / (a + b + 2); k > mode {
		return min(h.tail(k, high, 1), 1)
	}
	return max(1-h.tail(k-1, low, -1), 0)
}

// hypergeometric is the number of failures among drawn trials, taken from failures failed
// and rest successful ones.
type hypergeometric struct{ drawn, failures, rest float64 }

// tail sums the probabilities from k to end, by the ratio of neighbours, until what is
// left no longer shows.
func (h hypergeometric) tail(k, end, step float64) float64 {
	term := math.Exp(logChoose(h.failures, k) + logChoose(h.rest, h.drawn-k) - logChoose(h.failures+h.rest, h.drawn))
	sum := term
	for ; k != end && term > sum*1e-17; k += step {
		term *= h.ratio(k, step)
		sum += term
	}
	return sum
}

// ratio is P(k + step) / P(k).
func (h hypergeometric) ratio(k, step float64) float64 {
	if step > 0 {
		return (h.failures - k) / (k + 1) * ((h.drawn - k) / (h.rest - h.drawn + k + 1))
	}
	return k / (h.failures - k + 1) * ((h.rest - h.drawn + k) / (h.drawn - k + 1))
}

// logChoose is the logarithm of n over k, 0 <= k <= n.
func logChoose(n, k float64) float64 {
	// Of a small k the difference of two large logarithms would leave few digits.
	if k = min(k, n-k); k < 64 {
		sum := 0.0
		for i := range int(k) {
			sum += math.Log((n - float64(i)) / float64(i+1))
		}
		return sum
	}
	return n*entropy(k/n) + .5*math.Log(n/(2*math.Pi*k*(n-k))) + stirling(n) - stirling(k) - stirling(n-k)
}

// entropy is that of a coin which falls one way with probability x, in nats.
func entropy(x float64) float64 { return -x*math.Log(x) - (1-x)*math.Log1p(-x) }

// stirling is the error of Stirling's formula for ln n!, n >= 64, to the last digit.
func stirling(n float64) float64 {
	return (1./12 - (1./360-1/(1260*n*n))/(n*n)) / n
}
