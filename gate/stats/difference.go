package stats

import (
	"math"
	"slices"
)

// TwoSample says how the means of two independent samples are held against each other.
type TwoSample struct {
	// LeastSD is the smallest standard deviation of one observation that is believed:
	// three equal numbers don't show that there is no noise.
	LeastSD float64
	// Unequal is the quantile of F beyond which the larger sample variance over the
	// smaller says that the two are not one; they are then not pooled. 1 always pools.
	Unequal float64
}

// Difference is an estimated difference with its uncertainty.
type Difference struct {
	Mean  float64 // mean of the second sample less that of the first
	SE    float64 // its standard error, above 0
	DF    float64 // degrees of freedom of Student's t
	Welch bool    // the variances weren't pooled
}

// Compare returns the difference of the means of b and a. The variance is pooled, with
// len(a) + len(b) - 2 degrees of freedom, so that a sample of one borrows that of the
// other; where the variances differ (see [TwoSample.Unequal]) each keeps its own, with the
// degrees of freedom of Welch and Satterthwaite. It is false where nothing can be said: a
// sample is empty, both are of one, or a number isn't finite. The order of the samples
// doesn't matter, to the last bit.
func (o TwoSample) Compare(a, b []float64) (Difference, bool) {
	na, nb := float64(len(a)), float64(len(b))
	df := na + nb - 2
	if na == 0 || nb == 0 || df < 1 {
		return Difference{}, false
	}
	meanA, sumA := moments(a)
	meanB, sumB := moments(b)
	d := Difference{Mean: meanB - meanA, DF: df}
	least := o.LeastSD * o.LeastSD
	varA, varB := max(sumA/(na-1), least), max(sumB/(nb-1), least)
	if na > 1 && nb > 1 && o.apart(varA, na-1, varB, nb-1) {
		d.welch(varA/na, na-1, varB/nb, nb-1)
	} else {
		d.SE = math.Sqrt(max((sumA+sumB)/df, least) * (1/na + 1/nb))
	}
	return d, d.SE > 0 && !math.IsNaN(d.Mean) && !math.IsInf(d.Mean+d.SE, 0)
}

// apart reports whether two sample variances are too far apart for one true variance.
func (o TwoSample) apart(varA, dfA, varB, dfB float64) bool {
	if varA < varB {
		varA, dfA, varB, dfB = varB, dfB, varA, dfA
	}
	return o.Unequal < 1 && varA > varB*FQuantile(o.Unequal, dfA, dfB)
}

// welch sets the standard error and degrees of freedom of unequal variances; a and b are
// the variances of the two means (Welch 1947, Satterthwaite 1946).
func (d *Difference) welch(a, dfA, b, dfB float64) {
	d.Welch = true
	d.SE = math.Sqrt(a + b)
	share := a / (a + b)
	d.DF = 1 / (share*share/dfA + (1-share)*(1-share)/dfB)
}

// moments returns the mean of v and the sum of squared distances from it, summed in
// ascending order.
func moments(v []float64) (mean, squares float64) {
	sorted := slices.Sorted(slices.Values(v))
	for _, x := range sorted {
		mean += x
	}
	mean /= float64(len(sorted))
	for _, x := range sorted {
		squares += float64((x - mean) * (x - mean))
	}
	return mean, squares
}

// Bounds returns the lower and the upper bound of the true difference, each one-sided at
// level: the truth lies below the lower one with probability level.
func (d Difference) Bounds(level float64) (low, high float64) {
	width := float64(StudentQuantile(1-level, d.DF) * d.SE)
	return d.Mean - width, d.Mean + width
}

// AboveZero returns the one-sided p value of "the true difference is not above 0".
func (d Difference) AboveZero() float64 { return StudentTail(d.Mean/d.SE, d.DF) }

// BelowZero returns the one-sided p value of "the true difference is not below 0".
func (d Difference) BelowZero() float64 { return StudentTail(-d.Mean/d.SE, d.DF) }

// Reach returns how far above 0 the estimate has to be expected for its lower bound at
// level to exceed 0 with the given power, by the usual approximation (t[1-level] +
// t[power]) SE.
func (d Difference) Reach(level, power float64) float64 {
	return (StudentQuantile(1-level, d.DF) + StudentQuantile(power, d.DF)) * d.SE
}
