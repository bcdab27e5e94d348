// Package pacer sleeps until a given moment with less lateness than the Go
// runtime's timers have.
//
// An idle Go process that holds sockets waits in the kernel's poller, whose timeout
// the runtime rounds up to whole milliseconds: a timer then fires up to 1.1 ms late,
// which is a fifth of a simulated step. On Linux a Pacer waits on a timerfd instead,
// which wakes the same poller within some 0.1 ms and holds no thread meanwhile.
// Elsewhere, and under a test's fake clock, it is a plain timer ([Timer]).
package pacer

import "time"

// Timer sleeps by the runtime's timers. Its zero value is not usable: see [NewTimer].
type Timer struct{ interrupted chan struct{} }

// NewTimer returns a Timer. It needs no closing.
func NewTimer() *Timer { return &Timer{interrupted: make(chan struct{})} }

// Until returns at t, or at once after Interrupt.
func (p *Timer) Until(t time.Time) {
	d := time.Until(t)
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.interrupted:
	}
}

// Interrupt ends the current sleep and all later ones. It may be called once.
func (p *Timer) Interrupt() { close(p.interrupted) }

// Close does nothing.
func (p *Timer) Close() error { return nil }
