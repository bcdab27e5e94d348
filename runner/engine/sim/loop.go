package sim

import (
	"time"

	"github.com/servegate/servegate/runner/engine/sim/draw"
	"github.com/servegate/servegate/runner/engine/sim/scheduler"
	"github.com/servegate/servegate/runner/engine/sim/wire"
)

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
			if _, ok := e.live[c.submit]; ok { // else the engine died under it
				e.delayed = append(e.delayed, c.submit)
			}
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
	if e.over() {
		return // woken before the time: the step's tokens will never be
	}
	e.at = end
	e.steps++
	now := time.Now()
	outputs := e.sched.Commit()
	if state := e.fate(outputs); state != alive {
		e.leave(state)
		return
	}
	e.metrics.step(batch, outputs, took, now.Sub(end))
	e.book(outputs, now)
	for _, o := range outputs {
		o.Request.Owner.(*stream).put(chunk{tokens: o.Tokens, cached: o.Cached, finish: o.Finish})
	}
}

// over reports whether the engine was stopped.
func (e *engine) over() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state == stopped
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

// book enters what a step brought into the books. That is done before the frames are
// sent, though it holds up those of a large batch by some 10 us: whoever has seen the
// last frame finds it in /metrics.
func (e *engine) book(outputs []scheduler.Output, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, o := range outputs {
		s := o.Request.Owner.(*stream)
		e.metrics.output(s, o, now)
		if s.first.IsZero() {
			s.first = now
		}
		s.last, s.total = now, o.Total
		if o.Finish != "" {
			delete(e.live, s)
			e.metrics.finished(s, o.Finish, now)
		}
	}
	e.metrics.queue(e.sched.Stats(), len(e.delayed), e.opts.Scheduler.Blocks)
}

// endAll tells every unfinished request that nothing more will come.
func (e *engine) endAll(fault *wire.Error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for s := range e.live {
		s.end(fault)
	}
	clear(e.live)
	e.delayed = nil
}
