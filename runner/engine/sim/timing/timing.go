// Package timing is the clockwork of the simulated engine: how long one step takes.
//
// It knows numbers only: no clock, no requests, no scheduler. What is in a step is
// told by the caller as [Work]; the formulas for whole requests stand in the
// documentation of package sim.
package timing

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Cost says what a step costs. A step takes
//
//	D*(Base + Decode*d + KVToken*k) + PrefillSlowdown*PrefillToken*p
//
// with p prefill tokens, d decoding sequences, and k tokens of context summed over the
// sequences of the step. D is DecodeSlowdown where d > 0, else 1: what slows decoding
// down leaves a step alone that only prefills.
type Cost struct {
	Base            time.Duration // of every step: launch, weights, sampling
	PrefillToken    time.Duration // of each prompt token computed
	Decode          time.Duration // of each decoding sequence
	KVToken         time.Duration // of each token of context that attention reads
	PrefillSlowdown float64       // factor, 1 is none
	DecodeSlowdown  float64       // factor, 1 is none
}

// Work is what a step does. The fields are sums of counts, each count times its
// request's noise factor.
type Work struct {
	Prefill float64 // prompt tokens
	Decode  float64 // decoding sequences
	KV      float64 // tokens of context at the end of the step
}

// Step is the time that a step with this work takes.
func (c Cost) Step(w Work) time.Duration {
	slow := 1.0
	if w.Decode > 0 {
		slow = c.DecodeSlowdown
	}
	ns := slow*(float64(c.Base)+float64(c.Decode)*w.Decode+float64(c.KVToken)*w.KV) +
		c.PrefillSlowdown*float64(c.PrefillToken)*w.Prefill
	return time.Duration(math.Round(ns))
}

// Check reports all that is wrong with c.
func (c Cost) Check() error {
	var errs []error
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"base", c.Base}, {"prefill token", c.PrefillToken}, {"decode", c.Decode}, {"kv token", c.KVToken}} {
		if d.value < 0 {
			errs = append(errs, fmt.Errorf("step cost %s: %s is negative", d.name, d.value))
		}
	}
	if c.Base == 0 && (c.PrefillToken == 0 || c.Decode == 0) {
		errs = append(errs, errors.New("step cost: a step would take no time; set the base"))
	}
	for _, f := range []struct {
		name  string
		value float64
	}{{"prefill", c.PrefillSlowdown}, {"decode", c.DecodeSlowdown}} {
		if !(f.value > 0) || math.IsInf(f.value, 0) {
			errs = append(errs, fmt.Errorf("%s slowdown: got %v, want a factor above 0 (1 is none)", f.name, f.value))
		}
	}
	return errors.Join(errs...)
}

// Throttle slows the engine down for the last part of each period, as a chip does
// that gets hot. The zero value never does.
type Throttle struct {
	Period time.Duration
	Duty   float64 // share of the period that is slow, 0 to 1
	Factor float64 // of the step time in the slow phase
}

// At is the factor of a step that starts this long after boot.
func (t Throttle) At(since time.Duration) float64 {
	if t.Period <= 0 || t.Duty <= 0 {
		return 1
	}
	phase := float64(since%t.Period) / float64(t.Period)
	if phase < 1-t.Duty {
		return 1
	}
	return t.Factor
}

// Check reports what is wrong with t.
func (t Throttle) Check() error {
	if t.Period == 0 && t.Duty == 0 {
		return nil
	}
	if t.Period <= 0 || t.Duty < 0 || t.Duty > 1 || !(t.Factor > 0) || math.IsInf(t.Factor, 0) {
		return fmt.Errorf("throttle: got period %s, duty %v, factor %v, want a positive period, a duty from 0 to 1 and a factor above 0",
			t.Period, t.Duty, t.Factor)
	}
	return nil
}
