package stats

import (
	"math"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/stat/distuv"
)

// StudentQuantile returns the p-quantile of Student's t distribution with df degrees of
// freedom, which need not be whole. It is NaN for a p outside of (0, 1) and for df <= 0.
func StudentQuantile(p, df float64) float64 {
	switch {
	case !(p > 0 && p < 1 && df > 0):
		return math.NaN()
	case p > .5:
		return -StudentQuantile(1-p, df) // what is left of a tail has more digits than 1 less it
	case p == .5:
		return 0
	}
	at := quantileAt{p, df}
	if q, ok := quantiles.Load(at); ok {
		return q.(float64)
	}
	q := distuv.StudentsT{Sigma: 1, Nu: df}.Quantile(p)
	if df == math.Trunc(df) && quantilesKept.Add(1) <= maxQuantilesKept {
		quantiles.Store(at, q)
	}
	return q
}

// quantiles keeps quantiles of whole degrees of freedom. Each is the root of an integral,
// and the rows of a run need the same few over and over.
var (
	quantiles     sync.Map // of quantileAt to float64
	quantilesKept atomic.Int64
)

const maxQuantilesKept = 4096

type quantileAt struct{ p, df float64 }

// StudentTail returns P(T > x) of Student's t distribution with df degrees of freedom. It
// keeps its digits far out, and is NaN for df <= 0.
func StudentTail(x, df float64) float64 {
	switch {
	case !(df > 0) || math.IsNaN(x):
		return math.NaN()
	case math.IsInf(x, 0):
		return (1 - math.Copysign(1, x)) / 2
	}
	// The distribution is symmetric, and the lower tail has its digits.
	return distuv.StudentsT{Sigma: 1, Nu: df}.CDF(-x)
}

// FQuantile returns the p-quantile of the F distribution with d1 and d2 degrees of
// freedom. It is NaN for a p outside of (0, 1) and degrees of freedom <= 0.
func FQuantile(p, d1, d2 float64) float64 {
	if !(p > 0 && p < 1 && d1 > 0 && d2 > 0) {
		return math.NaN()
	}
	return distuv.F{D1: d1, D2: d2}.Quantile(p)
}

// FProbability returns P(F <= x) of the F distribution with d1 and d2 degrees of freedom.
// It is NaN for degrees of freedom <= 0.
func FProbability(x, d1, d2 float64) float64 {
	switch {
	case !(d1 > 0 && d2 > 0) || math.IsNaN(x):
		return math.NaN()
	case x <= 0:
		return 0
	case math.IsInf(x, 1):
		return 1
	}
	return distuv.F{D1: d1, D2: d2}.CDF(x)
}
