package openai

import (
	"testing"
	"time"
)

// A kernel timestamp is believed as far as it can be true.
func TestArrival(t *testing.T) {
	origin := time.Now()
	const floor, read = 100 * time.Millisecond, 150 * time.Millisecond
	cases := []struct {
		name string
		lag  time.Duration
		want time.Duration
	}{
		{"no lag", 0, read},
		{"lag", 20 * time.Millisecond, read - 20*time.Millisecond},
		{"lag back to the floor", 50 * time.Millisecond, floor},
		{"a little beyond it, as clocks are read", 50*time.Millisecond + time.Microsecond, floor},
		{"far beyond it: a clock was set", time.Hour, read},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			x := &exchange{origin: origin, floor: floor}
			if got := x.arrival(stamp{at: origin.Add(read), lag: c.lag, kernel: true}); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if got := x.arrival(stamp{at: origin.Add(read), lag: 30 * time.Millisecond}); got < c.want {
				t.Errorf("got %v for a later read, want no less than %v", got, c.want)
			}
		})
	}
}
