package load

import (
	"math"
	"strings"
	"testing"
)

func TestSpecString(t *testing.T) {
	tests := []struct {
		spec Spec
		want string
	}{
		{Spec{Concurrency: 32}, "closed(32,spread)"},
		{Spec{Concurrency: 1, Start: Together}, "closed(1,together)"},
		{Spec{Process: Constant, Rate: 0.5}, "constant(0.5/s)"},
		{Spec{Process: Poisson, Rate: 6}, "poisson(6/s)"},
		{Spec{Process: Gamma, Rate: 1000, Burstiness: 0.5}, "gamma(1000/s,burstiness=0.5)"},
	}
	for _, tt := range tests {
		if err := tt.spec.Validate(); err != nil {
			t.Errorf("%s: %v", tt.want, err)
		}
		if got := tt.spec.String(); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

func TestSpecRefuses(t *testing.T) {
	tests := []struct {
		name string
		spec Spec
		want string // part of the error
	}{
		{"nothing", Spec{Rate: 1}, "neither streams nor an arrival process"},
		{"negative concurrency", Spec{Concurrency: -1}, "concurrency is -1"},
		{"both kinds", Spec{Concurrency: 2, Rate: 3}, "choose one"},
		{"unknown start", Spec{Concurrency: 2, Start: "slowly"}, `start is "slowly"`},
		{"start of an open loop", Spec{Process: Poisson, Rate: 1, Start: Spread}, "only a closed loop"},
		{"no rate", Spec{Process: Poisson}, "rate is 0/s"},
		{"negative rate", Spec{Process: Poisson, Rate: -6}, "rate is -6/s"},
		{"rate without end", Spec{Process: Poisson, Rate: math.Inf(1)}, "rate is +Inf/s"},
		{"no number", Spec{Process: Poisson, Rate: math.NaN()}, "rate is NaN/s"},
		{"unknown process", Spec{Process: "weibull", Rate: 1}, `arrival process is "weibull"`},
		{"burstiness of a Poisson process", Spec{Process: Poisson, Rate: 1, Burstiness: 1}, "only a gamma process"},
		{"gamma without burstiness", Spec{Process: Gamma, Rate: 1}, "burstiness is 0"},
		{"burstiness is no number", Spec{Process: Gamma, Rate: 1, Burstiness: math.NaN()}, "burstiness is NaN"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.spec.Validate()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}
