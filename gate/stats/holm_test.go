package stats

import "testing"

// The values are those of statsmodels 0.15.0, stats.multitest.multipletests(p,
// method="holm"), which are R's p.adjust(p, "holm").
func TestHolm(t *testing.T) {
	tests := []struct {
		name    string
		p, want []float64
	}{
		{"four", []float64{.01, .04, .03, .005}, []float64{.03, .06, .06, .02}},
		{"one", []float64{.2}, []float64{.2}},
		{"ties, cut to one", []float64{.5, .5, .5}, []float64{1, 1, 1}},
		{"six", []float64{1e-9, .9, .002, .002, .03, .7}, []float64{6e-9, 1, .01, .01, .09, 1}},
		{"none", nil, nil},
	}
	for _, tt := range tests {
		got := Holm(tt.p)
		if len(got) != len(tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
			continue
		}
		for i := range got {
			if !near(got[i], tt.want[i], 1e-12) {
				t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
				break
			}
		}
	}
}
