package runner

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/servegate/servegate/gate"
)

const (
	// connectPause is how long a stream waits after it found no connection: a closed
	// loop would else spin on an engine that is gone.
	connectPause = 100 * time.Millisecond
	// goneAfter is how many requests in a row find no connection before we ask whether
	// the engine is still there.
	goneAfter = 20
	// deathNotice is how long the end of a process may take to reach us once its
	// connections broke.
	deathNotice = 2 * time.Second
	// autopsyTimeout bounds the question whether an engine still answers.
	autopsyTimeout = 30 * time.Second
)

// pulse tells from the outcomes of requests whether the engine may be gone.
type pulse struct {
	broken atomic.Int64 // requests that broke off or found no connection
	refuse atomic.Int64 // requests without a connection since the last one that had one
}

// feel takes the outcome of a request.
func (p *pulse) feel(o gate.Outcome) {
	switch o {
	case gate.Connect:
		p.refuse.Add(1)
		p.broken.Add(1)
		return
	case gate.Truncated, gate.Timeout, gate.InBandError, gate.HTTP5xx:
		p.broken.Add(1)
	}
	p.refuse.Store(0)
}

// suspect reports whether any request ended as they do when an engine dies.
func (p *pulse) suspect() bool { return p.broken.Load() > 0 }

// gone reports whether requests have only met closed doors of late, and begins to
// count anew where they have.
func (p *pulse) gone() bool { return p.refuse.Load() >= goneAfter && p.refuse.Swap(0) >= goneAfter }

// autopsy finds out whether the engine is gone, and nil if it still answers: its
// process has ended, or it gives no token any more. A process may be alive, and even
// healthy over HTTP, with the engine in it dead.
func (s *session) autopsy(ctx context.Context) *lostError {
	life := s.engine.handle.Life()
	if life != nil {
		timer := time.NewTimer(deathNotice)
		defer timer.Stop()
		select {
		case <-life.Done():
			return died(life)
		case <-timer.C:
		case <-ctx.Done():
			return nil
		}
	}
	asking, cancel := context.WithTimeout(ctx, autopsyTimeout)
	defer cancel()
	err := s.firstToken(asking, s.engine.handle.URL())
	switch {
	case life.Ended():
		return died(life)
	case err == nil, ctx.Err() != nil:
		return nil
	}
	return &lostError{fmt.Sprintf("engine died: it gives no token any more: %v", err)}
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
