package openai

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxIdle is how long a connection may lie idle before it is replaced. Engines
	// behind uvicorn close one after 5 s, some proxies sooner.
	maxIdle = 3 * time.Second
	// tendEvery is how often idle connections are looked after.
	tendEvery = 500 * time.Millisecond
	// maxDials is how many connections are opened at the same time.
	maxDials = 32
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
	return nil
}

// missing is how many connections there are too few once gone of the idle ones are
// closed. p.mu is held.
func (p *pool) missing(gone int) int {
	spare := p.spare
	if p.oneShot {
		// Each answer costs its connection: the next request of every stream needs
		// another one at once.
		spare = max(spare, p.want)
	}
	idle := len(p.idle) - gone
	return max(0, p.want-p.busy-idle, spare-idle)
}

// fill opens n connections, several at a time, and returns the first error.
func (p *pool) fill(ctx context.Context, n int) error {
	var wg sync.WaitGroup
	var once sync.Once
	var first error
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	slots := make(chan struct{}, maxDials)
	for range n {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			c, err := p.dial(ctx)
			if err != nil {
				once.Do(func() { first = err; cancel() })
				return
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			p.add(c)
		})
	}
	wg.Wait()
	if first == nil {
		first = ctx.Err()
	}
	return first
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

// keep holds the number of connections and replaces those that lie idle for long, until
// the pool is closed.
func (p *pool) keep() {
	tick := time.NewTicker(tendEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-p.wake:
		case <-tick.C:
		}
		if p.tend() != nil {
			// The server refuses; a request that is due will say so. Don't hammer it.
			select {
			case <-p.ctx.Done():
			case <-tick.C:
			}
		}
	}
}

// tend opens what is missing, and successors for connections that lie idle for too
// long, before it closes those: at no moment are there fewer than before.
func (p *pool) tend() error {
	p.sweep()
	before := time.Now().Add(-maxIdle)
	p.mu.Lock()
	old := 0
	for old < len(p.idle) && p.idle[old].idleSince.Before(before) {
		old++
	}
	missing := p.missing(old)
	p.mu.Unlock()
	err := p.fill(p.ctx, missing)
	p.mu.Lock()
	defer p.mu.Unlock()
	for n := 0; n < old && len(p.idle) > 0 && p.idle[0].idleSince.Before(before); n++ {
		p.idle[0].close()
		p.idle = p.idle[1:]
		p.stale.Add(1)
	}
	return err
}

// sweep closes idle connections that the server has closed. It looks at one at a time,
// so that a request that is due never waits for more.
func (p *pool) sweep() {
	for i := 0; ; {
		p.mu.Lock()
		if i >= len(p.idle) {
			p.mu.Unlock()
			return
		}
		if c := p.idle[i]; c.open() {
			i++
		} else {
			p.idle = slices.Delete(p.idle, i, i+1)
			p.stale.Add(1)
			c.close()
		}
		p.mu.Unlock()
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
