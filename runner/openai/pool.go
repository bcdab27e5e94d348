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

var errClosed = errors.New("client is closed")

// pool keeps connections open so that a request that is due finds one.
type pool struct {
	dialer dialer
	wake   chan struct{} // something changed: the keeper has a look
	tended sync.WaitGroup
	ctx    context.Context // ends when the pool is closed
	stop   context.CancelFunc

	mu sync.Mutex
	// The idle connections, each list ascending by idleSince: those that nothing went
	// over yet, those that may serve another request, and those of which the latter has
	// to show.
	fresh, used, parked []*conn
	busy                int
	want                int // connections to keep, busy ones included
	spare               int // idle connections to keep beside the busy ones
	reuse               reuse
	reused, broken      int  // connections taken for another request, and those that didn't outlive an answer
	kept                bool // the keeper runs
	closed              bool

	dialled, late, stale, unstampable atomic.Int64
}

// reuse is what is known of whether the server lets connections serve again. Not all
// that promise it do: llama.cpp's closes each one right behind the end of a stream, and
// a request that is sent into that is lost. So it is first held against an answer.
type reuse int

const (
	reuseUnproven reuse = iota
	reuseWorks
	reuseFails // each request needs a new connection
)

const (
	// probation is how long a connection must stay open after the first answers for
	// reuse to be believed in.
	probation = 100 * time.Millisecond
	// learnTimeout bounds the wait for reuse to be known and the idle connections to be
	// there, counted from the end of the answer that shows it.
	learnTimeout = 5 * probation
	// rightAfter is how soon after an answer a connection is closed by a server that
	// doesn't mean to keep it; later it is the idle timeout.
	rightAfter = time.Second
)

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

// take returns an open connection. Where none is left it opens one, and the request
// goes out late.
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
		p.drop(c)
		if c.used > 0 && time.Since(c.idleSince) < rightAfter {
			p.noteBroken(false)
		}
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

// pop takes an idle connection, nil where there is none, and counts it as busy. The one
// that was used last comes first, and of fresh ones the oldest: where a server has a
// thread for each connection, but not for that many, those are the ones that have one.
func (p *pool) pop() (*conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	p.busy++
	var c *conn
	if last := len(p.used) - 1; last >= 0 {
		c, p.used = p.used[last], p.used[:last]
		p.reused++
	} else if len(p.fresh) > 0 {
		c = p.fresh[0]
		p.fresh = slices.Delete(p.fresh, 0, 1)
	}
	if p.missing(0) > 0 {
		p.rouse()
	}
	return c, nil
}

// addFresh takes in a connection that was just opened.
func (p *pool) addFresh(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.close()
		return
	}
	c.idleSince = time.Now()
	p.fresh = append(p.fresh, c)
}

// put takes back a connection that may serve another request, as its last answer says.
func (p *pool) put(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy--
	c.idleSince = time.Now()
	switch {
	case p.closed || p.reuse == reuseFails:
		c.close()
		p.rouse()
	case p.reuse == reuseWorks:
		p.used = append(p.used, c)
	default:
		if p.parked = append(p.parked, c); len(p.parked) == 1 {
			time.AfterFunc(probation, p.prove)
		}
		p.rouse()
	}
}

// prove looks at what the server has done to the connections of its first answers.
func (p *pool) prove() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reuse == reuseUnproven {
		p.reuse = reuseWorks
		for _, c := range p.parked {
			if !c.open() {
				p.reuse = reuseFails
			}
		}
	}
	for _, c := range p.parked {
		if p.closed || p.reuse == reuseFails {
			c.close()
		} else {
			p.used = append(p.used, c)
		}
	}
	p.parked = nil
	p.rouse()
}

// settle waits until what there is to know of reuse is known, and as many connections are
// open as are kept; for learnTimeout at most.
func (p *pool) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, learnTimeout)
	defer cancel()
	look := time.NewTicker(probation / 20)
	defer look.Stop()
	for {
		p.mu.Lock()
		learning := p.reuse == reuseUnproven && len(p.parked)+p.busy > 0
		settled := !learning && p.missing(0) == 0
		p.mu.Unlock()
		if settled {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// drop takes back a connection that is of no further use.
func (p *pool) drop(c *conn) {
	c.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy--
	p.rouse()
}

// noteBroken takes note that a connection didn't outlive an answer. Where nothing else
// is known yet and the server announced it, that settles it. Else once can be chance, or
// the hundredth request; but where it is more than one in ten, connections aren't reused
// any more.
func (p *pool) noteBroken(announced bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken++
	if p.reuse == reuseUnproven && announced || p.broken > 2 && p.broken*10 > p.reused {
		p.reuse = reuseFails
	}
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
		p.drop(c)
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
	for _, list := range []*[]*conn{&p.fresh, &p.used, &p.parked} {
		for _, c := range *list {
			c.close()
		}
		*list = nil
	}
	p.mu.Unlock()
	p.tended.Wait()
}
