package workload

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/servegate/servegate/gate"
)

var (
	fixed512 = Lengths{Distribution: Fixed, Mean: 512}
	spread   = Lengths{Distribution: Lognormal, Mean: 512, SD: 200, Max: 2048}
	short    = Lengths{Distribution: Uniform, Min: 64, Max: 192}
	cold     = Spec{Name: "chat", Input: spread, Output: short, API: Completions, Prompt: Auto, Cache: Cold}
	shared   = Spec{
		Name: "rag", Input: Lengths{Distribution: Uniform, Min: 300, Max: 600}, Output: short,
		API: Completions, Prompt: Auto, Cache: SharedPrefix, Prefix: 256,
	}
)

// options are valid ones for a spec, in either form.
func options(t testing.TB, s Spec, form Prompt) Options {
	v, err := s.Vocabulary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Spec: s, Seed: 1, Form: form, Vocabulary: v, Calibration: Calibration{Overhead: 11.5, PerWord: 1.25},
		Run: "01ab", Repetition: 1,
	}
}

func newGenerator(t testing.TB, o Options) *Generator {
	t.Helper()
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A request depends on nothing that was asked for before it, or at the same time.
func TestRequestsAreIndependentOfOrder(t *testing.T) {
	for _, form := range []Prompt{IDs, Text} {
		want := map[gate.Phase][]Request{}
		g := newGenerator(t, options(t, cold, form))
		for _, phase := range []gate.Phase{gate.Warmup, gate.Measure, gate.Drain} {
			for i := range 100 {
				want[phase] = append(want[phase], g.Request(phase, i))
			}
		}
		again := newGenerator(t, options(t, cold, form))
		var wg sync.WaitGroup
		for phase := range want {
			for i := 99; i >= 0; i-- {
				wg.Go(func() {
					if diff := cmp.Diff(want[phase][i], again.Request(phase, i)); diff != "" {
						t.Errorf("%s %d (-first +again):\n%s", phase, i, diff)
					}
				})
			}
		}
		wg.Wait()
	}
}

// Base and head, and all repetitions of both, get the same lengths and the same
// content but for the nonce.
func TestRepetitionsDifferInTheNonceOnly(t *testing.T) {
	o := options(t, cold, IDs)
	first := newGenerator(t, o)
	o.Repetition = 2
	second := newGenerator(t, o)
	o.Run = "other"
	third := newGenerator(t, o)
	for i := range 200 {
		a := first.Request(gate.Measure, i)
		for _, g := range []*Generator{second, third} {
			b := g.Request(gate.Measure, i)
			if a.Input != b.Input || a.Output != b.Output {
				t.Fatalf("request %d: got lengths %d/%d, want %d/%d", i, b.Input, b.Output, a.Input, a.Output)
			}
			if slices.Equal(a.IDs[:g.nonce], b.IDs[:g.nonce]) {
				t.Errorf("request %d: got the same nonce %v", i, a.IDs[:g.nonce])
			}
			if n := g.nonce; !slices.Equal(a.IDs[n:], b.IDs[n:]) {
				t.Errorf("request %d: got other content after the nonce", i)
			}
		}
	}
}

// No two requests may begin with the same block of a prefix cache, whatever phase and
// repetition they belong to.
func TestNonceIsUnique(t *testing.T) {
	for _, form := range []Prompt{IDs, Text} {
		o := options(t, cold, form)
		o.Spec.Input, o.Spec.Output = Lengths{Distribution: Fixed, Mean: 24}, fixed512
		seen := make(map[string]bool, 100_000)
		first := map[string]int{}
		for rep := range 2 {
			o.Repetition = rep
			g := newGenerator(t, o)
			for _, phase := range []gate.Phase{gate.Warmup, gate.Measure} {
				for i := range 25_000 {
					start := begin(g.Request(phase, i))
					if key := strings.Join(start, " "); seen[key] {
						t.Fatalf("%s, repetition %d, %s %d: start %q was there before", form, rep, phase, i, key)
					} else {
						seen[key] = true
					}
					first[start[0]]++
				}
			}
		}
		// even caches that share single tokens share little: first tokens are spread evenly
		for unit, n := range first {
			if share := float64(n) / 100_000; share > 2.0/241 {
				t.Errorf("%s: got %q first in %.2f %% of the prompts", form, unit, 100*share)
			}
		}
	}
}

// begin is the start of a prompt: less than a block of 16 tokens.
func begin(r Request) []string {
	if r.Text != "" {
		return strings.Fields(r.Text)[:8]
	}
	var start []string
	for _, id := range r.IDs[:9] {
		start = append(start, string(rune(id)))
	}
	return start
}

func TestSharedPrefix(t *testing.T) {
	o := options(t, shared, IDs)
	g := newGenerator(t, o)
	prefix := g.Request(gate.Warmup, 0).IDs[:256]
	rests := map[string]bool{}
	for _, phase := range []gate.Phase{gate.Warmup, gate.Measure, gate.Drain} {
		for i := range 300 {
			r := g.Request(phase, i)
			if !slices.Equal(r.IDs[:256], prefix) {
				t.Fatalf("%s %d: got another prefix", phase, i)
			}
			rest := string([]rune{rune(r.IDs[256]), rune(r.IDs[257]), rune(r.IDs[258]), rune(r.IDs[259]), rune(r.IDs[260])})
			if rests[rest] {
				t.Errorf("%s %d: what follows the prefix was there before", phase, i)
			}
			rests[rest] = true
		}
	}
	o.Repetition = 2
	other := newGenerator(t, o).Request(gate.Warmup, 0).IDs
	if slices.Equal(other[:g.nonce], prefix[:g.nonce]) {
		t.Error("got the same start of the prefix in another repetition, which an earlier one has warmed")
	}
	if !slices.Equal(other[g.nonce:256], prefix[g.nonce:]) {
		t.Error("got another prefix after the nonce in another repetition")
	}
}

func TestMaxContext(t *testing.T) {
	g := newGenerator(t, options(t, cold, IDs))
	want := 0
	for _, phase := range []gate.Phase{gate.Warmup, gate.Measure, gate.Drain} {
		for i := range 500 {
			r := g.Request(phase, i)
			if len(r.IDs) != r.Input {
				t.Fatalf("%s %d: got %d ids, want %d", phase, i, len(r.IDs), r.Input)
			}
			want = max(want, r.Input+r.Output)
		}
	}
	if got := g.MaxContext(500); got != want {
		t.Errorf("got %d, want %d", got, want)
	}
}

func TestWarnings(t *testing.T) {
	withInput := func(s Spec, low, high int) Spec {
		s.Input = Lengths{Distribution: Uniform, Min: low, Max: high}
		return s
	}
	few := cold
	few.IDs = IDRange{Low: 5, High: 6}
	tests := []struct {
		name string
		spec Spec
		form Prompt
		want []string // parts of the warnings, in order
	}{
		{"nothing to warn of", cold, IDs, nil},
		{"nothing to warn of, text", cold, Text, nil},
		{"one token", withInput(cold, 1, 1), IDs, []string{"1000 of the first 1000 prompts have under 9 tokens of their own, too few for a unique nonce: about 7.6e+02 of them repeat"}},
		{"four tokens", withInput(cold, 4, 4), IDs, []string{"about 0.00015 of them repeat"}},
		{"some are short", withInput(cold, 1, 16), IDs, []string{"prompts have under 9 tokens of their own"}},
		{"two ids", few, IDs, []string{"2 different token ids are too few"}},
		{"short prefix", Spec{Input: fixed512, Output: short, API: Completions, Prompt: Auto, Cache: SharedPrefix, Prefix: 4}, IDs, []string{"shared prefix of 4 tokens is shorter than a nonce of 9"}},
		{"short rest", func() Spec { s := shared; s.Input = Lengths{Distribution: Fixed, Mean: 257}; return s }(), IDs, []string{"prompts have under 9 tokens of their own"}},
		{"shorter than the template", withInput(cold, 5, 5), Text, []string{"under 8 words of their own", "are to be shorter than 13 tokens"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := newGenerator(t, options(t, tt.spec, tt.form)).Warnings(1000)
			if len(got) != len(tt.want) {
				t.Fatalf("got %q, want %d warnings", got, len(tt.want))
			}
			for i := range got {
				if !strings.Contains(got[i], tt.want[i]) {
					t.Errorf("got %q, want a warning with %q", got[i], tt.want[i])
				}
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"no form", func(o *Options) { o.Form = Auto }, `form is "auto"`},
		{"no vocabulary", func(o *Options) { o.Vocabulary = Vocabulary{} }, "vocabulary has 0 ids"},
		{"ids for a chat", func(o *Options) { o.Spec.API = Chat }, "chats take no token ids"},
		{"no calibration", func(o *Options) { o.Form, o.Calibration = Text, Calibration{} }, "0 tokens a word"},
		{"template eats what the prefix leaves", func(o *Options) {
			o.Spec, o.Form, o.Calibration = shared, Text, Calibration{Overhead: 60, PerWord: 1}
		}, "leaves nothing of the shortest prompt"},
		{"input", func(o *Options) { o.Spec.Input = Lengths{} }, "input: length has no distribution"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := options(t, cold, IDs)
			tt.change(&o)
			_, err := New(o)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestSpecReportsAllFaults(t *testing.T) {
	err := Spec{API: "images", Cache: Cold, Prefix: 3, IDs: IDRange{Low: 9, High: 3}}.Validate()
	if err == nil {
		t.Fatal("got no error")
	}
	for _, want := range []string{"input: ", "output: ", `api is "images"`, "cache is cold with a shared prefix of 3", "range 9-3"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q among the faults", err, want)
		}
	}
}
