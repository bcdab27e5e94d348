package gate

// Cell is one point of the benchmark matrix, as far as the metrics need to know it.
type Cell struct {
	ID        string `json:"id"`       // workload@load
	Workload  string `json:"workload"` // name of the workload
	Load      string `json:"load"`     // name of the load
	Streaming bool   `json:"streaming"`
	// Concurrency is the number of streams of a closed loop, 0 for an open loop.
	Concurrency int `json:"concurrency,omitempty"`
	SLO         SLO `json:"slo"`
	// FixedOutput says whether the engine honours ignore_eos, so that output lengths are
	// checked against what was asked for.
	FixedOutput bool `json:"fixed_output"`
}

// SLO holds the limits that a good request keeps, in seconds. Zero is no limit.
type SLO struct {
	TTFT   float64 `json:"ttft,omitempty"`    // the request's TTFT
	E2E    float64 `json:"e2e,omitempty"`     // the request's E2E
	TPOT   float64 `json:"tpot,omitempty"`    // the request's TPOT
	ITL    float64 `json:"itl,omitempty"`     // the mean of the request's chunk gaps
	ITLMax float64 `json:"itl_max,omitempty"` // every chunk gap of the request
}

// IsZero reports whether no limit is set; goodput is then ok requests per second.
func (s SLO) IsZero() bool { return s == SLO{} }
