package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"
)

// FieldKind is the kind of value that an envelope field holds.
type FieldKind string

// The kinds. A number may be whole.
const (
	StringField FieldKind = "a string"
	IntField    FieldKind = "a whole number"
	NumberField FieldKind = "a number"
	BoolField   FieldKind = "true or false"
)

// EnvelopeField states what one path of an envelope means.
type EnvelopeField struct {
	Path   string
	Kind   FieldKind
	Values []string // the strings allowed, nil for any
	Doc    string   // one line
	// When says when the field applies; it is absent otherwise. Always, if empty.
	When Condition
}

// Condition says when a field of the envelope applies.
type Condition string

// The conditions. The accelerator's place is taken by the CPU where any cpu field is
// told, since the host tells them only where it has no accelerator.
const (
	Always            Condition = ""
	WithAccelerator   Condition = "no cpu field is told"
	WithCPUOnly       Condition = "a cpu field is told"
	WhenDisaggregated Condition = "serving.form is disaggregated"
	WhenIDs           Condition = "prompt.form is ids"
	WhenStreamed      Condition = "streaming.mode is streamed"
	WhenSharedPrefix  Condition = "cache.condition is shared_prefix"
	WithoutDuration   Condition = "measure.duration is not told"
	WhenSet           Condition = "it is set" // never undeclared
)

// EnvelopeFields is the registry of all fields of an envelope, grouped, in the order in
// which reports print them.
var EnvelopeFields = []EnvelopeField{
	{"model.name", StringField, nil, "name of the model as the engine knows it", Always},
	{"model.revision", StringField, nil, "commit, digest or tag of the model's weights", Always},
	{"model.max_length", IntField, nil, "context length that the engine serves, in tokens", Always},

	{"accelerator.model", StringField, nil, "product name of the accelerator", WithAccelerator},
	{"accelerator.count", IntField, nil, "accelerators that the engine uses", WithAccelerator},
	{"accelerator.memory", IntField, nil, "memory of one accelerator in bytes", WithAccelerator},
	{"accelerator.partitioning", StringField, nil, "none, or the MIG profile", WithAccelerator},
	{"cpu.model", StringField, nil, "product name of the CPU", WithCPUOnly},
	{"cpu.cores", IntField, nil, "physical cores that the engine may use", WithCPUOnly},
	{"cpu.threads", IntField, nil, "threads that the engine computes with", WithCPUOnly},

	{"quantization.weights", StringField, nil, "format of the weights: bf16, fp8, q4_k_m, ...", Always},
	{"quantization.kv_cache", StringField, nil, "format of the KV cache", Always},
	{"parallel.tp", IntField, nil, "tensor parallelism", Always},
	{"parallel.pp", IntField, nil, "pipeline parallelism", Always},
	{"parallel.dp", IntField, nil, "data parallelism", Always},
	{"parallel.ep", IntField, nil, "expert parallelism", Always},

	{"serving.form", StringField, []string{"collocated", "disaggregated"}, "prefill and decode in one engine, or in roles", Always},
	{"serving.roles", StringField, nil, `roles with their counts, "prefill=2,decode=4"`, WhenDisaggregated},
	{"serving.connector", StringField, nil, "what carries the KV cache between the roles", WhenDisaggregated},
	{"serving.routing", StringField, nil, "how requests are spread over the roles", WhenDisaggregated},

	{"workload.input", StringField, nil, `distribution of input lengths in tokens, "fixed(512)", "uniform(128,384)"`, Always},
	{"workload.output", StringField, nil, `distribution of output lengths in tokens, "lognormal(mean=512,sd=200,min=1,max=0)"`, Always},
	{"prompt.source", StringField, nil, `what prompts are made of, "ids(10-250)", "words(256)"`, Always},
	{"prompt.form", StringField, []string{"ids", "text"}, "prompts are sent as token ids or as text", Always},
	{"prompt.ids", StringField, nil, `token ids that prompts are drawn from, "10-250", "tokenizer(187 ids,sha256:...)"`, WhenIDs},
	{"prompt.digest", StringField, nil, "digest of all prompts of a repetition, without the cold-cache nonce", Always},
	{"api", StringField, []string{"completions", "chat"}, "route of the OpenAI API", Always},

	{"arrival", StringField, nil, `arrival process with its rate or concurrency, "poisson(6/s)", "closed(32,spread)"`, Always},
	{"streaming.mode", StringField, []string{"streamed", "whole"}, "answers are streamed, or come whole", Always},
	{"streaming.sampling_unit", StringField, []string{"chunk"}, "what an inter-token latency is the gap between", WhenStreamed},
	{"cache.condition", StringField, []string{"cold", "shared_prefix"}, "what the prefix cache holds when a request comes", Always},
	{"cache.prefix_caching", BoolField, nil, "the engine keeps a prefix cache", Always},
	{"cache.prefix_tokens", IntField, nil, "tokens that all prompts of the cell begin with", WhenSharedPrefix},
	{"cache.hit_ratio", NumberField, nil, "cached / input tokens that the workload aims at", WhenSet},

	{"sampling.temperature", NumberField, nil, "temperature; 0 is greedy", Always},
	{"sampling.top_p", NumberField, nil, "nucleus that tokens are drawn from", WhenSet},
	{"sampling.top_k", IntField, nil, "number of tokens drawn from", WhenSet},
	{"sampling.seed", IntField, nil, "seed that requests carry", WhenSet},
	{"sampling.ignore_eos", BoolField, nil, "the engine goes on after an end-of-sequence token", Always},

	{"slo.ttft", NumberField, nil, "limit on a request's TTFT, in seconds", WhenSet},
	{"slo.itl", NumberField, nil, "limit on the mean of a request's chunk gaps, in seconds", WhenSet},
	{"slo.itl_max", NumberField, nil, "limit on every chunk gap of a request, in seconds", WhenSet},
	{"slo.tpot", NumberField, nil, "limit on a request's TPOT, in seconds", WhenSet},
	{"slo.e2e", NumberField, nil, "limit on a request's E2E, in seconds", WhenSet},

	{"measure.requests", IntField, nil, "requests in the window", WithoutDuration},
	{"measure.duration", NumberField, nil, "length of the measured phase in seconds", WhenSet},
	{"measure.warmup", IntField, nil, "requests before the measured phase", Always},
	{"measure.seed", IntField, nil, "seed of lengths, arrivals and content", Always},
	{"report.percentiles", StringField, nil, `percentiles that are kept, "p50,p90,p95,p99"`, Always},
	{"metrics.definition", StringField, nil, "version of the metric definitions, see MetricsVersion", Always},
}

// fieldIndex maps each path to its place in EnvelopeFields.
var fieldIndex = func() map[string]int {
	index := make(map[string]int, len(EnvelopeFields))
	for i, f := range EnvelopeFields {
		index[f.Path] = i
	}
	return index
}()

// fieldOrder is the place of path in the registry; unknown paths come last.
func fieldOrder(path string) int {
	if i, ok := fieldIndex[path]; ok {
		return i
	}
	return len(EnvelopeFields)
}

// DefineField returns the definition of the field at path, and false where there is
// no such field.
func DefineField(path string) (EnvelopeField, bool) {
	i, ok := fieldIndex[path]
	if !ok {
		return EnvelopeField{}, false
	}
	return EnvelopeFields[i], true
}

// applies reports whether the field has a place in e, by what e holds already.
func (d EnvelopeField) applies(e Envelope) bool {
	switch d.When {
	case WithAccelerator:
		return !e.hasCPU()
	case WithCPUOnly:
		return e.hasCPU()
	case WhenDisaggregated:
		return e["serving.form"].Value == "disaggregated"
	case WhenIDs:
		return e["prompt.form"].Value == "ids"
	case WhenStreamed:
		return e["streaming.mode"].Value == "streamed"
	case WhenSharedPrefix:
		return e["cache.condition"].Value == "shared_prefix"
	case WithoutDuration:
		_, told := e["measure.duration"]
		return !told
	case WhenSet:
		return false
	}
	return true
}

func (e Envelope) hasCPU() bool {
	for path := range e {
		if strings.HasPrefix(path, "cpu.") {
			return true
		}
	}
	return false
}

// MetricsVersion names the set of metric definitions, for the field
// metrics.definition: it changes whenever a definition id of [Metrics] does.
func MetricsVersion() string {
	h := sha256.New()
	for _, d := range Metrics {
		io.WriteString(h, d.ID+"\n") // a hash never fails
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)[:8])
}
