package baselines

import (
	"fmt"
	"strings"

	"github.com/servegate/servegate/gate"
)

// RunnerClass names the kind of machine that a run was measured on: accelerator model and
// count, CPU model and core count, as "8 x NVIDIA H100 / AMD EPYC 9654 / 96 cores". What
// nobody told is undeclared. A given override (hardware.class) wins.
//
// The envelope is asked first, then the context of the host. Where an engine is attached
// on another machine the latter is the client's, which bears on the numbers too.
func RunnerClass(run *gate.Run, override string) string {
	if override != "" {
		return override
	}
	parts := []string{
		firstTold(envelopeValue(run, "cpu.model"), run.Context["host.cpu"], "undeclared CPU"),
		cores(run),
	}
	model, count := envelopeValue(run, "accelerator.model"), envelopeValue(run, "accelerator.count")
	if model != "" || count != "" || !onCPU(run) {
		accelerator := firstTold(count, "undeclared count") + " x " + firstTold(model, "undeclared accelerator")
		parts = append([]string{accelerator}, parts...)
	}
	// CPUs pad their names with spaces, and engines may tell anything.
	return strings.Join(strings.Fields(strings.Join(parts, " / ")), " ")
}

// cores is the core count. The host's threads stand for it where no cores are told, since
// with an accelerator they are no part of the envelope.
func cores(run *gate.Run) string {
	if n := firstTold(envelopeValue(run, "cpu.cores"), run.Context["host.cores"]); n != "" {
		return n + " cores"
	}
	if n := run.Context["host.threads"]; n != "" {
		return n + " threads"
	}
	return "undeclared cores"
}

// envelopeValue is what the first cell that tells the field says; all cells of a run are
// measured on one machine.
func envelopeValue(run *gate.Run, path string) string {
	for i := range run.Cells {
		if f := run.Cells[i].Envelope[path]; f.Value != nil {
			return fmt.Sprint(f.Value)
		}
	}
	return ""
}

// onCPU reports whether the envelope has the CPU in the accelerator's place.
func onCPU(run *gate.Run) bool {
	for i := range run.Cells {
		for path := range run.Cells[i].Envelope {
			if strings.HasPrefix(path, "cpu.") {
				return true
			}
		}
	}
	return false
}

// firstTold returns the first text that isn't empty.
func firstTold(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}
