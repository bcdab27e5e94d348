package runner

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
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
	failed latest       // of the requests that failed with an answer
	served latest       // of those that didn't
	// lack is what the client had too little of to open a connection.
	lack atomic.Pointer[string]
}

// feel takes a request that has ended.
func (p *pulse) feel(r *gate.Request) {
	switch r.Outcome {
	case gate.Connect:
		if lack := lackOf(r.Error); lack != "" {
			p.lack.Store(&lack)
			return
		}
		p.refuse.Add(1)
		p.broken.Add(1)
		return
	case gate.Truncated, gate.Timeout, gate.InBandError, gate.HTTP5xx:
		p.broken.Add(1)
	case gate.HTTP4xx, gate.Malformed, gate.Empty:
		p.failed.note(r.Sent)
	case gate.OK:
		p.served.note(r.Sent)
	}
	p.refuse.Store(0)
}

// answer reports whether a request ended with o by what the engine made of it, and was
// neither cut off nor given up.
func answer(o gate.Outcome) bool {
	switch o {
	case gate.OK, gate.ShortOutput, gate.Empty, gate.HTTP4xx, gate.HTTP5xx, gate.Rejected, gate.InBandError:
		return true
	}
	return false
}

// lackOf says what this host ran out of where a connection couldn't be opened for lack
// of it: that is no failure of the engine's, and nothing else tells the two apart.
func lackOf(text string) string {
	switch {
	case strings.Contains(text, syscall.EMFILE.Error()), strings.Contains(text, syscall.ENFILE.Error()):
		return "open files (raise ulimit -n)"
	case strings.Contains(text, syscall.EADDRNOTAVAIL.Error()):
		return "ports for new connections (let the server keep its connections open)"
	}
	return ""
}

// suspect reports whether any request broke off as they do when an engine dies, or the
// last ones that were sent failed in whatever way: what stands in front of an engine that
// has died may answer in its place.
func (p *pulse) suspect() bool { return p.broken.Load() > 0 || p.failed.Load() > p.served.Load() }

// latest is the time at which the last of some requests was sent, in nanoseconds from
// the origin. Quick failures end before what was sent earlier: the end tells no order.
type latest struct{ atomic.Int64 }

func (l *latest) note(sent time.Duration) {
	for {
		old := l.Load()
		if int64(sent) <= old || l.CompareAndSwap(old, int64(sent)) {
			return
		}
	}
}

// gone reports whether requests have only met closed doors of late, and begins to
// count anew where they have.
func (p *pulse) gone() bool {
	return p.refuse.Load() >= goneAfter && p.refuse.Swap(0) >= goneAfter
}

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
