package load

import (
	"context"
	"time"
)

// closed starts the streams of a closed loop, and returns when no more requests are
// to be issued. The error is the cause if the drive was cancelled.
func (d *drive) closed() error {
	base := d.now()
	streams := d.Spec.Concurrency
	if d.Spec.start() == Spread && streams > 1 {
		d.pace = d.Pace
		if d.pace == 0 {
			d.pace = d.lone(base)
			base = d.now()
		}
	}
	for k := range streams {
		due := base + d.pace*time.Duration(k)/time.Duration(streams)
		if ok, err := d.wait(d.load, due); err != nil {
			return err
		} else if !ok {
			break
		}
		d.ledger.join()
		d.sending.Go(func() { d.stream(k, due) })
	}
	<-d.load.Done()
	return context.Cause(d.requests)
}

// lone sends one request of the warm-up alone and returns how long it took.
func (d *drive) lone(due time.Duration) time.Duration {
	d.issue(0, due)
	return d.now() - due
}

// stream sends one request after the other, the first at due, until the last measured
// request of all streams has ended.
func (d *drive) stream(k int, due time.Duration) {
	for d.issue(k, due) {
		due = d.now()
	}
}

// issue sends the next request for stream k, which became free at due, and returns
// when it has ended. It reports false when there is none to be sent.
func (d *drive) issue(k int, due time.Duration) bool {
	if d.load.Err() != nil {
		return false
	}
	phase, ok := d.ledger.next(due)
	if !ok {
		return false
	}
	p, waited, ok := d.queues[phase].take(d.load)
	if !ok {
		return false
	}
	// The index is that of the queue: streams that take at the same time may come to
	// it in another order than to the ledger.
	t := Ticket{Phase: phase, Index: p.index, Stream: k, Due: due}
	d.ledger.send(t, d.now(), waited)
	d.send(t, p.send)
	return true
}
