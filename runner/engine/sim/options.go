package sim

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/servegate/servegate/runner/engine/sim/scheduler"
	"github.com/servegate/servegate/runner/engine/sim/timing"
	"github.com/servegate/servegate/runner/engine/sim/wire"
)

// Options is everything that can be set about an engine. [Defaults] is the place to
// start from: a zero Options is not valid.
type Options struct {
	Host string // address to listen on, by [Serve]
	Port int    // 0: one that is free

	Model    string // served model name
	Version  string // what /version says
	OwnedBy  string // what /v1/models says
	APIKey   string // bearer token that /v1 asks for; empty: none
	DevMode  bool   // /server_info and /reset_prefix_cache exist
	Log      io.Writer
	LogCalls bool // a log line for every request

	Scheduler scheduler.Config
	// AcceptanceLength is the mean number of tokens that a decode step yields, from 1 to
	// 1 + Scheduler.DraftTokens; it matters only where there are draft tokens.
	AcceptanceLength float64

	Cost       timing.Cost
	Throttle   timing.Throttle
	Noise      Noise
	BatchDelay time.Duration // an idle engine waits this long for company after the first request

	Seed uint64 // of noise, faults and content
	Boot uint64 // with Seed, of noise and faults; 0: taken from the clock

	EOSRate float64 // share of the requests without ignore_eos whose text ends early
	Style   Style
	Grace   time.Duration // from the request to stop to the end of unfinished requests
	Faults  Faults
}

// Noise is the standard deviations of the logarithms of factors, each with mean 1. The
// zero value is an engine without noise.
type Noise struct {
	Boot    float64 // on every step, drawn once a boot
	Request float64 // on a request's share of its steps, drawn once a request
	Step    float64 // on a step, drawn once a step
}

// Style is how answers look, to play engines other than vLLM.
type Style struct {
	wire.Style
	HonorIgnoreEOS bool // ignore_eos is honoured
}

// Faults is the behaviour that is planted. That of [Defaults] plants none.
type Faults struct {
	QueueDelay time.Duration // from a request's arrival until the scheduler sees it
	MaxQueued  int           // unfinished requests above which new ones are rejected with 503; 0: no limit

	// Shares of the requests, at most 1 together. Which ones are hit is seeded.
	ErrorRate     float64 // answered with 500
	InBandRate    float64 // an error frame under 200
	TruncatedRate float64 // the answer ends without its terminator: half of them cut, half ended in order
	MalformedRate float64 // a frame that isn't JSON

	BootTime   time.Duration // from start to ready
	ListenLate bool          // refuse connections while booting; else /health is 503
	BootCrash  bool          // die at the end of the boot time instead of being ready

	// CrashAfter and HangAfter count the requests that reach the engine, from 1: it dies
	// or stands still in the step that would bring this one's first token. 0: never.
	CrashAfter int
	HangAfter  int
	CrashMode  CrashMode
	CrashCode  int    // exit code of a crash
	CrashWords string // last lines on the log

	IgnoreStop time.Duration // go on as if nothing was for this long after the request to stop
	Child      []string      // a command that is started at boot and left alone; empty: none
	LogFlood   int           // junk lines a second on the log
}

// CrashMode is how an engine dies under load.
type CrashMode string

// The ways to die: the process ends; the engine is dead but HTTP goes on to answer, with
// 500 and an unhealthy /health; or the port is closed too and the process stays.
const (
	CrashExit CrashMode = "exit"
	CrashDead CrashMode = "dead"
	CrashDeaf CrashMode = "deaf"
)

// Defaults returns an engine that looks like a small GPU server: steps of about 5 ms,
// prefill of 1.5 ms for 256 tokens, a KV memory of 65,536 tokens, no noise, no faults.
func Defaults() Options {
	return Options{
		Host:    "127.0.0.1",
		Port:    8000,
		Model:   "sim",
		Version: "0.1.0+sim",
		OwnedBy: "servegate-sim",
		DevMode: true,
		Scheduler: scheduler.Config{
			MaxBatchedTokens: 8192, MaxSeqs: 256, MaxModelLen: 8192, BlockSize: 16, Blocks: 4096,
			PrefixCaching: true, ChunkedPrefill: true,
		},
		AcceptanceLength: 1,
		Cost: timing.Cost{
			Base: 4800 * time.Microsecond, PrefillToken: 6 * time.Microsecond,
			Decode: 20 * time.Microsecond, KVToken: 20 * time.Nanosecond,
			PrefillSlowdown: 1, DecodeSlowdown: 1,
		},
		Throttle: timing.Throttle{Factor: 1},
		EOSRate:  0.5,
		Style: Style{
			Style:          wire.Style{Usage: wire.UsageAsked, RunningUsage: true, TokenIDs: true, CachedTokens: true},
			HonorIgnoreEOS: true,
		},
		Grace: 5 * time.Second,
		Faults: Faults{
			CrashMode: CrashExit,
			CrashCode: 1,
			CrashWords: "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.16 GiB. " +
				"GPU 0 has a total capacity of 79.10 GiB of which 1.02 GiB is free.\n" +
				"RuntimeError: Engine core initialization failed. See root cause above.",
		},
	}
}

// Check reports all that is wrong with o.
func (o *Options) Check() error {
	errs := []error{o.Scheduler.Check(), o.Cost.Check(), o.Throttle.Check(), o.Faults.check()}
	if o.Model == "" {
		errs = append(errs, errors.New("model: no name given"))
	}
	if o.Port < 0 || o.Port > 65535 {
		errs = append(errs, fmt.Errorf("port: got %d, want 0 to 65535", o.Port))
	}
	if k := o.Scheduler.DraftTokens; o.AcceptanceLength < 1 || o.AcceptanceLength > float64(1+k) {
		errs = append(errs, fmt.Errorf("acceptance length: got %v, want 1 to %d with %d draft tokens", o.AcceptanceLength, 1+k, k))
	}
	if n := o.Noise; n.Boot < 0 || n.Request < 0 || n.Step < 0 || n.Boot+n.Request+n.Step > 3 {
		errs = append(errs, fmt.Errorf("noise: got boot %v, request %v, step %v, want standard deviations of logarithms, such as 0.03", n.Boot, n.Request, n.Step))
	}
	if o.BatchDelay < 0 || o.Grace < 0 {
		errs = append(errs, fmt.Errorf("batch delay %s, grace %s: want no negative time", o.BatchDelay, o.Grace))
	}
	if !share(o.EOSRate) {
		errs = append(errs, fmt.Errorf("eos rate: got %v, want a share from 0 to 1", o.EOSRate))
	}
	switch o.Style.Usage {
	case wire.UsageAsked, wire.UsageLast, wire.UsageNone:
	default:
		errs = append(errs, fmt.Errorf("usage: got %q, want %s, %s or %s", o.Style.Usage, wire.UsageAsked, wire.UsageLast, wire.UsageNone))
	}
	return errors.Join(errs...)
}

func (f *Faults) check() error {
	var errs []error
	sum := 0.0
	for _, r := range []struct {
		name string
		rate float64
	}{{"error", f.ErrorRate}, {"in-band error", f.InBandRate}, {"truncated", f.TruncatedRate}, {"malformed", f.MalformedRate}} {
		sum += r.rate
		if !share(r.rate) {
			errs = append(errs, fmt.Errorf("%s rate: got %v, want a share from 0 to 1", r.name, r.rate))
		}
	}
	if sum > 1 {
		errs = append(errs, fmt.Errorf("fault rates: the sum is %v, want at most 1", sum))
	}
	switch f.CrashMode {
	case CrashExit, CrashDead, CrashDeaf:
	default:
		errs = append(errs, fmt.Errorf("crash mode: got %q, want %s, %s or %s", f.CrashMode, CrashExit, CrashDead, CrashDeaf))
	}
	if f.CrashCode < 0 || f.CrashCode > 255 {
		errs = append(errs, fmt.Errorf("crash code: got %d, want 0 to 255", f.CrashCode))
	}
	if f.QueueDelay < 0 || f.BootTime < 0 || f.IgnoreStop < 0 || f.MaxQueued < 0 || f.CrashAfter < 0 || f.HangAfter < 0 || f.LogFlood < 0 {
		errs = append(errs, errors.New("faults: times and counts cannot be negative"))
	}
	return errors.Join(errs...)
}

// share reports whether v is one; NaN isn't.
func share(v float64) bool { return v >= 0 && v <= 1 }
