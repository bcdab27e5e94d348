package load

import (
	"sync"
	"time"

	"github.com/servegate/servegate/gate"
)

// ledger knows which phase the load is in, what was sent in it and what is in flight.
type ledger struct {
	amount  Amount
	streams int    // of a closed loop; 0: open loop
	stop    func() // called once the last measured request has ended

	mu        sync.Mutex
	result    Result
	phase     gate.Phase
	going     int // streams of a closed loop that have started
	taken     map[gate.Phase]int
	start     time.Duration // due moment of the first measured request
	measuring int           // measured requests taken and not ended
	over      bool          // the last measured request has ended
	inFlight  int
	abandoned bool
}

func newLedger(a Amount, s Spec, stop func()) *ledger {
	l := &ledger{amount: a, streams: s.Concurrency, stop: stop, phase: gate.Warmup, taken: map[gate.Phase]int{}}
	if s.start() == Together {
		l.going = l.streams // all of them start at one moment, before any sends
	}
	return l
}

// most is the largest number of requests that a phase can have, -1 where nothing
// limits it.
func (l *ledger) most(phase gate.Phase) int {
	switch {
	case phase == gate.Warmup && l.streams == 0:
		return l.amount.Warmup
	case phase == gate.Measure && l.amount.Requests > 0:
		return l.amount.Requests
	}
	return -1
}

// join notes that one more stream of a closed loop is going.
func (l *ledger) join() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.going++
}

// next takes a request for a stream that became free at due, and says which phase it
// belongs to. It reports false when no more are wanted.
func (l *ledger) next(due time.Duration) (gate.Phase, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase == gate.Warmup && l.taken[gate.Warmup] >= l.amount.Warmup && l.going >= l.streams {
		l.phase = gate.Measure
	}
	if n := l.taken[gate.Measure]; l.phase == gate.Measure && n > 0 && !l.amount.more(n, l.start, due) {
		l.close(due)
	}
	if l.over {
		return "", false
	}
	l.note(l.phase, due)
	return l.phase, true
}

// take takes the request of an open loop that is due at due in the given phase.
func (l *ledger) take(phase gate.Phase, due, now time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if phase == gate.Drain {
		l.close(now)
	}
	l.note(phase, due)
}

// note counts a request as taken. It needs the lock.
func (l *ledger) note(phase gate.Phase, due time.Duration) {
	if phase == gate.Measure {
		if l.taken[phase] == 0 {
			l.start = due
		}
		l.measuring++
	}
	l.taken[phase]++
}

// close ends the measured phase: no more of its requests will be taken. It needs the
// lock.
func (l *ledger) close(now time.Duration) {
	l.phase = gate.Drain
	l.settle(now)
}

// settle ends the load if the last measured request has ended. It needs the lock.
func (l *ledger) settle(now time.Duration) {
	if l.phase == gate.Drain && l.measuring == 0 && !l.over {
		l.over = true
		l.result.MeasureEnd = now
		l.stop()
	}
}

// send notes that t is sent now. waited says that its request wasn't built in time.
func (l *ledger) send(t Ticket, now time.Duration, waited bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &l.result
	if r.Warmup+r.Measure+r.Drain == 0 {
		r.Start = t.Due
	}
	switch t.Phase {
	case gate.Warmup:
		r.Warmup++
	case gate.Measure:
		if r.Measure++; r.Measure == 1 {
			r.MeasureStart = t.Due
		}
		r.MeasureStart = min(r.MeasureStart, t.Due) // streams don't send in strict order
		r.MeasureLast = max(r.MeasureLast, t.Due)
	case gate.Drain:
		r.Drain++
	}
	if waited {
		r.Unprepared++
	}
	lag := now - t.Due
	if lag > LateAfter {
		r.Late++
	}
	r.MaxLag = max(r.MaxLag, lag)
	l.inFlight++
	r.Peak = max(r.Peak, l.inFlight)
}

// end notes that a request of phase has ended now.
func (l *ledger) end(phase gate.Phase, now time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight--
	if phase == gate.Measure {
		l.measuring--
		l.settle(now)
	}
}

// load is the number of requests in flight.
func (l *ledger) load() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inFlight
}

// abandon notes that what is in flight is about to be cancelled. Only the first call
// counts: what ends after it ends because of it.
func (l *ledger) abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.abandoned {
		return
	}
	l.abandoned = true
	l.result.Cancelled = l.inFlight
	l.result.Interrupted = !l.over
}

// report is the result of a drive that ended at end.
func (l *ledger) report(end, pace time.Duration) Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.result.End, l.result.Pace = end, pace
	return l.result
}
