package load

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/servegate/gate"
)

func TestDrainTimeoutCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &engine{took: func(t Ticket) time.Duration {
			if t.Phase == gate.Drain {
				return time.Hour
			}
			return time.Second
		}}
		res, err := run(t.Context(), e, Options{
			Spec: Spec{Concurrency: 3, Start: Together}, Amount: Amount{Requests: 7}, DrainTimeout: 5 * time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		if res.Cancelled != 2 || res.Interrupted {
			t.Errorf("got %d cancelled, interrupted %v, want 2 and false", res.Cancelled, res.Interrupted)
		}
		if want := res.MeasureEnd + 5*time.Second; res.End != want {
			t.Errorf("got end at %v, want %v", res.End, want)
		}
		for _, r := range e.of(t, gate.Drain) {
			if !errors.Is(r.cancelled, ErrDrainTimeout) {
				t.Errorf("drain request %d: got cause %v, want %v", r.Index, r.cancelled, ErrDrainTimeout)
			}
		}
	})
}

func TestCancel(t *testing.T) {
	open, closed := Spec{Process: Poisson, Rate: 20}, Spec{Concurrency: 8}
	tests := []struct {
		name  string
		spec  Spec
		after time.Duration
		phase gate.Phase // of the last request
	}{
		{"open, before the start", open, 0, ""},
		{"open, warm-up", open, time.Second, gate.Warmup},
		{"open, measure", open, 6 * time.Second, gate.Measure},
		{"open, drain", open, 25 * time.Second, gate.Drain},
		{"closed, before the start", closed, 0, ""},
		{"closed, lone request", closed, time.Second, gate.Warmup},
		{"closed, streams starting", closed, 5100 * time.Millisecond, gate.Warmup},
		{"closed, measure", closed, 30100 * time.Millisecond, gate.Measure},
		{"closed, drain", closed, 130100 * time.Millisecond, gate.Drain},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &engine{took: func(tk Ticket) time.Duration {
					if tk.Phase == gate.Measure && tk.Index == 199 {
						return time.Hour
					}
					return 4 * time.Second
				}}
				ctx, cancel := context.WithCancelCause(t.Context())
				died := errors.New("engine died")
				if tt.after == 0 {
					cancel(died)
				} else {
					time.AfterFunc(tt.after, func() { cancel(died) })
				}
				res, err := run(ctx, e, Options{
					Spec: tt.spec, Amount: Amount{Warmup: 40, Requests: 200}, DrainTimeout: time.Hour,
				})
				if !errors.Is(err, died) || !res.Interrupted {
					t.Errorf("got error %v, interrupted %v, want %v and true", err, res.Interrupted, died)
				}
				if res.End != tt.after {
					t.Errorf("got end at %v, want %v: no wait", res.End, tt.after)
				}
				checkCancelled(t, e, res, tt.after, tt.phase)
			})
		})
	}
}

func checkCancelled(t *testing.T, e *engine, res Result, at time.Duration, want gate.Phase) {
	t.Helper()
	cancelled := 0
	var last record
	for _, r := range e.log {
		if r.cancelled != nil {
			cancelled++
		}
		if r.sent > at {
			t.Errorf("%s %d: sent at %v, after the end", r.Phase, r.Index, r.sent)
		}
		if r.sent >= last.sent {
			last = r
		}
	}
	if cancelled != res.Cancelled || e.inFlight != 0 {
		t.Errorf("got %d cancelled, result says %d, %d still in flight", cancelled, res.Cancelled, e.inFlight)
	}
	if last.Phase != want {
		t.Errorf("got last request of phase %q, want %q: the test cancels too early or late", last.Phase, want)
	}
	if n := res.Warmup + res.Measure + res.Drain; n != len(e.log) {
		t.Errorf("got %d requests by the result, %d by the engine", n, len(e.log))
	}
}

func TestOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &engine{took: always(time.Hour)}
		res, err := run(t.Context(), e, Options{
			Spec: Spec{Process: Constant, Rate: 10}, Amount: Amount{Requests: 1000},
			DrainTimeout: time.Hour, MaxInFlight: 50,
		})
		if !errors.Is(err, ErrOverload) || !res.Interrupted || res.Measure != 50 || res.Cancelled != 50 {
			t.Errorf("got error %v, %+v, want %v after 50 requests", err, res, ErrOverload)
		}
		if want := 5 * time.Second; res.End != want {
			t.Errorf("got end at %v, want %v", res.End, want)
		}
	})
}

func TestWaitError(t *testing.T) {
	broken := errors.New("clock broke")
	for _, spec := range []Spec{{Process: Constant, Rate: 10}, {Concurrency: 2}} {
		synctest.Test(t, func(t *testing.T) {
			e := &engine{took: always(time.Second)}
			res, err := run(t.Context(), e, Options{
				Spec: spec, Amount: Amount{Requests: 10},
				Wait: func(context.Context, time.Time) error { return broken },
			})
			if !errors.Is(err, broken) || !res.Interrupted {
				t.Errorf("%s: got error %v, interrupted %v, want %v", spec, err, res.Interrupted, broken)
			}
		})
	}
}

func TestDriveRefuses(t *testing.T) {
	open := Spec{Process: Poisson, Rate: 1}
	tests := []struct {
		name string
		o    Options
	}{
		{"nothing to measure", Options{Spec: open}},
		{"requests and duration", Options{Spec: open, Amount: Amount{Requests: 1, Duration: 1}}},
		{"negative warm-up", Options{Spec: open, Amount: Amount{Requests: 1, Warmup: -1}}},
		{"negative drain timeout", Options{Spec: open, Amount: Amount{Requests: 1}, DrainTimeout: -1}},
		{"more streams than may be in flight", Options{Spec: Spec{Concurrency: 9}, Amount: Amount{Requests: 1}, MaxInFlight: 8}},
		{"no load", Options{Amount: Amount{Requests: 1}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Drive(t.Context(), tt.o, func(gate.Phase, int) Send { panic("prepared") })
			if err == nil {
				t.Error("got no error")
			}
		})
	}
}
