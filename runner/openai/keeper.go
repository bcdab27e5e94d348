package openai

import (
	"context"
	"slices"
	"sync"
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
			p.sweep()
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
		p.idle = slices.Delete(p.idle, 0, 1)
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
