package gate

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// nearly reports whether got is want but for a relative error of 1e-6.
func nearly(got *float64, want float64) bool {
	return got != nil && math.Abs(*got-want) <= 1e-6*math.Abs(want)
}

// onlyRow is the default policy with one gating row, of a tolerance of 5 % and a
// must_catch of 15 %.
func onlyRow(row Row, floor float64) Policy {
	p := DefaultPolicy()
	p.Rows = []RowPolicy{{Row: row, Tolerance: .05, MustCatch: .15, Floor: floor}}
	return p
}

// give sets the row of the repetitions to values.
func give(reps []Repetition, row Row, values ...float64) []Repetition {
	reps = reps[:len(values)]
	for i, v := range values {
		setRow(&reps[i], row, ptr(v))
	}
	return reps
}

// TestRowByHand: the figures are those of scipy 1.17.1, ttest_ind of the logarithms with
// equal_var=True, and t.ppf; with one gating row m is 1.
//
//	d .16045579, se .014703398, df 7, t[.95] 1.89457861, t[.99] 2.99795157, t[.8] .89602964
//	detectable exp(max(.04879016 + 2.79060825 se, 3.89398121 se)) - 1 = exp(.08982358) - 1
func TestRowByHand(t *testing.T) {
	row := Row{TTFT, P95}
	c := decideOne(onlyRow(row, .002), func(head *CellRun, base *Base) {
		base.Repetitions = give(base.Repetitions, row, .100, .103, .099, .101, .098, .102)
		head.Repetitions = give(head.Repetitions, row, .115, .121, .118)
	})
	rc := rowOf(c, row)
	for _, n := range []struct {
		name string
		got  *float64
		want float64
	}{
		{"d", rc.D, .1604557939504816},
		{"se", rc.SE, .014703397791963245},
		{"df", rc.DF, 7},
		{"p", rc.P, 5.997418727418761e-06},
		{"p_holm", rc.PHolm, 5.997418727418761e-06},
		{"change", rc.Change, math.Expm1(.1604557939504816)},
		{"low", rc.Low, math.Expm1(.1325990510717004)},
		{"high", rc.High, math.Expm1(.1883125368292628)},
		{"detectable", rc.Detectable, math.Expm1(.0898215858)},
		{"base", rc.Base, .1004854},
		{"head", rc.Head, .1179746},
	} {
		if n.got == nil || math.Abs(*n.got-n.want) > 2e-6*math.Abs(n.want) {
			t.Errorf("%s: got %v, want %v", n.name, deref(n.got), n.want)
		}
	}
	if rc.Result != Regressed || rc.Welch || rc.BaseN != 6 || rc.HeadN != 3 || c.Result != Regressed {
		t.Errorf("got %+v in a cell that %s", rc, c.Result)
	}
}

func deref(v *float64) any {
	if v == nil {
		return nil
	}
	return *v
}

// TestHigherIsBetter: goodput that falls from 10 to 8 is the regression ln(10/8), and its
// limits are -ln(1 - x). Both sides have the variance of (1, 1.01, .99).
func TestHigherIsBetter(t *testing.T) {
	row := Row{Goodput, Value}
	at := func(v float64) CellComparison {
		return decideOne(onlyRow(row, 0), func(head *CellRun, base *Base) {
			base.Repetitions = give(base.Repetitions, row, 10, 10.1, 9.9)
			head.Repetitions = give(head.Repetitions, row, v, v*1.01, v*.99)
		})
	}
	rc := rowOf(at(8), row)
	if !nearly(rc.D, math.Log(10./8)) || !nearly(rc.Change, -.2) || rc.Result != Regressed {
		t.Errorf("8 for 10: got d %v, change %v, %s", deref(rc.D), deref(rc.Change), rc.Result)
	}
	if !(*rc.Low < *rc.Change && *rc.Change < *rc.High) {
		t.Errorf("bounds: got %v .. %v around %v", *rc.Low, *rc.High, *rc.Change)
	}
	// x = -ln(.95) + (t[.95] + t[.8]) se at 4 degrees of freedom; se = .0100003 sqrt(2/3),
	// against (t[.99] + t[.8]) se = .0382748: the first is larger.
	want := -math.Expm1(-(-math.Log(.95) + (2.1318467863+.9409645772)**rc.SE))
	if !nearly(rc.Detectable, want) {
		t.Errorf("detectable: got %v, want the drop %v", deref(rc.Detectable), want)
	}
	for v, want := range map[float64]Result{10: Passed, 9.4: Passed, 9: Regressed, 10.4: Passed, 10.9: Improved} {
		if got := rowOf(at(v), row); got.Result != want {
			t.Errorf("%v for 10: got %s, want %s (d %v +- %v)", v, got.Result, want, *got.D, *got.SE)
		}
	}
}

func TestRowResults(t *testing.T) {
	row := Row{TTFT, P95}
	tests := []struct {
		name       string
		floor      float64
		base, head []float64
		want       Result
		why        string
	}{
		{"unchanged", 0, []float64{.2, .202, .198}, []float64{.201, .199, .2}, Passed, ""},
		{"worse, within the tolerance", 0, []float64{.2, .2005, .1995}, []float64{.208, .2085, .2075}, Passed, ""},
		{"worse", 0, []float64{.2, .202, .198}, []float64{.25, .252, .248}, Regressed, ""},
		{"worse, and below the floor", .06, []float64{.2, .202, .198}, []float64{.25, .252, .248}, Inconclusive, "floor"},
		{"worse by over must_catch, within the noise", 0, []float64{.2, .3, .15}, []float64{.25, .35, .2}, Inconclusive, ""},
		{"between tolerance and must_catch", 0, []float64{.2, .201, .199}, []float64{.216, .215, .217}, Regressed, ""},
		{"better", 0, []float64{.2, .202, .198}, []float64{.16, .162, .158}, Improved, ""},
		{"better, and below the floor", .06, []float64{.2, .202, .198}, []float64{.16, .162, .158}, Passed, ""},
		{"one repetition of the head", 0, []float64{.2, .202, .198}, []float64{.2}, Passed, ""},
		{"one repetition of the base", 0, []float64{.2}, []float64{.3, .301, .299}, Regressed, ""},
		{"one on each side", 0, []float64{.2}, []float64{.2}, Inconclusive, "no noise"},
		{"no variance at all", 0, []float64{.2, .2, .2}, []float64{.2, .2, .2}, Passed, ""},
		{"no variance at all, worse", 0, []float64{.2, .2, .2}, []float64{.24, .24, .24}, Regressed, ""},
	}
	for _, tt := range tests {
		c := decideOne(onlyRow(row, tt.floor), func(head *CellRun, base *Base) {
			base.Repetitions = give(base.Repetitions, row, tt.base...)
			head.Repetitions, head.Planned = give(head.Repetitions, row, tt.head...), len(tt.head)
		})
		rc := rowOf(c, row)
		if rc.Result != tt.want || c.Result != tt.want || !strings.Contains(rc.Why, tt.why) {
			t.Errorf("%s: got %s (%q) and the cell %s, want %s", tt.name, rc.Result, rc.Why, c.Result, tt.want)
		}
	}
}

// TestImplausible: over 30 % better needs a look.
func TestImplausible(t *testing.T) {
	for ratio, want := range map[float64]bool{.71: false, .69: true} {
		c := decideOne(DefaultPolicy(), func(head *CellRun, _ *Base) {
			eachOf(head.Repetitions, func(rep *Repetition) { worsen(rep, Row{ITL, P95}, ratio-1) })
		})
		if rc := rowOf(c, Row{ITL, P95}); rc.Result != Improved || rc.Implausible != want || c.Result != Improved {
			t.Errorf("a factor of %v: got %s, implausible %t, want %t", ratio, rc.Result, rc.Implausible, want)
		}
	}
}

// TestHolmOverTheRun: a row whose p value of about .004 is enough alone is not enough
// beside 23 others, in whatever cells they stand.
func TestHolmOverTheRun(t *testing.T) {
	row := Row{TTFT, P95}
	worse := func() (CellRun, Base) {
		head, base := cellRun("a@near", 3, wobble), baseOf(cellRun("a@near", 3, wobble))
		give(base.Repetitions, row, .2, .206, .194)
		give(head.Repetitions, row, .24, .253, .228)
		return head, base
	}
	head, base := worse()
	alone := Decide(onlyRow(row, 0), []CellRun{head}, map[string]Base{head.ID: base})[0]
	if rc := rowOf(alone, row); rc.Result != Regressed || *rc.PHolm != *rc.P {
		t.Errorf("alone: got %s with p %v, %v by Holm", rc.Result, *rc.P, *rc.PHolm)
	}
	cells, bases := []CellRun{head}, map[string]Base{head.ID: base}
	for _, id := range []string{"b@near", "c@near", "d@near"} {
		c := cellRun(id, 3, wobble)
		cells, bases[id] = append(cells, c), baseOf(c)
	}
	crowd := Decide(DefaultPolicy(), cells, bases)[0]
	if rc := rowOf(crowd, row); rc.Result != Inconclusive || !nearly(rc.PHolm, 24**rc.P) {
		t.Errorf("among 24 rows: got %s with p %v, %v by Holm", rc.Result, *rc.P, *rc.PHolm)
	}
}

// TestWhatGates: rows that can't be computed alike on both sides are advisory and say why,
// and don't count in the family.
func TestWhatGates(t *testing.T) {
	tests := []struct {
		name   string
		change func(head *CellRun, base *Base)
		row    Row
		why    string
	}{
		{"withheld in one repetition of the head", func(head *CellRun, _ *Base) { setRow(&head.Repetitions[1], Row{TTFT, P99}, nil) }, Row{TTFT, P99}, "head repetition 2: it is withheld"},
		{"too few samples in the base", func(_ *CellRun, base *Base) {
			s := base.Repetitions[4].Metrics[TTFT]
			s.Count = 298
			base.Repetitions[4].Metrics[TTFT] = s
		}, Row{TTFT, P99}, "base repetition 5: 298 samples, and p99 needs 299"},
		{"ITL of too few requests", func(head *CellRun, _ *Base) {
			head.Repetitions[0].Requests = Counts{Issued: 58, By: map[Outcome]int{OK: 58}}
		}, Row{ITL, P95}, "head repetition 1: 58 ok requests, and a percentile of ITL needs 59"},
		{"not measured", func(head *CellRun, _ *Base) { delete(head.Repetitions[0].Metrics, TPOT) }, Row{TPOT, P50}, "it wasn't measured"},
		{"undefined, with the reason", func(head *CellRun, _ *Base) {
			head.Repetitions[0].Metrics[Goodput] = Summary{Unit: RequestsPerSecond, Definition: "goodput/good-per-window-second/1", Reason: "the window is empty"}
		}, Row{Goodput, Value}, "the window is empty"},
		{"another definition", func(_ *CellRun, base *Base) {
			eachOf(base.Repetitions, func(rep *Repetition) {
				s := rep.Metrics[TTFT]
				s.Definition = "ttft/old/0"
				rep.Metrics[TTFT] = s
			})
		}, Row{TTFT, P95}, `its definitions differ: "ttft/old/0" in the base`},
		{"goodput 0 in the base", func(_ *CellRun, base *Base) { give(base.Repetitions, Row{Goodput, Value}, 0, 0, 0, 0, 0, 0) }, Row{Goodput, Value}, "the SLO is never met"},
	}
	for _, tt := range tests {
		c := decideOne(DefaultPolicy(), tt.change)
		rc := rowOf(c, tt.row)
		if rc == nil || rc.Gating || rc.Result != "" || rc.PHolm != nil || !strings.Contains(rc.Why, tt.why) {
			t.Errorf("%s: got %+v, want an advisory row because %q", tt.name, rc, tt.why)
		}
		if c.Result != Passed {
			t.Errorf("%s: the cell is %s, want passed on its other rows", tt.name, c.Result)
		}
	}
}

func TestGoodputEdges(t *testing.T) {
	row := Row{Goodput, Value}
	tests := []struct {
		name       string
		base, head []float64
		want       Result
	}{
		{"one head repetition of 0", []float64{6, 6.1, 5.9}, []float64{6, 0, 6}, Regressed},
		{"0 in the head", []float64{6, 6.1, 5.9}, []float64{0, 0, 0}, Regressed},
		{"0 in the head, one repetition a side", []float64{6}, []float64{0}, Regressed},
		{"0 in some of the base", []float64{6, 0, 5.9}, []float64{6, 6, 6}, Inconclusive},
		{"0 in some of the base, and the head", []float64{6, 0, 5.9}, []float64{0, 0, 0}, Inconclusive},
		{"0 everywhere", []float64{0, 0, 0}, []float64{0, 0, 0}, Inconclusive}, // no other row
	}
	for _, tt := range tests {
		c := decideOne(onlyRow(row, 0), func(head *CellRun, base *Base) {
			base.Repetitions = give(base.Repetitions, row, tt.base...)
			head.Repetitions, head.Planned = give(head.Repetitions, row, tt.head...), len(tt.head)
		})
		if c.Result != tt.want || rowOf(c, row).P != nil {
			t.Errorf("%s: got %s, want %s", tt.name, c.Result, tt.want)
		}
	}
}

// TestErrorRate: the mean rises by more than a point, and Fisher's test says so.
func TestErrorRate(t *testing.T) {
	fail := func(n int) func(*Repetition) {
		return func(rep *Repetition) {
			rep.Requests = Counts{Issued: 1000, By: map[Outcome]int{OK: 1000 - n, Timeout: n}}
		}
	}
	tests := []struct {
		name       string
		base, head int
		want       Result
	}{
		{"none", 0, 0, Passed},
		{"a point", 0, 10, Passed},
		{"more than a point", 0, 11, Regressed},
		{"more than a point of many", 400, 411, Passed}, // p about .25
		{"five points of many", 400, 450, Regressed},
		{"fewer", 50, 0, Passed},
		{"all", 0, 1000, Regressed},
	}
	for _, tt := range tests {
		c := decideOne(DefaultPolicy(), func(head *CellRun, base *Base) {
			eachOf(base.Repetitions, fail(tt.base))
			eachOf(head.Repetitions, fail(tt.head))
		})
		if c.Errors == nil || c.Errors.Result != tt.want || c.Result != tt.want {
			t.Errorf("%s: got %+v and a cell that %s, want %s", tt.name, c.Errors, c.Result, tt.want)
		}
	}
	c := decideOne(DefaultPolicy(), func(head *CellRun, _ *Base) { eachOf(head.Repetitions, fail(30)) })
	want := ErrorComparison{Base: 0, Head: .03, BaseIssued: 6000, HeadFailed: 90, HeadIssued: 3000, P: c.Errors.P, Result: Regressed}
	// 90 of 9000 all in one third: 3000!/2910! / (9000!/8910!), about 3^-90.
	if diff := cmp.Diff(want, *c.Errors); diff != "" || c.Errors.P > 1e-42 || c.Reason != "the error rate rose" {
		t.Errorf("p %v, reason %q (-want +got):\n%s", c.Errors.P, c.Reason, diff)
	}
}

func TestCellResults(t *testing.T) {
	strict := DefaultPolicy()
	strict.StrictEnvelope = true
	reps := func(edit func(*Repetition)) func(*CellRun, *Base) {
		return func(head *CellRun, _ *Base) { edit(&head.Repetitions[1]) }
	}
	missing := func(r Result) func(*CellRun, *Base) {
		return func(_ *CellRun, base *Base) {
			*base = Base{Missing: r, Reason: "for a reason", Differs: []Difference{{Path: "parallel.tp"}}}
		}
	}
	worse := func(head *CellRun) {
		eachOf(head.Repetitions, func(rep *Repetition) { worsen(rep, Row{TTFT, P95}, 1) })
	}
	tests := []struct {
		name   string
		policy Policy
		change func(*CellRun, *Base)
		want   Result
		reason string
	}{
		{"unchanged", DefaultPolicy(), nil, Passed, ""},
		{"invalid", DefaultPolicy(), func(head *CellRun, _ *Base) { head.Invalid = "the engine died" }, Invalid, "the engine died"},
		{"absent", DefaultPolicy(), func(head *CellRun, _ *Base) { head.Repetitions = nil }, Invalid, Absent},
		{"no valid repetition", DefaultPolicy(), func(head *CellRun, _ *Base) {
			eachOf(head.Repetitions, func(rep *Repetition) { rep.Valid = false })
		}, Invalid, "no repetition is valid"},
		{"fewer than planned", DefaultPolicy(), func(head *CellRun, _ *Base) { head.Repetitions = head.Repetitions[:2] }, Invalid, "2 valid repetitions of the 3 planned"},
		{"one invalid, worse", DefaultPolicy(), func(head *CellRun, _ *Base) { worse(head); head.Repetitions[0].Valid = false }, Invalid, "2 valid"},
		{"one invalid, and its repeat", DefaultPolicy(), func(head *CellRun, _ *Base) {
			again := head.Repetitions[0]
			again.Index, again.Repeats = 4, 1
			head.Repetitions[0].Valid = false
			head.Repetitions = append(head.Repetitions, again)
		}, Passed, ""},
		{"no baseline", DefaultPolicy(), missing(NoBaseline), NoBaseline, "for a reason"},
		{"not comparable", DefaultPolicy(), missing(NotComparable), NotComparable, "for a reason"},
		{"not comparable, and not measured", DefaultPolicy(), func(head *CellRun, base *Base) {
			head.Repetitions = nil
			missing(NotComparable)(head, base)
		}, NotComparable, "for a reason"},
		{"no baseline, and not measured", DefaultPolicy(), func(head *CellRun, base *Base) {
			head.Repetitions = nil
			missing(NoBaseline)(head, base)
		}, Invalid, Absent},
		{"a base without repetitions", DefaultPolicy(), func(_ *CellRun, base *Base) { *base = Base{} }, NoBaseline, "no valid repetition"},
		{"undeclared, strict", strict, func(head *CellRun, _ *Base) { head.Envelope = Envelope{"parallel.tp": {Source: Undeclared}} }, NotComparable, "nobody declared parallel.tp"},
		{"undeclared", DefaultPolicy(), func(head *CellRun, _ *Base) { head.Envelope = Envelope{"parallel.tp": {Source: Undeclared}} }, Passed, ""},
		{"one boot", DefaultPolicy(), func(_ *CellRun, base *Base) { base.Boots = 1 }, Passed, ""},
		{"one boot, strict", strict, func(_ *CellRun, base *Base) { base.Boots = 1 }, Inconclusive, "one boot"},
		{"one boot, strict, worse", strict, func(head *CellRun, base *Base) { worse(head); base.Boots = 1 }, Regressed, ""},
		{"latency of 0", DefaultPolicy(), reps(func(rep *Repetition) { setRow(rep, Row{TTFT, P95}, ptr(0)) }), Invalid, "2 valid repetitions"},
		{"negative", DefaultPolicy(), reps(func(rep *Repetition) { setRow(rep, Row{TTFT, P95}, ptr(-1)) }), Invalid, "2 valid repetitions"},
		{"not a number", DefaultPolicy(), reps(func(rep *Repetition) { setRow(rep, Row{Goodput, Value}, ptr(math.NaN())) }), Invalid, "2 valid repetitions"},
		{"infinite", DefaultPolicy(), reps(func(rep *Repetition) { setRow(rep, Row{ITL, P99}, ptr(math.Inf(1))) }), Invalid, "2 valid repetitions"},
		{"counts that don't add up", DefaultPolicy(), reps(func(rep *Repetition) { rep.Requests.Issued = 7 }), Invalid, "2 valid repetitions"},
		{"10^9 requests", DefaultPolicy(), reps(func(rep *Repetition) { rep.Requests = Counts{1e9, map[Outcome]int{OK: 1e9}} }), Passed, ""},
		{"10^18 requests", DefaultPolicy(), reps(func(rep *Repetition) { rep.Requests = Counts{1e18, map[Outcome]int{OK: 1e18}} }), Invalid, "2 valid repetitions"},
		{"chunks of other tokens", DefaultPolicy(), reps(func(rep *Repetition) { rep.Observed.TokensPerChunk = ptr(1.11) }), Invalid, "tokens a chunk: 1.11, and 1 in the baseline"},
		{"other output lengths, fixed", DefaultPolicy(), reps(func(rep *Repetition) { rep.Observed.OutputTokens = ptr(90) }), Passed, ""},
		{"other output lengths, free", DefaultPolicy(), func(head *CellRun, base *Base) {
			head.FixedOutput = false
			eachOf(head.Repetitions, func(rep *Repetition) { rep.Observed.OutputTokens = ptr(102) })
			eachOf(base.Repetitions, func(rep *Repetition) { rep.Observed.OutputTokens = ptr(100) })
		}, Invalid, "output tokens a request: 102, and 100"},
		{"all rows withheld", DefaultPolicy(), func(head *CellRun, _ *Base) {
			eachOf(head.Repetitions, func(rep *Repetition) { rep.Metrics = nil })
		}, Inconclusive, "no gating row could be computed"},
		{"one repetition on each side", DefaultPolicy(), func(head *CellRun, base *Base) {
			head.Repetitions, head.Planned, base.Repetitions = head.Repetitions[:1], 1, base.Repetitions[:1]
		}, Inconclusive, "no gating row could be computed"},
		{"all requests failed", DefaultPolicy(), func(head *CellRun, _ *Base) {
			eachOf(head.Repetitions, func(rep *Repetition) {
				rep.Requests = Counts{1000, map[Outcome]int{OK: 0, HTTP5xx: 1000}}
				rep.Metrics = map[Metric]Summary{Goodput: {Unit: RequestsPerSecond, Definition: "goodput/good-per-window-second/1", Value: ptr(0)}}
			})
		}, Regressed, ""},
		{"one row better, one worse", DefaultPolicy(), func(head *CellRun, _ *Base) {
			worse(head)
			eachOf(head.Repetitions, func(rep *Repetition) { worsen(rep, Row{ITL, P95}, -.2) })
		}, Regressed, ""},
	}
	for _, tt := range tests {
		c := decideOne(tt.policy, tt.change)
		if c.Result != tt.want || !strings.Contains(c.Reason, tt.reason) {
			t.Errorf("%s: got %s (%q), want %s (%q)", tt.name, c.Result, c.Reason, tt.want, tt.reason)
		}
		if (c.Result == Invalid || c.Result == NoBaseline || c.Result == NotComparable) && c.Rows != nil {
			t.Errorf("%s: a cell that is %s was looked into", tt.name, c.Result)
		}
		if wantDiffers := c.Reason == "for a reason" && c.Result == NotComparable; wantDiffers != (len(c.Differs) == 1) {
			t.Errorf("%s: differs: got %v", tt.name, c.Differs)
		}
	}
	if got := Decide(DefaultPolicy(), []CellRun{cellRun("a@b", 3, wobble)}, nil)[0]; got.Result != NoBaseline {
		t.Errorf("no base at all: got %s", got.Result)
	}
}

func TestCellCounts(t *testing.T) {
	c := decideOne(DefaultPolicy(), func(head *CellRun, base *Base) {
		bad := head.Repetitions[0]
		bad.Index, bad.Valid, bad.InvalidReasons = 4, false, []string{"the client was late"}
		bad.Requests = Counts{100, map[Outcome]int{OK: 90, Timeout: 10}}
		head.Repetitions = append(head.Repetitions, bad)
		base.Repetitions[5].Valid, base.Boots = false, 1
	})
	if want := (SideCount{3, 3, 3000}); c.Head != want {
		t.Errorf("head: got %+v, want %+v", c.Head, want)
	}
	if want := (SideCount{5, 1, 5000}); c.Base != want {
		t.Errorf("base: got %+v, want %+v", c.Base, want)
	}
	if diff := cmp.Diff(Counts{3100, map[Outcome]int{OK: 3090, Timeout: 10}}, c.Outcomes); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"repetition 4: the client was late"}, c.Invalid); diff != "" {
		t.Errorf("invalid (-want +got):\n%s", diff)
	}
	notes := strings.Join(c.Notes, "\n")
	if !strings.Contains(notes, "one boot") || !strings.Contains(notes, "left out of the baseline: repetition 6") {
		t.Errorf("notes: got %q", notes)
	}
}

// TestNonStreamingCell: only what the client measures there has a row.
func TestNonStreamingCell(t *testing.T) {
	c := decideOne(DefaultPolicy(), func(head *CellRun, _ *Base) { head.Streaming = false })
	for _, rc := range c.Rows {
		if slices.Contains([]Metric{TTFT, ITL, TPOT}, rc.Metric) {
			t.Errorf("got a row %s", rc.Row)
		}
	}
	if c.Result != Passed || !rowOf(c, Row{Goodput, Value}).Gating {
		t.Errorf("got %s", c.Result)
	}
}

func TestOrderOfRepetitionsAndCellsChangesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	noise := func(_ int, _ Row, v float64) float64 { return v * math.Exp(.04*rng.NormFloat64()) }
	var head []CellRun
	bases := map[string]Base{}
	for i := range 4 {
		c := cellRun(fmt.Sprintf("chat@%d", i), 4, noise)
		head, bases[c.ID] = append(head, c), baseOf(cellRun(c.ID, 6, noise))
	}
	byID := func() map[string]CellComparison {
		found := map[string]CellComparison{}
		for _, c := range Decide(DefaultPolicy(), head, bases) {
			for i := range c.Rows {
				slices.Sort(c.Rows[i].BaseValues)
				slices.Sort(c.Rows[i].HeadValues)
			}
			found[c.ID] = c
		}
		return found
	}
	want := byID()
	for range 5 {
		rng.Shuffle(len(head), func(a, b int) { head[a], head[b] = head[b], head[a] })
		for i := range head {
			for _, reps := range [][]Repetition{head[i].Repetitions, bases[head[i].ID].Repetitions} {
				rng.Shuffle(len(reps), func(a, b int) { reps[a], reps[b] = reps[b], reps[a] })
			}
		}
		if diff := cmp.Diff(want, byID()); diff != "" {
			t.Fatalf("another order changed the answer (-want +got):\n%s", diff)
		}
	}
}

// TestScaleChangesNothing: without floors, a factor on both sides leaves every result and,
// but for rounding, every figure that isn't in the metric's unit.
func TestScaleChangesNothing(t *testing.T) {
	p := DefaultPolicy()
	for i := range p.Rows {
		p.Rows[i].Floor = 0
	}
	for seed := range uint64(20) {
		decide := func(factor float64) CellComparison {
			rng := rand.New(rand.NewPCG(seed, 6))
			noise := func(_ int, _ Row, v float64) float64 { return factor * v * math.Exp(.05*rng.NormFloat64()) }
			head := cellRun("a@b", 3, noise)
			return Decide(p, []CellRun{head}, map[string]Base{"a@b": baseOf(cellRun("a@b", 6, noise))})[0]
		}
		want := decide(1)
		for _, factor := range []float64{8, 1e-3, 37} {
			got := decide(factor)
			for i, rc := range got.Rows {
				w := want.Rows[i]
				if rc.Result != w.Result || math.Abs(*rc.D-*w.D) > 1e-9 || math.Abs(*rc.P-*w.P) > 1e-9 {
					t.Errorf("seed %d, factor %v, %s: got %s, d %v, want %s, d %v", seed, factor, rc.Row, rc.Result, *rc.D, w.Result, *w.D)
				}
			}
		}
	}
}

// FuzzDecide: whatever stands in the repetitions, there is an answer, it can be written,
// and a cell passes only with a row that did.
func FuzzDecide(f *testing.F) {
	f.Add(uint64(1), 3, 6, .2, .2, 1000, 10)
	f.Add(uint64(2), 1, 1, 0., math.NaN(), 0, 0)
	f.Add(uint64(3), 2, 0, math.Inf(1), -1., -5, 7)
	f.Add(uint64(4), 3, 3, math.MaxFloat64, math.SmallestNonzeroFloat64, math.MaxInt, math.MaxInt)
	f.Fuzz(func(t *testing.T, seed uint64, heads, bases int, a, b float64, issued, failed int) {
		rng := rand.New(rand.NewPCG(seed, 8))
		value := func(_ int, _ Row, v float64) float64 {
			return []float64{v, v * 1.01, v * .99, a, b, a * v, b * (1 + v)}[rng.IntN(7)]
		}
		edit := func(rep *Repetition) {
			if rng.IntN(3) == 0 {
				rep.Requests = Counts{issued, map[Outcome]int{OK: issued - failed, Timeout: failed}}
			}
			if rng.IntN(5) == 0 {
				rep.Observed.TokensPerChunk = ptr(a)
			}
		}
		head, base := cellRun("a@b", heads&7, value), baseOf(cellRun("a@b", bases&7, value))
		eachOf(head.Repetitions, edit)
		eachOf(base.Repetitions, edit)
		v := Judge(DefaultPolicy(), &Run{ID: "r", Complete: true, Cells: []CellRun{head}}, map[string]Base{"a@b": base})
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatalf("a verdict that can't be written: %v", err)
		}
		back, err := ReadVerdict(data)
		if err != nil {
			t.Fatalf("a verdict that can't be read: %v\n%s", err, data)
		}
		if again, _ := json.Marshal(back); string(again) != string(data) {
			t.Fatalf("read and written again it differs:\n%s", cmp.Diff(string(data), string(again)))
		}
		if v.Result == Passed && !slices.ContainsFunc(v.Cells[0].Rows, func(rc RowComparison) bool { return rc.Result == Passed && rc.P != nil }) {
			t.Fatalf("passed without a row that did:\n%s", data)
		}
	})
}

// BenchmarkDecide is one decision over 24 cells, 5 repetitions against 6.
func BenchmarkDecide(b *testing.B) {
	var head []CellRun
	bases := map[string]Base{}
	for i := range 24 {
		c := cellRun(fmt.Sprintf("chat@%d", i), 5, wobble)
		head, bases[c.ID] = append(head, c), baseOf(cellRun(c.ID, 6, wobble))
	}
	for b.Loop() {
		Decide(DefaultPolicy(), head, bases)
	}
}
