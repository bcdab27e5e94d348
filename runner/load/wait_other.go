//go:build !linux

package load

import (
	"context"
	"time"
)

// Waiter waits as precisely as the system lets it: on this one no better than
// [WaitTimer].
type Waiter struct{}

// NewWaiter makes a Waiter. The error is always nil.
func NewWaiter() (*Waiter, error) { return &Waiter{}, nil }

// Wait is a [WaitFunc].
func (w *Waiter) Wait(ctx context.Context, until time.Time) error { return WaitTimer(ctx, until) }

// Close does nothing.
func (w *Waiter) Close() error { return nil }
