package telemetry

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	textType        = "text/plain; version=0.0.4; charset=utf-8"
	openMetricsType = "application/openmetrics-text; version=1.0.0; charset=utf-8"
)

// openMetrics is constructed after the OpenMetrics specification and reports of what
// vLLM's Rust front end sends; no engine said it.
const openMetrics = `# HELP vllm:prompt_tokens Prefill tokens.
# TYPE vllm:prompt_tokens counter
# UNIT vllm:prompt_tokens tokens
vllm:prompt_tokens_total{model_name="m {1}",engine="0"} 17 1520879607.789
vllm:prompt_tokens_total{model_name="m {1}",engine="1"} 3.0
vllm:prompt_tokens_created{model_name="m {1}",engine="0"} 1520430000.123
# TYPE build info
build_info{version="0.32.0"} 1
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{le="0.001"} 0
vllm:time_to_first_token_seconds_bucket{le="+Inf"} 4 # {trace_id="a } b"} 0.67 1520879607.789
vllm:time_to_first_token_seconds_sum 1.25
vllm:time_to_first_token_seconds_count 4
# EOF
`

func TestParseReadsWhatBothFormatsShare(t *testing.T) {
	tests := []struct {
		name, contentType, body string
		want                    map[string]float64 // sum over labels, by name on the line
	}{
		{"empty", textType, "", map[string]float64{}},
		{"comment and blank line", textType, "# a comment\n\n \t\n", map[string]float64{}},
		{"bare", textType, "up 1\n", map[string]float64{"up": 1}},
		{"no line feed at the end", textType, "up 1", map[string]float64{"up": 1}},
		{"CRLF", textType, "up 1\r\ndown 2\r\n", map[string]float64{"up": 1, "down": 2}},
		{"timestamp in milliseconds", textType, "up 1 1395066363000\n", map[string]float64{"up": 1}},
		{"blanks and tabs", textType, "\tup \t { a = \"b\" , } \t 1 \t 2\n", map[string]float64{"up": 1}},
		{"empty labels", textType, "up{} 1\n", map[string]float64{"up": 1}},
		{"sum over labels", textType, "up{a=\"1\"} 1\nup{a=\"2\"} 2.5\n", map[string]float64{"up": 3.5}},
		{"exponent and sign", textType, "a -1.5e-3\nb +2E2\n", map[string]float64{"a": -0.0015, "b": 200}},
		{"infinite", textType, "a +Inf\nb -Inf\n", map[string]float64{"a": math.Inf(1), "b": math.Inf(-1)}},
		{"brace, quote and line feed in a label", textType, `up{a="} 7 \" \n \\"} 1`, map[string]float64{"up": 1}},
		{"colon and digit in a name", textType, "vllm:p99_x 1", map[string]float64{"vllm:p99_x": 1}},
		{"exemplar in text", textType, "a_bucket{le=\"1\"} 5 # {id=\"x\"} 0.5\n", map[string]float64{"a_bucket": 5}},
		{"OpenMetrics", openMetricsType, openMetrics, map[string]float64{
			"vllm:prompt_tokens_total": 20, "vllm:prompt_tokens_created": 1520430000.123, "build_info": 1,
			"vllm:time_to_first_token_seconds_bucket": 4, "vllm:time_to_first_token_seconds_sum": 1.25,
			"vllm:time_to_first_token_seconds_count": 4,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Parse(tt.contentType, strings.NewReader(tt.body))
			if err != nil {
				t.Fatalf("Parse: %v", err)
			}
			got := map[string]float64{}
			for name := range s.families {
				got[name] = s.sum(name, all)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseKeepsLabels(t *testing.T) {
	s, err := Parse(textType, strings.NewReader(`x{a="b\"c\\d\ne\q",_f1="",g="} 1 # {"} 7`))
	if err != nil {
		t.Fatal(err)
	}
	want := []label{{"a", "b\"c\\d\ne\\q"}, {"_f1", ""}, {"g", "} 1 # {"}}
	if diff := cmp.Diff(want, s.families["x"][0].labels, cmp.AllowUnexported(label{})); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct{ name, contentType, body, want string }{
		{"JSON", "application/json", "[]", "read metrics: content type is application/json, expected text/plain or application/openmetrics-text"},
		{"HTML", "text/html", "<html>", "read metrics: content type is text/html, expected text/plain or application/openmetrics-text"},
		{"no content type", "", "up 1", `read metrics: content type "": mime: no media type`},
		{"no value", textType, "up 1\nup\n", `parse metrics: line 2: no value: "up"`},
		{"no value behind labels", textType, `up{a="b"}`, `parse metrics: line 1: up: not a number: ""`},
		{"no number", textType, "up one", `parse metrics: line 1: up: not a number: "one"`},
		{"hexadecimal", textType, "up 0x10", `parse metrics: line 1: up: not a number: "0x10"`},
		{"out of range", textType, "up 1e999", `parse metrics: line 1: up: not a number: "1e999"`},
		{"bad name", textType, "1up 1", `parse metrics: line 1: not a metric name: "1up"`},
		{"bad label name", textType, `up{1="b"} 1`, `parse metrics: line 1: up: not a label name: "1"`},
		{"label without a value", textType, `up{a} 1`, `parse metrics: line 1: up: not a label name: "a} 1"`},
		{"value not quoted", textType, `up{a=b} 1`, `parse metrics: line 1: up: label a: value is not quoted: "b} 1"`},
		{"quote not closed", textType, `up{a="b} 1`, `parse metrics: line 1: up: label a: value does not end: "\"b} 1"`},
		{"escape at the end", textType, `up{a="b\`, `parse metrics: line 1: up: label a: value does not end: "\"b\\"`},
		{"no comma", textType, `up{a="b"c="d"} 1`, `parse metrics: line 1: up: label a: followed by "c=\"d\"} 1", expected a comma or a brace`},
		{"UTF-8 name", textType, `{"a.b"} 1`, `parse metrics: line 1: not a metric name: ""`},
		{"long rubbish", textType, strings.Repeat("@", 5000) + " 1", `parse metrics: line 1: not a metric name: "` + strings.Repeat("@", 60) + `..."`},
		{"line too long", textType, "up{a=\"" + strings.Repeat("x", maxLine) + "\"} 1", "read metrics: line 1: bufio.Scanner: token too long"},
		{"too large", textType, strings.Repeat("# "+strings.Repeat("x", 998)+"\n", maxBody/1000+1) + "up", "read metrics: the answer is larger than 16 MiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Parse(tt.contentType, strings.NewReader(tt.body)); err == nil || err.Error() != tt.want {
				t.Errorf("got error %v, want %s", err, tt.want)
			}
		})
	}
}

// FuzzParse holds Parse to a law: what it has read, written out plainly, reads the same.
func FuzzParse(f *testing.F) {
	f.Add(openMetrics)
	f.Add("\tup \t { a = \"b\" , } \t 1 \t 2\n# TYPE up gauge\n")
	f.Add(`x{a="b\"c\\d\ne\q",_f1="",g="} 1 # {"} 7`)
	f.Add("up NaN\nup -Inf\n")
	f.Add("{} 1\nup{")
	f.Fuzz(func(t *testing.T, body string) {
		first, err := Parse(textType, strings.NewReader(body))
		if err != nil {
			return
		}
		var plain strings.Builder
		escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
		for name, samples := range first.families {
			for _, one := range samples {
				fmt.Fprint(&plain, name, "{")
				for _, l := range one.labels {
					fmt.Fprintf(&plain, "%s=\"%s\",", l.name, escape.Replace(l.value))
				}
				fmt.Fprintln(&plain, "}", one.value)
			}
		}
		second, err := Parse(openMetricsType, strings.NewReader(plain.String()))
		if err != nil {
			t.Fatalf("Parse of what was read from %q: %v", body, err)
		}
		sameNumber := cmp.Comparer(func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) })
		if diff := cmp.Diff(first.families, second.families, cmp.AllowUnexported(sample{}, label{}), sameNumber); diff != "" {
			t.Errorf("%q reads back otherwise (-first +second):\n%s", body, diff)
		}
		for _, v := range first.numbers() {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%q: a number of the time series is %v", body, v)
			}
		}
	})
}
