package runner

import (
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
