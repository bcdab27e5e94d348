//go:build !linux

package pacer

// Pacer sleeps by the runtime's timers.
type Pacer struct{ Timer }

// New returns a Pacer.
func New() (*Pacer, error) { return &Pacer{Timer: *NewTimer()}, nil }
