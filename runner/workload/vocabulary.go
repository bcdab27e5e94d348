package workload

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// DefaultIDs is the range that token ids are drawn from where nothing else is known:
// ordinary tokens in every tokenizer that we know, and no special ones.
var DefaultIDs = IDRange{Low: 10, High: 250}

// fewestIDs is how many ids the engine's tokenizer must tell, so that they are used.
const fewestIDs = 16

// Vocabulary is the set of token ids that prompts are drawn from.
type Vocabulary struct {
	low, n int   // a range
	ids    []int // else: a set, ascending
}

// Vocabulary chooses the ids that prompts of s are drawn from: the range in s.IDs; else
// tokenized, the ids that the engine's tokenizer gave for [ProbeText]; else, where
// there are too few of them, [DefaultIDs].
//
// The first and the last of tokenized are left out unless they occur elsewhere in it:
// they may be the special tokens that some tokenizers put around a text.
func (s Spec) Vocabulary(tokenized []int) (Vocabulary, error) {
	if s.IDs != (IDRange{}) {
		return s.IDs.vocabulary()
	}
	if len(tokenized) > 2 {
		if ids := slices.Compact(slices.Sorted(slices.Values(tokenized[1 : len(tokenized)-1]))); len(ids) >= fewestIDs {
			if ids[0] < 0 {
				return Vocabulary{}, fmt.Errorf("choose token ids: the engine's tokenizer gave %d", ids[0])
			}
			return Vocabulary{n: len(ids), ids: ids}, nil
		}
	}
	return DefaultIDs.vocabulary()
}

func (r IDRange) vocabulary() (Vocabulary, error) {
	if r.Low < 0 || r.High <= r.Low || r.High > math.MaxInt32 {
		return Vocabulary{}, fmt.Errorf("choose token ids: range %d-%d must ascend and lie within 0 and %d", r.Low, r.High, math.MaxInt32)
	}
	return Vocabulary{low: r.Low, n: r.High - r.Low + 1}, nil
}

// Len is the number of ids in v.
func (v Vocabulary) Len() int { return v.n }

// name puts in the place of each number from 0 to Len()-1 in list the id of that number.
func (v Vocabulary) name(list []int) {
	for i, unit := range list {
		if v.ids == nil {
			list[i] = v.low + unit
		} else {
			list[i] = v.ids[unit]
		}
	}
}

// String is v as it stands in the envelope: 10-250, or
// tokenizer(187 ids,sha256:0123456789abcdef).
func (v Vocabulary) String() string {
	if v.ids == nil {
		return fmt.Sprintf("%d-%d", v.low, v.low+v.n-1)
	}
	h := sha256.New()
	for _, id := range v.ids {
		h.Write(binary.LittleEndian.AppendUint32(nil, uint32(id)))
	}
	return fmt.Sprintf("tokenizer(%d ids,sha256:%x)", v.n, h.Sum(nil)[:8])
}

// random is the source of random numbers of a key. Everything in a request is drawn
// from a source of its own, so that nothing depends on what was drawn before.
func random(format string, key ...any) *rand.PCG {
	h := sha256.Sum256(fmt.Appendf(nil, "servegate "+format, key...))
	return rand.NewPCG(binary.LittleEndian.Uint64(h[:8]), binary.LittleEndian.Uint64(h[8:16]))
}

// below draws from 0 to n-1. The bias of the multiplication is n/2^64.
func below(r rand.Source, n int) int {
	high, _ := bits.Mul64(r.Uint64(), uint64(n))
	return int(high)
}
