package workload

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/servegate/gate"
)

func TestWords(t *testing.T) {
	if len(words) != WordCount {
		t.Errorf("got %d words, want %d", len(words), WordCount)
	}
	if n := len(slices.Compact(slices.Sorted(slices.Values(words)))); n != len(words) {
		t.Errorf("got %d different words of %d", n, len(words))
	}
	if got := CalibrationText(2 * WordCount); got != ProbeText+" "+ProbeText {
		t.Errorf("got %q, want the list twice", got)
	}
}

// tokens counts a text as an engine might: a template of 37, one token for a word, and
// one more for each word of seven letters and up.
func tokens(text string) int {
	n := 37
	for _, w := range strings.Fields(text) {
		n++
		if len(w) >= 7 {
			n++
		}
	}
	return n
}

func TestCalibratedTextHasTheWantedLength(t *testing.T) {
	var probes []Probe
	for _, n := range []int{WordCount, 2 * WordCount} {
		probes = append(probes, Probe{n, tokens(CalibrationText(n))})
	}
	c, err := Calibrate(probes...)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(c.Overhead-37) > 1e-9 {
		t.Errorf("got overhead %g, want 37", c.Overhead)
	}
	o := options(t, cold, Text)
	o.Calibration = c
	g := newGenerator(t, o)
	want, got := 0, 0
	for i := range 500 {
		r := g.Request(gate.Measure, i)
		n := tokens(r.Text)
		want, got = want+r.Input, got+n
		// words are drawn, so that a prompt of n words has a share of long ones that
		// strays by 1/(2 sqrt n) at most, as a standard deviation
		if limit := 5 * math.Sqrt(float64(r.Input)) / 2; math.Abs(float64(n-r.Input)) > limit+1 {
			t.Errorf("request %d: got %d tokens, want %d within %.0f", i, n, r.Input, limit)
		}
	}
	if off := math.Abs(float64(got)/float64(want) - 1); off > 0.002 {
		t.Errorf("got %d tokens in all, want %d: %.2f %% off", got, want, 100*off)
	}
}

func TestCalibrate(t *testing.T) {
	tests := []struct {
		name   string
		probes []Probe
		want   Calibration
		err    string
	}{
		{"two", []Probe{{256, 300}, {512, 556}}, Calibration{Overhead: 44, PerWord: 1}, ""},
		{"three, by least squares", []Probe{{0, 1}, {1, 1}, {2, 4}}, Calibration{Overhead: 0.5, PerWord: 1.5}, ""},
		{"none", nil, Calibration{}, "need two texts"},
		{"one", []Probe{{256, 300}}, Calibration{}, "need two texts"},
		{"twice the same", []Probe{{256, 300}, {256, 300}}, Calibration{}, "need two texts"},
		{"tokens aren't counted", []Probe{{256, 0}, {512, 0}}, Calibration{}, "0 tokens a word"},
		{"the longer has fewer", []Probe{{256, 600}, {512, 300}}, Calibration{}, "tokens a word"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Calibrate(tt.probes...)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("got %v, want an error with %q", err, tt.err)
				}
				return
			}
			if err != nil || math.Abs(got.Overhead-tt.want.Overhead) > 1e-9 || math.Abs(got.PerWord-tt.want.PerWord) > 1e-9 {
				t.Errorf("got %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
}

func TestVocabulary(t *testing.T) {
	probed := []int{1} // the special token in front
	for i := range 40 {
		probed = append(probed, 900-3*i, 900-3*i)
	}
	probed = append(probed, 2) // and the one at the end
	tests := []struct {
		name      string
		spec      Spec
		tokenized []int
		want      string
		low, high int
	}{
		{"from the tokenizer", cold, probed, "tokenizer(40 ids,sha256:c3e54f8943f48e1d)", 783, 900},
		{"from the spec", Spec{IDs: IDRange{100, 120}}, probed, "100-120", 100, 120},
		{"nothing known", cold, nil, "10-250", 10, 250},
		{"too few known", cold, probed[:20], "10-250", 10, 250},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, err := tt.spec.Vocabulary(tt.tokenized)
			if err != nil {
				t.Fatal(err)
			}
			ends := []int{0, v.Len() - 1}
			v.name(ends)
			if v.String() != tt.want || ends[0] != tt.low || ends[1] != tt.high {
				t.Errorf("got %s from %d to %d, want %s from %d to %d", v, ends[0], ends[1], tt.want, tt.low, tt.high)
			}
		})
	}
	if _, err := cold.Vocabulary(append([]int{-5}, slices.Concat(probed, []int{-7, -7, 3})...)); err == nil {
		t.Error("negative ids: got no error")
	}
}
