package sim

import (
	"sync"
	"time"

	"github.com/servegate/servegate/runner/engine/sim/draw"
	"github.com/servegate/servegate/runner/engine/sim/scheduler"
	"github.com/servegate/servegate/runner/engine/sim/wire"
)

// sleeper waits for moments in time.
type sleeper interface {
	Until(t time.Time)
	Interrupt() // ends the current wait and all later ones
	Close() error
}

// engine drives the scheduler in real time. One goroutine runs its loop and is the only
// one to touch the scheduler; handlers leave commands in the inbox, which is emptied
// between steps, as an engine process reads its queue.
type engine struct {
	opts    Options
	sched   *scheduler.Scheduler
	sleep   sleeper
	draws   draw.Source
	factor  float64 // of this boot, on every step
	metrics *metrics
	crash   func() // called by the loop when the engine dies

	mu    sync.Mutex
	inbox []command
	live  map[*stream]struct{} // submitted and not finished
	count int                  // requests ever submitted
	state engineState
	wake  chan struct{}
	done  chan struct{} // closed at the end of the loop

	// Of the loop alone.
	started time.Time
	delayed []*stream // not yet due, in order
	at      time.Time // when the last step ended by the schedule
	steps   uint64
}

type engineState int

const (
	alive engineState = iota
	hung
	dead
	stopped
)

// command is one of three.
type command struct {
	submit *stream
	abort  *stream
	reset  chan<- bool
}

func newEngine(o Options, boot uint64, m *metrics, sleep sleeper, crash func()) (*engine, error) {
	sched, err := scheduler.New(o.Scheduler)
	if err != nil {
		return nil, err
	}
	draws := draw.New(o.Seed, boot)
	return &engine{
		opts: o, sched: sched, sleep: sleep, draws: draws, metrics: m, crash: crash,
		factor: draws.Lognormal(draw.BootNoise, 0, o.Noise.Boot),
		live:   map[*stream]struct{}{},
		wake:   make(chan struct{}, 1),
		done:   make(chan struct{}),
	}, nil
}

// submit hands a request in, or says why it can't be taken.
func (e *engine) submit(s *stream) *wire.Error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state == dead || e.state == stopped {
		return wire.EngineDead()
	}
	if limit := e.opts.Faults.MaxQueued; limit > 0 && len(e.live) >= limit {
		e.metrics.rejections.Inc()
		return wire.Busy()
	}
	e.count++
	s.number = e.count
	s.noise = e.draws.Lognormal(draw.RequestNoise, uint64(s.number), e.opts.Noise.Request)
	s.arrived = time.Now()
	s.due = s.arrived.Add(e.opts.Faults.QueueDelay)
	e.live[s] = struct{}{}
	e.post(command{submit: s})
	return nil
}

// abort gives a request up whose client is gone.
func (e *engine) abort(s *stream) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.post(command{abort: s})
}

// resetPrefixCache empties the prefix cache and returns whether it could.
func (e *engine) resetPrefixCache() bool {
	answer := make(chan bool, 1)
	e.mu.Lock()
	e.post(command{reset: answer})
	e.mu.Unlock()
	select {
	case ok := <-answer:
		return ok
	case <-e.done:
		return false
	}
}

// post leaves a command; the lock is held.
func (e *engine) post(c command) {
	e.inbox = append(e.inbox, c)
	e.nudge()
}

func (e *engine) nudge() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// stop ends the loop, waits for it, and cuts off what is unfinished.
func (e *engine) stop() {
	e.mu.Lock()
	first := e.state != stopped
	e.state = stopped
	e.mu.Unlock()
	if first {
		e.sleep.Interrupt()
		e.nudge()
	}
	<-e.done
}

// run is the loop. It returns after stop.
func (e *engine) run() {
	defer close(e.done)
	e.started = time.Now()
	for {
		state := e.receive()
		if state == stopped {
			e.endAll(nil)
			return
		}
		if state != alive || !e.sched.Busy() && len(e.delayed) == 0 {
			<-e.wake
			continue
		}
		if !e.sched.Busy() {
			e.awaitFirst(e.delayed[0])
		}
		e.admit(time.Now())
		if e.sched.Busy() {
			e.step()
		}
	}
}

// awaitFirst waits until an idle engine may begin a step for s. The step begins when s
// is due, whenever this goroutine comes to run, or once company had time to come; but
// not before the last step ended, if s came while it ran.
func (e *engine) awaitFirst(s *stream) {
	if at := s.due.Add(e.opts.BatchDelay); at.After(e.at) {
		e.at = at
		e.sleep.Until(at)
		e.receive()
	}
}

// receive empties the inbox and returns the engine's state.
func (e *engine) receive() engineState {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.inbox {
		switch {
		case c.submit != nil:
			e.delayed = append(e.delayed, c.submit)
		case c.abort != nil:
			e.drop(c.abort)
		case c.reset != nil:
			c.reset <- e.sched.ResetPrefixCache()
		}
	}
	clear(e.inbox)
	e.inbox = e.inbox[:0]
	e.metrics.queue(e.sched.Stats(), len(e.delayed), e.opts.Scheduler.Blocks)
	return e.state
}

// drop forgets an aborted request; the lock is held.
func (e *engine) drop(s *stream) {
	if _, ok := e.live[s]; !ok {
		return // finished meanwhile
	}
	delete(e.live, s)
	for i, d := range e.delayed {
		if d == s {
			e.delayed = append(e.delayed[:i], e.delayed[i+1:]...)
			break
		}
	}
	e.sched.Abort(&s.request)
	e.metrics.finished(s, scheduler.Abort, time.Now())
}

// admit shows the scheduler the requests that are due.
func (e *engine) admit(now time.Time) {
	n := 0
	for ; n < len(e.delayed) && !e.delayed[n].due.After(now); n++ {
		if err := e.sched.Submit(&e.delayed[n].request); err != nil {
			panic("sim: a call passed the checks of the API and not the scheduler's: " + err.Error())
		}
	}
	e.delayed = append(e.delayed[:0], e.delayed[n:]...)
}

// step runs one step: plan, wait for its end, hand out what it brought.
//
// Ends are kept on a schedule: each step begins where the last one should have ended,
// so that the lateness of one wake-up isn't passed on to all tokens that follow. Only
// where a whole step was missed, because the machine stood still, is the schedule
// moved: an engine doesn't make up for lost time by faster steps.
func (e *engine) step() {
	begun := time.Now()
	batch := e.sched.Plan()
	took := e.duration(batch)
	end := e.at.Add(took)
	if end.Before(begun) {
		end = begun.Add(took)
	}
	for _, entry := range batch.Entries {
		if entry.First {
			entry.Request.Owner.(*stream).admitted = begun
		}
	}
	e.sleep.Until(end)
	e.at = end
	e.steps++
	now := time.Now()
	outputs := e.sched.Commit()
	if state := e.fate(outputs); state != alive {
		e.leave(state)
		return
	}
	e.deliver(outputs, now)
	e.metrics.step(batch, outputs, took, now.Sub(end))
}

// duration is how long a step takes.
func (e *engine) duration(b *scheduler.Batch) time.Duration {
	d := e.opts.Cost.Step(workOf(b, func(r *scheduler.Request) float64 { return r.Owner.(*stream).noise }))
	factor := e.factor * e.draws.Lognormal(draw.StepNoise, e.steps, e.opts.Noise.Step) *
		e.opts.Throttle.At(e.at.Sub(e.started))
	return time.Duration(float64(d) * factor)
}

// fate says whether a planted crash or hang strikes in place of these outputs.
func (e *engine) fate(outputs []scheduler.Output) engineState {
	f := e.opts.Faults
	for _, o := range outputs {
		if o.Total > o.Tokens {
			continue // not its first token
		}
		switch n := o.Request.Owner.(*stream).number; {
		case f.CrashAfter > 0 && n >= f.CrashAfter:
			return dead
		case f.HangAfter > 0 && n >= f.HangAfter:
			return hung
		}
	}
	return alive
}

// leave makes the engine dead or hung, unless it was stopped meanwhile.
func (e *engine) leave(state engineState) {
	e.mu.Lock()
	if e.state == stopped {
		e.mu.Unlock()
		return
	}
	e.state = state
	e.mu.Unlock()
	if state == dead {
		e.crash()
		if e.opts.Faults.CrashMode != CrashExit {
			e.endAll(wire.EngineDead())
		}
	}
}

// deliver hands each request what a step brought it.
func (e *engine) deliver(outputs []scheduler.Output, now time.Time) {
	for _, o := range outputs {
		s := o.Request.Owner.(*stream)
		s.put(chunk{tokens: o.Tokens, cached: o.Cached, finish: o.Finish})
	}
	// The books are kept after the frames are on their way.
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, o := range outputs {
		s := o.Request.Owner.(*stream)
		e.metrics.output(s, o, now)
		if s.first.IsZero() {
			s.first = now
		}
		s.last = now
		s.total = o.Total
		if o.Finish != "" {
			delete(e.live, s)
			e.metrics.finished(s, o.Finish, now)
		}
	}
}

// endAll tells every unfinished request that nothing more will come.
func (e *engine) endAll(fault *wire.Error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for s := range e.live {
		s.end(fault)
	}
	clear(e.live)
	clear(e.inbox)
	e.inbox, e.delayed = e.inbox[:0], nil
}

// close stops the loop and frees what the engine waits with.
func (e *engine) close() {
	e.stop()
	_ = e.sleep.Close() // nobody waits on it any more
}
