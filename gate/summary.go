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
