package load

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/servegate/gate"
)

// Requests that never seem to end must not hold back those that are due.
func TestOpenLoopNeverSlips(t *testing.T) {
	for _, spec := range []Spec{
		{Process: Constant, Rate: 100},
		{Process: Poisson, Rate: 100},
		{Process: Gamma, Rate: 100, Burstiness: 0.3},
	} {
		t.Run(spec.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &engine{took: always(time.Minute)}
				res, err := run(t.Context(), e, Options{
					Spec: spec, Seed: 1, Amount: Amount{Warmup: 100, Requests: 500}, DrainTimeout: time.Hour,
				})
				if err != nil {
					t.Fatal(err)
				}
				for i, want := range firstTickets(spec, Amount{Warmup: 100, Requests: 500}, 1, 600) {
					phase := e.of(t, want.Phase)
					got := phase[want.Index]
					if got.Ticket != want || got.sent != got.Due {
						t.Fatalf("request %d: got %+v sent at %v, want %+v sent when due", i, got.Ticket, got.sent, want)
					}
				}
				if res.Late != 0 || res.MaxLag != 0 || res.Unprepared != 0 {
					t.Errorf("got %d late, lag %v, %d unprepared, want none", res.Late, res.MaxLag, res.Unprepared)
				}
			})
		})
	}
}

// Bodies that are built too slowly make sends late, but each keeps its due moment, none
// is left out, and all of it is counted.
func TestOpenLoopCountsLateSends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &engine{took: always(time.Millisecond)}
		slow := func(phase gate.Phase, index int) Send {
			if phase == gate.Measure && index >= 16 { // the first 16 are built before the start
				time.Sleep(100 * time.Millisecond)
			}
			return e.prepare(phase, index)
		}
		e.origin = time.Now()
		res, err := Drive(t.Context(), Options{
			Spec: Spec{Process: Constant, Rate: 16}, Amount: Amount{Requests: 64},
			Origin: e.origin, DrainTimeout: time.Second,
		}, slow)
		if err != nil {
			t.Fatal(err)
		}
		got := e.of(t, gate.Measure)
		if len(got) != 64 || res.Measure != 64 {
			t.Fatalf("got %d sent, result says %d, want 64", len(got), res.Measure)
		}
		late := 0
		for i, r := range got {
			if want := time.Duration(i) * time.Second / 16; r.Due != want {
				t.Fatalf("request %d: got due %v, want %v", i, r.Due, want)
			}
		}
		for _, r := range e.log { // those of the drain phase that fell due meanwhile are late too
			if r.sent-r.Due > LateAfter {
				late++
			}
		}
		last := got[63]
		if late == 0 || res.Late != late || res.MaxLag != last.sent-last.Due || res.Unprepared == 0 {
			t.Errorf("got late %d, max lag %v, unprepared %d; want %d, %v, some",
				res.Late, res.MaxLag, res.Unprepared, late, last.sent-last.Due)
		}
	})
}

func TestOpenLoopDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &engine{took: always(250 * time.Millisecond)}
		res, err := run(t.Context(), e, Options{
			Spec: Spec{Process: Constant, Rate: 10}, Amount: Amount{Warmup: 5, Duration: 10 * time.Second},
			DrainTimeout: time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		want := Result{
			Warmup: 5, Measure: 100, Drain: 2, Peak: 3,
			MeasureStart: 500 * time.Millisecond, MeasureLast: 10400 * time.Millisecond,
			MeasureEnd: 10650 * time.Millisecond, End: 10850 * time.Millisecond,
		}
		if res != want {
			t.Errorf("got  %+v\nwant %+v", res, want)
		}
	})
}

// The measured requests must see the same load to their end.
func TestDrainKeepsTheLoadUp(t *testing.T) {
	straggler := func(t Ticket) time.Duration {
		if t.Phase == gate.Measure && t.Index == 19 {
			return 7 * time.Second
		}
		return time.Second
	}
	for _, spec := range []Spec{
		{Process: Constant, Rate: 4},
		{Concurrency: 4},
		{Concurrency: 4, Start: Together},
	} {
		t.Run(spec.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &engine{took: straggler}
				res, err := run(t.Context(), e, Options{
					Spec: spec, Amount: Amount{Warmup: 8, Requests: 20}, DrainTimeout: time.Minute,
				})
				if err != nil {
					t.Fatal(err)
				}
				last := e.of(t, gate.Measure)[19]
				drain := e.of(t, gate.Drain)
				if res.MeasureEnd != last.done {
					t.Errorf("got measured phase over at %v, want %v, when its last request ended", res.MeasureEnd, last.done)
				}
				for _, r := range drain {
					if r.sent > last.done {
						t.Errorf("drain request %d: sent at %v, after the last measured one ended at %v", r.Index, r.sent, last.done)
					}
					if r.cancelled != nil {
						t.Errorf("drain request %d: got cancelled (%v), want followed to its end", r.Index, r.cancelled)
					}
				}
				// 4 a second over the 7 s, less up to one of each stream at either end
				if spec.Closed() {
					if n := len(drain); n < 3*6 || n > 3*8 {
						t.Errorf("got %d drain requests, want 3 streams busy for 7 s", n)
					}
				} else if n := len(drain); n < 26 || n > 28 {
					t.Errorf("got %d drain requests, want 4 a second for 7 s", n)
				}
			})
		})
	}
}

// The measured requests and their arrivals must not depend on the warm-up.
func TestMeasuredPhaseIsIndependentOfWarmup(t *testing.T) {
	spec := Spec{Process: Poisson, Rate: 7}
	gaps := func(warmup int) []time.Duration {
		var dues []time.Duration
		for _, tk := range firstTickets(spec, Amount{Warmup: warmup, Requests: 50}, 3, warmup+50) {
			if tk.Phase == gate.Measure {
				dues = append(dues, tk.Due)
			}
		}
		for i := len(dues) - 1; i >= 0; i-- {
			dues[i] -= dues[0]
		}
		return dues
	}
	want := gaps(10)
	for _, warmup := range []int{0, 1, 37} {
		got := gaps(warmup)
		for i := range want {
			if d := got[i] - want[i]; d < -1 || d > 1 { // ns: the sum is rounded once a phase
				t.Fatalf("warm-up %d, request %d: got due %v, want %v", warmup, i, got[i], want[i])
			}
		}
	}
}
