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

// close stops the loop and frees what the engine waits with.
func (e *engine) close() {
	e.stop()
	_ = e.sleep.Close() // nobody waits on it any more
}
