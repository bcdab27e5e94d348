package sim

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/servegate/servegate/runner/engine/sim/scheduler"
)

// vLLM's default histogram bounds (vllm/v1/metrics/buckets.py, 0.32).
var (
	ttftBounds    = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	itlBounds     = []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	requestBounds = []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
	stepBounds    = []float64{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}
	timeBounds    = []float64{.001, .002, .003, .004, .005, .006, .008, .01, .015, .02, .03, .05, .1, .2, .5, 1, 5}
	lateBounds    = []float64{.00005, .0001, .0002, .0005, .001, .002, .005, .01, .1, 1}
)

// metrics is what /metrics shows: vLLM's names, and two of the simulation's own that
// say whether its timing can be trusted.
type metrics struct {
	registry *prometheus.Registry

	running, waiting, usage                    prometheus.Gauge
	promptTokens, cachedTokens                 prometheus.Counter
	computedSource, cachedSource               prometheus.Counter
	generationTokens, preemptions              prometheus.Counter
	queries, hits, rejections                  prometheus.Counter
	success                                    map[scheduler.Finish]prometheus.Counter
	ttft, itl, tpot                            prometheus.Histogram
	e2e, queued, prefill, decode, inference    prometheus.Histogram
	requestPrompt, requestOutput, iterationTok prometheus.Histogram
	stepTime, lateness                         prometheus.Histogram

	// Of engines with draft tokens; else nil.
	drafts, draftTokens, acceptedTokens prometheus.Counter

	perDraft int             // draft tokens that a step verifies
	seen     scheduler.Stats // what the counters hold already
}

// factory makes registered metrics that carry the labels of one engine.
type factory struct {
	registry *prometheus.Registry
	labels   prometheus.Labels
}

func (f factory) gauge(name, help string) prometheus.Gauge {
	m := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: f.labels})
	f.registry.MustRegister(m)
	return m
}

func (f factory) counter(name, help string, extra ...string) prometheus.Counter {
	labels := prometheus.Labels{}
	for k, v := range f.labels {
		labels[k] = v
	}
	for i := 0; i+1 < len(extra); i += 2 {
		labels[extra[i]] = extra[i+1]
	}
	m := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels})
	f.registry.MustRegister(m)
	return m
}

func (f factory) histogram(name, help string, bounds []float64) prometheus.Histogram {
	m := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, ConstLabels: f.labels, Buckets: bounds})
	f.registry.MustRegister(m)
	return m
}

func newMetrics(o *Options, start time.Time) *metrics {
	f := factory{registry: prometheus.NewRegistry(), labels: prometheus.Labels{"model_name": o.Model, "engine": "0"}}
	m := &metrics{registry: f.registry, perDraft: o.Scheduler.DraftTokens}
	m.state(f, o, start)
	m.counters(f)
	m.speculation(f)
	m.histograms(f, lengthBounds(o.Scheduler.MaxModelLen))
	return m
}

func (m *metrics) state(f factory, o *Options, start time.Time) {
	m.running = f.gauge("vllm:num_requests_running", "Number of requests in model execution batches.")
	m.waiting = f.gauge("vllm:num_requests_waiting", "Number of requests waiting to be processed.")
	m.usage = f.gauge("vllm:kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.")
	config := factory{registry: f.registry, labels: prometheus.Labels{
		"engine":                 "0",
		"block_size":             strconv.Itoa(o.Scheduler.BlockSize),
		"num_gpu_blocks":         strconv.Itoa(o.Scheduler.Blocks),
		"enable_prefix_caching":  pythonBool(o.Scheduler.PrefixCaching),
		"cache_dtype":            "auto",
		"gpu_memory_utilization": "0.9",
	}}
	config.gauge("vllm:cache_config_info", "Information of the LLMEngine CacheConfig").Set(1)
	process := factory{registry: f.registry}
	process.gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.").
		Set(float64(start.UnixMilli()) / 1000)
}

func (m *metrics) counters(f factory) {
	m.promptTokens = f.counter("vllm:prompt_tokens_total", "Number of prefill tokens processed.")
	m.cachedTokens = f.counter("vllm:prompt_tokens_cached_total", "Number of cached prompt tokens (local + external).")
	bySource := func(source string) prometheus.Counter {
		return f.counter("vllm:prompt_tokens_by_source_total", "Number of prompt tokens by source.", "source", source)
	}
	m.computedSource, m.cachedSource = bySource("local_compute"), bySource("local_cache_hit")
	bySource("external_kv_transfer")
	m.generationTokens = f.counter("vllm:generation_tokens_total", "Number of generation tokens processed.")
	m.preemptions = f.counter("vllm:num_preemptions_total", "Cumulative number of preemption from the engine.")
	m.queries = f.counter("vllm:prefix_cache_queries_total", "Prefix cache queries, in terms of number of queried tokens.")
	m.hits = f.counter("vllm:prefix_cache_hits_total", "Prefix cache hits, in terms of number of cached tokens.")
	rejected := factory{registry: f.registry, labels: prometheus.Labels{"model_name": f.labels["model_name"]}}
	m.rejections = rejected.counter("vllm:admission_rejections_total",
		"Number of admission attempts rejected by a queue limit, by reason.", "reason", "max_num_queued_reqs")
	m.success = map[scheduler.Finish]prometheus.Counter{}
	for _, reason := range []scheduler.Finish{scheduler.Stop, scheduler.Length, scheduler.Abort, "error", "repetition"} {
		m.success[reason] = f.counter("vllm:request_success_total", "Count of successfully processed requests.", "finished_reason", string(reason))
	}
}

func (m *metrics) speculation(f factory) {
	if m.perDraft == 0 {
		return
	}
	m.drafts = f.counter("vllm:spec_decode_num_drafts_total", "Number of spec decoding drafts.")
	m.draftTokens = f.counter("vllm:spec_decode_num_draft_tokens_total", "Number of draft tokens.")
	m.acceptedTokens = f.counter("vllm:spec_decode_num_accepted_tokens_total", "Number of accepted tokens.")
}

func (m *metrics) histograms(f factory, lengths []float64) {
	m.ttft = f.histogram("vllm:time_to_first_token_seconds", "Histogram of time to first token in seconds.", ttftBounds)
	m.itl = f.histogram("vllm:inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", itlBounds)
	m.tpot = f.histogram("vllm:request_time_per_output_token_seconds", "Histogram of time_per_output_token_seconds per request.", itlBounds)
	m.e2e = f.histogram("vllm:e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", requestBounds)
	m.queued = f.histogram("vllm:request_queue_time_seconds", "Histogram of time spent in WAITING phase for request.", requestBounds)
	m.inference = f.histogram("vllm:request_inference_time_seconds", "Histogram of time spent in RUNNING phase for request.", requestBounds)
	m.prefill = f.histogram("vllm:request_prefill_time_seconds", "Histogram of time spent in PREFILL phase for request.", requestBounds)
	m.decode = f.histogram("vllm:request_decode_time_seconds", "Histogram of time spent in DECODE phase for request.", requestBounds)
	m.requestPrompt = f.histogram("vllm:request_prompt_tokens", "Number of prefill tokens processed.", lengths)
	m.requestOutput = f.histogram("vllm:request_generation_tokens", "Number of generation tokens processed.", lengths)
	m.iterationTok = f.histogram("vllm:iteration_tokens_total", "Histogram of number of tokens per engine_step.", stepBounds)
	m.stepTime = f.histogram("sim:step_time_seconds", "Histogram of the time that steps should take.", timeBounds)
	m.lateness = f.histogram("sim:step_lateness_seconds", "Histogram of how late the simulation woke up at the end of steps.", lateBounds)
}

// handler serves the metrics in Prometheus' text format.
func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// queue brings the gauges and the scheduler's counters up to date. Only the engine's
// loop calls it, like all that follow.
func (m *metrics) queue(st scheduler.Stats, delayed, blocks int) {
	m.running.Set(float64(st.Running))
	m.waiting.Set(float64(st.Waiting + delayed))
	m.usage.Set(float64(st.UsedBlocks) / float64(blocks))
	m.preemptions.Add(float64(st.Preemptions - m.seen.Preemptions))
	m.queries.Add(float64(st.PrefixQueries - m.seen.PrefixQueries))
	m.hits.Add(float64(st.PrefixHits - m.seen.PrefixHits))
	m.seen = st
}

// step counts a step that should have taken took and was noticed late.
func (m *metrics) step(b *scheduler.Batch, outputs []scheduler.Output, took, late time.Duration) {
	m.iterationTok.Observe(float64(b.Tokens))
	m.stepTime.Observe(took.Seconds())
	m.lateness.Observe(late.Seconds())
	tokens, drafts, accepted := 0, 0, 0
	for _, o := range outputs {
		tokens += o.Tokens
		if o.Total > o.Tokens { // not a first token, which has no draft
			drafts++
			accepted += o.Tokens - 1
		}
	}
	m.generationTokens.Add(float64(tokens))
	if m.perDraft > 0 {
		m.drafts.Add(float64(drafts))
		m.draftTokens.Add(float64(drafts * m.perDraft))
		m.acceptedTokens.Add(float64(accepted))
	}
}

// output counts what a step brought one request, whose times are those before it.
func (m *metrics) output(s *stream, o scheduler.Output, now time.Time) {
	if !s.first.IsZero() {
		m.itl.Observe(now.Sub(s.last).Seconds())
		return
	}
	m.ttft.Observe(now.Sub(s.arrived).Seconds())
	prompt := len(s.call.Prompt)
	m.promptTokens.Add(float64(prompt))
	m.cachedTokens.Add(float64(o.Cached))
	m.cachedSource.Add(float64(o.Cached))
	m.computedSource.Add(float64(prompt - o.Cached))
}

// finished counts a request that ended, aborts included.
func (m *metrics) finished(s *stream, how scheduler.Finish, now time.Time) {
	m.success[how].Inc()
	m.e2e.Observe(now.Sub(s.arrived).Seconds())
	m.requestPrompt.Observe(float64(len(s.call.Prompt)))
	m.requestOutput.Observe(float64(s.total))
	if s.admitted.IsZero() {
		m.queued.Observe(now.Sub(s.arrived).Seconds())
		return
	}
	m.queued.Observe(max(0, s.admitted.Sub(s.arrived).Seconds()))
	if s.first.IsZero() {
		return
	}
	m.prefill.Observe(s.first.Sub(s.admitted).Seconds())
	m.decode.Observe(s.last.Sub(s.first).Seconds())
	m.inference.Observe(s.last.Sub(s.admitted).Seconds())
	if s.total > 1 {
		m.tpot.Observe(s.last.Sub(s.first).Seconds() / float64(s.total-1))
	}
}

// lengthBounds is 1, 2, 5, 10, 20 ... up to limit.
func lengthBounds(limit int) []float64 {
	var bounds []float64
	for power := 1; ; power *= 10 {
		for _, mantissa := range []int{1, 2, 5} {
			if mantissa*power > limit {
				return bounds
			}
			bounds = append(bounds, float64(mantissa*power))
		}
	}
}

func pythonBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}
