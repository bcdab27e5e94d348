package load

import (
	"context"

	"github.com/servegate/servegate/gate"
)

// queue holds the requests of one phase that are built and not yet sent.
type queue struct {
	limit  int // requests of the phase; -1: without end
	ready  chan prepared
	primed chan struct{} // closed when ready is full, or holds all there are
}

type prepared struct {
	index int
	send  Send
}

// newQueue makes the queue of a phase with at most limit requests (-1: without end),
// of which up to ahead are built before they are asked for.
func newQueue(limit, ahead int) *queue {
	if limit >= 0 {
		ahead = min(ahead, limit)
	}
	return &queue{limit: limit, ready: make(chan prepared, ahead), primed: make(chan struct{})}
}

// fill builds the requests in their order until there are no more or ctx ends.
func (q *queue) fill(ctx context.Context, phase gate.Phase, prepare Prepare) {
	for i := 0; i != q.limit; i++ {
		if i == cap(q.ready) {
			close(q.primed)
		}
		if ctx.Err() != nil {
			return
		}
		p := prepared{index: i, send: prepare(phase, i)}
		select {
		case q.ready <- p:
		case <-ctx.Done():
			return
		}
	}
	if q.limit == cap(q.ready) { // else closed above
		close(q.primed)
	}
}

// take removes the next request. waited says that it had to be waited for; ok is
// false when ctx ended before there was one.
func (q *queue) take(ctx context.Context) (p prepared, waited, ok bool) {
	select {
	case p = <-q.ready:
		return p, false, true
	default:
	}
	select {
	case p = <-q.ready:
		return p, true, true
	case <-ctx.Done():
		return p, true, false
	}
}
