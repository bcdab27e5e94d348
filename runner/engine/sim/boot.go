package sim

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// phase is a part of the boot, with the log line that ends it.
type phase struct {
	share float64 // of the boot time
	where string
	done  func(o *Options, took time.Duration) string
}

// phases are the stages that vLLM's log shows, in its words, so that what reads them
// there reads them here.
var phases = []phase{
	{0.45, "default_loader.py:308", func(_ *Options, took time.Duration) string {
		return fmt.Sprintf("Loading weights took %.2f seconds", took.Seconds())
	}},
	{0.05, "gpu_model_runner.py:3338", func(_ *Options, took time.Duration) string {
		return fmt.Sprintf("Model loading took 0.0000 GiB and %.6f seconds", took.Seconds())
	}},
	{0.25, "monitor.py:34", func(_ *Options, took time.Duration) string {
		return fmt.Sprintf("torch.compile takes %.2f s in total", took.Seconds())
	}},
	{0.05, "kv_cache_utils.py:1229", func(o *Options, _ time.Duration) string {
		tokens := o.Scheduler.Blocks * o.Scheduler.BlockSize
		return fmt.Sprintf("GPU KV cache size: %d tokens\nMaximum concurrency for %d tokens per request: %.2fx",
			tokens, o.Scheduler.MaxModelLen, float64(tokens)/float64(o.Scheduler.MaxModelLen))
	}},
	{0.20, "gpu_model_runner.py:4244", func(_ *Options, took time.Duration) string {
		return fmt.Sprintf("Graph capturing finished in %.0f secs, took 0.00 GiB", took.Seconds())
	}},
}

// boot goes through the phases. It returns ctx's error, or a *CrashError if the boot
// is to fail.
func (s *Server) boot(ctx context.Context) error {
	o := &s.opts
	s.log.info("api_server.py:1839", "vLLM API server version %s (simulated)", o.Version)
	s.log.info("core.py:93", "Initializing a V1 LLM engine (v%s) with config: model='%s', revision=None, dtype=torch.bfloat16, "+
		"max_seq_len=%d, tensor_parallel_size=1, pipeline_parallel_size=1, data_parallel_size=1, quantization=None, "+
		"seed=%d, enable_prefix_caching=%s, chunked_prefill_enabled=%s, boot=%d",
		o.Version, o.Model, o.Scheduler.MaxModelLen, o.Seed,
		pythonBool(o.Scheduler.PrefixCaching), pythonBool(o.Scheduler.ChunkedPrefill), s.bootNumber)
	if err := s.startChild(); err != nil {
		return err
	}
	for _, p := range phases {
		took := time.Duration(float64(o.Faults.BootTime) * p.share)
		if err := wait(ctx, took); err != nil {
			return err
		}
		for line := range strings.Lines(p.done(o, took)) {
			s.log.info(p.where, "%s", strings.TrimSpace(line))
		}
	}
	if o.Faults.BootCrash {
		s.log.fail("core.py:866", "EngineCore failed to start.")
		s.log.line(o.Faults.CrashWords)
		return &CrashError{Code: o.Faults.CrashCode}
	}
	s.log.info("core.py:218", "init engine (profile, create kv cache, warmup model) took %.2f seconds", o.Faults.BootTime.Seconds())
	return nil
}

// startChild starts the planted child and forgets about it: nobody waits for it or
// ends it. It writes to our log where that is a file, as forked workers do.
func (s *Server) startChild() error {
	command := s.opts.Faults.Child
	if len(command) == 0 {
		return nil
	}
	cmd := exec.Command(command[0], command[1:]...)
	if f, ok := s.opts.Log.(*os.File); ok {
		cmd.Stdout, cmd.Stderr = f, f
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start child: %w", err)
	}
	s.log.info("multiproc_executor.py:100", "Worker process started, pid=%d", cmd.Process.Pid)
	if err := cmd.Process.Release(); err != nil {
		return fmt.Errorf("release child: %w", err)
	}
	return nil
}

// flood writes the planted junk to the log until ctx ends.
func (s *Server) flood(ctx context.Context) {
	if s.opts.Faults.LogFlood == 0 {
		return
	}
	const every = 10 * time.Millisecond
	junk := strings.Repeat("the quick brown fox jumps over the lazy dog ", 4)
	begun, written := time.Now(), 0
	for wait(ctx, every) == nil {
		for due := int(time.Since(begun).Seconds() * float64(s.opts.Faults.LogFlood)); written < due; written++ {
			s.log.info("flood.py:1", "line %d %s", written, junk)
		}
	}
}

// wait returns after d, or ctx's error.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
