package load

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/servegate/gate"
)

func TestClosedLoopKeepsItsConcurrency(t *testing.T) {
	for _, start := range []Start{Spread, Together} {
		t.Run(string(start), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const streams = 16
				e := &engine{took: func(t Ticket) time.Duration {
					return time.Duration(50+t.Index*37%100) * time.Millisecond
				}}
				res, err := run(t.Context(), e, Options{
					Spec: Spec{Concurrency: streams, Start: start}, Amount: Amount{Warmup: 40, Requests: 500},
					DrainTimeout: time.Second,
				})
				if err != nil {
					t.Fatal(err)
				}
				measured := e.of(t, gate.Measure)
				if len(measured) != 500 || res.Warmup != 40 || res.Peak != streams || e.peak != streams {
					t.Errorf("got %d measured, %d warm-up, peak %d (seen %d), want 500, 40, %d", len(measured), res.Warmup, res.Peak, e.peak, streams)
				}
				for _, r := range measured {
					if r.sent != r.Due {
						t.Errorf("request %d: sent at %v, due at %v", r.Index, r.sent, r.Due)
					}
				}
				checkStreams(t, e.log, streams, res)
			})
		})
	}
}

// checkStreams checks that from the first measured request to the end of the measured
// phase each stream sends its next request at the moment at which its last one ended.

func checkStreams(t *testing.T, log []record, streams int, res Result) {
	t.Helper()
	free := map[int]time.Duration{}
	for k := range streams {
		free[k] = -1
	}
	for _, r := range log { // in the order of their ends, so of each stream's sends
		if r.sent >= res.MeasureStart && free[r.Stream] >= 0 && r.sent != free[r.Stream] {
			t.Errorf("stream %d: sent at %v, was free at %v", r.Stream, r.sent, free[r.Stream])
		}
		free[r.Stream] = r.done
	}
	for k, at := range free {
		if at < res.MeasureEnd {
			t.Errorf("stream %d: last request ended at %v, want the load kept up to %v", k, at, res.MeasureEnd)
		}
	}
}

func TestSpreadStart(t *testing.T) {
	tests := []struct {
		name   string
		pace   time.Duration
		warmup int
		first  time.Duration // start of stream 0
		gap    time.Duration
		want   int // warm-up requests
	}{
		{"learned from a lone request", 0, 0, 800 * time.Millisecond, 200 * time.Millisecond, 4},
		{"learned, longer warm-up", 0, 10, 800 * time.Millisecond, 200 * time.Millisecond, 10},
		{"given", 400 * time.Millisecond, 0, 0, 100 * time.Millisecond, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &engine{took: always(800 * time.Millisecond)}
				res, err := run(t.Context(), e, Options{
					Spec: Spec{Concurrency: 4}, Amount: Amount{Warmup: tt.warmup, Requests: 40},
					Pace: tt.pace, DrainTimeout: time.Second,
				})
				if err != nil {
					t.Fatal(err)
				}
				starts := map[int]time.Duration{}
				for _, r := range e.log {
					if s, ok := starts[r.Stream]; r.sent >= tt.first && (!ok || r.sent < s) {
						starts[r.Stream] = r.sent
					}
				}
				for k := range 4 {
					if want := tt.first + time.Duration(k)*tt.gap; starts[k] != want {
						t.Errorf("stream %d: got start %v, want %v", k, starts[k], want)
					}
				}
				if res.Warmup != tt.want || res.Pace != 4*tt.gap {
					t.Errorf("got %d warm-up requests, pace %v, want %d, %v", res.Warmup, res.Pace, tt.want, 4*tt.gap)
				}
				if allGoing := tt.first + 3*tt.gap; res.MeasureStart < allGoing {
					t.Errorf("got measured phase from %v, want not before all streams go at %v", res.MeasureStart, allGoing)
				}
			})
		})
	}
}

func TestClosedLoopDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &engine{took: always(300 * time.Millisecond)}
		res, err := run(t.Context(), e, Options{
			Spec: Spec{Concurrency: 2, Start: Together}, Amount: Amount{Warmup: 4, Duration: time.Second},
			DrainTimeout: time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		// warm-up 0 and 300 ms, measured from 600 ms: sends at 0.6, 0.9, 1.2, 1.5 of two
		// streams; at 1.8 s the second is over and nothing measured is left.
		want := Result{
			Warmup: 4, Measure: 8, Drain: res.Drain, Peak: 2,
			MeasureStart: 600 * time.Millisecond, MeasureLast: 1500 * time.Millisecond,
			MeasureEnd: 1800 * time.Millisecond, End: res.End,
		}
		if res != want {
			t.Errorf("got  %+v\nwant %+v", res, want)
		}
		if res.Drain > 1 { // the two streams become free at one moment, in either order
			t.Errorf("got %d drain requests, want 1 at most", res.Drain)
		}
	})
}
