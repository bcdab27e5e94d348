package stats

import (
	"math"
	"testing"
)

func logs(v ...float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = math.Log(x)
	}
	return out
}

var gateRule = TwoSample{LeastSD: .001, Unequal: .995}

// The values are those of scipy 1.17.1: stats.ttest_ind(b, a, equal_var=not welch,
// alternative="greater") of the logarithms, its standard error by dividing the difference
// by the statistic, and the bounds by stats.t.ppf(.95, df). The ratios of the sample
// variances are 1.9, 66, 3.3 and 7831 against .995 quantiles of F of 18.3, 49.8 (2 and 3
// degrees of freedom), 199 and 49.8.
func TestCompare(t *testing.T) {
	tests := []struct {
		name                       string
		a, b                       []float64
		welch                      bool
		mean, se, df, p, low, high float64
	}{
		{
			"pooled, six and three", logs(.100, .103, .099, .101, .098, .102), logs(.115, .121, .118),
			false, .1604557939504816, .014703397791963245, 7, 5.997418727418761e-06, .1325990510717004, .1883125368292628,
		},
		{
			"Welch, four and three", logs(.2, .21, .19, .205), logs(.2, .3, .15),
			true, .033713641292397956, .20219120675826696, 2.045419801886892, .44130233696380267, -.5478375821011328, .6152646648859287,
		},
		{
			"pooled, downwards", logs(6, 6.1, 5.9), logs(5, 5.2, 4.9),
			false, -.1758896160603105, .01992286596547839, 4, .9995457392075657, -.21836211384323218, -.13341711827738884,
		},
		{
			"Welch, unequal the other way", logs(1, 1.003, 1.001, .998), logs(1.3, 1.1, .9),
			true, .08360639121077773, .10630584538760143, 2.0003831106145644, .25698375442286225, -.2267646057049924, .39397738812654787,
		},
	}
	for _, tt := range tests {
		got, ok := gateRule.Compare(tt.a, tt.b)
		low, high := got.Bounds(.05)
		if !ok || got.Welch != tt.welch {
			t.Errorf("%s: got %+v, %v, want Welch %v", tt.name, got, ok, tt.welch)
		}
		for _, n := range []struct {
			what      string
			got, want float64
		}{
			{"mean", got.Mean, tt.mean},
			{"standard error", got.SE, tt.se},
			{"degrees of freedom", got.DF, tt.df},
			{"p above zero", got.AboveZero(), tt.p},
			{"p below zero", got.BelowZero(), 1 - tt.p},
			{"lower bound", low, tt.low},
			{"upper bound", high, tt.high},
		} {
			if !near(n.got, n.want, 1e-6) {
				t.Errorf("%s: %s: got %v, want %v", tt.name, n.what, n.got, n.want)
			}
		}
	}
}

func TestCompareOfFew(t *testing.T) {
	tests := []struct {
		name string
		a, b []float64
		want Difference
		ok   bool
	}{
		// The variance of 1, 2, 3 is 1: SE = sqrt(1 x (1/3 + 1)), two degrees of freedom.
		{"one on the second side", []float64{1, 2, 3}, []float64{7}, Difference{Mean: 5, SE: math.Sqrt(4. / 3), DF: 2}, true},
		{"one on the first side", []float64{7}, []float64{1, 2, 3}, Difference{Mean: -5, SE: math.Sqrt(4. / 3), DF: 2}, true},
		{"one and two", []float64{1}, []float64{4, 6}, Difference{Mean: 4, SE: math.Sqrt(2 * 1.5), DF: 1}, true},
		{"one on both sides", []float64{1}, []float64{2}, Difference{}, false},
		{"nothing on one side", nil, []float64{1, 2, 3}, Difference{}, false},
		{"nothing", nil, nil, Difference{}, false},
		// No variance at all: that of the floor, .001, is taken.
		{"zero variance", []float64{1, 1}, []float64{2, 2}, Difference{Mean: 1, SE: .001, DF: 2}, true},
		{"not a number", []float64{1, math.NaN()}, []float64{2, 2}, Difference{}, false},
		{"infinite", []float64{1, 1}, []float64{2, math.Inf(-1)}, Difference{}, false},
	}
	for _, tt := range tests {
		got, ok := gateRule.Compare(tt.a, tt.b)
		if ok != tt.ok {
			t.Errorf("%s: got %v, want %v", tt.name, ok, tt.ok)
		}
		if ok && (got.DF != tt.want.DF || got.Welch || !near(got.Mean, tt.want.Mean, 1e-12) || !near(got.SE, tt.want.SE, 1e-12)) {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
	if _, ok := (TwoSample{}).Compare([]float64{1, 1}, []float64{2, 2}); ok {
		t.Error("zero variance and no floor: got a difference, want none")
	}
}

// TestWhenVariancesArePooled: the .995 quantile of F(2, 2) is 199.
func TestWhenVariancesArePooled(t *testing.T) {
	spread := func(sd float64) []float64 { return []float64{-sd, 0, sd} }
	tests := []struct {
		name  string
		rule  TwoSample
		a, b  []float64
		welch bool
	}{
		{"a variance ratio of 198", gateRule, spread(1), spread(math.Sqrt(198)), false},
		{"a variance ratio of 200", gateRule, spread(1), spread(math.Sqrt(200)), true},
		{"the other way round", gateRule, spread(math.Sqrt(200)), spread(1), true},
		{"both below the floor", gateRule, spread(1e-9), spread(1e-5), false},
		{"one far below the floor", gateRule, spread(0), spread(.0141), false}, // 198.8 floors
		{"always pooled", TwoSample{Unequal: 1}, spread(1), spread(100), false},
		{"pooled by default", TwoSample{}, spread(1), spread(100), false},
	}
	for _, tt := range tests {
		if got, ok := tt.rule.Compare(tt.a, tt.b); !ok || got.Welch != tt.welch {
			t.Errorf("%s: got %+v, %v, want Welch %v", tt.name, got, ok, tt.welch)
		}
	}
}

// TestReach: (2.1318467863 + .9409645772) x SE for 4 degrees of freedom.
func TestReach(t *testing.T) {
	d := Difference{Mean: 9, SE: .02, DF: 4}
	if got, want := d.Reach(.05, .8), 3.0728113638618789*.02; !near(got, want, 1e-9) {
		t.Errorf("got %v, want %v", got, want)
	}
}
