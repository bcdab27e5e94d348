package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/gate/rundir"
	"github.com/servegate/servegate/runner/load"
	"github.com/servegate/servegate/runner/openai"
	"github.com/servegate/servegate/runner/workload"
)

// spareConnections is how many idle connections an open loop keeps beside those in
// use: it doesn't know its concurrency.
const spareConnections = 32

// The request that the client learns by how the engine treats its connections: small, and
// at a place that no warm-up gets to.
const (
	learnIndex   = 1<<31 - 1
	learnTokens  = 1
	learnTimeout = 10 * time.Second // where even that isn't answered, the load will show it
)

// measurement is one repetition as it goes on.
type measurement struct {
	session  *session
	cell     *cellState
	facts    gate.Facts
	client   *openai.Client
	requests *workload.Generator
	out      *rundir.RepetitionWriter
	metrics  *observer
	origin   time.Time

	pulse    pulse
	flying   atomic.Int64 // requests in flight
	measured atomic.Int64 // measured requests that ended
	finished atomic.Int64 // requests that ended with success, of any phase
	answered atomic.Int64 // requests that ended with an answer, be it a refusal, of any phase
	unsure   atomic.Int64 // requests that reached the engine and ended otherwise
	phase    atomic.Pointer[gate.Phase]
}

// measure runs one repetition and derives it from the records that were written. lost
// says that the engine was lost during it. The repetition is returned, with what was
// measured until then, also where the context ended; it is nil where there is none.
func (s *session) measure(ctx context.Context, c *cellState, f gate.Facts) (rep *gate.Repetition, lost *lostError, err error) {
	m := &measurement{session: s, cell: c, facts: f}
	if err := m.prepare(); err != nil {
		return nil, nil, err
	}
	defer m.client.Close()
	if lost, err = m.connect(ctx); lost == nil && err == nil {
		lost, err = m.drive(ctx)
	}
	m.facts.Stamps = m.client.Stamps()
	if lost != nil {
		m.facts.Faults = append(m.facts.Faults, lost.Error())
	}
	if ctx.Err() != nil {
		m.facts.Faults = append(m.facts.Faults, "interrupted")
	}
	// A disk that is full fails all that follows too: the first error tells it.
	if err := cmp.Or(err, m.out.Close()); err != nil {
		return nil, lost, err
	}
	rep, err = m.derive()
	return rep, lost, err
}

// prepare makes everything that the repetition needs before it talks to the engine.
func (m *measurement) prepare() error {
	s, e := m.session, m.session.engine
	var err error
	if m.requests, err = s.generator(m.cell, e.traits, m.facts.Index); err != nil {
		return fmt.Errorf("make requests: %w", err)
	}
	if m.out, err = s.options.Out.Repetition(m.cell.ID, m.facts.Index); err != nil {
		return err
	}
	m.client, err = openai.New(openai.Options{
		BaseURL:        e.handle.URL(),
		APIKey:         s.apiKey(),
		RequestTimeout: s.plan.Measure.RequestTimeout,
	})
	if err != nil {
		return errors.Join(err, m.out.Close())
	}
	return nil
}

// connect opens the connections. That there are none to be had may be how we learn that
// the engine has died since it was last asked for anything.
func (m *measurement) connect(ctx context.Context) (*lostError, error) {
	n, spare := m.connections()
	err := m.client.Open(ctx, n, spare)
	switch {
	case err == nil:
		m.learn(ctx)
		return nil, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	if lackOf(err.Error()) == "" {
		if lost := m.session.autopsy(ctx, m.cell); lost != nil {
			return lost, nil
		}
	}
	return nil, fmt.Errorf("open connections: %w", err)
}

// learn lets the client see whether the engine keeps its connections open, before a load
// whose first answers come all at once would have to wait for that. The request stands in
// no record, and comes before the engine's counters are first looked at.
func (m *measurement) learn(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, learnTimeout)
	defer cancel()
	call := m.session.call(m.cell, m.session.engine.traits, m.requests.Request(gate.Warmup, learnIndex))
	call.MaxTokens = learnTokens
	if call.IDs = call.IDs[:min(len(call.IDs), probeTokens)]; len(call.IDs) == 0 {
		call.Text = words(probeTokens)
	}
	m.client.Learn(ctx, call)
}

// connections is how many connections the load wants to have open, and how many idle.
func (m *measurement) connections() (n, spare int) {
	if m.cell.Load.Closed() {
		return m.cell.Load.Concurrency, 0
	}
	return spareConnections, spareConnections
}

// drive puts the load on the engine and watches over both.
func (m *measurement) drive(ctx context.Context) (*lostError, error) {
	waiter, err := load.NewWaiter()
	if err != nil {
		return nil, err
	}
	defer waiter.Close()
	if m.metrics, err = observe(ctx, m.session, m.out); err != nil {
		return nil, err
	}
	m.origin = m.metrics.start
	m.facts.Start = m.origin.UTC().Truncate(time.Millisecond)
	m.client.SetOrigin(m.origin)

	loadCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopWatch := m.watch(loadCtx, cancel)
	result, err := load.Drive(loadCtx, load.Options{
		Spec:         m.cell.Load,
		Amount:       m.session.amount(m.cell),
		Seed:         m.facts.Seed,
		Origin:       m.origin,
		DrainTimeout: m.session.plan.Measure.DrainTimeout,
		Wait:         waiter.Wait,
	}, m.next)
	stopWatch()
	return m.conclude(ctx, loadCtx, result, err)
}

// conclude sorts out how a drive ended. Only what is nobody's finding is an error: a
// lost engine is one, and an overload is a fault of the repetition.
func (m *measurement) conclude(ctx, loadCtx context.Context, r load.Result, err error) (*lostError, error) {
	var lost *lostError
	if cause := context.Cause(loadCtx); ctx.Err() == nil && cause != nil {
		errors.As(cause, &lost)
	}
	// An engine may have counted the request of learn after we had looked.
	seen := clientCounts{ok: m.finished.Load(), unsure: m.unsure.Load() + 1}
	lack := m.pulse.lack.Load()
	if lack != nil {
		m.facts.Faults = append(m.facts.Faults, "the client ran out of "+*lack)
	}
	if lost == nil && lack == nil && ctx.Err() == nil && m.pulse.suspect() {
		lost = m.session.autopsy(ctx, m.cell)
		seen.unsure += firstTokenTries
	}
	found := m.metrics.finish(ctx, seen, lost == nil)
	m.facts.Engine = found.engine
	m.facts.Faults = append(m.facts.Faults, found.reasons...)
	if lost == nil {
		lost = found.lost
	}
	switch {
	case lost != nil, err == nil, ctx.Err() != nil:
		return lost, nil
	case errors.Is(err, load.ErrOverload):
		m.facts.Faults = append(m.facts.Faults, fmt.Sprintf("the load was given up with %d requests in flight: the engine does not keep up with the arrival rate", r.Peak))
		return nil, nil
	}
	return nil, err
}

// next builds a request before it is due.
func (m *measurement) next(phase gate.Phase, index int) load.Send {
	call := m.session.call(m.cell, m.session.engine.traits, m.requests.Request(phase, index))
	call.Phase, call.Index = phase, index
	prepared, err := m.client.Prepare(call)
	return func(ctx context.Context, t load.Ticket) {
		m.phase.Store(&t.Phase)
		m.flying.Add(1)
		defer m.flying.Add(-1)
		r := gate.Request{Phase: phase, Index: index, Outcome: gate.Connect, Input: gate.Unknown, Output: gate.Unknown, Cached: gate.Unknown}
		if err != nil {
			r.Error = err.Error()
		} else {
			r = prepared.Send(ctx)
		}
		r.Due, r.Stream = t.Due, t.Stream
		m.record(&r)
		if r.Outcome == gate.Connect {
			pause(ctx, connectPause)
		}
	}
}

// record keeps the record of a request that has ended.
func (m *measurement) record(r *gate.Request) {
	m.pulse.feel(r)
	if answer(r.Outcome) {
		m.answered.Add(1)
	}
	switch {
	case r.Outcome == gate.OK:
		m.finished.Add(1)
	case r.Sent > 0: // whatever the client saw of it, the engine may have served it
		m.unsure.Add(1)
	}
	if r.Phase == gate.Measure {
		m.measured.Add(1)
	}
	_ = m.out.Add(r) // its error stays with the writer, which is asked while we watch
}

// tell says how far the repetition is.
func (m *measurement) tell() {
	e := Event{
		Kind: Progress, Cell: m.cell.ID, Index: m.facts.Index, Phase: gate.Warmup,
		Done: int(m.measured.Load()), Want: m.session.plan.Measure.Requests,
		Spent: time.Since(m.origin), Of: m.session.plan.Measure.Duration,
	}
	if p := m.phase.Load(); p != nil {
		e.Phase = *p
	}
	m.session.options.Notify(e)
}

// amount is how much of the load a repetition of c has.
func (s *session) amount(c *cellState) load.Amount {
	m := s.plan.Measure
	return load.Amount{Warmup: c.WarmupRequests(m), Requests: m.Requests, Duration: m.Duration}
}
