package stats

import (
	"cmp"
	"slices"
)

// Holm returns the p values adjusted by Holm's step-down procedure (1979), in the order of
// p: a hypothesis is rejected at a family level where its adjusted value is at most that
// level, and the chance of any false rejection is then at most that level, whatever the
// dependence. p holds numbers from 0 to 1.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	adjusted := make([]float64, len(p))
	least := 0.0
	for rank, i := range order {
		least = max(least, min(float64(len(p)-rank)*p[i], 1))
		adjusted[i] = least
	}
	return adjusted
}
