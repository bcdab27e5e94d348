package workload

import (
	"fmt"
	"math"

	"github.com/servegate/servegate/gate"
)

// block is the smallest number of tokens that prefix caches commonly share as a whole.
const block = 16

// Warnings says what the first n measured requests can't have of what was asked for:
// prompts that are too short to be unique, or shorter than the engine's template.
func (g *Generator) Warnings(n int) []string {
	var all []string
	note := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if g.nonce > block {
		note("%d different token ids are too few for a unique start of a prompt within %d tokens: prompts may share the first block of a prefix cache", g.units, block)
	}
	if len(g.prefix) > 0 && len(g.prefix) < g.nonce {
		note("shared prefix of %d %s is shorter than a nonce of %d: an earlier repetition or run may have left it in the prefix cache", len(g.prefix), g.unit(), g.nonce)
	}
	if short, repeats := g.repeats(n); short > 0 {
		note("%d of the first %d prompts have under %d %s of their own, too few for a unique nonce: about %.2g of them repeat an earlier one and may be served from the prefix cache",
			short, n, g.nonce, g.unit(), repeats)
	}
	if least := g.least(); g.Form == Text {
		over := 0
		for i := range n {
			if input, _ := g.Lengths(gate.Measure, i); float64(input) < math.Floor(least) {
				over++
			}
		}
		if over > 0 {
			note("%d of the first %d prompts are to be shorter than %.0f tokens, which one word has with what the engine puts around it: they will be longer than asked for", over, n, least)
		}
	}
	return all
}

// least is the expected tokens of the shortest text prompt.
func (g *Generator) least() float64 { return g.Calibration.Tokens(1) }

// unit names the units of a prompt.
func (g *Generator) unit() string {
	if g.Form == Text {
		return "words"
	}
	return "tokens"
}

// repeats counts the prompts among the first n that have fewer units of their own than
// a nonce has, and how many of those are expected to be equal to an earlier one.
func (g *Generator) repeats(n int) (short int, expected float64) {
	prompts := make([]int, g.nonce) // by the number of units of their own
	for i := range n {
		input, _ := g.Lengths(gate.Measure, i)
		if own := g.length(input) - len(g.prefix); own < g.nonce {
			prompts[own]++
			short++
		}
	}
	for own, k := range prompts {
		if k == 0 {
			continue
		}
		// k draws from so many kinds are expected to give kinds (1 - (1 - 1/kinds)^k)
		// different ones; the rest repeat one.
		kinds := math.Pow(float64(g.units), float64(own))
		expected += max(0, float64(k)+kinds*math.Expm1(float64(k)*math.Log1p(-1/kinds)))
	}
	return short, expected
}
