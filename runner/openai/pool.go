package openai

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

var errClosed = errors.New("client is closed")

// pool keeps connections open so that a request that is due finds one.
type pool struct {
	dialer dialer
	wake   chan struct{} // something changed: the keeper has a look
	tended sync.WaitGroup
	ctx    context.Context // ends when the pool is closed
	stop   context.CancelFunc

	mu      sync.Mutex
	idle    []*conn // ascending by idleSince: the last one was used last
	busy    int
	want    int  // connections to keep, busy ones included
	spare   int  // idle connections to keep beside the busy ones
	oneShot bool // the server closes connections after an answer
	kept    bool // the keeper runs
	closed  bool

	dialled, late, stale, unstampable atomic.Int64
}

func newPool(d dialer) *pool {
	p := &pool{dialer: d, wake: make(chan struct{}, 1)}
	p.ctx, p.stop = context.WithCancel(context.Background())
	return p
}

// open brings the pool to n connections, and has it keep them and the spares from then
// on.
func (p *pool) open(ctx context.Context, n, spare int) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return errClosed
	}
	p.want, p.spare = n, spare
	missing := p.missing(0)
	if !p.kept {
		p.kept = true
		p.tended.Go(p.keep)
	}
	p.mu.Unlock()
	if err := p.fill(ctx, missing); err != nil {
		return fmt.Errorf("open %d connections: %w", n, err)
	}
	awaitStamps()
	return nil
}

func (p *pool) dial(ctx context.Context) (*conn, error) {
	c, err := p.dialer.dial(ctx)
	if err != nil {
		return nil, err
	}
	p.dialled.Add(1)
	if !c.kernel {
		p.unstampable.Add(1)
	}
	return c, nil
}

// add puts c among the idle ones. p.mu is held.
func (p *pool) add(c *conn) {
	if p.closed {
		c.close()
		return
	}
	c.idleSince = time.Now()
	p.idle = append(p.idle, c)
}

// take returns an open connection, the one that was used last: its path is warm and the
// server least likely to have given it up. Where none is left it opens one, and the
// request goes out late.
func (p *pool) take(ctx context.Context) (*conn, error) {
	for {
		c, err := p.pop()
		if err != nil {
			return nil, err
		}
		if c == nil {
			break
		}
		if c.open() {
			return c, nil
		}
		p.stale.Add(1)
		p.drop(c, false)
	}
	p.late.Add(1)
	p.rouse()
	c, err := p.dial(ctx)
	if err != nil {
		p.mu.Lock()
		p.busy--
		p.mu.Unlock()
	}
	return c, err
}

// pop takes the last idle connection, nil where there is none, and counts it as busy.
func (p *pool) pop() (*conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	p.busy++
	last := len(p.idle) - 1
	if last < 0 {
		return nil, nil
	}
	c := p.idle[last]
	p.idle = p.idle[:last]
	if len(p.idle) < p.spare {
		p.rouse()
	}
	return c, nil
}

// put takes back a connection that may serve another request.
func (p *pool) put(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy--
	p.add(c)
}

// drop takes back a connection that is of no further use; byServer says that the server
// announced to close it.
func (p *pool) drop(c *conn, byServer bool) {
	c.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy--
	p.oneShot = p.oneShot || byServer
	p.rouse()
}

// aside runs what puts or drops the busy c, beside the requests.
func (p *pool) aside(c *conn, free func()) {
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.tended.Go(free)
	}
	p.mu.Unlock()
	if closed {
		p.drop(c, false)
	}
}

// rouse makes the keeper have a look.
func (p *pool) rouse() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// close ends the keeper and closes the idle connections; busy ones are closed when
// their requests end.
func (p *pool) close() {
	p.stop()
	p.mu.Lock()
	p.closed = true
	for _, c := range p.idle {
		c.close()
	}
	p.idle = nil
	p.mu.Unlock()
	p.tended.Wait()
}
