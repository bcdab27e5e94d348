package config

import (
	"fmt"

	"github.com/servegate/servegate/gate"
)

// declared holds the envelope fields that the config tells for all cells. What it
// doesn't tell is left to the engine and the host.
func (c *Config) declared() gate.Envelope {
	e := gate.Envelope{}
	tell(e, "model.name", c.Model.Name)
	tell(e, "model.revision", c.Model.Revision)
	tell(e, "accelerator.model", c.Hardware.Accelerator)
	tell(e, "accelerator.count", c.Hardware.Count)
	tell(e, "accelerator.memory", c.Hardware.Memory)
	tell(e, "accelerator.partitioning", c.Hardware.Partitioning)
	tell(e, "quantization.weights", c.Quantization.Weights)
	tell(e, "quantization.kv_cache", c.Quantization.KVCache)
	tell(e, "parallel.tp", c.Parallel.TP)
	tell(e, "parallel.pp", c.Parallel.PP)
	tell(e, "parallel.dp", c.Parallel.DP)
	tell(e, "parallel.ep", c.Parallel.EP)
	if d := c.Engine.Docker; d != nil && d.GPUs != "none" && c.Hardware.Accelerator == "" {
		// It computes on one that nobody names: this host's CPU doesn't take its place.
		e["accelerator.model"] = gate.Field{Source: gate.Undeclared}
	}
	if c.Engine.Attach == nil {
		// One command or container serves both phases; what stands behind a URL isn't known.
		tell(e, "serving.form", "collocated")
	}
	return e
}

// tell sets a field unless the config leaves it out.
func tell[T comparable](e gate.Envelope, path string, v T) {
	var unset T
	if v == unset {
		return
	}
	// The paths and kinds are those of the registry, whatever a user wrote.
	if err := e.Set(path, v, gate.FromConfig); err != nil {
		panic(fmt.Sprintf("config: %v", err))
	}
}
