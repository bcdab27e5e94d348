package draw

import (
	"math"
	"testing"
)

func TestDrawsComeAgain(t *testing.T) {
	a, b := New(1, 2), New(1, 2)
	if a.Bits(Content, 3) != b.Bits(Content, 3) || a.Derive(4) != b.Derive(4) {
		t.Error("the same seed, boot, purpose and index: got two draws, want one")
	}
	seen := map[uint64]string{}
	for name, v := range map[string]uint64{
		"as it is": a.Bits(Content, 3), "another seed": New(2, 2).Bits(Content, 3), "another boot": New(1, 3).Bits(Content, 3),
		"swapped": New(2, 1).Bits(Content, 3), "another purpose": a.Bits(EOS, 3), "another index": a.Bits(Content, 4),
		"derived": a.Derive(0).Bits(Content, 3), "zero": Source{}.Bits(Content, 3),
	} {
		if other, ok := seen[v]; ok {
			t.Errorf("%s and %s: got the same draw", name, other)
		}
		seen[v] = name
	}
}

// TestMoments checks the distributions: the bounds are more than five standard errors.
func TestMoments(t *testing.T) {
	const n, sd = 20_000, .2
	s := New(7, 0)
	var u, u2, z, z2, f, logs float64
	for i := range uint64(n) {
		x := s.Uniform(Fault, i)
		if x < 0 || x >= 1 {
			t.Fatalf("uniform draw %d: got %v, want [0, 1)", i, x)
		}
		y, l := s.Normal(StepNoise, i), s.Lognormal(RequestNoise, i, sd)
		u, u2, z, z2, f = u+x, u2+x*x, z+y, z2+y*y, f+l
		logs += math.Pow(math.Log(l)+sd*sd/2, 2)
	}
	for _, m := range []struct {
		name             string
		got, want, bound float64
	}{
		{"mean of uniform", u / n, .5, .011},
		{"mean square of uniform", u2 / n, 1. / 3, .011},
		{"mean of normal", z / n, 0, .036},
		{"variance of normal", z2 / n, 1, .05},
		{"mean of lognormal", f / n, 1, .0075},
		{"sd of its logarithm", math.Sqrt(logs / n), sd, .006},
	} {
		if math.Abs(m.got-m.want) > m.bound {
			t.Errorf("%s: got %.4f, want %.4f", m.name, m.got, m.want)
		}
	}
	if got := s.Lognormal(StepNoise, 1, 0); got != 1 {
		t.Errorf("lognormal without spread: got %v, want 1 exactly", got)
	}
}
