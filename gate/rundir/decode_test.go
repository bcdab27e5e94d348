package rundir

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/servegate/servegate/gate"
)

func TestDecodeOtherSpellings(t *testing.T) {
	want := canonicalRecords[0].r
	line := canonicalRecords[0].line
	for _, tt := range []struct{ name, line string }{
		{"white space", strings.ReplaceAll(line, ",", " ,\t") + "  "},
		{"another order", `{"outcome":"ok",` + strings.Replace(line[1:], `,"outcome":"ok"`, "", 1)},
		{"defaults written out", strings.Replace(line, `,"due"`, `,"stream":0,"chunk_tokens":[],"error":"","due"`, 1)},
		{"null where nothing is", strings.Replace(line, `,"due"`, `,"chunk_tokens":null,"due"`, 1)},
		{"exponents", strings.Replace(line, `"due":1.5`, `"due":15.0e-1`, 1)},
		{"trailing zeros", strings.Replace(line, `1.61,`, `1.6100,`, 1)},
		{"escapes", strings.Replace(line, `"length"`, `"l\u0065ngth"`, 1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.line == line {
				t.Fatal("the case is the canonical form")
			}
			var got gate.Request
			if err := newDecoder().decode([]byte(tt.line), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("decode (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	line := canonicalRecords[0].line
	replace := func(old, with string) string { return strings.Replace(line, old, with, 1) }
	for _, tt := range []struct{ name, line, want string }{
		{"empty", "", "unexpected EOF"},
		{"cut", line[:len(line)-1], "unexpected EOF"},
		{"two on a line", line + line, "unexpected text after the JSON value"},
		{"array", "[" + line + "]", "cannot unmarshal array"},
		{"unknown key", replace(`"due"`, `"owed":1,"due"`), `unknown key "owed"`},
		{"key in another case", replace(`"due"`, `"Due"`), `unknown key "Due"`},
		{"key twice", replace(`"due"`, `"due":1,"due"`), `key "due" is given twice`},
		{"key missing", replace(`"due":1.5,`, ""), `key "due" is missing`},
		{"null", replace(`"due":1.5,`, `"due":null,`), `key "due" is missing`},
		{"time as text", replace(`"due":1.5`, `"due":"1.5"`), "expected a time in seconds"},
		{"time is NaN", replace(`"due":1.5`, `"due":NaN`), "invalid character 'N'"},
		{"too fine", replace(`"due":1.5`, `"due":1.5000000001`), "finer than a nanosecond"},
		{"too large", replace(`"due":1.5`, `"due":1e300`), "out of range"},
		{"fraction of a token", replace(`"out":3`, `"out":2.5`), "2.5: expected a whole number"},
		{"index too large", replace(`"i":12`, `"i":99999999999999999999`), "expected a whole number"},
		{"null arrival", replace(`1.61`, `null`), "expected a time in seconds"},
		{"deep", replace(`"due":1.5`, `"due":`+strings.Repeat("[", 100)), "nested more than"},
		{"zero in front", replace(`"i":12`, `"i":012`), "invalid character '1'"},
		{"not UTF-8", replace(`length`, "le\xffgth"), "not valid UTF-8"},
		{"raw control character", replace(`length`, "le\x01gth"), "invalid character"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, decode := range decoders {
				var r gate.Request
				if err := decode([]byte(tt.line), &r); err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%s decoder: got %v, want %q", name, err, tt.want)
				}
			}
		})
	}
}

// TestDecoderMemory reads records into the same memory again: none may change under one
// that was read before, until reset.
func TestDecoderMemory(t *testing.T) {
	reqs := testRequests(1, 60, 1000) // many blocks of the arena
	reqs = append(reqs, testRequests(2, 2, 3*arenaBlock)...)
	for i := range reqs {
		reqs[i].ChunkTokens = slices.Repeat([]int{i}, len(reqs[i].Arrivals))
	}
	d := newDecoder()
	for range 2 {
		d.reset()
		got := make([]gate.Request, len(reqs))
		for i := range reqs {
			line := appendRequest(nil, &reqs[i])
			// A canonical beginning that is no record is undone.
			if err := d.decode(line[:len(line)/2], &got[i]); err == nil {
				t.Fatal("half a record was read")
			}
			if err := d.decode(line[:len(line)-1], &got[i]); err != nil {
				t.Fatal(err)
			}
		}
		if !reflect.DeepEqual(reqs, got) {
			t.Fatal("records changed while others were read")
		}
		for i := range got {
			if a := got[i].Arrivals; cap(a) != len(a) {
				t.Fatalf("record %d: its arrivals can grow into the next one's", i)
			}
		}
	}
	allocs := testing.AllocsPerRun(5, func() {
		d.reset()
		var r gate.Request
		for _, line := range [][]byte{[]byte(canonicalRecords[0].line), []byte(canonicalRecords[1].line)} {
			if err := d.decode(line, &r); err != nil {
				t.Fatal(err)
			}
		}
	})
	if allocs > 2 { // the lines of this test
		t.Errorf("allocations: got %v, want none", allocs-2)
	}
}

func FuzzDecode(f *testing.F) {
	for _, c := range canonicalRecords {
		f.Add([]byte(c.line))
	}
	f.Add([]byte(`{"i":1,"phase":"measure","due":-0,"want_in":1,"want_out":1,"outcome":"ok"}`))
	f.Add([]byte(`{"i":1,"phase":"measure","due":1e0,"arrivals":[ ],"want_in":1,"want_out":1,"outcome":"ok","finish":"\ud800"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var strict, combined gate.Request
		d := newDecoder()
		strictErr := decodeStrict(line, &strict)
		c := cursor{b: line, d: d}
		var fast gate.Request
		isCanonical := c.request(&fast)
		if isCanonical && strictErr != nil {
			t.Fatalf("the fast decoder reads what the strict one refuses: %v", strictErr)
		}
		if isCanonical && !cmp.Equal(fast, strict) {
			t.Fatalf("the decoders differ: %s", cmp.Diff(fast, strict))
		}
		if isCanonical && !bytes.Equal(appendRequest(nil, &fast), append(slices.Clone(line), '\n')) {
			t.Fatal("the fast decoder takes what is not canonical")
		}
		if err := d.decode(line, &combined); (err == nil) != (strictErr == nil) {
			t.Fatalf("combined: %v, strict: %v", err, strictErr)
		}
		if strictErr != nil {
			return
		}
		again := appendRequest(nil, &strict)
		var back gate.Request
		if err := d.decode(again[:len(again)-1], &back); err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		if !cmp.Equal(strict, back) {
			t.Fatalf("decode, encode, decode differs: %s", cmp.Diff(strict, back))
		}
	})
}

func FuzzSeconds(f *testing.F) {
	for _, ns := range []int64{0, 1, -1, 1e9, 1_500_000_000, -1 << 63, 1<<63 - 1} {
		f.Add(ns)
	}
	f.Fuzz(func(t *testing.T, ns int64) {
		text := appendSeconds(nil, time.Duration(ns))
		got, err := parseSeconds(string(text))
		if err != nil || int64(got) != ns {
			t.Fatalf("%d is written %s and read %d, %v", ns, text, got, err)
		}
		c := cursor{b: text}
		var fast time.Duration
		if c.seconds(&fast) && c.at == len(text) && int64(fast) != ns {
			t.Fatalf("%d is written %s and read fast %d", ns, text, fast)
		}
	})
}
