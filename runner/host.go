package runner

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"

	"github.com/servegate/servegate/gate"
)

// machine is what this host says about itself.
type machine struct {
	cpuModel string
	cores    int64 // physical
	threads  int64 // logical, as this process may use them
	// accelerated says that the host has an accelerator that an engine may compute on.
	accelerated bool
	context     gate.Context
}

// readMachine asks the host, and the environment by getenv. What it doesn't tell is left out: a container may hide
// its memory or its kernel, and that is no reason not to measure.
func readMachine(ctx context.Context, getenv func(string) string) machine {
	m := machine{threads: int64(runtime.NumCPU()), accelerated: hasAccelerator(), context: gate.Context{}}
	set := func(key, value string) {
		if value != "" {
			m.context[key] = value
		}
	}
	if infos, err := cpu.InfoWithContext(ctx); err == nil && len(infos) > 0 {
		m.cpuModel = infos[0].ModelName
	}
	if n, err := cpu.CountsWithContext(ctx, false); err == nil && n > 0 {
		m.cores = int64(n)
		set("host.cores", strconv.Itoa(n))
	}
	if h, err := host.InfoWithContext(ctx); err == nil {
		set("host.name", h.Hostname)
		set("host.os", h.Platform+" "+h.PlatformVersion)
		set("host.kernel", h.KernelVersion)
	}
	if v, err := mem.VirtualMemoryWithContext(ctx); err == nil {
		set("host.memory", fmt.Sprintf("%d GiB", (v.Total+1<<29)>>30))
	}
	set("host.cpu", m.cpuModel)
	set("host.threads", strconv.FormatInt(m.threads, 10))
	set("runner.name", getenv("RUNNER_NAME"))
	return m
}

// accelerators are the devices that drivers make, as patterns: NVIDIA's, AMD's, Huawei's,
// and those of the kernel's accel subsystem (Habana, TPU).
var accelerators = []string{"/dev/nvidia[0-9]*", "/dev/kfd", "/dev/davinci[0-9]*", "/dev/accel/accel*", "/dev/accel[0-9]*"}

// hasAccelerator reports whether this host has one. Which one, and whether the engine
// computes on it, is for the engine or the config to tell.
func hasAccelerator() bool {
	return slices.ContainsFunc(accelerators, func(pattern string) bool {
		found, err := filepath.Glob(pattern)
		return err == nil && len(found) > 0
	})
}

// isLocal reports whether an engine at rawURL runs on this host, so that what the host
// tells holds for it.
func isLocal(rawURL string) bool {
	u, err := url.Parse(rawURL)
	if err != nil {
		return false
	}
	switch u.Hostname() {
	case "127.0.0.1", "localhost", "::1":
		return true
	}
	return false
}
