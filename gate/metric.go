package gate

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/servegate/servegate/gate/stats"
)

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

// scalar makes the summary of a metric that is one value a repetition; where reason isn't
// empty it is undefined, and v means nothing.
func scalar(m Metric, v float64, reason string) Summary {
	d, _ := Define(m)
	s := Summary{Unit: d.Unit, Definition: d.ID, Reason: reason}
	if reason == "" {
		s.Value = &v
	}
	return s
}

// summarize makes the summary, in seconds, of sorted samples in nanoseconds. Percentiles
// are those of the samples, and withheld below their sample floors.
func summarize[T int64 | float64](d Definition, sorted []T, reason string) Summary {
	n := len(sorted)
	s := Summary{Unit: d.Unit, Definition: d.ID, Distribution: true, Reason: reason, Count: n}
	if n == 0 {
		return s
	}
	sum := 0.0 // in ascending order, so that it is the same in whatever order they came
	for _, v := range sorted {
		sum += float64(v)
	}
	stat := func(ns float64) *float64 { v := seconds(ns); return &v }
	quantile := func(q float64) *float64 {
		if n < d.Floor(q) {
			return nil
		}
		return stat(stats.Quantile(sorted, q))
	}
	s.Mean, s.Max = stat(sum/float64(n)), stat(float64(sorted[n-1]))
	s.P50, s.P90, s.P95, s.P99 = quantile(.50), quantile(.90), quantile(.95), quantile(.99)
	return s
}

// highest is the largest value that a histogram holds; what is longer is stored as this.
const highest = int64(time.Hour)

// histogram encodes one distribution after the other, of whole nanoseconds with three
// significant digits.
type histogram struct{ counts *hdrhistogram.Histogram }

// SameHistogram reports whether two encoded histograms hold the same counts. How they
// are compressed is no part of it: that changes with the Go release that wrote them.
func SameHistogram(a, b string) bool {
	if a == b {
		return true
	}
	ha, err := hdrhistogram.Decode([]byte(a))
	if err != nil {
		return false
	}
	hb, err := hdrhistogram.Decode([]byte(b))
	return err == nil && ha.Equals(hb)
}

func newHistogram() *histogram { return &histogram{hdrhistogram.New(1, highest, 3)} }

// encode returns the samples as an HdrHistogram in its V2 compressed encoding, base64.
func encode[T int64 | float64](h *histogram, samples []T) (string, error) {
	h.counts.Reset()
	for _, v := range samples {
		ns := int64(math.Round(float64(v)))
		if err := h.counts.RecordValue(min(max(ns, 0), highest)); err != nil {
			return "", err
		}
	}
	text, err := h.counts.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	return string(text), err
}

// scalarJSON and distributionJSON are the two forms of a summary in a file.
type scalarJSON struct {
	Unit       Unit     `json:"unit"`
	Definition string   `json:"definition"`
	Reason     string   `json:"reason,omitempty"`
	Value      *float64 `json:"value"`
}

type distributionJSON struct {
	Unit       Unit     `json:"unit"`
	Definition string   `json:"definition"`
	Reason     string   `json:"reason,omitempty"`
	Count      int      `json:"count"`
	Mean       *float64 `json:"mean"`
	P50        *float64 `json:"p50"`
	P90        *float64 `json:"p90"`
	P95        *float64 `json:"p95"`
	P99        *float64 `json:"p99"`
	Max        *float64 `json:"max"`
}

// MarshalJSON writes a scalar as {unit, definition, value} and a distribution as {unit,
// definition, count, mean, p50, p90, p95, p99, max}, each with a reason where it has one.
// What is undefined or withheld is null. A summary that is both, or whose numbers aren't
// finite, is an error.
func (s Summary) MarshalJSON() ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("encode summary: %w", err)
	}
	if !s.hasSamples() {
		return json.Marshal(scalarJSON{s.Unit, s.Definition, s.Reason, s.Value})
	}
	return json.Marshal(distributionJSON{
		s.Unit, s.Definition, s.Reason,
		s.Count, s.Mean, s.P50, s.P90, s.P95, s.P99, s.Max,
	})
}

// UnmarshalJSON reads what [Summary.MarshalJSON] writes. It is an error if unit or
// definition are missing, if there is neither value nor count or both, and if a number is
// none or negative where it counts.
func (s *Summary) UnmarshalJSON(data []byte) error {
	var keys struct{ Value, Count json.RawMessage }
	var d distributionJSON
	var v scalarJSON
	for _, to := range []any{&keys, &d, &v} {
		if err := json.Unmarshal(data, to); err != nil {
			return fmt.Errorf("decode summary: %w", err)
		}
	}
	if (keys.Value == nil) == (keys.Count == nil) {
		return errors.New(`decode summary: want either "value" or "count"`)
	}
	got := Summary{
		Unit: d.Unit, Definition: d.Definition, Distribution: keys.Count != nil, Reason: d.Reason,
		Value: v.Value, Count: d.Count, Mean: d.Mean, P50: d.P50, P90: d.P90, P95: d.P95, P99: d.P99, Max: d.Max,
	}
	if err := got.check(); err != nil {
		return fmt.Errorf("decode summary: %w", err)
	}
	*s = got
	return nil
}

// statistic is one number of a distribution with its name in files.
type statistic struct {
	name  string
	value *float64
}

func (s *Summary) statistics() []statistic {
	return []statistic{{"mean", s.Mean}, {"p50", s.P50}, {"p90", s.P90}, {"p95", s.P95}, {"p99", s.P99}, {"max", s.Max}}
}

// hasSamples reports whether s is a distribution.
func (s *Summary) hasSamples() bool {
	if s.Distribution || s.Count != 0 {
		return true
	}
	for _, st := range s.statistics() {
		if st.value != nil {
			return true
		}
	}
	return false
}

// check says what is wrong with s.
func (s *Summary) check() error {
	switch {
	case s.Unit == "":
		return errors.New("it has no unit")
	case s.Definition == "":
		return errors.New("it has no definition")
	case s.Count < 0:
		return fmt.Errorf("its count is negative: %d", s.Count)
	case s.Value != nil && s.hasSamples():
		return errors.New("it has a value and samples, want one of them")
	}
	for _, st := range append(s.statistics(), statistic{"value", s.Value}) {
		switch {
		case st.value == nil:
		case math.IsNaN(*st.value) || math.IsInf(*st.value, 0):
			return fmt.Errorf("its %s is not finite: %v", st.name, *st.value)
		case s.hasSamples() && s.Count == 0:
			return fmt.Errorf("it has a %s of no samples", st.name)
		}
	}
	return nil
}
