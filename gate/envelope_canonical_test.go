package gate

import (
	"math"
	"strings"
	"testing"
)

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
