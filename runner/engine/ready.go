package engine

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Probe says how to find out whether an engine is ready.
type Probe struct {
	// Path answers 200 once the engine is up. Default /health.
	Path string
	// Alternatives are asked in turn where Path answers 404 or 405: servers that we know
	// nothing about have other routes. Default /v1/models.
	Alternatives []string
	// Header is sent along, for servers that want a key even here.
	Header http.Header
	// Interval is the longest pause between two polls; the first ones come sooner.
	// Default 250 ms.
	Interval time.Duration
	// Timeout bounds all of it, the first token included. 0: only the context does.
	Timeout time.Duration
	// Patience is how long answers are put up with that no booting engine gives (an HTML
	// page, a redirect, 401, 403, or 404 on every path) before they count as a failure.
	// Default 10 s.
	Patience time.Duration
	// FirstToken asks the engine at url for one real token. An engine that calls itself
	// healthy has proved nothing: its workers may be dead, or die on their first request.
	// nil: not asked.
	FirstToken func(ctx context.Context, url string) error
}

const (
	// attemptTimeout bounds one poll. Some engines run a request of their own to answer
	// one, and give up on it only after 20 s.
	attemptTimeout = 30 * time.Second
	// minPause is the shortest time between two polls.
	minPause = 10 * time.Millisecond
	// lastWordsTimeout is how long a failed first request waits for the engine's death:
	// the connection breaks before the process is gone, and its exit says more.
	lastWordsTimeout = 2 * time.Second
	// lastWords is how many lines of the log a NotReadyError carries.
	lastWords = 20
)

func (p Probe) withDefaults() Probe {
	if p.Path == "" {
		p.Path = "/health"
	}
	if p.Alternatives == nil {
		p.Alternatives = []string{"/v1/models"}
	}
	if p.Interval <= 0 {
		p.Interval = 250 * time.Millisecond
	}
	if p.Patience <= 0 {
		p.Patience = 10 * time.Second
	}
	return p
}

// AwaitReady waits until the engine is ready: until it says so and has then produced a
// real token. It fails at once when the engine ends, for whatever reason and with
// whatever exit code. Its error is a [*NotReadyError]; one that ctx caused wraps ctx's.
func AwaitReady(ctx context.Context, h Handle, p Probe) error {
	w := &wait{handle: h, probe: p.withDefaults(), start: time.Now(), outer: ctx}
	if p.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.Timeout)
		defer cancel()
	}
	w.client = newProbeClient()
	defer w.client.CloseIdleConnections()
	ctx, cancel := whileAlive(ctx, h.Life())
	defer cancel()
	if err := w.healthy(ctx); err != nil {
		return err
	}
	return w.firstToken(ctx)
}

// whileAlive returns a context that is also cancelled by the engine's end, so that
// nothing waits for an answer of the dead.
func whileAlive(ctx context.Context, life *Life) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-life.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// wait is one call of AwaitReady.
type wait struct {
	handle Handle
	probe  Probe
	client *http.Client
	start  time.Time
	outer  context.Context // the caller's: tells an interrupt from our own timeout

	lastProbe error     // why the engine wasn't ready when last asked
	wrongFrom time.Time // since when it gives answers that no booting engine gives
}

// healthy polls until the engine says that it is up.
func (w *wait) healthy(ctx context.Context) error {
	life := w.handle.Life()
	for {
		err := w.poll(ctx)
		if life.Ended() {
			return w.failed(StageBoot, nil)
		}
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			w.lastProbe = err
		}
		if w.hopeless(err) {
			return w.failed(StageBoot, err)
		}
		select {
		case <-ctx.Done():
			return w.failed(StageBoot, w.interrupted())
		case <-time.After(w.pause()):
		}
	}
}

// pause is the time until the next poll: a tenth of what was waited already, so that an
// engine that boots in no time isn't kept waiting, and Interval at most.
func (w *wait) pause() time.Duration {
	return min(w.probe.Interval, max(minPause, time.Since(w.start)/10))
}

// hopeless tells whether err is an answer that won't get better by waiting.
func (w *wait) hopeless(err error) bool {
	var answer *answerError
	if !errors.As(err, &answer) || !answer.wrong {
		w.wrongFrom = time.Time{}
		return false
	}
	if w.wrongFrom.IsZero() {
		w.wrongFrom = time.Now()
	}
	return time.Since(w.wrongFrom) >= w.probe.Patience
}

// firstToken asks for one token and reports what that led to.
func (w *wait) firstToken(ctx context.Context) error {
	if w.probe.FirstToken == nil {
		return nil
	}
	err := w.probe.FirstToken(ctx, w.handle.URL())
	if life := w.handle.Life(); err != nil && life != nil && w.outer.Err() == nil {
		select {
		case <-life.Done():
		case <-w.outer.Done():
		case <-time.After(lastWordsTimeout):
		}
	}
	switch {
	case w.handle.Life().Ended():
		return w.failed(StageFirstToken, nil)
	case err != nil && ctx.Err() != nil:
		return w.failed(StageFirstToken, w.interrupted())
	case err != nil:
		return w.failed(StageFirstToken, err)
	}
	return nil
}

// interrupted says why the waiting was given up: by the caller, or by our own timeout.
func (w *wait) interrupted() error {
	if err := w.outer.Err(); err != nil {
		return err
	}
	return context.DeadlineExceeded
}

// failed makes the error. cause is nil where the engine's end is the cause.
func (w *wait) failed(stage Stage, cause error) error {
	life := w.handle.Life()
	e := &NotReadyError{
		Stage: stage, Waited: time.Since(w.start), LastProbe: w.lastProbe, Err: cause,
		LastLines: life.LastLines(lastWords),
	}
	if life.Ended() {
		exit := life.Exit()
		e.Exit = &exit
	}
	return e
}
