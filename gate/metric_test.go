package gate

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRegistry(t *testing.T) {
	ids := map[string]bool{}
	for _, d := range Metrics {
		if got, ok := Define(d.Metric); !ok || got != d {
			t.Errorf("Define(%s): got %+v, %v", d.Metric, got, ok)
		}
		if !strings.HasPrefix(d.ID, string(d.Metric)+"/") || ids[d.ID] {
			t.Errorf("%s: definition id %q is another's", d.Metric, d.ID)
		}
		ids[d.ID] = true
		if d.Unit == "" || d.Doc == "" || d.Direction != HigherIsBetter && d.Direction != LowerIsBetter {
			t.Errorf("%s: the registry leaves something open: %+v", d.Metric, d)
		}
		if d.Distribution && (d.Unit != Seconds || d.Floor(.99) != 299 || d.Floor(1) != math.MaxInt) {
			t.Errorf("%s: got unit %s, floor of p99 %d", d.Metric, d.Unit, d.Floor(.99))
		}
		if !d.Distribution && d.Floor(.99) != 1 {
			t.Errorf("%s: a scalar has no sample floor, got %d", d.Metric, d.Floor(.99))
		}
	}
	if got, ok := Define("latency"); ok {
		t.Errorf("Define of an unknown metric: got %+v", got)
	}
}

func ptr(v float64) *float64 { return &v }

func TestSummaryJSON(t *testing.T) {
	tests := []struct {
		name string
		s    Summary
		want string
	}{
		{"scalar", Summary{Unit: Ratio, Definition: "d/1", Value: ptr(.25)}, `{"unit":"ratio","definition":"d/1","value":0.25}`},
		{"scalar of zero", Summary{Unit: Ratio, Definition: "d/1", Value: ptr(0)}, `{"unit":"ratio","definition":"d/1","value":0}`},
		{"undefined scalar", Summary{Unit: Ratio, Definition: "d/1", Reason: "no usage"}, `{"unit":"ratio","definition":"d/1","reason":"no usage","value":null}`},
		{
			"distribution",
			Summary{Unit: Seconds, Definition: "d/1", Distribution: true, Count: 9, Mean: ptr(1), P50: ptr(2), P90: ptr(3), P95: ptr(4), P99: ptr(5), Max: ptr(6)},
			`{"unit":"s","definition":"d/1","count":9,"mean":1,"p50":2,"p90":3,"p95":4,"p99":5,"max":6}`,
		},
		{
			"withheld percentiles",
			Summary{Unit: Seconds, Definition: "d/1", Distribution: true, Count: 9, Mean: ptr(1), P50: ptr(2), Max: ptr(6)},
			`{"unit":"s","definition":"d/1","count":9,"mean":1,"p50":2,"p90":null,"p95":null,"p99":null,"max":6}`,
		},
		{
			"distribution of nothing",
			Summary{Unit: Seconds, Definition: "d/1", Distribution: true},
			`{"unit":"s","definition":"d/1","count":0,"mean":null,"p50":null,"p90":null,"p95":null,"p99":null,"max":null}`,
		},
	}
	for _, tt := range tests {
		got, err := json.Marshal(tt.s)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: got %s, %v, want %s", tt.name, got, err, tt.want)
		}
		var back Summary
		if err := json.Unmarshal([]byte(tt.want), &back); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.s, back); diff != "" {
			t.Errorf("%s: read back (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestSummaryIsDistributionByItsCount(t *testing.T) {
	got, err := json.Marshal(Summary{Unit: Seconds, Definition: "d/1", Count: 3, Mean: ptr(1)})
	if err != nil || !strings.Contains(string(got), `"count":3`) {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestSummaryMarshalErrors(t *testing.T) {
	tests := []struct {
		name string
		s    Summary
		want string
	}{
		{"no unit", Summary{Definition: "d/1"}, "no unit"},
		{"no definition", Summary{Unit: Ratio}, "no definition"},
		{"NaN", Summary{Unit: Ratio, Definition: "d/1", Value: ptr(math.NaN())}, "value is not finite: NaN"},
		{"infinite", Summary{Unit: Seconds, Definition: "d/1", Count: 1, P99: ptr(math.Inf(1))}, "p99 is not finite: +Inf"},
		{"negative count", Summary{Unit: Seconds, Definition: "d/1", Count: -1}, "count is negative: -1"},
		{"both", Summary{Unit: Seconds, Definition: "d/1", Count: 1, Value: ptr(1)}, "a value and samples"},
		{"statistic of nothing", Summary{Unit: Seconds, Definition: "d/1", Mean: ptr(1)}, "a mean of no samples"},
	}
	for _, tt := range tests {
		if got, err := json.Marshal(tt.s); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %s, %v, want error %q", tt.name, got, err, tt.want)
		}
	}
}

func TestSummaryUnmarshalErrors(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"no object", `[]`, "cannot unmarshal"},
		{"nothing", `{}`, `either "value" or "count"`},
		{"both", `{"unit":"s","definition":"d/1","value":1,"count":2}`, `either "value" or "count"`},
		{"NaN", `{"unit":"s","definition":"d/1","value":NaN}`, "invalid character"},
		{"NaN as text", `{"unit":"s","definition":"d/1","value":"NaN"}`, "cannot unmarshal string"},
		{"too large", `{"unit":"s","definition":"d/1","value":1e999}`, "cannot unmarshal number"},
		{"negative count", `{"unit":"s","definition":"d/1","count":-1}`, "count is negative"},
		{"broken count", `{"unit":"s","definition":"d/1","count":1.5}`, "cannot unmarshal number"},
		{"no unit", `{"definition":"d/1","value":1}`, "no unit"},
		{"no definition", `{"unit":"s","value":1}`, "no definition"},
		{"statistics of nothing", `{"unit":"s","definition":"d/1","count":0,"p99":1}`, "a p99 of no samples"},
		{"scalar with statistics", `{"unit":"s","definition":"d/1","value":1,"p99":1}`, "a value and samples"},
	}
	for _, tt := range tests {
		var s Summary
		if err := json.Unmarshal([]byte(tt.in), &s); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want error %q", tt.name, err, tt.want)
		}
	}
}

func TestCountsJSON(t *testing.T) {
	tests := []struct {
		name string
		c    Counts
		want string
	}{
		{"nothing", Counts{By: map[Outcome]int{OK: 0}}, `{"issued":0,"ok":0}`},
		{"all ok", Counts{5, map[Outcome]int{OK: 5}}, `{"issued":5,"ok":5}`},
		{"in the order of reports", Counts{9, map[Outcome]int{ShortOutput: 4, OK: 0, HTTP4xx: 2, Connect: 3}}, `{"issued":9,"ok":0,"http_4xx":2,"connect":3,"short_output":4}`},
	}
	for _, tt := range tests {
		got, err := json.Marshal(tt.c)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: got %s, %v, want %s", tt.name, got, err, tt.want)
		}
		var back Counts
		if err := json.Unmarshal([]byte(tt.want), &back); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.c, back); diff != "" {
			t.Errorf("%s: read back (-want +got):\n%s", tt.name, diff)
		}
	}
	if got, err := json.Marshal(Counts{1, map[Outcome]int{OK: 1, Timeout: 0}}); err != nil || string(got) != `{"issued":1,"ok":1}` {
		t.Errorf("zero outcomes are left out: got %s, %v", got, err)
	}
	if got, err := json.Marshal(Counts{Issued: 1}); err == nil {
		t.Errorf("counts that don't add up: got %s, want an error", got)
	}
}

func TestCountsUnmarshalErrors(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"no object", `3`, "cannot unmarshal"},
		{"no issued", `{"ok":1}`, `want "issued" and "ok"`},
		{"no ok", `{"issued":0}`, `want "issued" and "ok"`},
		{"fraction", `{"issued":1.5,"ok":1}`, "cannot unmarshal number"},
		{"negative issued", `{"issued":-1,"ok":0}`, "negative count: issued -1"},
		{"negative outcome", `{"issued":1,"ok":2,"timeout":-1}`, "the outcomes add up to more than the 1 issued"},
		{"negative ok", `{"issued":1,"ok":-1,"timeout":2}`, "negative count: ok -1"},
		{"unknown outcome", `{"issued":1,"ok":0,"great":1}`, `unknown outcome "great"`},
		{"too few", `{"issued":3,"ok":1,"timeout":1}`, "1 of the 3 issued have no outcome"},
		{"too many", `{"issued":3,"ok":3,"timeout":1}`, "the outcomes add up to more than the 3 issued"},
		{"sum overflows", `{"issued":3,"ok":9223372036854775807,"timeout":9223372036854775807}`, "more than the 3 issued"},
	}
	for _, tt := range tests {
		var c Counts
		if err := json.Unmarshal([]byte(tt.in), &c); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want error %q", tt.name, err, tt.want)
		}
	}
}

func TestSameHistogramLooksThroughCompression(t *testing.T) {
	encoded := func(values ...float64) string {
		text, err := encode(newHistogram(), values)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	a := encoded(1e6, 1e9)
	if packed := recompress(t, a); packed == a || !SameHistogram(a, packed) {
		t.Errorf("got the same text %v, or another histogram, want the same counts in another text", packed == a)
	}
	for _, b := range []string{encoded(1e6), encoded(1e6, 2e9), "", "!"} {
		if SameHistogram(a, b) || SameHistogram(b, a) {
			t.Errorf("got %.20q taken for the same", b)
		}
	}
}

// recompress packs an encoded histogram as another compressor might: not at all.
func recompress(t *testing.T, text string) string {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	r, err := zlib.NewReader(bytes.NewReader(raw[8:]))
	if err != nil {
		t.Fatal(err)
	}
	var body bytes.Buffer
	w, _ := zlib.NewWriterLevel(&body, zlib.NoCompression)
	if _, err := io.Copy(w, r); err != nil {
		t.Fatal(err)
	}
	w.Close()
	out := append([]byte{}, raw[:4]...)
	out = binary.BigEndian.AppendUint32(out, uint32(body.Len()))
	return base64.StdEncoding.EncodeToString(append(out, body.Bytes()...))
}
