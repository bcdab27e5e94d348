package config

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/servegate/servegate/cmd/internal/config/strict"
	"github.com/servegate/servegate/runner"
	"github.com/servegate/servegate/runner/load"
	"github.com/servegate/servegate/runner/workload"
)

func (c *Config) workloads() strict.Value {
	return strict.Named[Workload]{
		Var: &c.Workloads, Name: entryNames, Min: 1,
		New:    newWorkload,
		NameOf: func(w Workload) string { return w.Name },
		Of:     (*Workload).value,
	}
}

func newWorkload(name string) Workload {
	return Workload{Spec: workload.Spec{Name: name, API: workload.Completions, Stream: true, Prompt: workload.Auto, IgnoreEOS: true}}
}

func (w *Workload) value() strict.Value {
	return strict.Object{Keys: []strict.Key{
		{Name: "input", Doc: "length of a prompt in tokens, the shared prefix included", Value: lengths(&w.Input), Required: true, Examples: []any{512}, Also: []string{"prompt_tokens", "input_tokens", "input_len", "isl"}},
		{Name: "output", Doc: "length of an answer in tokens", Value: lengths(&w.Output), Required: true, Examples: []any{128}, Also: []string{"max_tokens", "output_tokens", "output_len", "osl"}},
		{Name: "api", Doc: "route of the OpenAI API that requests go to", Value: strict.Enum(&w.API, workload.Completions, workload.Chat), Also: []string{"endpoint"}},
		{Name: "stream", Doc: "whether answers are streamed; TTFT and ITL exist only where they are", Value: strict.Bool(&w.Stream), Also: []string{"streaming"}},
		{Name: "prompt", Doc: "how prompts are sent: as token ids of exact length, as text, or auto: ids where the engine takes them", Value: strict.Enum(&w.Prompt, workload.Auto, workload.IDs, workload.Text)},
		{Name: "ids", Doc: "range LO-HI that token ids are drawn from; default: what the engine's tokenizer gives for a text, else 10-250", Value: idRange(&w.IDs), Examples: []any{"10-250"}},
		{Name: "prefix", Doc: "tokens at the front that all prompts share", Value: strict.Count(&w.Prefix, 1, maxTokens), Examples: []any{256}},
		{Name: "cache", Doc: "what the engine's prefix cache holds when a request comes; default: cold, and shared_prefix where prefix is given", Value: strict.Enum(&w.Cache, workload.Cold, workload.SharedPrefix)},
		{Name: "ignore_eos", Doc: "ask the engine to go on after an end-of-sequence token, so that answers have their full length", Value: strict.Bool(&w.IgnoreEOS)},
		{Name: "slo", Doc: "limits of this workload, instead of all of the config's; {} is no limit", Value: strict.Optional[SLO]{Var: &w.SLO, New: func() *SLO { return &SLO{} }, Of: func(s *SLO) strict.Value { return s.value(false) }}},
	}}
}

const maxTokens = workload.MaxLength

// lengths is a distribution of lengths: a number of tokens, or a mapping.
func lengths(v *workload.Lengths) strict.Value {
	fixed := strict.Scalar{
		Expected: fmt.Sprintf("a number of tokens from 1 to %d, or a distribution", maxTokens), Example: "512", Tag: "!!int",
		Set: func(text string) *strict.Problem {
			n, err := strconv.ParseUint(text, 10, 64)
			if err != nil || n < 1 || n > maxTokens {
				return &strict.Problem{}
			}
			*v = workload.Lengths{Distribution: workload.Fixed, Mean: float64(n)}
			return nil
		},
		Text:  func() (string, bool) { return strconv.Itoa(int(v.Mean)), v.Mean != 0 },
		Rules: strict.Schema{"type": "integer", "minimum": 1, "maximum": maxTokens},
	}
	tokens := func(v *float64) strict.Value {
		return strict.Number(v, 0.5, maxTokens, "a number of tokens from 0.5", "512")
	}
	drawn := strict.Object{Keys: []strict.Key{
		{Name: "distribution", Doc: "kind of the distribution", Value: strict.Enum(&v.Distribution, workload.Uniform, workload.Normal, workload.Lognormal), Required: true},
		{Name: "mean", Doc: "normal, lognormal: mean length before truncation, in tokens", Value: tokens(&v.Mean), Examples: []any{512}},
		{Name: "sd", Doc: "normal, lognormal: standard deviation, in tokens", Value: tokens(&v.SD), Examples: []any{200}, Also: []string{"std", "stddev", "stdev", "sigma"}},
		{Name: "min", Doc: "uniform: the shortest; normal, lognormal: drawn again below it, 1 where left out", Value: strict.Count(&v.Min, 1, maxTokens), Examples: []any{128}},
		{Name: "max", Doc: "uniform: the longest; normal, lognormal: drawn again above it", Value: strict.Count(&v.Max, 1, maxTokens), Examples: []any{384}},
	}}
	return strict.Shorthand{
		Short: fixed,
		Long: strict.Checked{
			Value: drawn,
			Check: func(r *strict.Reader, path string) { checkDrawn(r, path, v) },
			Rules: strict.Schema{
				"if":   strict.Schema{"properties": strict.Schema{"distribution": strict.Schema{"const": "uniform"}}},
				"then": strict.Schema{"required": []string{"min", "max"}, "not": strict.Schema{"anyOf": []any{strict.Schema{"required": []string{"mean"}}, strict.Schema{"required": []string{"sd"}}}}},
				"else": strict.Schema{"required": []string{"mean", "sd"}},
			},
		},
		IsShort: func() bool { return v.Distribution == "" || v.Distribution == workload.Fixed },
	}
}

func idRange(v *workload.IDRange) strict.Scalar {
	var text string
	s := strict.Matching(&text, idsText, "a range of token ids LO-HI, at least two of them", "10-250")
	parse := s.Set
	s.Set = func(given string) *strict.Problem {
		if p := parse(given); p != nil {
			return p
		}
		m := idsText.FindStringSubmatch(given)
		low, _ := strconv.Atoi(m[1]) // at most nine digits
		high, _ := strconv.Atoi(m[2])
		if low >= high {
			return &strict.Problem{}
		}
		*v = workload.IDRange{Low: low, High: high}
		return nil
	}
	s.Text = func() (string, bool) { return fmt.Sprintf("%d-%d", v.Low, v.High), v.High != 0 }
	return s
}

var idsText = regexp.MustCompile(`^([0-9]{1,9})-([0-9]{1,9})$`)

func (c *Config) loads() strict.Value {
	return strict.Named[NamedLoad]{
		Var: &c.Loads, Name: entryNames, Min: 1,
		New:    func(name string) NamedLoad { return NamedLoad{Name: name} },
		NameOf: func(l NamedLoad) string { return l.Name },
		Of:     (*NamedLoad).value,
	}
}

// The rates that a schedule in whole nanoseconds can keep.
const minRate, maxRate = 0.001, 1e6

func (l *NamedLoad) value() strict.Value {
	// Each process writes the one rate, and says which process it is.
	open := func(kind load.Kind) strict.Value {
		s := strict.Rate(&l.Rate, minRate, maxRate)
		set, text := s.Set, s.Text
		s.Set = func(given string) *strict.Problem {
			p := set(given)
			if p == nil {
				l.Process = kind
			}
			return p
		}
		s.Text = func() (string, bool) {
			t, ok := text()
			return t, ok && l.Process == kind
		}
		return s
	}
	closed := strict.Count(&l.Concurrency, 1, 100_000)
	closed.Example = "32"
	burstiness := strict.Number(&l.Burstiness, 0.01, 1e6, "a number from 0.01 to 1000000", "0.5")
	return strict.Object{
		OneOf: []string{"poisson", "constant", "gamma", "closed"},
		Keys: []strict.Key{
			{Name: "poisson", Doc: "open loop: mean rate of independent arrivals", Value: open(load.Poisson), Examples: []any{"6/s"}, Also: []string{"rate", "rps", "qps", "request_rate"}},
			{Name: "constant", Doc: "open loop: rate of arrivals at equal gaps", Value: open(load.Constant), Examples: []any{"6/s"}},
			{Name: "gamma", Doc: "open loop: mean rate of arrivals with gamma gaps", Value: open(load.Gamma), Examples: []any{"6/s"}},
			{Name: "burstiness", Doc: "shape of gamma: 1 is Poisson, below 1 burstier", Value: burstiness, With: "gamma", Examples: []any{0.5}},
			{Name: "closed", Doc: "closed loop: number of streams, each with one request in flight", Value: closed, Examples: []any{32}, Also: []string{"concurrency", "streams", "users", "max_concurrency"}},
			{Name: "start", Doc: "closed loop: spread spaces the first requests over one request's duration (default), together keeps equal requests in step", Value: strict.Enum(&l.Start, load.Spread, load.Together), With: "closed"},
		},
	}
}

func (c *Config) matrix() strict.Value {
	return strict.Named[Subset]{
		Var: &c.Matrix, Name: entryNames, Min: 1,
		New:    func(name string) Subset { return Subset{Name: name} },
		NameOf: func(s Subset) string { return s.Name },
		Of: func(s *Subset) strict.Value {
			return strict.List[string]{Var: &s.Cells, Min: 1, Unique: true, Of: func(id *string) strict.Value {
				return strict.Matching(id, cellText, "a cell, workload@load", "chat@near")
			}}
		},
	}
}

var cellText = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}@[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

const (
	defaultRequests = 1000
	maxRepetitions  = 1000
)

func newMeasure() Measure {
	return Measure{
		Requests:            defaultRequests,
		Repetitions:         3,
		BaselineRepetitions: 6,
		Seed:                1,
		Boot:                runner.BootPerRepetition,
		RequestTimeout:      5 * time.Minute,
		HangTimeout:         defaultHangTimeout,
	}
}

func (m *Measure) value() strict.Value {
	return strict.Object{
		AtMostOne: []string{"requests", "duration"},
		Keys: []strict.Key{
			{Name: "requests", Doc: "requests in the window of a repetition, at least; warm-up and drain are extra", Value: strict.Count(&m.Requests, 1, 10_000_000), Also: []string{"num_prompts", "num_requests", "count"}},
			{Name: "duration", Doc: "length of the measured phase, instead of requests", Value: strict.Duration(&m.Duration, time.Second, 24*time.Hour), Examples: []any{"2m"}},
			{Name: "warmup", Doc: "requests before the measured phase; auto chooses by load", Value: warmup(&m.Warmup)},
			{Name: "repetitions", Doc: "repetitions of each cell", Value: strict.Count(&m.Repetitions, 1, maxRepetitions), Also: []string{"runs", "reps"}},
			{Name: "baseline_repetitions", Doc: "repetitions of each cell where the run becomes a baseline", Value: strict.Count(&m.BaselineRepetitions, 1, maxRepetitions)},
			{Name: "seed", Doc: "fixes lengths, arrivals and content, the same in every repetition", Value: strict.Count(&m.Seed, 0, 1<<53-1)},
			{Name: "boot", Doc: "how often the engine is booted: for each repetition of the matrix, or once for the run", Value: strict.Enum(&m.Boot, runner.BootPerRepetition, runner.BootOnce)},
			{Name: "request_timeout", Doc: "a request that takes longer is a timeout", Value: strict.Duration(&m.RequestTimeout, 100*time.Millisecond, 24*time.Hour)},
			{Name: "drain_timeout", Doc: "requests still in flight so long after the last one was due are cancelled; default: request_timeout, so that each ends by itself", Value: strict.Duration(&m.DrainTimeout, 100*time.Millisecond, 24*time.Hour)},
			{Name: "hang_timeout", Doc: "an engine that sends no output for so long while requests are in flight hangs, and the cell is invalid; never turns it off; default: 1m; where a cell isn't streamed it is request_timeout at least", Value: hangTimeout(&m.HangTimeout), Examples: []any{"1m", "never"}},
		},
	}
}

func warmup(v *int) strict.Value {
	return strict.OrWord("auto", func() { *v = 0 }, strict.Count(v, 1, 1_000_000))
}

// defaultHangTimeout is longer than any engine is silent that is well.
const defaultHangTimeout = time.Minute

func hangTimeout(v *time.Duration) strict.Value {
	return strict.OrWord("never", func() { *v = 0 }, strict.Duration(v, time.Second, 24*time.Hour))
}
