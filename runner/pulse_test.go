package runner

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/servegate/servegate/gate"
)

func TestPulseSuspectsAnEngineThatNoLongerServes(t *testing.T) {
	ok, refused := gate.Request{Outcome: gate.OK}, gate.Request{Outcome: gate.HTTP4xx}
	files := gate.Request{Outcome: gate.Connect, Error: "connect to 127.0.0.1:80: too many open files (raise the limit)"}
	tests := []struct {
		name string
		ends []gate.Request
		want bool
	}{
		{"all is well", []gate.Request{ok, ok}, false},
		{"one was refused, and served again", []gate.Request{ok, refused, ok}, false},
		{"refused to the end", []gate.Request{ok, refused, refused}, true},
		{"no answer to the end", []gate.Request{ok, {Outcome: gate.Malformed}}, true},
		{"an answer that ends behind the failures after it", []gate.Request{ok, refused, refused, {Outcome: gate.OK, Sent: 1}}, true},
		{"one was cut", []gate.Request{{Outcome: gate.Truncated}, ok}, true},
		{"throttled", []gate.Request{ok, {Outcome: gate.Rejected}}, false},
		{"we ran out of files", []gate.Request{ok, files, files}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p pulse
			for i := range tt.ends {
				r := tt.ends[i]
				r.Sent = cmp.Or(r.Sent, time.Duration(i+1))
				p.feel(&r)
			}
			if got := p.suspect(); got != tt.want {
				t.Errorf("got suspect %v, want %v", got, tt.want)
			}
		})
	}
}

// What our own host lacks is told as such, and never as an engine that is gone.
func TestPulseTellsOurLackFromTheEngines(t *testing.T) {
	for text, want := range map[string]string{
		"connect to 127.0.0.1:80: too many open files":             "open files",
		"connect to 127.0.0.1:80: cannot assign requested address": "ports",
		"connect to 127.0.0.1:80: connection refused":              "",
	} {
		var p pulse
		for range 2 * goneAfter {
			p.feel(&gate.Request{Outcome: gate.Connect, Error: text})
		}
		lack := p.lack.Load()
		if got := lack != nil; got != (want != "") || got && !strings.Contains(*lack, want) {
			t.Errorf("%s: got lack %v, want %q", text, lack, want)
		}
		if got := p.gone(); got != (want == "") {
			t.Errorf("%s: got gone %v, want %v", text, got, want == "")
		}
	}
}
