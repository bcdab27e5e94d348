package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Waiter waits to within tens of microseconds, by a kernel timer (timerfd). It serves
// one goroutine at a time. In a testing/synctest bubble use [WaitTimer]: a Waiter
// knows the real clock only.
type Waiter struct {
	timer *os.File
	fd    int // of timer
}

// NewWaiter opens the kernel timer. Close it after use.
func NewWaiter() (*Waiter, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create kernel timer: %w", err)
	}
	w := &Waiter{timer: os.NewFile(uintptr(fd), "timerfd"), fd: fd}
	if err := w.timer.SetReadDeadline(time.Time{}); err != nil {
		return nil, errors.Join(fmt.Errorf("create kernel timer: %w", err), w.Close())
	}
	return w, nil
}

// Wait is a [WaitFunc].
//
// It waits for the kernel timer and for a Go timer at once, for whichever comes first.
// A Go timer alone is late while the process sleeps, since epoll_wait counts in
// milliseconds. The kernel timer alone is late while every thread is busy, since the
// runtime then seldom asks the poller, but looks at its own timers between goroutines.
func (w *Waiter) Wait(ctx context.Context, until time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := w.timer.SetReadDeadline(until); err != nil {
		return fmt.Errorf("set deadline of kernel timer: %w", err)
	}
	d := time.Until(until)
	if d <= 0 {
		return nil
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	if err := unix.TimerfdSettime(w.fd, 0, &spec, nil); err != nil {
		return fmt.Errorf("set kernel timer: %w", err)
	}
	defer w.interrupt(ctx)()
	var expirations [8]byte
	_, err := w.timer.Read(expirations[:])
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("read kernel timer: %w", err)
	}
	return nil
}

// interrupt makes a Read return when ctx ends. release undoes it, and waits for it
// where it has begun: it must not hit the deadline of the next Wait.
func (w *Waiter) interrupt(ctx context.Context) (release func()) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = w.timer.SetReadDeadline(time.Unix(1, 0)) // fails only once the timer is closed
		close(done)
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}

// Close releases the kernel timer.
func (w *Waiter) Close() error { return w.timer.Close() }
