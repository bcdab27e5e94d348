package telemetry

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Snapshot is what an engine's metrics endpoint said at one moment. The zero Snapshot
// holds no metric.
type Snapshot struct {
	// At is when the answer had come. Zero where it came from no engine, see [Parse].
	At time.Time
	// families holds the series by their name, as it stands on their lines.
	families map[string][]sample
	gauges   map[string]bool // names that a TYPE line calls a gauge
	start    string          // of the engine's process, in its own words; empty: not told
}

type sample struct {
	labels []label
	value  float64
}

type label struct{ name, value string }

func (s sample) label(name string) string {
	for _, l := range s.labels {
		if l.name == name {
			return l.value
		}
	}
	return ""
}

// Value is the sum over all labels of the first of names that the engine has, in the
// engine's unit. Each name is looked up as it is and then with _total, which older
// engines leave out. It is false where there is none of them.
func (s Snapshot) Value(names ...string) (float64, bool) {
	name, ok := s.find(names)
	return s.sum(name, all), ok
}

// Len is the number of series in s.
func (s Snapshot) Len() int {
	n := 0
	for _, samples := range s.families {
		n += len(samples)
	}
	return n
}

// find returns the first of names under which s has a series.
func (s Snapshot) find(names []string) (string, bool) {
	for _, name := range names {
		for _, spelling := range []string{name, name + "_total"} {
			if _, ok := s.families[spelling]; ok {
				return spelling, true
			}
		}
	}
	return "", false
}

func (s Snapshot) sum(name string, counts func(sample) bool) float64 {
	total := 0.0
	for _, one := range s.families[name] {
		if counts(one) {
			total += one.value
		}
	}
	return total
}

func all(sample) bool { return true }

// processStart is the usual metric for it; several engines export it under the name
// that Prometheus's client libraries chose.
func (s Snapshot) processStart() string {
	if v, ok := s.Value("process_start_time_seconds"); ok {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// numbers is every series worth keeping in a time series: gauges, counters, and the sum
// and count of histograms and summaries, under name{label="value"}. Buckets and
// quantiles, many times the rest in size, and the times of creation are left out, and
// so is what JSON has no number for.
func (s Snapshot) numbers() map[string]float64 {
	numbers := make(map[string]float64, len(s.families))
	for name, samples := range s.families {
		if strings.HasSuffix(name, "_bucket") || strings.HasSuffix(name, "_created") {
			continue
		}
		for _, one := range samples {
			if one.label("quantile") == "" && !math.IsNaN(one.value) && !math.IsInf(one.value, 0) {
				numbers[one.key(name)] = one.value
			}
		}
	}
	return numbers
}

func (s sample) key(name string) string {
	if len(s.labels) == 0 {
		return name
	}
	var b strings.Builder
	b.WriteString(name)
	for i, l := range s.labels {
		b.WriteByte("{,"[min(i, 1)])
		b.WriteString(l.name)
		b.WriteByte('=')
		b.WriteString(strconv.Quote(l.value))
	}
	b.WriteByte('}')
	return b.String()
}
