package baselines_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/servegate/servegate/baselines"
	"github.com/servegate/servegate/baselines/storetest"
	"github.com/servegate/servegate/gate"
)

const day = 24 * time.Hour

// The changes that the tables make to records.
func enveloped(t *testing.T, values map[string]any) func(*baselines.Record) {
	return func(r *baselines.Record) { r.Run.Cells[0].Envelope = storetest.Envelope(t, values) }
}

func class(name string) func(*baselines.Record) { return func(r *baselines.Record) { r.Class = name } }

func branch(name string) func(*baselines.Record) {
	return func(r *baselines.Record) { r.Branch = name }
}

func later(d time.Duration) func(*baselines.Record) {
	return func(r *baselines.Record) { r.Run.Started = r.Run.Started.Add(d) }
}

func repetitions(n int) func(*baselines.Record) {
	return func(r *baselines.Record) { r.Run.Cells[0].Repetitions = r.Run.Cells[0].Repetitions[:n] }
}

func told(path, value string) func(*baselines.Record) {
	return func(r *baselines.Record) { r.Run.Context[path] = value }
}

func attached(r *baselines.Record) { r.Run.Subject.URL = "http://10.0.0.1:8000" }

func invalid(r *baselines.Record) {
	for i := range r.Run.Cells[0].Repetitions {
		r.Run.Cells[0].Repetitions[i].Valid = false
	}
}

// ancestors is the Ancestry of a clone that knows the commits of runs 1 to 9.
func ancestors(runs ...int) func(string) (bool, bool) {
	known := map[string]bool{}
	for n := range 10 {
		known[storetest.Commit(n)] = false
	}
	for _, n := range runs {
		known[storetest.Commit(n)] = true
	}
	return func(commit string) (bool, bool) { is, ok := known[commit]; return is, ok }
}

func TestMatch(t *testing.T) {
	type change = func(*baselines.Record)
	strictDriver := func(q *baselines.Query) {
		q.Rules = map[string]gate.ContextRule{"default": gate.ContextWarn, "gpu.driver": gate.ContextStrict}
	}
	for _, test := range []struct {
		name    string
		records [][]change // of run-1, run-2, ...
		query   func(*baselines.Query)
		runs    string // that are pooled, newest first
		boots   int
		missing gate.Result
		differs string // paths
		says    string // a part of the reason or of a note
	}{
		{name: "nothing stored", missing: gate.NoBaseline, says: "no record of this cell is stored"},
		{name: "another cell", records: [][]change{{}}, query: func(q *baselines.Query) { q.Cell.ID = "chat@far" }, missing: gate.NoBaseline, says: "no record of this cell is stored"},
		{name: "one record", records: [][]change{{}}, runs: "run-1", boots: 3},
		{name: "pooled until six repetitions", records: [][]change{{}, {}, {}}, runs: "run-3 run-2", boots: 6},
		{name: "pooled beyond six by a whole record", records: [][]change{{}, {}, {repetitions(2)}}, runs: "run-3 run-2 run-1", boots: 8},
		{name: "pooled as told", records: [][]change{{}, {}, {}}, query: func(q *baselines.Query) { q.Pool.Repetitions = 3 }, runs: "run-3", boots: 3},
		{name: "thirty days apart", records: [][]change{{}, {later(30*day - time.Hour)}}, runs: "run-2 run-1", boots: 6},
		{name: "more than thirty days apart", records: [][]change{{}, {later(30 * day)}}, runs: "run-2", boots: 3},
		{name: "span as told", records: [][]change{{}, {later(2 * time.Hour)}}, query: func(q *baselines.Query) { q.Pool.Span = 2 * time.Hour }, runs: "run-2", boots: 3},
		{name: "attached", records: [][]change{{attached}, {attached}}, runs: "run-2 run-1", boots: 2},
		{name: "no valid repetition", records: [][]change{{}, {invalid}}, runs: "run-1", boots: 3},
		{name: "itself", records: [][]change{{}, {}}, query: func(q *baselines.Query) { q.Run = "run-2" }, runs: "run-1", boots: 3},
		{name: "of the future", records: [][]change{{}, {later(90 * day)}}, runs: "run-1", boots: 3, says: "run-2 is left out: it is dated in the future"},

		{name: "none promoted", records: [][]change{{withResult(gate.Regressed)}, {withResult(gate.Invalid)}}, missing: gate.NoBaseline, says: "2 records of this cell are stored, none promoted (the newest: invalid when ci recorded it)"},
		{name: "the newest isn't promoted", records: [][]change{{}, {withResult(gate.Regressed)}}, runs: "run-1", boots: 3},

		{name: "another runner class", records: [][]change{{class("b")}, {class("a")}, {class("b")}}, missing: gate.NoBaseline, says: "runner classes of the records that are stored: a (1), b (2)"},
		{name: "another runner class beside", records: [][]change{{}, {class("b")}}, runs: "run-1", boots: 3},

		{name: "ancestors only", records: [][]change{{}, {}, {}}, query: func(q *baselines.Query) { q.Ancestry = ancestors(1) }, runs: "run-1", boots: 3},
		{name: "ancestors of another branch", records: [][]change{{branch("release")}, {}}, query: func(q *baselines.Query) { q.Ancestry = ancestors(1) }, runs: "run-1", boots: 3},
		{name: "no ancestor", records: [][]change{{}, {}, {branch("feature")}}, query: func(q *baselines.Query) { q.Ancestry = ancestors() }, runs: "run-2 run-1", boots: 6, says: "held against the newest of branch main, run run-2 of commit 000000000000"},
		{name: "a shallow clone", records: [][]change{{func(r *baselines.Record) { r.Commit = strings.Repeat("f", 40) }}}, query: func(q *baselines.Query) { q.Ancestry = ancestors() }, runs: "run-1", boots: 3, says: "fetch-depth: 0"},
		{name: "no repository", records: [][]change{{}}, query: func(q *baselines.Query) { q.Ancestry = nil }, runs: "run-1", boots: 3, says: "no matching record is known to be of an ancestor"},
		{name: "no branch told", records: [][]change{{branch("")}}, query: func(q *baselines.Query) { q.Ancestry = nil }, runs: "run-1", boots: 3, says: "no matching record is known to be of an ancestor"},
		{name: "other branches only", records: [][]change{{branch("a")}, {branch("b")}}, query: func(q *baselines.Query) { q.Ancestry = ancestors() }, missing: gate.NoBaseline, says: "branches of the records that are stored: a (1), b (1)"},

		{
			name: "the one that differs least", records: [][]change{{enveloped(t, map[string]any{"parallel.tp": 2})}, {enveloped(t, map[string]any{"parallel.tp": 2, "model.name": "n"})}},
			missing: gate.NotComparable, differs: "parallel.tp", says: "2 records of this cell are stored, none under the same conditions: the closest, run run-1 of commit 000000000000, differs in parallel.tp (base 2 (config), head 1 (config))",
		},
		{name: "a changed envelope beside", records: [][]change{{}, {enveloped(t, map[string]any{"parallel.tp": 2})}}, runs: "run-1", boots: 3},
		{name: "expected change", records: [][]change{{enveloped(t, map[string]any{"parallel.tp": 2})}}, query: func(q *baselines.Query) { q.ExpectChanged = []string{"parallel.tp"} }, runs: "run-1", boots: 3},
		{name: "expected change of a group", records: [][]change{{enveloped(t, map[string]any{"parallel.tp": 2})}}, query: func(q *baselines.Query) { q.ExpectChanged = []string{"parallel"} }, runs: "run-1", boots: 3},
		{name: "expected change of another field", records: [][]change{{enveloped(t, map[string]any{"parallel.tp": 2})}}, query: func(q *baselines.Query) { q.ExpectChanged = []string{"parallel.pp"} }, missing: gate.NotComparable, differs: "parallel.tp"},
		{name: "expected change of a field that begins alike", records: [][]change{{enveloped(t, map[string]any{"parallel.tp": 2})}}, query: func(q *baselines.Query) { q.ExpectChanged = []string{"parallel.t"} }, missing: gate.NotComparable, differs: "parallel.tp"},
		{
			name: "both sides of an expected change aren't pooled", records: [][]change{{enveloped(t, map[string]any{"parallel.tp": 2})}, {}, {enveloped(t, map[string]any{"parallel.tp": 2})}},
			query: func(q *baselines.Query) { q.ExpectChanged = []string{"parallel.tp"} }, runs: "run-3 run-1", boots: 6,
		},
		{name: "a field told on one side", records: [][]change{{enveloped(t, map[string]any{"quantization.kv_cache": "fp8"})}}, missing: gate.NotComparable, differs: "quantization.kv_cache"},

		{
			name: "strict", records: [][]change{{}}, missing: gate.NotComparable, says: "undeclared, which the strict policy refuses",
			query: func(q *baselines.Query) { q.Strict = true },
		},
		{
			name: "strict, but masked", records: [][]change{{}}, runs: "run-1", boots: 3,
			query: func(q *baselines.Query) { q.Strict, q.ExpectChanged = true, q.Cell.Envelope.UndeclaredPaths() },
		},

		{name: "another driver", records: [][]change{{told("gpu.driver", "550.1")}}, query: strictDriver, missing: gate.NotComparable, differs: "context.gpu.driver", says: "context.gpu.driver (base 550.1 (host), head 570.86.10 (host))"},
		{name: "another minor version of the driver", records: [][]change{{told("gpu.driver", "570.9")}}, query: strictDriver, runs: "run-1", boots: 3},
		{name: "no driver told", records: [][]change{{func(r *baselines.Record) { delete(r.Run.Context, "gpu.driver") }}}, query: strictDriver, missing: gate.NotComparable, differs: "context.gpu.driver"},
		{name: "another kernel, by default", records: [][]change{{told("host.kernel", "6.9")}}, query: strictDriver, runs: "run-1", boots: 3},
		{name: "another kernel, by a strict group", records: [][]change{{told("host.kernel", "6.9")}}, query: func(q *baselines.Query) { q.Rules = map[string]gate.ContextRule{"host": gate.ContextStrict} }, missing: gate.NotComparable, differs: "context.host.kernel"},
		{name: "another kernel, ignored in a strict group", records: [][]change{{told("host.kernel", "6.9")}}, query: func(q *baselines.Query) {
			q.Rules = map[string]gate.ContextRule{"host": gate.ContextStrict, "host.kernel": gate.ContextIgnore}
		}, runs: "run-1", boots: 3},
		{name: "another kernel, strict by default", records: [][]change{{told("host.kernel", "6.9")}}, query: func(q *baselines.Query) { q.Rules = map[string]gate.ContextRule{"default": gate.ContextStrict} }, missing: gate.NotComparable, differs: "context.host.kernel"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var entries []baselines.Entry
			for i, changes := range test.records {
				entries = append(entries, storetest.Record(t, i+1, changes...))
			}
			q := query(t)
			if test.query != nil {
				test.query(&q)
			}
			wantBase(t, baselines.Match(entries, q), test.runs, test.boots, test.missing, test.differs, test.says)
		})
	}
}

// query is that of a head like run 0, on a branch whose merge base comes after run 9.
func query(t *testing.T) baselines.Query {
	head := storetest.Record(t, 1, func(r *baselines.Record) { r.Run.ID = "head" }).Record
	return baselines.Query{
		Run: "head", Cell: head.Run.Cells[0], Class: storetest.Class, Context: head.Run.Context, Branch: "main",
		Ancestry: ancestors(1, 2, 3, 4, 5, 6, 7, 8, 9), Now: storetest.Start.Add(60 * day),
	}
}

func wantBase(t *testing.T, got gate.Base, runs string, boots int, missing gate.Result, differs, says string) {
	t.Helper()
	var ids, paths []string
	for _, r := range got.Runs {
		ids = append(ids, r.ID)
	}
	for _, d := range got.Differs {
		paths = append(paths, d.Path)
	}
	if strings.Join(ids, " ") != runs || got.Boots != boots || got.Missing != missing {
		t.Errorf("got runs %v of %d boots, missing %q (%s); want %q of %d, %q", ids, got.Boots, got.Missing, got.Reason, runs, boots, missing)
	}
	if len(got.Context) != len(got.Runs) || (missing == "") != (got.Reason == "") || (missing == "") != (len(got.Repetitions) > 0) {
		t.Errorf("got %d contexts of %d runs, %d repetitions, reason %q", len(got.Context), len(got.Runs), len(got.Repetitions), got.Reason)
	}
	if differs != "" && strings.Join(paths, " ") != differs {
		t.Errorf("differs: got %v, want %s", paths, differs)
	}
	if text := got.Reason + "\n" + strings.Join(got.Notes, "\n"); !strings.Contains(text, says) {
		t.Errorf("got %q, want it to say %q", text, says)
	}
	if says == "" && len(got.Notes) > 0 {
		t.Errorf("got notes %q, want none", got.Notes)
	}
}

func TestMatchTellsWhatWasExpected(t *testing.T) {
	entries := []baselines.Entry{storetest.Record(t, 1, enveloped(t, map[string]any{"parallel.tp": 2}))}
	q := query(t)
	q.ExpectChanged = []string{"parallel", "quantization"}
	want := []gate.Difference{{
		Path: "parallel.tp",
		A:    gate.Field{Value: int64(2), Source: gate.FromConfig}, B: gate.Field{Value: int64(1), Source: gate.FromConfig},
	}}
	if diff := cmp.Diff(want, baselines.Match(entries, q).Across); diff != "" {
		t.Errorf("across (-want +got):\n%s", diff)
	}
}

func TestMatchSkipsRetracted(t *testing.T) {
	entries := []baselines.Entry{storetest.Record(t, 1), storetest.Record(t, 2)}
	entries = append(entries, storetest.Retraction(t, entries, storetest.Decision(2, "the fan was broken")))
	wantBase(t, baselines.Match(entries, query(t)), "run-1", 3, "", "", "")
	entries = append(entries, storetest.Promotion(t, entries, storetest.Decision(2, "it wasn't")))
	wantBase(t, baselines.Match(entries, query(t)), "run-2 run-1", 6, "", "", "")
}

// A run that is there twice brings no more than it does once.
func TestMatchCountsARunOnce(t *testing.T) {
	again := storetest.Record(t, 1, later(time.Hour))
	entries := []baselines.Entry{storetest.Record(t, 1), again}
	wantBase(t, baselines.Match(entries, query(t)), "run-1", 3, "", "", "")
}

func BenchmarkMatch(b *testing.B) {
	var entries []baselines.Entry
	for n := range 1000 {
		entries = append(entries, storetest.Record(b, n+1))
	}
	head := storetest.Record(b, 1).Record
	q := baselines.Query{Cell: head.Run.Cells[0], Class: storetest.Class, Now: storetest.Start.Add(1000 * day)}
	for b.Loop() {
		if base := baselines.Match(entries, q); len(base.Repetitions) != 6 {
			b.Fatalf("got %d repetitions, want 6", len(base.Repetitions))
		}
	}
}
