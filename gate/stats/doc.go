// Package stats is the pure mathematics under the gate: sample quantiles with the
// sample sizes that they need, sorting, means, the difference of two samples by Student's
// t, Holm's procedure for many hypotheses, and Fisher's exact test.
//
// It works on plain slices of numbers and knows nothing of requests, metrics or
// verdicts; which quantity is taken, and what follows from it, stands in package gate.
// It imports the standard library and the distributions of gonum, and its results don't
// depend on the machine: the compiler is kept from fusing a product and a sum into one
// rounding, but for the distribution functions, which agree to some twelve digits.
package stats
