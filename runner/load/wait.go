package load

import (
	"context"
	"time"
)

// WaitTimer is the portable [WaitFunc]. In a process with little else to do it returns
// up to about a millisecond late, because the Go runtime then sleeps in whole
// milliseconds; see [Waiter].
func WaitTimer(ctx context.Context, until time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d := time.Until(until)
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
