package runner

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/runner/openai"
	"github.com/servegate/servegate/runner/workload"
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
	// firstTokenWords is the length of the prompt that the first real token is asked for.
	firstTokenWords = 16
	// firstTokenTries is how often it is asked for where an answer brings an error.
	firstTokenTries = 5
	// shownTokens is how many a stream is asked for instead: not every token is shown by a
	// frame of its own, and one may be the half of a character.
	shownTokens = 8
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

// autopsy finds out whether the engine is gone, and nil if it still answers as cell c
// asks it to: its process has ended, or it gives no token any more. A process may be
// alive, and even healthy over HTTP, with the engine in it dead.
func (s *session) autopsy(ctx context.Context, c *cellState) *lostError {
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
	err := s.anyToken(asking, s.engine.handle.URL(), s.tokenOf(c))
	switch {
	case life.Ended():
		return died(life)
	case err == nil, ctx.Err() != nil:
		return nil
	}
	return &lostError{fmt.Sprintf("engine died: it gives no token any more: %v", err)}
}

// firstToken asks for one real token.
func (s *session) firstToken(ctx context.Context, url string) error {
	return s.anyToken(ctx, url, openai.Params{MaxTokens: 1})
}

// tokenOf is how the engine that runs is asked whether it still serves cell c: where that
// is streamed by a stream, for it may be the streaming that has died.
func (s *session) tokenOf(c *cellState) openai.Params {
	can := s.engine.traits.abilities[c.Workload.API]
	p := openai.Params{Chat: c.Workload.API == workload.Chat, MaxTokens: 1}
	if c.Workload.Stream {
		p.Stream, p.MaxTokens, p.IgnoreEOS = true, shownTokens, can.IgnoreEOS
		p.ContinuousUsage, p.ReturnTokenIDs = can.ContinuousUsage, can.ReturnTokenIDs && !can.ContinuousUsage
	}
	return p
}

// anyToken asks for a token by p, whose model and prompt it chooses. A server without a
// completions route is asked as a chat. A stream has given one however it ended.
func (s *session) anyToken(ctx context.Context, url string, p openai.Params) error {
	c, err := s.client(url)
	if err != nil {
		return err
	}
	defer c.Close()
	var t traits
	s.identify(ctx, c, &t)
	p.Model, p.Text = t.model, words(firstTokenWords)
	for range firstTokenTries {
		var r gate.Request
		if r, err = c.Complete(ctx, p); err != nil && r.Status == http.StatusNotFound && !p.Chat {
			p.Chat = true
			r, err = c.Complete(ctx, p)
		}
		switch {
		case len(r.Arrivals) > 0:
			return nil
		case err == nil, ctx.Err() != nil, !passing(r.Outcome):
			return err
		}
	}
	return err
}

// passing reports whether an outcome may be one request's bad luck. An engine with a
// share of errors is measured: they are what the gate is there to see.
func passing(o gate.Outcome) bool {
	switch o {
	case gate.HTTP5xx, gate.Rejected, gate.InBandError, gate.Truncated, gate.Malformed:
		return true
	}
	return false
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
