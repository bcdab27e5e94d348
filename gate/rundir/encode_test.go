package rundir

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/servegate/servegate/gate"
)

// canonicalRecords holds the format: what is stored long must be read for long.
var canonicalRecords = []struct {
	name string
	r    gate.Request
	line string
}{
	{
		"open loop, streamed",
		gate.Request{
			Index: 12, Phase: gate.Measure, Due: 1500 * time.Millisecond, Sent: 1500012345, Done: 1_900_000_001,
			Arrivals:  []time.Duration{1_610_000_000, 1_622_345_678, 1_622_345_678},
			WantInput: 512, WantOutput: 3, Input: 512, Output: 3, Cached: 0, Outcome: gate.OK, Status: 200, Finish: "length",
		},
		`{"i":12,"phase":"measure","due":1.5,"sent":1.500012345,"arrivals":[1.61,0.012345678,0],"done":1.900000001,` +
			`"want_in":512,"want_out":3,"in":512,"out":3,"cached":0,"outcome":"ok","status":200,"finish":"length"}`,
	},
	{
		"closed loop, several tokens a chunk",
		gate.Request{
			Phase: gate.Warmup, Stream: 31, Sent: 1, Done: 10 * time.Second,
			Arrivals: []time.Duration{time.Second, 2 * time.Second}, ChunkTokens: []int{4, 0},
			WantInput: 1, WantOutput: 4, Input: gate.Unknown, Output: 4, Cached: gate.Unknown, Outcome: gate.OK, Status: 200, Finish: "stop",
		},
		`{"i":0,"phase":"warmup","stream":31,"due":0,"sent":0.000000001,"arrivals":[1,1],"done":10,"chunk_tokens":[4,0],` +
			`"want_in":1,"want_out":4,"out":4,"outcome":"ok","status":200,"finish":"stop"}`,
	},
	{
		"never sent",
		gate.Request{
			Index: 3, Phase: gate.Drain, Due: 100 * time.Second, Input: gate.Unknown, Output: gate.Unknown, Cached: gate.Unknown,
			Outcome: gate.Connect, Error: "dial tcp 127.0.0.1:8000: \"refused\"\n\tby \\host\x01 – really",
		},
		`{"i":3,"phase":"drain","due":100,"want_in":0,"want_out":0,"outcome":"connect",` +
			`"error":"dial tcp 127.0.0.1:8000: \"refused\"\n\u0009by \\host\u0001 – really"}`,
	},
	{
		"what makes no sense is kept too",
		gate.Request{
			Index: -1, Phase: "elsewhere", Stream: -2, Due: -1, Sent: math.MaxInt64, Done: math.MinInt64,
			Arrivals: []time.Duration{math.MaxInt64, math.MinInt64, -5}, ChunkTokens: []int{-3},
			WantInput: math.MaxInt, WantOutput: -1, Input: -2, Output: math.MinInt, Cached: 1e15, Outcome: "lost", Status: -1,
		},
		`{"i":-1,"phase":"elsewhere","stream":-2,"due":-0.000000001,"sent":9223372036.854775807,` +
			`"arrivals":[9223372036.854775807,0.000000001,9223372036.854775803],"done":-9223372036.854775808,"chunk_tokens":[-3],` +
			`"want_in":9223372036854775807,"want_out":-1,"in":-2,"out":-9223372036854775808,"cached":1000000000000000,"outcome":"lost","status":-1}`,
	},
}

func TestCanonicalRecords(t *testing.T) {
	for _, tt := range canonicalRecords {
		t.Run(tt.name, func(t *testing.T) {
			line := appendRequest(nil, &tt.r)
			if got, want := string(line), tt.line+"\n"; got != want {
				t.Errorf("encode: got  %s\nwant %s", got, want)
			}
			if !json.Valid(line) {
				t.Error("encode: no valid JSON")
			}
			for name, decode := range decoders {
				var r gate.Request
				if err := decode([]byte(tt.line), &r); err != nil {
					t.Errorf("%s decoder: %v", name, err)
				}
				if diff := cmp.Diff(tt.r, r); diff != "" {
					t.Errorf("%s decoder (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

var decoders = map[string]func([]byte, *gate.Request) error{
	"combined": func(line []byte, r *gate.Request) error { return newDecoder().decode(line, r) },
	"strict":   decodeStrict,
}

func TestEncodeMendsText(t *testing.T) {
	r := canonicalRecords[0].r
	r.Error = "a\xffb\xc3"
	line := appendRequest(nil, &r)
	var got gate.Request
	if err := newDecoder().decode(line[:len(line)-1], &got); err != nil {
		t.Fatal(err)
	}
	if want := "a\ufffdb\ufffd"; got.Error != want {
		t.Errorf("error text: got %q, want %q", got.Error, want)
	}
}

func TestEncodeHasOneFormForNothing(t *testing.T) {
	r := canonicalRecords[2].r
	want := string(appendRequest(nil, &r))
	r.Arrivals, r.ChunkTokens = []time.Duration{}, []int{}
	if got := string(appendRequest(nil, &r)); got != want {
		t.Errorf("empty lists: got %s, want %s", got, want)
	}
}

func TestSeconds(t *testing.T) {
	for _, tt := range []struct {
		d    time.Duration
		want string
	}{
		{0, "0"},
		{1, "0.000000001"},
		{-1, "-0.000000001"},
		{10, "0.00000001"},
		{999_999_999, "0.999999999"},
		{time.Second, "1"},
		{-time.Second - 500*time.Millisecond, "-1.5"},
		{1_000_000_001, "1.000000001"},
		{123456789 * time.Second, "123456789"},
		{math.MaxInt64, "9223372036.854775807"},
		{math.MinInt64, "-9223372036.854775808"},
	} {
		if got := string(appendSeconds(nil, tt.d)); got != tt.want {
			t.Errorf("appendSeconds(%d): got %s, want %s", tt.d, got, tt.want)
		}
		if got, err := parseSeconds(tt.want); err != nil || got != tt.d {
			t.Errorf("parseSeconds(%s): got %d, %v, want %d", tt.want, got, err, tt.d)
		}
	}
}

func TestParseSecondsTakesAnySpelling(t *testing.T) {
	for _, tt := range []struct {
		number string
		want   time.Duration
		fault  error
	}{
		{"1.50", 1500 * time.Millisecond, nil},
		{"15e-1", 1500 * time.Millisecond, nil},
		{"0.0015E+3", 1500 * time.Millisecond, nil},
		{"1e-9", 1, nil},
		{"-0", 0, nil},
		{"0.000000000000", 0, nil},
		{"0e5", 0, nil},
		{"10000000000e-10", time.Second, nil},
		{"1.0000000000000000000000000000000000000000000", time.Second, nil},
		{"1e9", 1e9 * time.Second, nil},
		{"1e-10", 0, errTooFine},
		{"0.1234567891", 0, errTooFine},
		{"9223372036.854775808", 0, errTooLarge},
		{"-9223372036.854775809", 0, errTooLarge},
		{"18446744073.709551617", 0, errTooLarge},
		{"1e11", 0, errTooLarge},
		{"1e999999", 0, errTooLarge},
		{"1e9999999999999999999", 0, errTooLarge},
		{"1e-999999", 0, errTooFine},
	} {
		got, err := parseDecimal(tt.number)
		if got != tt.want || err != tt.fault {
			t.Errorf("%s: got %d, %v, want %d, %v", tt.number, got, err, tt.want, tt.fault)
		}
	}
}
