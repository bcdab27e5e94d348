package gate

import "github.com/servegate/servegate/gate/stats"

// Metric is the name of a metric as it stands in files.
type Metric string

// The metrics. Their units, directions and definitions stand in [Metrics].
const (
	Goodput               Metric = "goodput"
	GoodRatio             Metric = "good_ratio"
	TokenGoodput          Metric = "token_goodput"
	TTFT                  Metric = "ttft"
	ITL                   Metric = "itl"
	TPOT                  Metric = "tpot"
	E2E                   Metric = "e2e"
	NormalizedLatency     Metric = "normalized_latency"
	TTFTFromDue           Metric = "ttft_from_due"
	E2EFromDue            Metric = "e2e_from_due"
	SendLag               Metric = "send_lag"
	RequestThroughput     Metric = "request_throughput"
	OutputTokenThroughput Metric = "output_token_throughput"
	TotalTokenThroughput  Metric = "total_token_throughput"
	ErrorRate             Metric = "error_rate"
)

// Unit is the unit that a metric is stored in. Scaling happens in gate/report only.
type Unit string

// The storage units.
const (
	Seconds           Unit = "s"
	RequestsPerSecond Unit = "requests/s"
	TokensPerSecond   Unit = "tokens/s"
	Ratio             Unit = "ratio"
)

// Direction says which way of a metric is better.
type Direction string

// The directions.
const (
	HigherIsBetter Direction = "higher"
	LowerIsBetter  Direction = "lower"
)

// Definition states what a stored series of a metric means. Two series whose
// definition ids differ are never compared.
type Definition struct {
	Metric       Metric
	Unit         Unit
	Direction    Direction
	ID           string // changes whenever the formula does
	Distribution bool   // has percentiles; else it is one value a repetition
	Doc          string // the formula in one line
}

// Metrics is the registry of all metrics, in the order in which reports print them.
var Metrics = []Definition{
	{Goodput, RequestsPerSecond, HigherIsBetter, "goodput/good-per-window-second/1", false, "good requests of the window / its length; good: ok and within every SLO limit that applies"},
	{GoodRatio, Ratio, HigherIsBetter, "good_ratio/good-of-issued/1", false, "good requests / issued requests of the window"},
	{TokenGoodput, TokensPerSecond, HigherIsBetter, "token_goodput/output-of-good-per-window-second/1", false, "output tokens of the window's good requests / its length"},
	{TTFT, Seconds, LowerIsBetter, "ttft/first-output-minus-sent/1", true, "first - sent"},
	{ITL, Seconds, LowerIsBetter, "itl/chunk-gap-pooled/1", true, "gap between consecutive frames that carry output, pooled over ok requests"},
	{TPOT, Seconds, LowerIsBetter, "tpot/last-minus-first-by-n-minus-1/1", true, "(last - first) / (N - 1), N >= 2 and last after first"},
	{E2E, Seconds, LowerIsBetter, "e2e/last-minus-sent/1", true, "last - sent; not streamed: done - sent"},
	{NormalizedLatency, Seconds, LowerIsBetter, "normalized_latency/e2e-by-n/1", true, "E2E / N"},
	{TTFTFromDue, Seconds, LowerIsBetter, "ttft_from_due/first-output-minus-due/1", true, "first - due, open loop"},
	{E2EFromDue, Seconds, LowerIsBetter, "e2e_from_due/last-minus-due/1", true, "last - due, open loop; not streamed: done - due"},
	{SendLag, Seconds, LowerIsBetter, "send_lag/sent-minus-due/1", true, "sent - due"},
	{RequestThroughput, RequestsPerSecond, HigherIsBetter, "request_throughput/ok-done-in-window/1", false, "ok requests whose end lies in the window / its length"},
	{OutputTokenThroughput, TokensPerSecond, HigherIsBetter, "output_token_throughput/arrivals-in-window/1", false, "output tokens of ok requests that arrived in the window / its length"},
	{TotalTokenThroughput, TokensPerSecond, HigherIsBetter, "total_token_throughput/arrivals-and-prompts-in-window/1", false, "as output-token throughput, plus the prompt tokens of ok requests whose first output arrived in the window"},
	{ErrorRate, Ratio, LowerIsBetter, "error_rate/not-ok-of-issued/1", false, "(issued - ok) / issued, of the window"},
}

// Define returns the definition of m, and false where there is no such metric.
func Define(m Metric) (Definition, bool) {
	for _, d := range Metrics {
		if d.Metric == m {
			return d, true
		}
	}
	return Definition{}, false
}

// Applies reports whether the client measures the metric in cells like c: TTFT, ITL and
// TPOT only where answers are streamed, times from due only where requests have a schedule.
func (d Definition) Applies(c Cell) bool {
	switch d.Metric {
	case TTFT, ITL, TPOT:
		return c.Streaming
	case TTFTFromDue:
		return c.Streaming && c.open()
	case E2EFromDue:
		return c.open()
	}
	return true
}

// Floor is the sample floor of the metric's q-quantile: with fewer samples it is
// withheld, see [stats.Floor]. A metric that is one value a repetition has none: 1.
func (d Definition) Floor(q float64) int {
	if !d.Distribution {
		return 1
	}
	return stats.Floor(q)
}
