package sim

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/servegate/servegate/runner/engine/sim/wire"
)

// Flags adds a flag for every option but Log to fs. What o holds now is each flag's
// default; names are vLLM's where vLLM has the option.
func (o *Options) Flags(fs *pflag.FlagSet) {
	o.serverFlags(fs)
	o.schedulerFlags(fs)
	o.timingFlags(fs)
	o.styleFlags(fs)
	o.Faults.requestFlags(fs)
	o.Faults.lifeFlags(fs)
}

func (o *Options) serverFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Host, "host", o.Host, "address to listen on")
	fs.IntVar(&o.Port, "port", o.Port, "port to listen on; 0 for a free one")
	fs.StringVar(&o.Model, "model", o.Model, "served model name")
	fs.StringVar(&o.Version, "engine-version", o.Version, "what /version says")
	fs.StringVar(&o.OwnedBy, "owned-by", o.OwnedBy, "what /v1/models says")
	fs.StringVar(&o.APIKey, "api-key", o.APIKey, "bearer token that /v1 asks for")
	fs.BoolVar(&o.DevMode, "dev-mode", o.DevMode, "offer /server_info and /reset_prefix_cache")
	fs.BoolVar(&o.LogCalls, "log-requests", o.LogCalls, "log a line for every request")
	fs.DurationVar(&o.Grace, "grace", o.Grace, "time that unfinished requests have after SIGTERM")
}

func (o *Options) schedulerFlags(fs *pflag.FlagSet) {
	s := &o.Scheduler
	fs.IntVar(&s.MaxBatchedTokens, "max-num-batched-tokens", s.MaxBatchedTokens, "token budget of a step")
	fs.IntVar(&s.MaxSeqs, "max-num-seqs", s.MaxSeqs, "running requests at most")
	fs.IntVar(&s.MaxModelLen, "max-model-len", s.MaxModelLen, "tokens of a request at most, prompt and output")
	fs.IntVar(&s.BlockSize, "block-size", s.BlockSize, "tokens of a KV block")
	fs.IntVar(&s.Blocks, "num-gpu-blocks", s.Blocks, "KV blocks")
	fs.BoolVar(&s.PrefixCaching, "enable-prefix-caching", s.PrefixCaching, "reuse KV blocks of equal content")
	fs.BoolVar(&s.ChunkedPrefill, "enable-chunked-prefill", s.ChunkedPrefill, "spread long prompts over steps")
	fs.IntVar(&s.DraftTokens, "num-speculative-tokens", s.DraftTokens, "draft tokens that each decode step verifies")
	fs.Float64Var(&o.AcceptanceLength, "acceptance-length", o.AcceptanceLength, "mean tokens that a decode step yields with draft tokens")
	fs.DurationVar(&o.BatchDelay, "batch-delay", o.BatchDelay, "time that an idle engine waits for company after the first request")
}

func (o *Options) timingFlags(fs *pflag.FlagSet) {
	c := &o.Cost
	fs.DurationVar(&c.Base, "step-base", c.Base, "time of every step")
	fs.DurationVar(&c.PrefillToken, "step-prefill-token", c.PrefillToken, "time of each prompt token in a step")
	fs.DurationVar(&c.Decode, "step-decode", c.Decode, "time of each decoding sequence in a step")
	fs.DurationVar(&c.KVToken, "step-kv-token", c.KVToken, "time of each token of context in a step")
	fs.Float64Var(&c.PrefillSlowdown, "slow-prefill", c.PrefillSlowdown, "factor on the time of prompt tokens")
	fs.Float64Var(&c.DecodeSlowdown, "slow-decode", c.DecodeSlowdown, "factor on the time of steps that decode")
	fs.DurationVar(&o.Throttle.Period, "throttle-period", o.Throttle.Period, "period of a chip that gets hot; 0 for never")
	fs.Float64Var(&o.Throttle.Duty, "throttle-duty", o.Throttle.Duty, "share at the end of each period that is slow")
	fs.Float64Var(&o.Throttle.Factor, "throttle-factor", o.Throttle.Factor, "factor on the time of steps in the slow phase")
	fs.Float64Var(&o.Noise.Boot, "noise-boot", o.Noise.Boot, "sd of the log of a factor drawn once a boot")
	fs.Float64Var(&o.Noise.Request, "noise-request", o.Noise.Request, "sd of the log of a factor drawn for each request")
	fs.Float64Var(&o.Noise.Step, "noise-step", o.Noise.Step, "sd of the log of a factor drawn for each step")
	fs.Uint64Var(&o.Seed, "seed", o.Seed, "seed of noise, faults and content")
	fs.Uint64Var(&o.Boot, "boot", o.Boot, "number of this boot, which noise and faults are drawn from too; 0 for the time")
}

func (o *Options) styleFlags(fs *pflag.FlagSet) {
	s := &o.Style
	fs.Float64Var(&o.EOSRate, "eos-rate", o.EOSRate, "share of the requests without ignore_eos whose text ends early")
	fs.StringVar((*string)(&s.Usage), "usage", string(s.Usage),
		"when usage is told: "+string(wire.UsageAsked)+" (own frame), "+string(wire.UsageLast)+" (on the last frame, always), "+string(wire.UsageNone))
	fs.BoolVar(&s.RunningUsage, "continuous-usage", s.RunningUsage, "honour continuous_usage_stats")
	fs.BoolVar(&s.TokenIDs, "token-ids", s.TokenIDs, "honour return_token_ids")
	fs.BoolVar(&s.CachedTokens, "prompt-tokens-details", s.CachedTokens, "tell cached tokens in usage")
	fs.BoolVar(&s.HonorIgnoreEOS, "honor-ignore-eos", s.HonorIgnoreEOS, "honour ignore_eos")
	fs.BoolVar(&s.EmptyText, "dummy-weights", s.EmptyText, "tokens without text, as random weights give")
}

func (f *Faults) requestFlags(fs *pflag.FlagSet) {
	fs.DurationVar(&f.QueueDelay, "queue-delay", f.QueueDelay, "time before the scheduler sees a request")
	fs.IntVar(&f.MaxQueued, "max-num-queued-reqs", f.MaxQueued, "unfinished requests above which new ones get 503; 0 for no limit")
	fs.Float64Var(&f.ErrorRate, "error-rate", f.ErrorRate, "share of requests answered with 500")
	fs.Float64Var(&f.InBandRate, "in-band-error-rate", f.InBandRate, "share of requests with an error frame under 200")
	fs.Float64Var(&f.TruncatedRate, "truncated-rate", f.TruncatedRate, "share of requests whose answer breaks off")
	fs.Float64Var(&f.MalformedRate, "malformed-rate", f.MalformedRate, "share of requests with a frame that isn't JSON")
}

func (f *Faults) lifeFlags(fs *pflag.FlagSet) {
	fs.DurationVar(&f.BootTime, "boot-time", f.BootTime, "time from start to ready")
	fs.BoolVar(&f.ListenLate, "listen-late", f.ListenLate, "refuse connections while booting")
	fs.BoolVar(&f.BootCrash, "boot-crash", f.BootCrash, "die instead of getting ready")
	fs.IntVar(&f.CrashAfter, "crash-after", f.CrashAfter, "die before the first token of this request, from 1; 0 for never")
	fs.IntVar(&f.HangAfter, "hang-after", f.HangAfter, "stand still before the first token of this request, from 1; 0 for never")
	fs.StringVar((*string)(&f.CrashMode), "crash-mode", string(f.CrashMode),
		"what a crash under load is: "+string(CrashExit)+", "+string(CrashDead)+" (HTTP lives on), "+string(CrashDeaf)+" (the process lives on)")
	fs.IntVar(&f.CrashCode, "crash-code", f.CrashCode, "exit code of a crash")
	fs.StringVar(&f.CrashWords, "crash-words", f.CrashWords, "last lines of a crash on the log")
	fs.DurationVar(&f.IgnoreStop, "ignore-sigterm", f.IgnoreStop, "time that SIGTERM is ignored")
	fs.StringArrayVar(&f.Child, "child", f.Child, "command to start at boot and leave running; once for the program and each argument")
	fs.IntVar(&f.LogFlood, "log-flood", f.LogFlood, "junk lines a second on the log")
}

// flagValues is every option under its flag's name, but for the secret one.
func (o *Options) flagValues() map[string]string {
	now := *o
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	now.Flags(fs)
	values := map[string]string{}
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Name != "api-key" {
			values[f.Name] = f.DefValue
		}
	})
	return values
}

// bootNumber is o.Boot, or one taken from the time.
func (o *Options) bootNumber(now time.Time) uint64 {
	if o.Boot != 0 {
		return o.Boot
	}
	return uint64(now.UnixNano())
}
