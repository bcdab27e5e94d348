package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/servegate/servegate/runner/engine/sim/draw"
	"github.com/servegate/servegate/runner/engine/sim/pacer"
)

// Server is one simulated engine: it boots, serves and ends once.
type Server struct {
	opts       Options
	bootNumber uint64
	log        *logger
	metrics    *metrics
	engine     *engine
	draws      draw.Source
	created    time.Time
	calls      atomic.Uint64 // valid generation requests, to number them
	health     atomic.Int32  // a condition
	open       inFlight
	crashed    chan struct{} // closed when the engine dies under load
}

// condition is how the server stands.
type condition int32

const (
	booting condition = iota
	ready
	broken // the engine is dead, HTTP is not
)

// New returns an engine that has yet to be served. The error is that of
// [Options.Check]. What New took is given back at the end of Serve.
func New(opts Options) (*Server, error) {
	p, err := pacer.New()
	if err != nil {
		return nil, fmt.Errorf("create engine: %w", err)
	}
	s, err := newServer(opts, p)
	if err != nil {
		_ = p.Close() // nothing was waited for
		return nil, err
	}
	return s, nil
}

func newServer(opts Options, sleep sleeper) (*Server, error) {
	if err := opts.Check(); err != nil {
		return nil, fmt.Errorf("create engine: %w", err)
	}
	if opts.Log == nil {
		opts.Log = io.Discard
	}
	now := time.Now()
	s := &Server{
		opts: opts, bootNumber: opts.bootNumber(now), log: &logger{w: opts.Log},
		metrics: newMetrics(&opts, now), created: now, crashed: make(chan struct{}),
	}
	s.draws = draw.New(opts.Seed, s.bootNumber)
	var err error
	s.engine, err = newEngine(opts, s.bootNumber, s.metrics, sleep, s.crash)
	return s, err
}

// Serve boots an engine with these options and serves it on its address until ctx
// ends; then it lets unfinished requests end within the grace time and returns nil. A
// planted crash that ends the process is a *[CrashError]; whatever else fails is an
// error too.
func Serve(ctx context.Context, opts Options) error {
	s, err := New(opts)
	if err != nil {
		return err
	}
	if opts.Faults.ListenLate {
		if err := s.boot(ctx); err != nil {
			return s.unbooted(err)
		}
		s.health.Store(int32(ready))
	}
	ln, err := net.Listen("tcp", net.JoinHostPort(opts.Host, strconv.Itoa(opts.Port)))
	if err != nil {
		s.log.fail("api_server.py:1", err.Error())
		return s.unbooted(fmt.Errorf("listen: %w", err))
	}
	return s.Serve(ctx, ln)
}

// Serve is the function Serve on a given listener, which it closes. It may be called
// once.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	web := &http.Server{Handler: s.routes(), ErrorLog: log.New(io.Discard, "", 0)}
	served := make(chan error, 1)
	go func() { served <- web.Serve(ln) }()
	defer func() {
		_ = web.Close() // whatever is still open has had its time
		<-served
	}()
	if condition(s.health.Load()) == booting {
		if err := s.boot(ctx); err != nil {
			return s.unbooted(err)
		}
		s.health.Store(int32(ready))
	}
	var background sync.WaitGroup
	defer background.Wait()
	flooding, dry := context.WithCancel(ctx)
	defer dry()
	background.Go(func() { s.flood(flooding) })
	background.Go(s.engine.run)
	defer s.engine.close()
	s.log.info("api_server.py:1", "Application startup complete. Uvicorn running on http://%s (Press CTRL+C to quit)", ln.Addr())
	select {
	case err := <-served:
		served <- err
		return fmt.Errorf("serve http: %w", err)
	case <-s.crashed:
		if s.opts.Faults.CrashMode == CrashExit {
			return &CrashError{Code: s.opts.Faults.CrashCode}
		}
		return s.outlive(ctx, web)
	case <-ctx.Done():
		return s.shutdown(web)
	}
}

// unbooted frees what New took and turns the end of a boot into Serve's answer: being
// asked to stop while booting is no failure.
func (s *Server) unbooted(err error) error {
	_ = s.engine.sleep.Close() // never waited on
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// crash is called by the engine when it dies under load.
func (s *Server) crash() {
	s.health.Store(int32(broken))
	s.log.fail("core.py:1100", "EngineCore encountered a fatal error.")
	s.log.line(s.opts.Faults.CrashWords)
	close(s.crashed)
}

// flushTime is how long answers that are on their way have after the last of them was
// handed to the kernel's side of the server.
const flushTime = 50 * time.Millisecond

// outlive is the life of a process whose engine is dead: with HTTP, or deaf.
func (s *Server) outlive(ctx context.Context, web *http.Server) error {
	if s.opts.Faults.CrashMode == CrashDeaf {
		if wait(ctx, flushTime) == nil {
			_ = web.Close() // nothing listens any more, and all connections are cut
		}
	}
	<-ctx.Done()
	return nil
}

// shutdown ends the server in order: no new connections, then what is in flight within
// the grace time, then whatever is left.
func (s *Server) shutdown(web *http.Server) error {
	if err := s.ignoreStop(); err != nil {
		return err
	}
	s.log.info("launcher.py:110", "Shutting down FastAPI HTTP server.")
	grace, cancel := context.WithTimeout(context.Background(), s.opts.Grace)
	defer cancel()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = web.Shutdown(grace) // closes the listener at once, and connections as they fall idle
	}()
	select {
	case <-s.open.drained():
		// Shutdown holds connections that were opened and never used for five seconds;
		// those that carried an answer need a moment to flush it.
		select {
		case <-gone:
		case <-time.After(flushTime):
		}
	case <-grace.Done():
	}
	cancel()
	<-gone
	return nil
}

// ignoreStop goes on for the planted time, unless a crash ends the process before.
func (s *Server) ignoreStop() error {
	crashed := s.crashed
	if s.opts.Faults.CrashMode != CrashExit {
		crashed = nil
	}
	select {
	case <-time.After(s.opts.Faults.IgnoreStop):
		return nil
	case <-crashed:
		return &CrashError{Code: s.opts.Faults.CrashCode}
	}
}

// inFlight counts requests, and tells when none is left after draining began.
type inFlight struct {
	mu    sync.Mutex
	n     int
	empty chan struct{} // not nil: draining
}

func (f *inFlight) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
}

func (f *inFlight) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n--
	f.tell()
}

// drained is closed once no request is in flight.
func (f *inFlight) drained() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.empty = make(chan struct{})
	empty := f.empty
	f.tell()
	return empty
}

func (f *inFlight) tell() {
	if f.empty != nil && f.n == 0 {
		close(f.empty)
		f.empty = nil
	}
}
