package config

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/runner"
	"github.com/servegate/servegate/runner/load"
	"github.com/servegate/servegate/runner/workload"
)

func mustParse(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Parse("servegate.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// planError checks that err is one of the plan with a remedy, and returns its text.
func planErrorText(t *testing.T, err error) string {
	t.Helper()
	var e *runner.PlanError
	if !errors.As(err, &e) || e.Hint() == "" {
		t.Fatalf("got %#v, want a *runner.PlanError with a hint", err)
	}
	return e.Error()
}

func TestPlan(t *testing.T) {
	c := mustParse(t, string(read(t, "testdata/ok/full.yaml")))
	got, err := c.Plan("", Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	command := []string{"vllm", "serve", "meta-llama/Llama-3.1-8B-Instruct", "--port", "{port}", "--max-num-seqs", "256", "--hf-overrides", `{"x": 1}`}
	field := func(v any) gate.Field { return gate.Field{Value: v, Source: gate.FromConfig} }
	slo := gate.SLO{TTFT: 0.5, ITL: 0.05, ITLMax: 0.2, TPOT: 0.0455, E2E: 90}
	want := runner.Plan{
		Engine: runner.Engine{
			Kind: "vllm",
			Process: &runner.Process{
				Command: command,
				Dir:     "/opt/vllm",
				Env:     map[string]string{"VLLM_LOGGING_LEVEL": "DEBUG", "OMP_NUM_THREADS": "8", "VLLM_USE_V1": "1", "TOKENIZERS_PARALLELISM": "false"},
				PassEnv: []string{"LD_LIBRARY_PATH"},
				Secrets: []string{"HF_TOKEN", "VLLM_API_KEY"},
			},
			ReadyTimeout: 90 * time.Minute,
			StopGrace:    time.Minute,
			APIKey:       "VLLM_API_KEY",
		},
		Model: "llama",
		Cells: []runner.Cell{
			{
				Cell: gate.Cell{ID: "chat@near", Workload: "chat", Load: "near", Streaming: true, SLO: slo},
				Workload: workload.Spec{
					Name:   "chat",
					Input:  workload.Lengths{Distribution: workload.Lognormal, Mean: 512, SD: 200, Min: 1, Max: 4096},
					Output: workload.Lengths{Distribution: workload.Uniform, Min: 64, Max: 192},
					API:    workload.Chat, Stream: true, Prompt: workload.Text, Cache: workload.Cold, IgnoreEOS: true,
				},
				Load: load.Spec{Process: load.Poisson, Rate: 6},
			},
			{
				Cell: gate.Cell{ID: "rag@c32", Workload: "rag", Load: "c32", Streaming: true, Concurrency: 32, SLO: slo},
				Workload: workload.Spec{
					Name:   "rag",
					Input:  workload.Lengths{Distribution: workload.Normal, Mean: 4096, SD: 512.5, Min: 2048, Max: 8192},
					Output: workload.Lengths{Distribution: workload.Fixed, Mean: 256},
					API:    workload.Completions, Stream: true, Prompt: workload.IDs, IDs: workload.IDRange{Low: 100, High: 30000},
					Prefix: 1024, Cache: workload.SharedPrefix, IgnoreEOS: true,
				},
				Load: load.Spec{Concurrency: 32, Start: load.Spread},
			},
		},
		Measure: runner.Measure{
			Duration: 2 * time.Minute, Warmup: 64, Repetitions: 5, Seed: 7, Boot: runner.BootOnce,
			RequestTimeout: 90 * time.Second, DrainTimeout: 30 * time.Second, HangTimeout: 90 * time.Second,
		},
		Subject: gate.Subject{Engine: "vllm", Commit: "1f0e3dad99908345f7439f8ffabdffc4f0e3dad9", Command: command},
		Declared: gate.Envelope{
			"model.name":               field("meta-llama/Llama-3.1-8B-Instruct"),
			"model.revision":           field("0e9e39f249a16976918f6564b8830bc894c89659"),
			"accelerator.model":        field("NVIDIA H100 80GB HBM3"),
			"accelerator.count":        field(int64(2)),
			"accelerator.memory":       field(int64(81559 << 20)),
			"accelerator.partitioning": field("none"),
			"quantization.weights":     field("fp8"),
			"quantization.kv_cache":    field("fp8_e4m3"),
			"parallel.tp":              field(int64(2)),
			"parallel.pp":              field(int64(1)),
			"parallel.dp":              field(int64(1)),
			"parallel.ep":              field(int64(1)),
			"serving.form":             field("collocated"),
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Plan (-want +got):\n%s", diff)
	}
	nightly, err := c.Plan("nightly", Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	var slos []gate.SLO
	for _, cell := range nightly.Cells {
		slos = append(slos, cell.SLO)
	}
	if diff := cmp.Diff([]gate.SLO{slo, slo, slo, {E2E: 2}, {}}, slos); diff != "" {
		t.Errorf("a workload's own SLO replaces the config's (-want +got):\n%s", diff)
	}
}

const head = "version: 1\nengine: {attach: {url: \"http://127.0.0.1:8000\"}}\nmodel: tiny\n" +
	"workloads: {chat: {input: 512, output: 128}}\nloads: {c8: {closed: 8}, near: {poisson: 6/s}}\n"

func TestSubset(t *testing.T) {
	tests := []struct {
		name, matrix, subset string
		want                 string // cells, or the text of an error that begins with "the"
	}{
		{"left out", "", "", "chat@c8 chat@near"},
		{"left out, by its name", "", "all", "chat@c8 chat@near"},
		{"pull_request by default", "matrix: {nightly: [chat@c8, chat@near], pull_request: [chat@near]}", "", "chat@near"},
		{"the only one", "matrix: {smoke: [chat@c8]}", "", "chat@c8"},
		{"chosen", "matrix: {nightly: [chat@c8, chat@near], pull_request: [chat@near]}", "nightly", "chat@c8 chat@near"},
		{"several and none is obvious", "matrix: {a: [chat@c8], b: [chat@near]}", "", "the matrix has no subset pull_request, and no subset was chosen"},
		{"unknown", "matrix: {nightly: [chat@c8]}", "nigthly", `the matrix has no subset "nigthly"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := mustParse(t, head+tt.matrix).Plan(tt.subset, Overrides{})
			if err != nil {
				if got := planErrorText(t, err); got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
				return
			}
			var ids []string
			for _, c := range p.Cells {
				ids = append(ids, c.ID)
			}
			if got := strings.Join(ids, " "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestDockerHasNoLauncherYet(t *testing.T) {
	c := mustParse(t, string(read(t, "testdata/ok/design-docker.yaml")))
	_, err := c.Plan("", Overrides{})
	if got, want := planErrorText(t, err), "servegate.yaml:4:11: engine.docker: this version has no docker launcher"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	p, err := c.Preview("", Overrides{})
	if err != nil || len(p.Cells) != 1 || !strings.HasPrefix(p.Subject.Image, "vllm/vllm-openai@sha256:") {
		t.Errorf("Preview: got %d cells of %+v, %v", len(p.Cells), p.Subject, err)
	}
	if _, err := c.Plan("", Overrides{URL: "http://127.0.0.1:8000"}); err != nil {
		t.Errorf("Plan with --url: %v", err)
	}
}

// Nothing that a plan holds is shared with the config: a runner may change its plan.
func TestPlanIsACopy(t *testing.T) {
	c := mustParse(t, string(read(t, "testdata/ok/full.yaml")))
	before, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Overrides{{}, {Command: []string{"other", "{port}"}, Commit: "abcdef0", Repetitions: 9}} {
		p, err := c.Plan("", o)
		if err != nil {
			t.Fatal(err)
		}
		p.Engine.Process.Env["VLLM_USE_V1"] = "changed"
		p.Engine.Process.Command[0] = "changed"
		p.Engine.Process.Secrets[0] = "changed"
		p.Cells[0].ID = "changed"
	}
	after, err := c.YAML()
	if err != nil || string(before) != string(after) {
		t.Errorf("the config changed with its plan (%v):\n%s", err, cmp.Diff(string(before), string(after)))
	}
}

// A container that sees accelerators computes on one, named or not: the CPU of this host
// must not stand for it.
func TestDockerDeclaresItsAccelerator(t *testing.T) {
	const rest = "model: m\nworkloads: {w: {input: 8, output: 8}}\nloads: {l: {closed: 1}}\n"
	tests := []struct {
		name, docker, hardware string
		want                   gate.Field
	}{
		{"sees none", "", "", gate.Field{}},
		{"sees some", ", gpus: all", "", gate.Field{Source: gate.Undeclared}},
		{"named", ", gpus: all", "hardware: {accelerator: NVIDIA H100}\n", gate.Field{Value: "NVIDIA H100", Source: gate.FromConfig}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := mustParse(t, "version: 1\nengine: {docker: {image: an/image"+tt.docker+"}}\n"+tt.hardware+rest)
			p, err := c.Preview("", Overrides{})
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Declared["accelerator.model"]; got != tt.want {
				t.Errorf("accelerator.model: got %+v, want %+v", got, tt.want)
			}
		})
	}
}
