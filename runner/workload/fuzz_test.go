package workload

import (
	"slices"
	"strings"
	"testing"

	"github.com/servegate/servegate/gate"
)

// FuzzGenerator holds whatever may be configured to what a prompt must be.
func FuzzGenerator(f *testing.F) {
	f.Add(uint64(1), 512.0, 200.0, 1, 2048, uint8(2), 10, 250, 0, false)
	f.Add(uint64(2), 3.0, 9.0, 2, 4, uint8(1), 0, 1, 1, true)
	f.Add(uint64(3), 1.0, 1.0, 1, 1, uint8(3), 7, 8, 0, true)
	f.Fuzz(func(t *testing.T, seed uint64, mean, sd float64, low, high int, kind uint8, idLow, idHigh, prefix int, text bool) {
		if high > 5000 || mean > 2000 || sd > 2000 {
			t.Skip("too long for a quick check")
		}
		kinds := []Distribution{Fixed, Uniform, Normal, Lognormal}
		l := Lengths{Distribution: kinds[int(kind)%len(kinds)], Mean: mean, SD: sd, Min: low, Max: high}
		s := Spec{Input: l, Output: l, API: Completions, Prompt: Auto, IDs: IDRange{idLow, idHigh}, Cache: Cold, Prefix: prefix}
		if prefix != 0 {
			s.Cache = SharedPrefix
		}
		o := Options{Spec: s, Seed: seed, Form: IDs, Calibration: Calibration{Overhead: 3, PerWord: 1}}
		if text {
			o.Form = Text
		}
		var err error
		if o.Vocabulary, err = s.Vocabulary(nil); err != nil {
			t.Skip("no ids")
		}
		g, err := New(o)
		if err != nil {
			return
		}
		for i := range 3 {
			checkRequest(t, g, g.Request(gate.Measure, i))
		}
		g.Warnings(3)
	})
}

func checkRequest(t *testing.T, g *Generator, r Request) {
	t.Helper()
	most, _ := g.Spec.Input.High()
	if r.Input < g.Spec.Input.Low() || r.Input > most || r.Output < 1 {
		t.Errorf("%s: got lengths %d and %d", g.Spec.Input, r.Input, r.Output)
	}
	if g.Form == Text {
		if n := len(strings.Fields(r.Text)); n != g.Calibration.Words(r.Input) {
			t.Errorf("got %d words for %d tokens, want %d", n, r.Input, g.Calibration.Words(r.Input))
		}
		return
	}
	if len(r.IDs) != r.Input {
		t.Errorf("got %d ids, want %d", len(r.IDs), r.Input)
	}
	if low, high := slices.Min(r.IDs), slices.Max(r.IDs); g.Spec.IDs != (IDRange{}) && (low < g.Spec.IDs.Low || high > g.Spec.IDs.High) {
		t.Errorf("got ids %d to %d, want within %v", low, high, g.Spec.IDs)
	}
}

func BenchmarkRequest(b *testing.B) {
	for _, form := range []Prompt{IDs, Text} {
		b.Run(string(form)+"/100k tokens", func(b *testing.B) {
			o := options(b, cold, form)
			o.Spec.Input = Lengths{Distribution: Fixed, Mean: 100_000}
			g := newGenerator(b, o)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				g.Request(gate.Measure, i)
			}
		})
	}
}

func BenchmarkDigest(b *testing.B) {
	g := newGenerator(b, options(b, cold, IDs))
	for b.Loop() {
		g.Digest(1000)
	}
}
