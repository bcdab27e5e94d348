package timing

import (
	"math"
	"strings"
	"testing"
	"time"
)

func cost() Cost {
	return Cost{
		Base: 5 * time.Millisecond, PrefillToken: 6 * time.Microsecond, Decode: 20 * time.Microsecond, KVToken: 20,
		PrefillSlowdown: 1, DecodeSlowdown: 1,
	}
}

func TestStep(t *testing.T) {
	slow := func(p, d float64) Cost { c := cost(); c.PrefillSlowdown, c.DecodeSlowdown = p, d; return c }
	tests := []struct {
		name string
		cost Cost
		work Work
		want time.Duration
	}{
		{"nothing", cost(), Work{}, 5 * time.Millisecond},
		{"prefill", cost(), Work{Prefill: 256, KV: 256}, 5*time.Millisecond + 256*6020},
		{"decode", cost(), Work{Decode: 8, KV: 2000}, 5*time.Millisecond + 8*20_000 + 2000*20},
		{"both", cost(), Work{Prefill: 100, Decode: 1, KV: 150}, 5*time.Millisecond + 600_000 + 20_000 + 3000},
		{"slow prefill, decode alone", slow(2, 1), Work{Decode: 8, KV: 2000}, 5*time.Millisecond + 200_000},
		{"slow prefill, prefill alone", slow(2, 1), Work{Prefill: 256, KV: 256}, 5*time.Millisecond + 2*256*6000 + 256*20},
		{"slow decode, prefill alone", slow(1, 2), Work{Prefill: 256, KV: 256}, 5*time.Millisecond + 256*6020},
		{"slow decode, both: the prompt's share stays", slow(1, 2), Work{Prefill: 100, Decode: 1, KV: 150}, 2*(5*time.Millisecond+23_000) + 600_000},
		{"fractions by noise", cost(), Work{Prefill: 1.5}, 5*time.Millisecond + 9000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.cost.Step(tt.work); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestThrottle(t *testing.T) {
	th := Throttle{Period: time.Second, Duty: .25, Factor: 2}
	for since, want := range map[time.Duration]float64{
		0: 1, 749 * time.Millisecond: 1, 750 * time.Millisecond: 2, 999 * time.Millisecond: 2,
		time.Second: 1, 9*time.Second + 800*time.Millisecond: 2,
	} {
		if got := th.At(since); got != want {
			t.Errorf("at %s: got %v, want %v", since, got, want)
		}
	}
	if got := (Throttle{}).At(time.Hour); got != 1 {
		t.Errorf("without a period: got %v, want 1", got)
	}
}

func TestCheck(t *testing.T) {
	if err := cost().Check(); err != nil {
		t.Errorf("got %v, want no error", err)
	}
	err := Cost{Base: -1, PrefillSlowdown: math.NaN(), DecodeSlowdown: math.Inf(1)}.Check()
	for _, want := range []string{"base: -1ns is negative", "prefill slowdown: got NaN", "decode slowdown: got +Inf"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to say %q", err, want)
		}
	}
	if err := (Cost{PrefillSlowdown: 1, DecodeSlowdown: 1}).Check(); err == nil {
		t.Error("steps without a length: got no error")
	}
	for _, bad := range []Throttle{{Period: 1}, {Duty: .5, Factor: 2}, {Period: 1, Duty: 2, Factor: 2}, {Period: 1, Duty: .5, Factor: math.NaN()}} {
		if bad.Check() == nil {
			t.Errorf("%+v: got no error", bad)
		}
	}
	if err := (Throttle{Period: 1, Duty: .5, Factor: 2}).Check(); err != nil {
		t.Errorf("got %v, want no error", err)
	}
}
