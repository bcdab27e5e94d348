package gate

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEnvelopeJSONRoundTrip(t *testing.T) {
	e := set(t, "model.name", "<m> & co", "accelerator.memory", 85899345920, "parallel.tp", 1, "slo.ttft", 0.5, "slo.e2e", 2.0, "sampling.ignore_eos", false)
	if err := e.Set("parallel.pp", nil, Undeclared); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var got Envelope
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e, got); diff != "" { // int64 stays int64
		t.Errorf("round trip (-want +got):\n%s", diff)
	}
	for _, tt := range []struct{ in, want string }{
		{`{"parallel.tp":{"value":1.0,"source":"config"}}`, `{"parallel.tp":1}`},
		{`{"parallel.tp":{"source":"config","value":1e2}}`, `{"parallel.tp":100}`},
		{` {"slo.ttft":{"value":-0.0,"source":"config"}} `, `{"slo.ttft":0}`},
		{`{}`, `{}`},
	} {
		if err := json.Unmarshal([]byte(tt.in), &got); err != nil {
			t.Errorf("%s: %v", tt.in, err)
		} else if s := string(got.Canonical()); s != tt.want {
			t.Errorf("%s: got %s, want %s", tt.in, s, tt.want)
		}
	}
}

func TestEnvelopeJSONRefuses(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"unknown path", `{"parallel.xp":{"value":1,"source":"config"}}`, `envelope "parallel.xp": no such field`},
		{"path twice", `{"parallel.tp":{"value":1,"source":"config"},"parallel.tp":{"value":2,"source":"config"}}`, "envelope parallel.tp: given twice"},
		{"object", `{"model.name":{"value":{"a":1},"source":"config"}}`, "envelope model.name: value is an object: expected a string, a number"},
		{"array", `{"model.name":{"value":["a"],"source":"config"}}`, "envelope model.name: value is an array"},
		{"wrong kind", `{"parallel.tp":{"value":"1","source":"config"}}`, `"1" is a string, expected a whole number`},
		{"unknown key", `{"parallel.tp":{"value":1,"source":"config","note":"x"}}`, `envelope parallel.tp: unknown key "note"`},
		{"key in another case", `{"parallel.tp":{"Value":1,"source":"config"}}`, `unknown key "Value"`},
		{"key twice", `{"parallel.tp":{"value":1,"value":1,"source":"config"}}`, `key "value" is given twice`},
		{"no source", `{"parallel.tp":{"value":1}}`, "value and source are needed"},
		{"null source", `{"parallel.tp":{"value":1,"source":null}}`, `unknown source ""`},
		{"undeclared value", `{"parallel.tp":{"value":1,"source":"undeclared"}}`, "undeclared, and yet 1"},
		{"told nothing", `{"parallel.tp":{"value":null,"source":"engine"}}`, "no value from the engine"},
		{"too large", `{"slo.ttft":{"value":1e999,"source":"config"}}`, "number 1e999: out of range"},
		{"inexact", `{"measure.seed":{"value":9007199254740993,"source":"config"}}`, "lies beyond 2^53 - 1"},
		{"bare value", `{"parallel.tp":1}`, "envelope parallel.tp: expected a JSON object"},
		{"no object", `[]`, "expected a JSON object"},
		{"null", `null`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := Envelope{"api": {"chat", FromConfig}}
			err := e.UnmarshalJSON([]byte(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error: got %v, want %q", err, tt.want)
			}
			if len(e) != 1 {
				t.Errorf("a failed read changed the envelope to %v", e)
			}
		})
	}
	if b, err := json.Marshal(Envelope{"slo.ttft": {math.Inf(1), FromConfig}}); err == nil {
		t.Errorf("marshal of +Inf: got %s, want an error", b)
	}
}

func FuzzEnvelopeJSON(f *testing.F) {
	f.Add([]byte(`{"parallel.tp":{"value":1,"source":"config"},"slo.ttft":{"value":0.25,"source":"engine"}}`))
	f.Add([]byte(`{"model.name":{"value":"\ud83d\ude00<","source":"host"},"api":{"value":null,"source":"undeclared"}}`))
	f.Add([]byte(`{"slo.ttft":{"value":1e300,"source":"config"}} x`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var e, again Envelope
		if e.UnmarshalJSON(data) != nil {
			return
		}
		canonical := e.Canonical() // must not panic on what JSON gave
		if !json.Valid(canonical) {
			t.Fatalf("canonical form is no JSON: %s", canonical)
		}
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &again); err != nil {
			t.Fatal(err)
		}
		if diff := Diff(e, again); diff != nil {
			t.Fatalf("round trip differs: %v", diff)
		}
	})
}

// The vectors are those of RFC 8785, appendix B.
func TestCanonicalNumber(t *testing.T) {
	for _, tt := range []struct {
		bits uint64
		want string
	}{
		{0x0000000000000000, "0"},
		{0x8000000000000000, "0"},
		{0x0000000000000001, "5e-324"},
		{0x8000000000000001, "-5e-324"},
		{0x7fefffffffffffff, "1.7976931348623157e+308"},
		{0xffefffffffffffff, "-1.7976931348623157e+308"},
		{0x4340000000000000, "9007199254740992"},
		{0xc340000000000000, "-9007199254740992"},
		{0x4430000000000000, "295147905179352830000"},
		{0x44b52d02c7e14af5, "9.999999999999997e+22"},
		{0x44b52d02c7e14af6, "1e+23"},
		{0x44b52d02c7e14af7, "1.0000000000000001e+23"},
		{0x444b1ae4d6e2ef4e, "999999999999999700000"},
		{0x444b1ae4d6e2ef4f, "999999999999999900000"},
		{0x444b1ae4d6e2ef50, "1e+21"},
		{0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
		{0x3eb0c6f7a0b5ed8d, "0.000001"},
		{0x41b3de4355555553, "333333333.3333332"},
		{0x41b3de4355555554, "333333333.33333325"},
		{0x41b3de4355555555, "333333333.3333333"},
		{0x41b3de4355555556, "333333333.3333334"},
		{0x41b3de4355555557, "333333333.33333343"},
		{0xbecbf647612f3696, "-0.0000033333333333333333"},
		{0x43143ff3c1cb0959, "1424953923781206.2"},
	} {
		got, err := appendCanonicalNumber([]byte("x"), math.Float64frombits(tt.bits))
		if err != nil || string(got) != "x"+tt.want {
			t.Errorf("%016x: got %s, %v, want x%s", tt.bits, got, err, tt.want)
		}
	}
	for _, bits := range []uint64{0x7fffffffffffffff, 0x7ff0000000000000, 0xfff0000000000000} {
		if got, err := appendCanonicalNumber(nil, math.Float64frombits(bits)); err == nil {
			t.Errorf("%016x: got %s, want an error", bits, got)
		}
	}
}

func TestCanonicalString(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"the RFC's, section 3.2.2", "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/", `"€$\u000f\nA'B\"\\\\\"/"`},
		{"short escapes", "\b\f\n\r\t", `"\b\f\n\r\t"`},
		{"other controls", "\x00\x1f\x7f", "\"\\u0000\\u001f\x7f\""},
		{"nothing more than needed", "</script>&\u2028😀", "\"</script>&\u2028😀\""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := appendCanonicalString(nil, tt.in)
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
		})
	}
	if got, err := appendCanonicalString(nil, "\xff"); err == nil {
		t.Errorf("invalid UTF-8: got %s, want an error", got)
	}
}

// The example is that of RFC 8785, section 3.2.3.
func TestCanonicalSortsByUTF16(t *testing.T) {
	got, err := appendCanonical(nil, map[string]any{
		"\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh",
		"1": "One", "\U0001f600": "Emoji: Grinning Face", "\u0080": "Control",
		"\u00f6": "Latin Small Letter O With Diaeresis",
	})
	want := `{"\r":"Carriage Return","1":"One","` + "\u0080" + `":"Control",` +
		`"ö":"Latin Small Letter O With Diaeresis","€":"Euro Sign",` +
		`"😀":"Emoji: Grinning Face","` + "\ufb33" + `":"Hebrew Letter Dalet With Dagesh"}`
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
	if _, err := appendCanonical(nil, map[string]any{"a": []int{1}}); err == nil {
		t.Error("an array has a canonical form here, want an error")
	}
}

func TestFingerprint(t *testing.T) {
	e := Envelope{}
	for _, f := range []struct {
		path   string
		value  any
		source Source
	}{
		{"model.name", "m", FromEngine},
		{"parallel.tp", 2, FromEngine},
		{"slo.ttft", 0.5, FromConfig},
		{"sampling.ignore_eos", true, FromConfig},
		{"parallel.pp", nil, Undeclared},
	} {
		if err := e.Set(f.path, f.value, f.source); err != nil {
			t.Fatal(err)
		}
	}
	want := `{"model.name":"m","parallel.pp":null,"parallel.tp":2,"sampling.ignore_eos":true,"slo.ttft":0.5}`
	if got := string(e.Canonical()); got != want {
		t.Errorf("canonical: got %s, want %s", got, want)
	}
	// printf '%s' '{"model.name":...}' | sha256sum
	wantSum := "sha256:050ed339bf11c37a10308b36f9257e363e316d88734a8613582a158a53afa012"
	if got := e.Fingerprint(); got != wantSum {
		t.Errorf("fingerprint: got %s, want %s", got, wantSum)
	}
	other := e.Mask()
	other["parallel.tp"] = Field{2.0, FromConfig} // the same, told by another
	if got := other.Fingerprint(); got != wantSum {
		t.Errorf("fingerprint with another source: got %s, want %s", got, wantSum)
	}
	if got, want := Envelope(nil).Fingerprint(), (Envelope{}).Fingerprint(); got != want {
		t.Errorf("nil and empty: got %s, want %s", got, want)
	}
}

func TestCanonicalPanicsOnAnInvalidEnvelope(t *testing.T) {
	defer func() {
		if r := recover(); r == nil || !strings.Contains(r.(string), "NaN is not a finite number") {
			t.Errorf("got panic %v, want one about NaN", r)
		}
	}()
	Envelope{"slo.ttft": {math.NaN(), FromConfig}}.Canonical()
}
