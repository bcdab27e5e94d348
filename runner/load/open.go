package load

import (
	"context"
	"fmt"
)

// open issues an open loop, and returns when no more is to be issued. The error is
// the cause if the drive was cancelled, or ErrOverload.
func (d *drive) open() error {
	start := d.now()
	for t := range Tickets(d.Spec, d.Amount, d.Seed) {
		t.Due += start
		d.ledger.take(t.Phase, t.Due, d.now())
		p, waited, ok := d.queues[t.Phase].take(d.load)
		if !ok {
			break
		}
		if ok, err := d.wait(d.load, t.Due); err != nil {
			return err
		} else if !ok {
			break
		}
		if n := d.ledger.load(); n >= d.MaxInFlight {
			return fmt.Errorf("send request %d of %s: %w: %d, the limit; the engine no longer keeps up with this rate",
				t.Index, t.Phase, ErrOverload, n)
		}
		d.ledger.send(t, d.now(), waited)
		d.sending.Go(func() { d.send(t, p.send) })
	}
	return context.Cause(d.requests)
}
