package gate

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestResultOfARun(t *testing.T) {
	tests := []struct {
		cells []Result
		want  Result
	}{
		{nil, Invalid},
		{[]Result{Passed, Passed}, Passed},
		{[]Result{Passed, Improved}, Improved},
		{[]Result{Improved, Inconclusive}, Inconclusive},
		{[]Result{Inconclusive, NoBaseline}, NoBaseline},
		{[]Result{NoBaseline, NotComparable}, NotComparable},
		{[]Result{NotComparable, Invalid}, Invalid},
		{[]Result{Invalid, Regressed, Passed}, Regressed},
	}
	for _, tt := range tests {
		var cells []CellComparison
		for _, r := range tt.cells {
			cells = append(cells, CellComparison{Result: r})
		}
		for range 2 {
			if got := resultOf(cells); got != tt.want {
				t.Errorf("%v: got %s, want %s", tt.cells, got, tt.want)
			}
			slices.Reverse(cells)
		}
	}
}

func TestFailedByPolicy(t *testing.T) {
	run := Run{Complete: true, Cells: []CellRun{cellRun("a@b", 3, wobble)}}
	tests := []struct {
		name   string
		failOn []Result
		base   Base
		want   Result
		failed bool
	}{
		{"passed", FailSignOff, baseOf(cellRun("a@b", 6, wobble)), Passed, false},
		{"no baseline, sign-off", FailSignOff, Base{Missing: NoBaseline}, NoBaseline, true},
		{"no baseline, pull request", FailPullRequest, Base{Missing: NoBaseline}, NoBaseline, false},
		{"not comparable, pull request", FailPullRequest, Base{Missing: NotComparable}, NotComparable, true},
		{"not comparable, record", FailRecord, Base{Missing: NotComparable}, NotComparable, false},
	}
	for _, tt := range tests {
		p := DefaultPolicy()
		p.FailOn = tt.failOn
		v := Judge(p, &run, map[string]Base{"a@b": tt.base})
		if v.Result != tt.want || v.Failed != tt.failed {
			t.Errorf("%s: got %s, failed %t, want %s, %t", tt.name, v.Result, v.Failed, tt.want, tt.failed)
		}
	}
	v := Judge(DefaultPolicy(), &Run{Incomplete: "the disk is full"}, nil)
	if got := strings.Join(v.Warnings, "; "); v.Result != Invalid || !v.Failed || got != "the run has no cell; the run was cut short: the disk is full" {
		t.Errorf("a run without a cell: got %s, failed %t, warnings %q", v.Result, v.Failed, got)
	}
}

// A result that the policy lets through hides none that it fails on.
func TestFailing(t *testing.T) {
	cells := func(results ...Result) (cs []CellComparison) {
		for _, r := range results {
			cs = append(cs, CellComparison{Result: r})
		}
		return cs
	}
	tests := []struct {
		name   string
		failOn []Result
		cells  []CellComparison
		want   Result
	}{
		{"the worst", FailSignOff, cells(Passed, Invalid, Inconclusive), Invalid},
		{"behind one that is let through", []Result{Regressed, Inconclusive}, cells(NoBaseline, Inconclusive), Inconclusive},
		{"invalid behind a regression", []Result{Invalid}, cells(Regressed, Invalid), Invalid},
		{"none", FailPullRequest, cells(Passed, Inconclusive, NoBaseline), ""},
		{"no cell", FailPullRequest, nil, Invalid},
	}
	for _, tt := range tests {
		v := &Verdict{Policy: Policy{FailOn: tt.failOn}, Cells: tt.cells, Result: resultOf(tt.cells)}
		if got := v.Failing(); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestReading(t *testing.T) {
	rows := func(ratios map[Row]float64) func(*CellRun, *Base) {
		return func(head *CellRun, _ *Base) {
			for row, ratio := range ratios {
				eachOf(head.Repetitions, func(rep *Repetition) { worsen(rep, row, ratio) })
			}
		}
	}
	ttft, itl, tpot := Row{TTFT, P50}, Row{ITL, P50}, Row{TPOT, P50}
	p95, p99, gate := Row{TTFT, P95}, Row{TTFT, P99}, Row{ITL, P99}
	tests := []struct {
		name string
		with map[Row]float64
		want string
	}{
		{"all of TTFT", map[Row]float64{ttft: .5, p95: .5, p99: .5}, ReadingPrefill},
		{"TTFT and a little TPOT", map[Row]float64{ttft: .9, p95: .9, tpot: .1}, ReadingPrefill},
		{"TPOT more than TTFT", map[Row]float64{ttft: .2, p95: .2, tpot: .9, itl: .9, gate: .9}, ReadingDecode},
		{"TPOT alone", map[Row]float64{tpot: .5, itl: .5}, ReadingDecode},
		{"TTFT more than TPOT, and ITL", map[Row]float64{ttft: .9, p95: .9, tpot: .2, itl: .2}, ""},
		{"TTFT, while decode became faster", map[Row]float64{ttft: 2, p95: 2, p99: 2, itl: -.5, tpot: -.5}, ReadingQueueing},
		{"the tail of TTFT", map[Row]float64{p95: .5, p99: .5}, ReadingQueueing},
		{"p99 of TTFT alone", map[Row]float64{p99: .9}, ReadingQueueing},
		{"the tail, and a median within the tolerance", map[Row]float64{p95: .5, ttft: .04}, ReadingQueueing},
		{"the tail, and ITL", map[Row]float64{p95: .5, itl: .5}, ""},
		{"the tail of ITL", map[Row]float64{gate: .9}, ""},
	}
	for _, tt := range tests {
		c := decideOne(DefaultPolicy(), rows(tt.with))
		if c.Result != Regressed || c.Reading != tt.want {
			t.Errorf("%s: got %s, %q, want regressed, %q", tt.name, c.Result, c.Reading, tt.want)
		}
	}
	if c := decideOne(DefaultPolicy(), rows(map[Row]float64{ttft: .5})); c.Result != Passed || c.Reading != "" {
		t.Errorf("only an advisory row moved: got %s, %q", c.Result, c.Reading)
	}
}

// TestMoved: worse by more than the tolerance and the floor, and the lower bound above 0.
func TestMoved(t *testing.T) {
	row := Row{TTFT, P50}
	tests := []struct {
		name       string
		base, head []float64
		want       bool
	}{
		{"clearly", []float64{.1, .101, .099}, []float64{.11, .111, .109}, true},
		{"within the tolerance of ttft.p95", []float64{.1, .1001, .0999}, []float64{.1045, .1046, .1044}, false},
		{"within the noise", []float64{.1, .13, .08}, []float64{.11, .14, .09}, false},
		{"below the floor of ttft.p95", []float64{.01, .0101, .0099}, []float64{.0119, .012, .0118}, false},
		{"better", []float64{.1, .101, .099}, []float64{.05, .051, .049}, false},
		{"one repetition a side", []float64{.1}, []float64{.2}, false},
	}
	for _, tt := range tests {
		p := DefaultPolicy()
		c := decideOne(p, func(head *CellRun, base *Base) {
			base.Repetitions = give(base.Repetitions, row, tt.base...)
			head.Repetitions, head.Planned = give(head.Repetitions, row, tt.head...), len(tt.head)
		})
		if got, _ := p.moved(c.Rows, row); got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.name, got, tt.want)
		}
	}
	if got, size := DefaultPolicy().moved(nil, row); got || size != 0 {
		t.Errorf("no such row: got %t, %v", got, size)
	}
}

// judged is a run of three cells against two recorded runs: one unchanged, one slowed in
// decode, one of other conditions.
func judged(p Policy) *Verdict {
	slow := cellRun("long@near", 3, func(i int, row Row, v float64) float64 {
		if row.Metric == ITL || row.Metric == TPOT {
			v *= 2
		}
		return wobble(i, row, v)
	})
	envelope := Envelope{"parallel.tp": {Value: int64(2), Source: FromEngine}, "parallel.pp": {Source: Undeclared}}
	cells := []CellRun{cellRun("chat@near", 3, wobble), slow, cellRun("chat@far", 3, wobble)}
	for i := range cells {
		cells[i].Envelope = envelope
	}
	run := &Run{
		ID: "head", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Complete: true, Cells: cells,
		Subject: Subject{Engine: "vllm", Version: "0.11.1", Command: []string{"vllm", "serve", "m", "--port", "8000", "--max-num-seqs=128", "--enforce-eager"}},
		Context: Context{"gpu.driver": "570.133.20", "host.kernel": "6.8.0", "host.cpu": "EPYC"},
	}
	ref := func(id, version string) RunRef {
		return RunRef{
			ID: id, Started: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Class: "h100x1",
			Subject: Subject{Engine: "vllm", Version: version, Command: []string{"vllm", "serve", "m", "--port=8000", "--max-num-seqs", "256"}},
		}
	}
	contexts := []Context{
		{"gpu.driver": "570.124.06", "host.kernel": "6.5.0", "host.cpu": "EPYC"},
		{"gpu.driver": "570.124.06", "host.kernel": "6.8.0", "host.cpu": "EPYC"},
	}
	bases := map[string]Base{}
	for _, c := range cells {
		base := baseOf(cellRun(c.ID, 6, wobble))
		base.Runs, base.Context = []RunRef{ref("new", "0.11.0"), ref("old", "0.10.2")}, contexts
		bases[c.ID] = base
	}
	bases["chat@far"] = Base{
		Missing: NotComparable, Reason: "the closest record differs in parallel.tp",
		Differs: []Difference{{"parallel.tp", Field{int64(1), FromEngine}, Field{int64(2), FromEngine}}, {"slo.ttft", Field{}, Field{.5, FromConfig}}},
	}
	return Judge(p, run, bases)
}

func TestJudgeTellsWhatDiffers(t *testing.T) {
	p := DefaultPolicy()
	p.ExpectChanged = []string{"subject.version"}
	p.Context["host.cpu"] = ContextIgnore
	v := judged(p)
	subject := []Change{
		{"subject.command.--enforce-eager", "", "true", false},
		{"subject.command.--max-num-seqs", "256", "128", false},
		{"subject.version", "0.11.0 | 0.10.2", "0.11.1", true},
	}
	if diff := cmp.Diff(subject, v.Subject); diff != "" {
		t.Errorf("subject (-want +got):\n%s", diff)
	}
	context := []Change{
		{"gpu.driver", "570.124.06", "570.133.20", false},
		{"host.kernel", "6.5.0 | 6.8.0", "6.8.0", false},
	}
	if diff := cmp.Diff(context, v.Context); diff != "" {
		t.Errorf("context (-want +got):\n%s", diff)
	}
	if len(v.Base) != 2 || v.Base[0].ID != "new" || v.Base[1].ID != "old" {
		t.Errorf("base: got %+v", v.Base)
	}
	var results []Result
	for _, c := range v.Cells {
		results = append(results, c.Result)
	}
	if diff := cmp.Diff([]Result{Passed, Regressed, NotComparable}, results); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
	if v.Result != Regressed || !v.Failed || v.Cells[1].Reading != ReadingDecode {
		t.Errorf("got %s, failed %t, reading %q", v.Result, v.Failed, v.Cells[1].Reading)
	}
}

// TestStrictPolicies: what differs in the context or the launch is not comparable where
// the policy is strict, unless it is expected.
func TestStrictPolicies(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Policy)
		want   Result
		paths  []string
	}{
		{"by default only the driver's major version counts", func(*Policy) {}, Passed, nil},
		{"kernel", func(p *Policy) { p.Context["host.kernel"] = ContextStrict }, NotComparable, []string{"context.host.kernel"}},
		{"everything of the host", func(p *Policy) { p.Context["host"] = ContextStrict }, NotComparable, []string{"context.host.kernel"}},
		{"kernel, expected", func(p *Policy) {
			p.Context["host.kernel"], p.ExpectChanged = ContextStrict, []string{"context.host"}
		}, Passed, nil},
		{"subject", func(p *Policy) { p.StrictSubject = true }, NotComparable, []string{"subject.command.--enforce-eager", "subject.command.--max-num-seqs"}},
		{"subject, expected", func(p *Policy) { p.StrictSubject, p.ExpectChanged = true, []string{"subject.command"} }, Passed, nil},
	}
	for _, tt := range tests {
		p := DefaultPolicy()
		tt.change(&p)
		c := judged(p).Cells[0]
		var paths []string
		for _, d := range c.Differs {
			paths = append(paths, d.Path)
		}
		if c.Result != tt.want || !slices.Equal(paths, tt.paths) {
			t.Errorf("%s: got %s, %v, want %s, %v", tt.name, c.Result, paths, tt.want, tt.paths)
		}
	}
	p := DefaultPolicy()
	for _, tt := range []struct {
		base, head string
		want       int
	}{{"570.1", "570.2", 0}, {"550.1", "570.1", 1}, {"", "570.1", 1}} {
		base := Context{}
		if tt.base != "" {
			base["gpu.driver"] = tt.base
		}
		if got := p.ContextDifferences(base, Context{"gpu.driver": tt.head}); len(got) != tt.want {
			t.Errorf("driver %q and %q: got %v, want %d differences", tt.base, tt.head, got, tt.want)
		}
	}
}

func TestSubjectFlat(t *testing.T) {
	s := Subject{Engine: "llama.cpp", Image: "i", URL: "u", Command: []string{"llama-server", "-m", "a b", "--temp", "-1", "-np=8", "--flag", "--x", "1", "--x", "2", "-"}}
	want := map[string]string{
		"subject.engine": "llama.cpp", "subject.image": "i", "subject.url": "u", "subject.command": "llama-server -",
		"subject.command.-m": "a b", "subject.command.--temp": "-1", "subject.command.-np": "8",
		"subject.command.--flag": "true", "subject.command.--x": "1 2",
	}
	if diff := cmp.Diff(want, s.flat()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// golden is the verdict of judged as a file.
func golden(t *testing.T) []byte {
	t.Helper()
	v := judged(DefaultPolicy())
	v.Tool, v.At, v.Head.Class = Tool{"servegate", "1.0"}, time.Date(2026, 1, 2, 4, 0, 0, 0, time.UTC), "h100x1"
	v.Config, v.Reproduce, v.Artifacts = "version: 1\n", []string{"servegate gate"}, "out"
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(data, '\n')
}

func TestVerdictGolden(t *testing.T) {
	got := golden(t)
	const path = "testdata/verdict.json"
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("the verdict differs from %s (-want +got):\n%s", path, diff)
	}
}
