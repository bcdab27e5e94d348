package load

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/servegate/servegate/gate"
)

// waits are the ways to wait, by name.
func waits(t testing.TB) map[string]WaitFunc {
	w, err := NewWaiter()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return map[string]WaitFunc{"WaitTimer": WaitTimer, "Waiter": w.Wait}
}

func TestWaitNeverReturnsEarly(t *testing.T) {
	for name, wait := range waits(t) {
		r := rand.New(rand.NewPCG(1, 2))
		for range 200 {
			until := time.Now().Add(time.Duration(r.IntN(3000)-500) * time.Microsecond)
			if err := wait(t.Context(), until); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if early := time.Until(until); early > 0 {
				t.Errorf("%s: returned %v early", name, early)
			}
		}
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	for name, wait := range waits(t) {
		for range 20 {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Millisecond, cancel)
			start := time.Now()
			if err := wait(ctx, start.Add(time.Minute)); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: got %v, want %v", name, err, context.Canceled)
			}
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("%s: took %v to see the end of its context", name, took)
			}
			if err := wait(ctx, time.Now().Add(-time.Second)); !errors.Is(err, context.Canceled) {
				t.Errorf("%s, already due: got %v, want %v", name, err, context.Canceled)
			}
			// a wait that was cut short must leave nothing to the next one
			until := time.Now().Add(500 * time.Microsecond)
			if err := wait(t.Context(), until); err != nil || time.Until(until) > 0 {
				t.Errorf("%s, after a cancelled one: got %v, %v early", name, err, time.Until(until))
			}
		}
	}
}

// BenchmarkLateness drives an open loop of 1000 Poisson arrivals a second and reports
// how late the sending goroutines begin. One iteration is one arrival: use
// -benchtime 3000x.
func BenchmarkLateness(b *testing.B) {
	for _, name := range []string{"WaitTimer", "Waiter"} {
		b.Run(name, func(b *testing.B) {
			wait := waits(b)[name]
			n := max(b.N, 100)
			lags := make([]time.Duration, n)
			origin := time.Now()
			_, err := Drive(b.Context(), Options{
				Spec: Spec{Process: Poisson, Rate: 1000}, Seed: 1, Amount: Amount{Requests: n},
				Origin: origin, Wait: wait,
			}, func(phase gate.Phase, index int) Send {
				return func(_ context.Context, t Ticket) {
					if phase == gate.Measure {
						lags[index] = time.Since(origin) - t.Due
					}
				}
			})
			if err != nil {
				b.Fatal(err)
			}
			slices.Sort(lags)
			b.ReportMetric(float64(lags[n/2])/1e3, "p50-us")
			b.ReportMetric(float64(lags[n*99/100])/1e3, "p99-us")
			b.ReportMetric(float64(lags[n-1])/1e3, "max-us")
		})
	}
}
