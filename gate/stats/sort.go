package stats

import (
	"math"
	"math/bits"
	"slices"
)

// The radix sort takes digits of this many bits, and is used from this many values on;
// below, clearing its counters costs more than comparing.
const (
	digitBits = 11
	radixFrom = 1 << digitBits
)

// Sort sorts x in ascending order. Long slices are sorted by radix, which takes time in
// proportion to their length: the chunk gaps of a repetition are a hundred thousand
// durations that differ in 30 bits or less, three digits, where comparing them takes
// seventeen rounds.
func Sort(x []int64) {
	if len(x) < radixFrom {
		slices.Sort(x)
		return
	}
	low, high := slices.Min(x), slices.Max(x)
	// As an unsigned number the difference never overflows, whatever the two are.
	width := bits.Len64(uint64(high) - uint64(low))
	from, to := x, make([]int64, len(x))
	for shift := 0; shift < width; shift += digitBits {
		byDigit(to, from, uint64(low), shift)
		from, to = to, from
	}
	if &from[0] != &x[0] {
		copy(x, from)
	}
}

// SortFloats sorts x, which holds no NaN, in ascending order, as [Sort] does.
func SortFloats(x []float64) {
	if len(x) < radixFrom {
		slices.Sort(x)
		return
	}
	keys := make([]int64, len(x))
	for i, v := range x {
		keys[i] = ordered(int64(math.Float64bits(v)))
	}
	Sort(keys)
	for i, k := range keys {
		x[i] = math.Float64frombits(uint64(ordered(k)))
	}
}

// ordered maps the bits of floats to integers of the same order, and back: those of
// positive floats are in it, those of negative ones run the other way.
func ordered(bits int64) int64 { return bits ^ int64(uint64(bits>>63)>>1) }

// byDigit puts the values of from into to in the order of one digit of their distance
// from low, keeping the order of those that agree in it.
func byDigit(to, from []int64, low uint64, shift int) {
	const mask = 1<<digitBits - 1
	var next [1 << digitBits]int
	for _, v := range from {
		next[(uint64(v)-low)>>shift&mask]++
	}
	sum := 0
	for digit, n := range next {
		next[digit] = sum
		sum += n
	}
	for _, v := range from {
		digit := (uint64(v) - low) >> shift & mask
		to[next[digit]] = v
		next[digit]++
	}
}
