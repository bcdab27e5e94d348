package config

import (
	"regexp"
	"time"

	"github.com/servegate/servegate/cmd/internal/config/strict"
)

// value is the whole config as a table. The order of keys is that of the resolved file.
func (c *Config) value() strict.Value {
	return strict.Object{Keys: []strict.Key{
		{Name: "version", Doc: "version of this format: 1", Value: version(&c.Version), Required: true, Examples: []any{1}},
		{Name: "engine", Doc: "the engine under test and how it comes to run", Value: c.Engine.value(), Required: true},
		{Name: "model", Doc: "the model that is served", Value: c.Model.value(), Required: true, Examples: []any{"meta-llama/Llama-3.1-8B-Instruct"}},
		{Name: "hardware", Doc: "what the engine runs on, where neither it nor this host tells", Value: c.Hardware.value()},
		{Name: "parallel", Doc: "parallel sizes of the engine", Value: c.Parallel.value()},
		{Name: "quantization", Doc: "format of the weights, or of weights and KV cache", Value: c.Quantization.value(), Examples: []any{"fp8"}},
		{Name: "slo", Doc: "limits that a good request keeps; goodput counts good requests", Value: c.SLO.value(true)},
		{Name: "workloads", Doc: "what requests are, by name", Value: c.workloads(), Required: true, Examples: []any{map[string]any{"chat": map[string]any{"input": 512, "output": 128}}}},
		{Name: "loads", Doc: "how requests arrive, by name", Value: c.loads(), Required: true, Examples: []any{map[string]any{"near": map[string]any{"poisson": "6/s"}}}},
		{Name: "matrix", Doc: "subsets of cells, by name; a cell is workload@load; all cells under the name \"all\" where it is left out", Value: c.matrix(), Examples: []any{map[string]any{"pull_request": []string{"chat@near"}}}},
		{Name: "measure", Doc: "how much is measured", Value: c.Measure.value()},
		{Name: "gate", Doc: "the policy that a verdict is made by", Value: c.Gate.value()},
		{Name: "baselines", Doc: "where baselines are kept and which of them count", Value: c.Baselines.value()},
		{Name: "report", Doc: "what the report looks like", Value: strict.Object{OmitEmpty: true, Keys: []strict.Key{
			{Name: "title", Doc: "heading of the report, to tell several gates of one repository apart", Value: strict.Text(&c.Report.Title, "a title", "chat on H100", nil), Examples: []any{"chat on H100"}},
		}}},
		{Name: "cost", Doc: "prices, for USD per million output tokens", Value: strict.Object{OmitEmpty: true, Keys: []strict.Key{
			{Name: "gpu_hour", Doc: "price of one accelerator for an hour, in USD", Value: strict.Number(&c.Cost.GPUHour, 0.001, 1e6, "a price in USD from 0.001", "2.50"), Examples: []any{2.5}},
		}}},
	}}
}

func version(v *int) strict.Scalar {
	s := strict.Count(v, 1, 1)
	set := s.Set
	s.Set = func(text string) *strict.Problem {
		p := set(text)
		if p != nil {
			p.Hint = "this servegate reads version: 1 and no other"
		}
		return p
	}
	return s
}

func (m *Model) value() strict.Value {
	const example = "meta-llama/Llama-3.1-8B-Instruct"
	name := strict.Text(&m.Name, "the name of a model", example, nil)
	return strict.Shorthand{
		Short: name,
		Long: strict.Object{Keys: []strict.Key{
			{Name: "name", Doc: "name or path of the model, as the engine is told it", Value: name, Required: true, Examples: []any{example}},
			{Name: "revision", Doc: "commit, digest or tag of the weights", Value: strict.Text(&m.Revision, "a commit, digest or tag", "main", nil)},
			{Name: "served_name", Doc: "name that requests ask for; default: name", Value: strict.Text(&m.ServedName, "the name of a model", "llama", nil)},
		}},
		IsShort: func() bool { return *m == Model{Name: m.Name} },
	}
}

func (h *Hardware) value() strict.Value {
	return strict.Object{OmitEmpty: true, Keys: []strict.Key{
		{Name: "class", Doc: "name of the runner class; overrides the one made from accelerator and CPU", Value: strict.Text(&h.Class, "a name", "h100x1", nil), Examples: []any{"h100x1"}},
		{Name: "accelerator", Doc: "product name of the accelerator", Value: strict.Text(&h.Accelerator, "a product name", "NVIDIA H100 80GB HBM3", nil), Examples: []any{"NVIDIA H100 80GB HBM3"}, Also: []string{"gpu", "model"}},
		{Name: "count", Doc: "accelerators that the engine uses", Value: strict.Count(&h.Count, 1, 4096), Also: []string{"gpus"}},
		{Name: "memory", Doc: "memory of one accelerator", Value: strict.Size(&h.Memory), Examples: []any{"80GiB"}},
		{Name: "partitioning", Doc: "none, or the MIG profile", Value: strict.Text(&h.Partitioning, "none, or a MIG profile", "none", nil), Examples: []any{"none", "1g.10gb"}, Also: []string{"mig"}},
	}}
}

func (p *Parallel) value() strict.Value {
	size := func(v *int) strict.Value { return strict.Count(v, 1, 4096) }
	return strict.Object{OmitEmpty: true, Keys: []strict.Key{
		{Name: "tp", Doc: "tensor parallelism", Value: size(&p.TP), Also: []string{"tensor", "tensor_parallel", "tensor_parallel_size"}},
		{Name: "pp", Doc: "pipeline parallelism", Value: size(&p.PP), Also: []string{"pipeline", "pipeline_parallel", "pipeline_parallel_size"}},
		{Name: "dp", Doc: "data parallelism", Value: size(&p.DP), Also: []string{"data", "data_parallel", "data_parallel_size"}},
		{Name: "ep", Doc: "expert parallelism", Value: size(&p.EP), Also: []string{"expert", "expert_parallel", "expert_parallel_size"}},
	}}
}

func (q *Quantization) value() strict.Value {
	weights := strict.Text(&q.Weights, "a format of weights", "fp8", nil)
	return strict.Shorthand{
		Short: weights,
		Long: strict.Object{OmitEmpty: true, Keys: []strict.Key{
			{Name: "weights", Doc: "format of the weights: bf16, fp8, awq, q4_k_m, ...", Value: weights, Examples: []any{"fp8"}},
			{Name: "kv_cache", Doc: "format of the KV cache: auto, fp8, ...", Value: strict.Text(&q.KVCache, "a format of the KV cache", "fp8", nil), Examples: []any{"fp8"}, Also: []string{"kv", "kv_cache_dtype"}},
		}},
		IsShort: func() bool { return q.KVCache == "" },
	}
}

// value is the table of an SLO. A workload's own may be empty: it then has no limits.
func (s *SLO) value(omitEmpty bool) strict.Value {
	limit := func(v *time.Duration) strict.Value { return strict.Duration(v, time.Microsecond, time.Hour) }
	return strict.Object{OmitEmpty: omitEmpty, Keys: []strict.Key{
		{Name: "ttft", Doc: "limit on a request's time to first token", Value: limit(&s.TTFT), Examples: []any{"500ms"}},
		{Name: "itl", Doc: "limit on the mean of a request's inter-token latencies", Value: limit(&s.ITL), Examples: []any{"50ms"}},
		{Name: "itl_max", Doc: "limit on each of a request's inter-token latencies", Value: limit(&s.ITLMax), Examples: []any{"200ms"}},
		{Name: "tpot", Doc: "limit on a request's time per output token", Value: limit(&s.TPOT), Examples: []any{"50ms"}},
		{Name: "e2e", Doc: "limit on a request's end-to-end latency", Value: limit(&s.E2E), Examples: []any{"10s"}},
	}}
}

// entryNames are those that workloads, loads and subsets may have: they become parts of
// file names, of cell ids and of table cells.
var entryNames = strict.Name{
	Pattern:  regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`),
	Expected: "at most 64 letters, digits, dots, - and _",
	Hint:     "rename it; the @ of a cell id stands between two names",
}
