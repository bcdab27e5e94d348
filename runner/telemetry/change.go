package telemetry

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/servegate/servegate/gate"
)

// Change is what happened to an engine's counters between two snapshots.
type Change struct{ before, after Snapshot }

// Delta is the change from before to after, two snapshots of the same endpoint.
func Delta(before, after Snapshot) Change { return Change{before, after} }

// Restart says why the engine can't have lived through the change: its process has
// another start time, or a counter is lower than it was. It is empty where nothing shows
// a restart. After a restart the counts of c mean nothing.
func (c Change) Restart() string {
	if c.before.start != "" && c.after.start != "" && c.before.start != c.after.start {
		return fmt.Sprintf("the engine's process start went from %s to %s", c.before.start, c.after.start)
	}
	// In order, so that the same two snapshots always name the same counter. One that is
	// gone fell to 0: a labelled one is made at its first increment.
	for _, name := range slices.Sorted(maps.Keys(c.before.families)) {
		if !isCounter(name) || c.before.gauges[name] {
			continue
		}
		was, is := c.before.sum(name, all), c.after.sum(name, all)
		if is < was {
			return fmt.Sprintf("the engine's counter %s fell from %g to %g", name, was, is)
		}
	}
	return ""
}

// isCounter goes by the suffix: a TYPE line is no help, see [Parse].
func isCounter(name string) bool {
	return strings.HasSuffix(name, "_total") || strings.HasSuffix(name, "_count") || strings.HasSuffix(name, "_bucket")
}

// Count is how much the first of names that the engine has grew, summed over labels and
// rounded to a whole number. It is nil where the engine has none of them, or where the
// difference is no count. A counter that only the later snapshot has began at 0: client
// libraries make a labelled one at its first increment.
func (c Change) Count(names ...string) *int64 {
	return c.count(all, names...)
}

// largest is the first whole number from which on a float64 skips some.
const largest = 1 << 53

func (c Change) count(counts func(sample) bool, names ...string) *int64 {
	name, ok := c.after.find(names)
	if !ok {
		return nil
	}
	difference := math.Round(c.after.sum(name, counts) - c.before.sum(name, counts))
	if !(0 <= difference && difference < largest) { // NaN is neither
		return nil
	}
	n := int64(difference)
	return &n
}

// Facts is what the engine counted between the snapshots: from vLLM's metric names
// (vLLM and the simulated engine) or from llama.cpp's. A count that the engine doesn't
// keep under those names is nil, and all are after a restart.
func (c Change) Facts() gate.EngineFacts {
	if c.Restart() != "" {
		return gate.EngineFacts{}
	}
	facts := gate.EngineFacts{
		// vLLM counts an aborted request as a "success" that finished by abort.
		Requests:     c.count(endedWell, "vllm:request_success"),
		PromptTokens: c.Count("vllm:prompt_tokens"), // cached ones included
		OutputTokens: c.Count("vllm:generation_tokens", "llamacpp:tokens_predicted"),
		Preemptions:  c.Count("vllm:num_preemptions"),
	}
	// llama.cpp counts the cached ones apart, and older builds not at all.
	processed, cached := c.Count("llamacpp:prompt_tokens"), c.Count("llamacpp:prompt_tokens_cached")
	if processed != nil && cached != nil {
		sum := *processed + *cached
		facts.PromptTokens = &sum
	}
	return facts
}

func endedWell(s sample) bool {
	reason := s.label("finished_reason")
	return reason != "abort" && reason != "error"
}
