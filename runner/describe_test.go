package runner

import (
	"strconv"
	"testing"

	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/runner/workload"
)

// The CPU takes the accelerator's place in the envelope only where the engine has none:
// else two runs on different accelerators would match.
func TestCPUStandsForNoAccelerator(t *testing.T) {
	attach := func(url string) Engine { return Engine{Kind: "openai", Attach: &Attach{URL: url}} }
	process := func(kind string) Engine { return Engine{Kind: kind, Process: &Process{}} }
	told := gate.Envelope{"accelerator.model": {Value: "NVIDIA H100", Source: gate.FromConfig}}
	hidden := gate.Envelope{"accelerator.model": {Source: gate.Undeclared}}
	tests := []struct {
		name        string
		engine      Engine
		declared    gate.Envelope
		accelerated bool
		wantCPU     bool
	}{
		{"a host without one", process("vllm"), nil, false, true},
		{"a host with one", process("vllm"), nil, true, false},
		{"a host with one, and an engine that has no use for it", process("sim"), nil, true, true},
		{"declared", process("vllm"), told, false, false},
		{"used and not named", process("vllm"), hidden, false, false},
		{"a local server", attach("http://127.0.0.1:8000"), nil, false, true},
		{"a remote server", attach("http://gpu.example:8000"), nil, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &session{
				plan:    Plan{Engine: tt.engine, Declared: tt.declared, Measure: Measure{Requests: 1}},
				machine: machine{cpuModel: "a CPU", cores: 4, threads: 8, accelerated: tt.accelerated},
			}
			e := s.declared(Cell{Workload: workload.Spec{API: workload.Completions, Cache: workload.Cold}})
			_, cpu := e["cpu.model"]
			_, accelerator := e["accelerator.model"]
			if cpu != tt.wantCPU || accelerator == tt.wantCPU {
				t.Errorf("got cpu.model %v, accelerator.model %v, want one of them, the CPU: %v", cpu, accelerator, tt.wantCPU)
			}
		})
	}
}

// What the engine lists is told by it; where it serves the model under another name, the
// config's stays.
func TestModelName(t *testing.T) {
	field := func(value string, source gate.Source) gate.Field { return gate.Field{Value: value, Source: source} }
	tests := []struct {
		name   string
		config gate.Envelope
		model  string
		listed bool
		want   gate.Field
	}{
		{"both agree", gate.Envelope{"model.name": field("m", gate.FromConfig)}, "m", true, field("m", gate.FromEngine)},
		{"only the engine tells", gate.Envelope{"model.name": {Source: gate.Undeclared}}, "m", true, field("m", gate.FromEngine)},
		{"served under another name", gate.Envelope{"model.name": field("org/m", gate.FromConfig)}, "m", true, field("org/m", gate.FromConfig)},
		{"not listed", gate.Envelope{"model.name": field("m", gate.FromConfig)}, "m", false, field("m", gate.FromConfig)},
	}
	spec := workload.Spec{
		API: workload.Completions, Prompt: workload.IDs, Cache: workload.Cold,
		Input:  workload.Lengths{Distribution: workload.Fixed, Mean: 8},
		Output: workload.Lengths{Distribution: workload.Fixed, Mean: 8},
	}
	vocabulary, err := spec.Vocabulary(nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := workload.New(workload.Options{Spec: spec, Form: workload.IDs, Vocabulary: vocabulary})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tellEngine(tt.config, &cellState{Cell: Cell{Workload: spec}}, g, 1, traits{model: tt.model, listed: tt.listed})
			if got := tt.config["model.name"]; err != nil || got != tt.want {
				t.Errorf("got %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
}

// The runner's name comes from the environment that the caller hands over, and the cores
// of the host stand beside its threads.
func TestMachineContext(t *testing.T) {
	t.Setenv("RUNNER_NAME", "not this one")
	m := readMachine(t.Context(), func(name string) string { return map[string]string{"RUNNER_NAME": "gpu-7"}[name] })
	if got := m.context["runner.name"]; got != "gpu-7" {
		t.Errorf("got runner name %q, want gpu-7", got)
	}
	cores, told := m.context["host.cores"]
	if told != (m.cores > 0) || told && cores != strconv.FormatInt(m.cores, 10) {
		t.Errorf("got host.cores %q, want %d", cores, m.cores)
	}
}
