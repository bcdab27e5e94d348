// Package stats is the pure mathematics under the gate: sample quantiles with the
// sample sizes that they need, sorting, and means.
//
// It works on plain slices of numbers and knows nothing of requests, metrics or
// verdicts; which quantity is taken, and what follows from it, stands in package gate.
// It imports the standard library only, and its results don't depend on the machine:
// the compiler is kept from fusing a product and a sum into one rounding.
package stats
