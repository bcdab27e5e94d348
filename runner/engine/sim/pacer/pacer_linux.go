package pacer

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Pacer sleeps by a timerfd. One goroutine at a time may sleep on it.
type Pacer struct {
	fd   int
	file *os.File
	buf  [8]byte
}

// New returns a Pacer, which must be closed.
func New() (*Pacer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create timerfd: %w", err)
	}
	return &Pacer{fd: fd, file: os.NewFile(uintptr(fd), "timerfd")}, nil
}

// Until returns at t, or at once after Interrupt.
func (p *Pacer) Until(t time.Time) {
	d := time.Until(t)
	if d <= 0 {
		return
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	if err := unix.TimerfdSettime(p.fd, 0, &spec, nil); err != nil {
		time.Sleep(d) // a bad descriptor: late is better than never
		return
	}
	// The read parks the goroutine in the runtime's poller until the timer expires. It
	// fails only after Interrupt or Close, and both mean: don't sleep.
	_, _ = p.file.Read(p.buf[:])
}

// Interrupt ends the current sleep and all later ones.
func (p *Pacer) Interrupt() { _ = p.file.SetReadDeadline(time.Unix(1, 0)) }

// Close frees the descriptor.
func (p *Pacer) Close() error { return p.file.Close() }
