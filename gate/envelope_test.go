package gate

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEnvelopeFieldsAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	group := map[string]int{}
	for i, f := range EnvelopeFields {
		if seen[f.Path] {
			t.Errorf("path %q stands twice in the registry", f.Path)
		}
		seen[f.Path] = true
		if f.Doc == "" || strings.Contains(f.Doc, "\n") {
			t.Errorf("%s: doc is not one line: %q", f.Path, f.Doc)
		}
		head, _, _ := strings.Cut(f.Path, ".")
		if last, ok := group[head]; ok && last != i-1 {
			t.Errorf("%s: its group %q is torn apart", f.Path, head)
		}
		group[head] = i
		if got, ok := DefineField(f.Path); !ok || got.Path != f.Path {
			t.Errorf("DefineField(%q): got %+v, %v", f.Path, got, ok)
		}
	}
	// What the envelope must hold; a field lost here would let unlike runs be compared.
	for _, path := range strings.Fields(`
		model.name model.revision accelerator.model accelerator.count accelerator.memory
		accelerator.partitioning cpu.model cpu.cores cpu.threads quantization.weights
		quantization.kv_cache parallel.tp parallel.pp parallel.dp parallel.ep serving.form
		serving.roles serving.connector serving.routing workload.input workload.output
		prompt.source prompt.form prompt.ids prompt.digest api arrival streaming.mode
		streaming.sampling_unit cache.condition cache.prefix_tokens cache.hit_ratio
		sampling.temperature sampling.ignore_eos sampling.seed slo.ttft slo.itl slo.itl_max
		slo.tpot slo.e2e measure.requests measure.duration measure.warmup measure.seed
		report.percentiles metrics.definition`) {
		if !seen[path] {
			t.Errorf("the registry lacks %s", path)
		}
	}
	if _, ok := DefineField("parallel"); ok {
		t.Error("DefineField: a group is no field")
	}
}

func TestMetricsVersionFollowsTheDefinitions(t *testing.T) {
	before := MetricsVersion()
	old := Metrics[3].ID
	defer func() { Metrics[3].ID = old }()
	Metrics[3].ID = "ttft/first-output-minus-due/2"
	if after := MetricsVersion(); after == before {
		t.Errorf("a changed definition id leaves the version at %s", after)
	}
}

func TestSetKeepsTheMostTrusted(t *testing.T) {
	type set struct {
		value  any
		source Source
	}
	for _, tt := range []struct {
		name          string
		sets          []set
		want          Field
		contradiction string
	}{
		{"one source", []set{{2, FromConfig}}, Field{int64(2), FromConfig}, ""},
		{"the engine agrees", []set{{2, FromConfig}, {2.0, FromEngine}}, Field{int64(2), FromEngine}, ""},
		{"the config agrees", []set{{2, FromEngine}, {2, FromConfig}}, Field{int64(2), FromEngine}, ""},
		{"the engine differs", []set{{2, FromConfig}, {1, FromEngine}}, Field{int64(1), FromEngine}, "envelope parallel.tp: engine says 1, config says 2"},
		{"the config differs", []set{{1, FromEngine}, {2, FromConfig}}, Field{int64(1), FromEngine}, "envelope parallel.tp: engine says 1, config says 2"},
		{"the host differs", []set{{1, FromHost}, {2, FromConfig}}, Field{int64(1), FromHost}, "envelope parallel.tp: host says 1, config says 2"},
		{"one source twice", []set{{1, FromConfig}, {2, FromConfig}}, Field{int64(1), FromConfig}, "envelope parallel.tp: config says 1, config says 2"},
		{"undeclared, then told", []set{{nil, Undeclared}, {2, FromConfig}}, Field{int64(2), FromConfig}, ""},
		{"told, then undeclared", []set{{2, FromConfig}, {nil, Undeclared}}, Field{int64(2), FromConfig}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := Envelope{}
			var err error
			for _, s := range tt.sets {
				err = e.Set("parallel.tp", s.value, s.source)
			}
			if got := e["parallel.tp"]; got != tt.want {
				t.Errorf("field: got %v, want %v", got, tt.want)
			}
			var c *Contradiction
			switch {
			case tt.contradiction == "" && err != nil:
				t.Errorf("error: got %v, want none", err)
			case tt.contradiction != "" && !errors.As(err, &c):
				t.Errorf("error: got %v, want a contradiction", err)
			case tt.contradiction != "" && err.Error() != tt.contradiction:
				t.Errorf("error: got %q, want %q", err, tt.contradiction)
			}
		})
	}
}

func TestSetRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, path string
		value      any
		source     Source
		want       string
	}{
		{"unknown path", "parallel.xp", 1, FromConfig, `envelope "parallel.xp": no such field`},
		{"a group", "parallel", 1, FromConfig, `envelope "parallel": no such field`},
		{"unknown source", "parallel.tp", 1, "rumour", `unknown source "rumour"`},
		{"no source", "parallel.tp", 1, "", `unknown source ""`},
		{"undeclared with a value", "parallel.tp", 1, Undeclared, "undeclared, and yet 1"},
		{"no value", "parallel.tp", nil, FromEngine, "no value from the engine (leave it undeclared)"},
		{"string for a number", "parallel.tp", "2", FromConfig, `"2" is a string, expected a whole number`},
		{"fraction for a whole number", "parallel.tp", 1.5, FromConfig, "1.5 is a float64, expected a whole number"},
		{"number for a string", "model.name", 7, FromConfig, "7 is a int64, expected a string"},
		{"number for a bool", "sampling.ignore_eos", 1, FromConfig, "1 is a int64, expected true or false"},
		{"bool for a number", "slo.ttft", true, FromConfig, "true is a bool, expected a number"},
		{"not finite", "slo.ttft", math.Inf(1), FromConfig, "+Inf is not a finite number"},
		{"NaN", "slo.ttft", math.NaN(), FromConfig, "NaN is not a finite number"},
		{"beyond exact integers", "measure.seed", int64(1) << 53, FromConfig, "9007199254740992 lies beyond 2^53 - 1"},
		{"beyond int64", "measure.seed", uint64(math.MaxUint64), FromConfig, "18446744073709551615 lies beyond 2^53 - 1"},
		{"a duration", "slo.ttft", time.Second, FromConfig, "1s is a time.Duration, expected a number"},
		{"empty string", "model.revision", "", FromEngine, "empty value (leave it undeclared)"},
		{"broken UTF-8", "model.name", "a\xff", FromEngine, `"a\xff" is not valid UTF-8`},
		{"not among the values", "serving.form", "monolith", FromConfig, `"monolith" is not one of collocated, disaggregated`},
		{"a list", "model.name", []string{"a"}, FromConfig, "[a] is a []string, expected a string"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := Envelope{}
			err := e.Set(tt.path, tt.value, tt.source)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error: got %v, want %q", err, tt.want)
			}
			if len(e) != 0 {
				t.Errorf("envelope: got %v, want it empty", e)
			}
		})
	}
}

// set makes an envelope of path, value pairs told by the config.
func set(t testing.TB, pairs ...any) Envelope {
	t.Helper()
	e := Envelope{}
	for i := 0; i < len(pairs); i += 2 {
		if err := e.Set(pairs[i].(string), pairs[i+1], FromConfig); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

func TestFillUndeclaredMarksWhatApplies(t *testing.T) {
	for _, tt := range []struct {
		name         string
		told         Envelope
		marked, left []string
	}{
		{
			"nothing told",
			Envelope{},
			[]string{"model.name", "accelerator.model", "accelerator.memory", "parallel.ep", "serving.form", "measure.requests", "metrics.definition"},
			[]string{"cpu.model", "serving.roles", "prompt.ids", "streaming.sampling_unit", "cache.prefix_tokens", "cache.hit_ratio", "slo.ttft", "sampling.seed", "measure.duration"},
		},
		{
			"no accelerator", set(t, "cpu.cores", 4),
			[]string{"cpu.model", "cpu.threads"},
			[]string{"accelerator.model", "accelerator.count", "accelerator.memory", "accelerator.partitioning"},
		},
		{
			"disaggregated", set(t, "serving.form", "disaggregated", "serving.roles", "prefill=1,decode=1"),
			[]string{"serving.connector", "serving.routing"},
			nil,
		},
		{"collocated", set(t, "serving.form", "collocated"), nil, []string{"serving.roles", "serving.connector", "serving.routing"}},
		{"ids", set(t, "prompt.form", "ids"), []string{"prompt.ids"}, nil},
		{"text", set(t, "prompt.form", "text"), nil, []string{"prompt.ids"}},
		{"streamed", set(t, "streaming.mode", "streamed"), []string{"streaming.sampling_unit"}, nil},
		{"whole", set(t, "streaming.mode", "whole"), nil, []string{"streaming.sampling_unit"}},
		{"shared prefix", set(t, "cache.condition", "shared_prefix"), []string{"cache.prefix_tokens"}, []string{"cache.hit_ratio"}},
		{"by duration", set(t, "measure.duration", 30), nil, []string{"measure.requests"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := len(tt.told)
			tt.told.FillUndeclared()
			got := tt.told.UndeclaredPaths()
			if len(got) != len(tt.told)-before {
				t.Errorf("undeclared: got %d paths, want %d", len(got), len(tt.told)-before)
			}
			for _, path := range tt.marked {
				if !slices.Contains(got, path) {
					t.Errorf("%s: got %v, want undeclared", path, tt.told[path])
				}
			}
			for _, path := range tt.left {
				if f, ok := tt.told[path]; ok {
					t.Errorf("%s: got %v, want it absent", path, f)
				}
			}
			if err := tt.told.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestFillUndeclaredAgain(t *testing.T) {
	e := Envelope{}
	e.FillUndeclared()
	for path, value := range map[string]any{"cpu.cores": 8, "prompt.form": "ids", "measure.duration": 30} {
		if err := e.Set(path, value, FromHost); err != nil {
			t.Fatal(err)
		}
	}
	e.FillUndeclared()
	want := set(t, "cpu.cores", 8, "prompt.form", "ids", "measure.duration", 30)
	want.FillUndeclared()
	if diff := Diff(want, e); diff != nil {
		t.Errorf("filled before and after differs from filled at once: %v", diff)
	}
}

func TestDiff(t *testing.T) {
	config := func(v any) Field { return Field{v, FromConfig} }
	for _, tt := range []struct {
		name string
		a, b Envelope
		want []Difference
	}{
		{"equal", set(t, "parallel.tp", 2), set(t, "parallel.tp", 2), nil},
		{"1 and 1.0", Envelope{"slo.ttft": config(1)}, Envelope{"slo.ttft": config(1.0)}, nil},
		{"another source", set(t, "parallel.tp", 2), Envelope{"parallel.tp": {int64(2), FromEngine}}, nil},
		{"both undeclared", Envelope{"parallel.tp": {nil, Undeclared}}, Envelope{"parallel.tp": {nil, Undeclared}}, nil},
		{
			"undeclared matches undeclared only",
			Envelope{"parallel.tp": {nil, Undeclared}},
			set(t, "parallel.tp", 1),
			[]Difference{{"parallel.tp", Field{nil, Undeclared}, config(int64(1))}},
		},
		{
			"absent is not undeclared",
			Envelope{},
			Envelope{"slo.ttft": {nil, Undeclared}},
			[]Difference{{"slo.ttft", Field{}, Field{nil, Undeclared}}},
		},
		{
			"in the registry's order", set(t, "api", "chat", "model.name", "m", "slo.e2e", 2), set(t, "api", "completions", "slo.e2e", 2.5),
			[]Difference{{"model.name", config("m"), Field{}}, {"api", config("chat"), config("completions")}, {"slo.e2e", config(int64(2)), config(2.5)}},
		},
		{"nil", nil, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Diff(tt.a, tt.b)); diff != "" {
				t.Errorf("Diff (-want +got):\n%s", diff)
			}
			if same := Diff(tt.a, tt.b) == nil; same != (tt.a.Fingerprint() == tt.b.Fingerprint()) {
				t.Errorf("Diff says same = %v, the fingerprints say otherwise", same)
			}
		})
	}
}

func TestMask(t *testing.T) {
	e := set(t, "parallel.tp", 2, "parallel.pp", 1, "api", "chat", "slo.itl", 1, "slo.itl_max", 2)
	for _, tt := range []struct {
		name  string
		masks []string
		want  []string
	}{
		{"none", nil, []string{"parallel.tp", "parallel.pp", "api", "slo.itl", "slo.itl_max"}},
		{"a group", []string{"parallel"}, []string{"api", "slo.itl", "slo.itl_max"}},
		{"one path, not its neighbour", []string{"slo.itl"}, []string{"parallel.tp", "parallel.pp", "api", "slo.itl_max"}},
		{"half a word", []string{"para"}, []string{"parallel.tp", "parallel.pp", "api", "slo.itl", "slo.itl_max"}},
		{"several", []string{"parallel", "api", "slo"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := unionPaths(e.Mask(tt.masks...), nil)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
			if len(e) != 5 {
				t.Errorf("Mask changed its receiver: %v", e)
			}
		})
	}
	if got := Envelope(nil).Mask("api"); len(got) != 0 {
		t.Errorf("nil: got %v", got)
	}
}
