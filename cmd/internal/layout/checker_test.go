package layout

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// good is a small house without a fault: what the rules let pass.
var good = map[string]string{
	".gitignore": "# built\n/servegate\n/out/\n*.got\n",
	"servegate":  "ignored", "a.got": "ignored", "README.md": "", "go.mod": "",
	"cmd/servegate/main.go":         "// Command servegate is it.\npackage main\n\nimport \"" + module + "/cmd/internal/cli\"\n\nfunc main() { cli.Main() }\n",
	"cmd/internal/cli/cli.go":       "// Package cli is it.\npackage cli\n\nimport (\n\t\"fmt\"\n\n\t_ \"" + module + "/cmd/internal/config\"\n\t_ \"" + module + "/gate\"\n)\n\n// Main is it.\nfunc Main() { fmt.Println() }\n",
	"cmd/internal/config/config.go": "// Package config is it.\npackage config\n\nimport _ \"" + module + "/runner\"\n",
	"gate/gate.go": "// Package gate is it.\npackage gate\n\nimport (\n\t\"time\"\n\n\t\"github.com/HdrHistogram/hdrhistogram-go\"\n\t\"" + module + "/gate/stats\"\n)\n\n" +
		"// D is it.\nconst D = time.Second\n\n// All of these are it.\nvar (\n\tV = hdrhistogram.New\n\tW = stats.X\n)\n\n" +
		"// T is it.\ntype T struct{ Commonly, Superb, NormalizedLatency int }\n\nfunc (T) String() string { return \"\" }\n\ntype hidden struct{}\n\nfunc (hidden) Do() {}\n",
	"gate/stats/x.go":             "// Package stats is it.\npackage stats\n\nvar (\n\t// X is it.\n\tX = 1\n\tY = 2 // is it\n)\n\n// Three is it.\ntype Three interface{ A(); B(); C() }\n",
	"gate/stats/x_test.go":        "package stats // TODO: tests are no part of this\n",
	"gate/testdata/x.go":          "not Go",
	"runner/run.go":               "// Package runner is it.\npackage runner\n\nimport (\n\t\"log\"\n\t_ \"net/http\"\n\t_ \"time\"\n\n\t_ \"" + module + "/runner/engine/sim\"\n)\n\nvar l = log.New\n",
	"runner/engine/sim/s.go":      "// Package sim is it.\npackage sim\n\nimport _ \"" + module + "/runner/engine/sim/wire\"\n",
	"runner/engine/sim/wire/w.go": "// Package wire is it.\npackage wire\n",
	".ci/tools/tool.go":           "package nobody_looks_here\n",
	"runner/nested/go.mod":        "module other\n",
	"runner/nested/x.go":          "package nobody_looks_here\n",
}

// faultsOf returns what each rule reports on the good house with files changed.
func faultsOf(t *testing.T, changes map[string]string) map[string][]string {
	t.Helper()
	files := fstest.MapFS{}
	for _, set := range []map[string]string{good, changes} {
		for name, text := range set {
			files[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	sources, err := parse(files)
	if err != nil {
		t.Fatal(err)
	}
	faults := map[string][]string{}
	for _, rule := range rules {
		rule.check(sources, func(at, what string) { faults[rule.name] = append(faults[rule.name], at+": "+what) })
	}
	return faults
}

func TestRulesPassAGoodHouse(t *testing.T) {
	for rule, faults := range faultsOf(t, nil) {
		t.Errorf("%s: %q", rule, faults)
	}
}

func sourceOf(pkg, body string) string {
	return "// Package " + pkg + " is it.\npackage " + pkg + "\n\n" + body
}

func importing(pkg, path string) string { return sourceOf(pkg, "import _ \""+path+"\"\n") }

func ours(pkg, path string) string { return importing(pkg, module+"/"+path) }

// breaches has houses with one fault each: the rule that must see it, and what it says.
var breaches = []struct {
	rule, file, text, want string
}{
	{"every package has its place", "pkg/x/x.go", sourceOf("x", ""), "pkg/x: is not in the table of packages (table_test.go)"},
	{"every package has its place", "runner/extra/x.go", sourceOf("extra", ""), "runner/extra: is not in the table of packages (table_test.go)"},

	{"imports run one way", "gate/stats/up.go", "package stats\nimport _ \"" + module + "/gate\"", "gate/stats/up.go: gate/stats imports gate, and may import nothing of ours"},
	{"imports run one way", "gate/up.go", "package gate\nimport _ \"" + module + "/gate/rundir\"", "gate/up.go: gate imports gate/rundir, and may import gate/stats of ours"},
	{"imports run one way", "baselines/b.go", ours("baselines", "runner"), "baselines/b.go: baselines imports runner, and may import gate/rundir, gate, gate/stats of ours"},
	{"imports run one way", "runner/up.go", "package runner\nimport _ \"" + module + "/baselines/dir\"", "runner/up.go: runner imports baselines/dir, and may import runner/engine/..., runner/load, runner/openai, runner/sse, runner/workload, runner/telemetry, gate/rundir, gate, gate/stats of ours"},
	{"imports run one way", "gate/report/r.go", ours("report", "gate/github"), "gate/report/r.go: gate/report imports gate/github, and may import gate/rundir, gate, gate/stats of ours"},
	{"imports run one way", "runner/engine/sim/up.go", "package sim\nimport _ \"" + module + "/runner/openai\"", "runner/engine/sim/up.go: runner/engine/sim imports runner/openai, and may import runner/engine/sim/... of ours"},

	{"some packages have one reader", "cmd/internal/gating/g.go", ours("gating", "cmd/internal/config"), "cmd/internal/gating/g.go: cmd/internal/gating imports cmd/internal/config, which is for cmd/internal/cli only"},

	{"pure packages are pure", "gate/os.go", "package gate\nimport _ \"os\"", "gate/os.go: gate imports os, and is pure: every verdict must follow from the records alone, on any machine, at any time"},
	{"pure packages are pure", "gate/exec.go", "package gate\nimport _ \"os/exec\"", "gate/exec.go: gate imports os/exec, and is pure: every verdict must follow from the records alone, on any machine, at any time"},
	{"pure packages are pure", "gate/http.go", "package gate\nimport _ \"net/http\"", "gate/http.go: gate imports net/http, and is pure: every verdict must follow from the records alone, on any machine, at any time"},
	{"pure packages are pure", "gate/zstd.go", "package gate\nimport _ \"github.com/klauspost/compress/zstd\"", "gate/zstd.go: gate imports github.com/klauspost/compress/zstd, and is pure: every verdict must follow from the records alone, on any machine, at any time"},
	{"pure packages are pure", "gate/now.go", "package gate\nimport \"time\"\nvar now = time.Now", "gate/now.go:3: gate asks the clock (time.Now), and is pure: every verdict must follow from the records alone, on any machine, at any time"},
	{"pure packages are pure", "gate/stats/hdr.go", "package stats\nimport _ \"github.com/HdrHistogram/hdrhistogram-go\"", "gate/stats/hdr.go: gate/stats imports github.com/HdrHistogram/hdrhistogram-go, and is pure: it is pure math"},
	{"pure packages are pure", "runner/sse/s.go", sourceOf("sse", "import t \"time\"\n\nfunc f() { t.Sleep(0) }\n"), "runner/sse/s.go:6: runner/sse asks the clock (time.Sleep), and is pure: it is a parser of bytes that others received"},

	{"packages leave out what others do", "runner/load/l.go", importing("load", "net/http"), "runner/load/l.go: runner/load imports net/http: it decides when requests are due, not what they are or how they are sent"},
	{"packages leave out what others do", "gate/report/r.go", importing("report", "os"), "gate/report/r.go: gate/report imports os: a report is deterministic and decides nothing"},

	{"libraries neither log nor print nor exit", "runner/log.go", "package runner\nimport _ \"log/slog\"", "runner/log.go: imports log/slog"},
	{"libraries neither log nor print nor exit", "runner/log.go", "package runner\nimport \"log\"\nfunc f() { log.Println() }", "runner/log.go:3: uses log.Println"},
	{"libraries neither log nor print nor exit", "runner/print.go", "package runner\nimport \"fmt\"\nfunc f() { fmt.Println() }", "runner/print.go:3: uses fmt.Println"},
	{"libraries neither log nor print nor exit", "runner/exit.go", "package runner\nimport \"os\"\nfunc f() { os.Exit(1) }", "runner/exit.go:3: uses os.Exit"},

	{"the root holds only what is planned", "Makefile", "", "Makefile: stands at the root; docs belong into .github/docs, tools into .ci"},
	{"the root holds only what is planned", "docs/x.md", "", "docs: stands at the root; docs belong into .github/docs, tools into .ci"},

	{"every package has exactly one package comment", "gate/stats/x.go", "package stats\n\nvar x = 1\n", "gate/stats: package stats has 0 package comments: nothing"},
	{"every package has exactly one package comment", "gate/stats/y.go", sourceOf("stats", ""), "gate/stats: package stats has 2 package comments: gate/stats/x.go, gate/stats/y.go"},
	{"every package has exactly one package comment", "runner/engine/sim/wire/w.go", "// This is a wire.\npackage wire\n", "runner/engine/sim/wire/w.go: the package comment doesn't begin with \"Package wire \""},
	{"every package has exactly one package comment", "cmd/servegate/main.go", "// Package main is it.\npackage main\n", "cmd/servegate/main.go: the package comment doesn't begin with \"Command \""},

	{"exported names have comments", "gate/f.go", "package gate\nfunc F() {}", "gate/f.go:2: F has no comment"},
	{"exported names have comments", "gate/m.go", "package gate\nfunc (*T) M() {}", "gate/m.go:2: M has no comment"},
	{"exported names have comments", "gate/t.go", "package gate\ntype U int", "gate/t.go:2: U has no comment"},
	{"exported names have comments", "gate/group.go", "package gate\n// The types.\ntype (\n\tU int\n)", "gate/group.go:3: U has no comment"},
	{"exported names have comments", "gate/c.go", "package gate\nconst A, b = 1, 2", "gate/c.go:2: A has no comment"},

	{"functions are short", "gate/f.go", "package gate\nfunc f() {" + strings.Repeat("\n", maxFunction) + "}", "gate/f.go:2: f has 81 lines"},
	{"files are short", "gate/f.go", "package gate" + strings.Repeat("\n", maxFile+1), "gate/f.go: has 501 lines"},
	{"files are short", "cmd/servegate/main.go", "// Command servegate is it.\npackage main" + strings.Repeat("\n", maxMain), "cmd/servegate/main.go: has 21 lines"},
	{"interfaces are small", "gate/i.go", "package gate\ntype i interface { a(); b(); c(); d() }", "gate/i.go:2: an interface has 4 methods"},

	{"names are the field's", "runner/engine/sim/util/u.go", sourceOf("util", ""), "runner/engine/sim/util: says nothing about what is in it"},
	{"names are the field's", "gate/helpers.go", "package gate", "gate/helpers.go: says nothing about what is in it"},
	{"names are the field's", "gate/n.go", "package gate\nvar runPerf = 1", "gate/n.go:2: runPerf is not a name that the field uses"},
	{"names are the field's", "gate/n.go", "package gate\nfunc score_of() {}", "gate/n.go:2: score_of is not a name that the field uses"},
	{"names are the field's", "gate/n.go", "package gate\ntype s struct{ Latency int }", "gate/n.go:2: Latency is not a name that the field uses"},
	{"names are the field's", "gate/n.go", "package gate\nfunc f() { helper := 1; _ = helper }", "gate/n.go:2: helper is not a name that the field uses"},

	{"names are the field's", "gate/n.go", "package gate\nfunc f() { for helper := range 3 { _ = helper } }", "gate/n.go:2: helper is not a name that the field uses"},

	{"nothing is put off in comments", "gate/n.go", "package gate\n\n// TODO: later\nvar n int", "gate/n.go:3: says TODO"},
}

func TestRulesSeeBreaches(t *testing.T) {
	for _, tt := range breaches {
		t.Run(strings.ReplaceAll(tt.rule, " ", "-")+"/"+strings.ReplaceAll(tt.file, "/", "-"), func(t *testing.T) {
			got := faultsOf(t, map[string]string{tt.file: tt.text})
			if !slices.Contains(got[tt.rule], tt.want) {
				t.Errorf("the rule reports %q, want %q", got[tt.rule], tt.want)
			}
		})
	}
}

func TestRulesSeeTooManyFiles(t *testing.T) {
	files := map[string]string{}
	for i := range maxFiles {
		files[fmt.Sprintf("gate/stats/f%d.go", i)] = "package stats\n"
		files[fmt.Sprintf("gate/stats/f%d_test.go", i)] = "package stats\n"
	}
	got := faultsOf(t, files)["packages are small"]
	if want := "gate/stats: has 16 files beside its tests"; !slices.Equal(got, []string{want}) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestEveryRuleCanFail holds this file to its purpose: a rule that no house can break is
// a decoration.
func TestEveryRuleCanFail(t *testing.T) {
	broken := map[string]bool{"packages are small": true} // above
	for _, tt := range breaches {
		broken[tt.rule] = true
	}
	for _, rule := range rules {
		if !broken[rule.name] {
			t.Errorf("no breach of %q is tested", rule.name)
		}
		delete(broken, rule.name)
	}
	if left := slices.Sorted(maps.Keys(broken)); len(left) > 0 {
		t.Errorf("breaches of rules that don't exist: %q", left)
	}
}

func TestParseRefusesWhatIsNotGo(t *testing.T) {
	if _, err := parse(fstest.MapFS{"gate/x.go": {Data: []byte("pakage gate")}}); err == nil || !strings.Contains(err.Error(), "gate/x.go:1:1") {
		t.Errorf("got error %v, want one with the place", err)
	}
}

func TestWords(t *testing.T) {
	tests := []struct {
		name string
		want []string
	}{
		{"runPerf", []string{"run", "perf"}},
		{"score_of", []string{"score", "of"}},
		{"TTFT", []string{"t", "t", "f", "t"}},
		{"superb", []string{"superb"}},
		{"_", []string{""}},
	}
	for _, tt := range tests {
		if got := words(tt.name); !slices.Equal(got, tt.want) {
			t.Errorf("words(%q) = %q, want %q", tt.name, got, tt.want)
		}
	}
}
