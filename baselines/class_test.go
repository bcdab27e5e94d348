package baselines_test

import (
	"testing"

	"github.com/servegate/servegate/baselines"
	"github.com/servegate/servegate/gate"
)

func TestRunnerClass(t *testing.T) {
	envelope := func(values map[string]any) gate.Envelope {
		e := gate.Envelope{}
		for path, v := range values {
			if err := e.Set(path, v, gate.FromConfig); err != nil {
				t.Fatal(err)
			}
		}
		e.FillUndeclared()
		return e
	}
	host := gate.Context{"host.cpu": "AMD EPYC  9654 ", "host.threads": "192"}
	for _, test := range []struct {
		name     string
		override string
		envelope gate.Envelope
		context  gate.Context
		want     string
	}{
		{"accelerator", "", envelope(map[string]any{"accelerator.model": "NVIDIA H100", "accelerator.count": 8}), host, "8 x NVIDIA H100 / AMD EPYC 9654 / 192 threads"},
		{"CPU", "", envelope(map[string]any{"cpu.model": "Xeon", "cpu.cores": 4, "cpu.threads": 2}), host, "Xeon / 4 cores"},
		{"CPU without cores", "", envelope(map[string]any{"cpu.model": "Xeon"}), host, "Xeon / 192 threads"},
		{"nothing told", "", envelope(nil), nil, "undeclared count x undeclared accelerator / undeclared CPU / undeclared cores"},
		{"override", "h100x8", envelope(map[string]any{"cpu.model": "Xeon"}), host, "h100x8"},
	} {
		run := &gate.Run{Context: test.context, Cells: []gate.CellRun{{}, {Envelope: test.envelope}}}
		if got := baselines.RunnerClass(run, test.override); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
