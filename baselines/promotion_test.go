package baselines_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/servegate/servegate/baselines"
	"github.com/servegate/servegate/baselines/storetest"
	"github.com/servegate/servegate/gate"
)

func withResult(result gate.Result) func(*baselines.Record) {
	return func(r *baselines.Record) { r.Results[0].Result = result }
}

func TestRecordPromotes(t *testing.T) {
	for result, want := range map[gate.Result]bool{
		gate.Passed: true, gate.Improved: true, gate.Inconclusive: true, gate.NoBaseline: true, gate.NotComparable: true,
		gate.Regressed: false, gate.Invalid: false,
	} {
		entries := []baselines.Entry{storetest.Record(t, 1, withResult(result))}
		if got := baselines.Fold(entries).Of("run-1", storetest.Cell); got.Promoted != want {
			t.Errorf("%s: got promoted %v (%s), want %v", result, got.Promoted, got.Why, want)
		}
	}
	implausible := baselines.CellResult{Result: gate.Improved, Implausible: true}
	if implausible.Promotes() {
		t.Error("an implausible improvement promotes: want it not to")
	}
}

// TestFold plays a story of events, each made by someone who knows all those before, and
// folds it in every rotation and backwards.
func TestFold(t *testing.T) {
	promote, retract := baselines.NewPromotion, baselines.NewRetraction
	type step struct {
		make func([]baselines.Entry, baselines.Decision) (*baselines.Event, error)
		edit func(*baselines.Decision)
	}
	early := func(d *baselines.Decision) { d.At = d.At.AddDate(-1, 0, 0) }
	for _, test := range []struct {
		name      string
		result    gate.Result
		steps     []step
		promoted  bool
		retracted bool
		why       string
	}{
		{"by its result", gate.Passed, nil, true, false, "passed when ci recorded it"},
		{"not by its result", gate.Regressed, nil, false, false, "regressed when ci recorded it"},
		{"by hand", gate.Regressed, []step{{promote, nil}}, true, false, "promoted by ada: step 1"},
		{"retracted", gate.Passed, []step{{retract, nil}}, false, true, "retracted by ada: step 1"},
		{"retracted after a promotion", gate.Invalid, []step{{promote, nil}, {retract, nil}}, false, true, "retracted by ada: step 2"},
		{"retracted by a slow clock", gate.Invalid, []step{{promote, nil}, {retract, early}}, false, true, "retracted by ada: step 2"},
		{"promoted after a retraction", gate.Passed, []step{{retract, nil}, {promote, nil}}, true, false, "promoted by ada: step 2"},
		{"promoted by a slow clock", gate.Passed, []step{{retract, nil}, {promote, early}}, true, false, "promoted by ada: step 2"},
		{"retracted twice", gate.Passed, []step{{retract, nil}, {promote, nil}, {retract, nil}}, false, true, "retracted by ada: step 3"},
		{"of this cell", gate.Passed, []step{{retract, func(d *baselines.Decision) { d.Cells = []string{storetest.Cell} }}}, false, true, "retracted by ada: step 1"},
		{"of another cell", gate.Passed, []step{{retract, func(d *baselines.Decision) { d.Cells = []string{"chat@far"} }}}, true, false, "passed when ci recorded it"},
		{"of another run", gate.Passed, []step{{retract, func(d *baselines.Decision) { d.Run = "run-2" }}}, true, false, "passed when ci recorded it"},
		{"another cell's promotion", gate.Passed, []step{{retract, nil}, {promote, func(d *baselines.Decision) { d.Cells = []string{"chat@far"} }}}, false, true, "retracted by ada: step 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			entries := []baselines.Entry{storetest.Record(t, 1, withResult(test.result), addCell("chat@far")), storetest.Record(t, 2)}
			for i, s := range test.steps {
				d := storetest.Decision(1, "step "+string(rune('1'+i)))
				if s.edit != nil {
					s.edit(&d)
				}
				e, err := s.make(entries, d)
				if err != nil {
					t.Fatal(err)
				}
				entries = append(entries, baselines.Entry{Event: e})
			}
			for range len(entries) {
				entries = append(entries[1:], entries[0])
				for range 2 {
					slices.Reverse(entries)
					got := baselines.Fold(entries).Of("run-1", storetest.Cell)
					if got.Promoted != test.promoted || got.Retracted != test.retracted || got.Why != test.why {
						t.Fatalf("got %+v, want promoted %v, retracted %v, %q", got, test.promoted, test.retracted, test.why)
					}
				}
			}
		})
	}
}

// addCell adds a cell like the first.
func addCell(id string) func(*baselines.Record) {
	return func(r *baselines.Record) {
		c := r.Run.Cells[0]
		c.ID = id
		r.Run.Cells = append(r.Run.Cells, c)
		r.Results = append(r.Results, baselines.CellResult{Cell: id, Result: gate.Passed})
	}
}

func TestRetractionThatAPromoterDidNotSee(t *testing.T) {
	entries := []baselines.Entry{storetest.Record(t, 1)}
	promotion := storetest.Promotion(t, entries, storetest.Decision(1, "fine"))
	retraction := storetest.Retraction(t, entries, storetest.Decision(1, "not fine"))
	if got := baselines.Fold(append(entries, promotion, retraction)).Of("run-1", storetest.Cell); got.Promoted {
		t.Errorf("got %+v, want it retracted", got)
	}
}

func TestEventsNeed(t *testing.T) {
	entries := []baselines.Entry{storetest.Record(t, 1)}
	for _, test := range []struct {
		name, want string
		edit       func(*baselines.Decision)
	}{
		{"no reason", "reason is empty", func(d *baselines.Decision) { d.Reason = "" }},
		{"no actor", "actor is empty", func(d *baselines.Decision) { d.Actor = "" }},
		{"unknown run", "no record of it", func(d *baselines.Decision) { d.Run = "run-7" }},
		{"unknown cell", "no cell \"x@y\" (it has chat@near)", func(d *baselines.Decision) { d.Cells = []string{"x@y"} }},
	} {
		d := storetest.Decision(1, "why")
		test.edit(&d)
		_, promote := baselines.NewPromotion(entries, d)
		_, retract := baselines.NewRetraction(entries, d)
		for _, err := range []error{promote, retract} {
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: got error %v, want one that contains %q", test.name, err, test.want)
			}
		}
	}
}

func TestResults(t *testing.T) {
	run := &storetest.Record(t, 1, addCell("chat@far"), addCell("chat@none")).Record.Run
	run.Cells[2].Repetitions = nil
	v := &gate.Verdict{Cells: []gate.CellComparison{
		{Cell: gate.Cell{ID: storetest.Cell}, Result: gate.Improved, Rows: []gate.RowComparison{{}, {Implausible: true}}},
		{Cell: gate.Cell{ID: "chat@far"}, Result: gate.Regressed},
	}}
	want := []baselines.CellResult{
		{Cell: storetest.Cell, Result: gate.Improved, Implausible: true},
		{Cell: "chat@far", Result: gate.Regressed},
		{Cell: "chat@none", Result: gate.Invalid},
	}
	if got := baselines.Judged(run, v, nil); !slices.Equal(got, want) {
		t.Errorf("judged: got %v, want %v", got, want)
	}
	want = []baselines.CellResult{
		{Cell: storetest.Cell, Result: gate.NoBaseline},
		{Cell: "chat@far", Result: gate.NoBaseline},
		{Cell: "chat@none", Result: gate.Invalid},
	}
	if got := baselines.Unjudged(run); !slices.Equal(got, want) {
		t.Errorf("unjudged: got %v, want %v", got, want)
	}
	// A project that wants baselines of passed cells only says so.
	only := baselines.Judged(run, v, []gate.Result{gate.Passed, gate.Regressed})
	if !only[0].Withheld || only[0].Promotes() || only[1].Withheld {
		t.Errorf("judged where improved cells are not promoted: got %+v", only)
	}
}
