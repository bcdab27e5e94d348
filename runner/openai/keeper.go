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
	// maxDials is how many connections are opened at the same time, and inOrder up to how
	// many it is one after the other, so that a server which serves them as they came
	// and can't serve all at once does so in the order in which they are used.
	maxDials = 32
	inOrder  = 64
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
	old := countOld(p.fresh, before) + countOld(p.used, before)
	missing := p.missing(old)
	p.mu.Unlock()
	err := p.fill(p.ctx, missing)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, list := range []*[]*conn{&p.fresh, &p.used} {
		n := countOld(*list, before)
		for _, c := range (*list)[:n] {
			c.close()
			p.stale.Add(1)
		}
		*list = slices.Delete(*list, 0, n)
	}
	return err
}

// countOld is how many at the front of a list have been idle since before then.
func countOld(list []*conn, then time.Time) int {
	n := 0
	for n < len(list) && list[n].idleSince.Before(then) {
		n++
	}
	return n
}

// sweep closes idle connections that the server has closed. It looks at one at a time,
// so that a request that is due never waits for more.
func (p *pool) sweep() {
	for _, list := range []*[]*conn{&p.fresh, &p.used} {
		for i := 0; ; {
			p.mu.Lock()
			if i >= len(*list) {
				p.mu.Unlock()
				break
			}
			if c := (*list)[i]; c.open() {
				i++
			} else {
				*list = slices.Delete(*list, i, i+1)
				p.stale.Add(1)
				c.close()
			}
			p.mu.Unlock()
		}
	}
}

// missing is how many connections there are too few once gone of the idle ones are
// closed. p.mu is held.
func (p *pool) missing(gone int) int {
	spare := p.spare
	if p.reuse == reuseFails {
		// Each answer costs its connection: the next request of every stream needs
		// another one at once.
		spare = max(spare, p.want)
	}
	idle := len(p.fresh) + len(p.used) - gone
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
	if n <= inOrder {
		slots = make(chan struct{}, 1)
	}
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
			p.addFresh(c)
		})
	}
	wg.Wait()
	if first == nil {
		first = ctx.Err()
	}
	return first
}
