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
