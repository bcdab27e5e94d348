package load

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/servegate/servegate/gate"
)

// engine stands for the server: it records each request and lets it take as long as
// took says.
type engine struct {
	took func(Ticket) time.Duration

	mu       sync.Mutex
	origin   time.Time
	log      []record
	inFlight int
	peak     int
	built    map[gate.Phase]int
}

type record struct {
	Ticket
	sent, done time.Duration
	cancelled  error // cause
	beside     int   // requests in flight when it was sent, itself included
}

func (e *engine) prepare(phase gate.Phase, index int) Send {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.built == nil {
		e.built = map[gate.Phase]int{}
	}
	if e.built[phase] != index {
		panic(fmt.Sprintf("%s: prepared index %d after %d", phase, index, e.built[phase]-1))
	}
	e.built[phase]++
	return func(ctx context.Context, t Ticket) {
		if t.Phase != phase || t.Index != index {
			panic(fmt.Sprintf("sent %s %d as %s %d", phase, index, t.Phase, t.Index))
		}
		r := record{Ticket: t, sent: time.Since(e.origin)}
		e.mu.Lock()
		e.inFlight++
		r.beside = e.inFlight
		e.peak = max(e.peak, e.inFlight)
		e.mu.Unlock()
		select {
		case <-time.After(e.took(t)):
		case <-ctx.Done():
			r.cancelled = context.Cause(ctx)
		}
		r.done = time.Since(e.origin)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.inFlight--
		e.log = append(e.log, r)
	}
}

// of returns the records of a phase, by index. Each index must occur once, from 0.

func (e *engine) of(t *testing.T, phase gate.Phase) []record {
	t.Helper()
	n := 0
	for _, r := range e.log {
		if r.Phase == phase {
			n++
		}
	}
	got := make([]record, n)
	seen := make([]bool, n)
	for _, r := range e.log {
		if r.Phase != phase {
			continue
		}
		if r.Index >= n || seen[r.Index] {
			t.Fatalf("%s: index %d among %d requests: want each from 0 once", phase, r.Index, n)
		}
		got[r.Index], seen[r.Index] = r, true
	}
	return got
}

// run runs Drive in the bubble and returns when all is over.

func run(ctx context.Context, e *engine, o Options) (Result, error) {
	e.origin = time.Now()
	o.Origin = e.origin
	return Drive(ctx, o, e.prepare)
}

func always(d time.Duration) func(Ticket) time.Duration {
	return func(Ticket) time.Duration { return d }
}

func firstTickets(s Spec, a Amount, seed uint64, n int) []Ticket {
	var all []Ticket
	for t := range Tickets(s, a, seed) {
		if all = append(all, t); len(all) == n {
			break
		}
	}
	return all
}
