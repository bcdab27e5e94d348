package process

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/servegate/servegate/runner/engine"
)

// handle is an engine that a Launcher has started.
type handle struct {
	launcher Launcher
	prepared *prepared
	life     *engine.Life
	end      func(engine.Exit)
	gone     chan struct{} // closed when nothing is left, or nothing more can be done
	left     []string      // who could not be killed; written before gone is closed

	mu       sync.Mutex // guards what a second start replaces, and is held during it
	log      *logFile
	url      string
	link     *supervisorLink
	started  time.Time
	again    bool // it was started a second time
	stopping bool
}

func newHandle(l Launcher, p *prepared, log *logFile) *handle {
	h := &handle{launcher: l, prepared: p, log: log, gone: make(chan struct{})}
	h.life, h.end = engine.NewLife(h.lastLines)
	return h
}

// URL is the base of the engine's API on the port that was chosen for it.
func (h *handle) URL() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.url
}

// Life ends when the engine's first process does.
func (h *handle) Life() *engine.Life { return h.life }

func (h *handle) lastLines(n int) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return engine.Tail(h.log.path, h.log.offset, n)
}

// boot starts a supervisor and, by it, the engine.
func (h *handle) boot(ctx context.Context) error {
	if err := h.log.note(h.firstLine()); err != nil {
		return &engine.LaunchError{Err: err}
	}
	mark := rand.Text()
	link, err := startSupervisor(h.launcher.Supervisor, h.log.path, mark)
	if err != nil {
		return &engine.LaunchError{Err: err}
	}
	// Only now, with the supervisor waiting: the port shall be free for as short as can be.
	port, err := freePort()
	if err == nil {
		err = link.begin(ctx, h.spec(port, mark))
	}
	if err != nil {
		link.dispose(hurryLimit)
		return h.withLastWords(err)
	}
	h.link, h.url, h.started = link, fmt.Sprintf("http://127.0.0.1:%d", port), time.Now()
	return nil
}

// firstLine says in the log what is started.
func (h *handle) firstLine() string {
	s := fmt.Sprintf("[servegate: %s starts %q", time.Now().UTC().Format(time.RFC3339), h.prepared.argv)
	if h.launcher.Model != "" {
		s += fmt.Sprintf(", model %q", h.launcher.Model)
	}
	if len(h.prepared.unset) > 0 {
		s += ", not set: " + strings.Join(h.prepared.unset, " ")
	}
	return h.prepared.mask.String(s + "]")
}

// spec fills in what is known once there is a port.
func (h *handle) spec(port int, mark string) spec {
	p, expand := h.prepared, h.launcher.expand(port)
	sp := spec{
		Program: p.program, Dir: p.dir, Grace: h.launcher.Grace,
		Secrets: p.secrets, Offset: h.log.offset, LogLimit: h.launcher.LogLimit,
	}
	for _, arg := range p.argv {
		sp.Argv = append(sp.Argv, expand.Replace(arg))
	}
	for _, kv := range p.env {
		name, value, _ := strings.Cut(kv, "=")
		if _, ours := h.launcher.Env[name]; ours {
			value = expand.Replace(value)
		}
		sp.Env = append(sp.Env, name+"="+value)
	}
	sp.Env = append(sp.Env, markName+"="+mark)
	return sp
}

// withLastWords adds what a supervisor that did not come to work left in the log.
func (h *handle) withLastWords(err error) error {
	if words := engine.Tail(h.log.path, h.log.offset, 1); len(words) > 0 {
		err = fmt.Errorf("%w (%s)", err, words[0])
	}
	return launchError(err)
}

// watch hears the supervisors out, and closes gone when the last of them is.
func (h *handle) watch() {
	defer close(h.gone)
	for h.follow() {
	}
	h.log.release()
}

// follow hears one supervisor out. It returns true if the engine was started again.
func (h *handle) follow() bool {
	link := h.current()
	var held *engine.Exit // the end of a first start that is to be followed by a second
	for {
		r, ok := link.next()
		switch {
		case !ok:
			h.lost(link)
			return false
		case r.Kind == exited && h.lostPort(r.Exit):
			held = &r.Exit
		case r.Kind == exited:
			h.end(r.Exit)
		case r.Kind == gone:
			h.left = r.Left
			link.release()
			if held != nil && h.startAgain() {
				return true
			}
			if held == nil {
				held = &engine.Exit{Code: -1, At: time.Now(), Stopped: h.stopAsked(), Note: "it can't be killed"}
			}
			h.end(*held)
			return false
		}
	}
}

func (h *handle) current() *supervisorLink {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.link
}

func (h *handle) stopAsked() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stopping
}

// lost cleans up after a supervisor that ended without saying so: it was killed.
func (h *handle) lost(link *supervisorLink) {
	h.left = link.dispose(dyingLimit)
	h.end(engine.Exit{
		Code: -1, Signal: "SIGKILL", At: time.Now(), Stopped: h.stopAsked(),
		Note: "its supervisor was killed, and the engine with it", LastLines: h.lastLines(exitLines),
	})
}

// atOnce is how soon after its start an engine must die for a taken port to be a reason
// to start it again. One that has been serving is never started again in silence.
const atOnce = 10 * time.Second

// lostPort tells whether the engine died because somebody took its port before it did.
func (h *handle) lostPort(exit engine.Exit) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.again && !h.stopping && !exit.Stopped &&
		time.Since(h.started) < atOnce && engine.AddressInUse(exit.LastLines)
}

// startAgain starts the engine a second time, on another port.
func (h *handle) startAgain() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopping {
		return false
	}
	h.again = true
	ctx, cancel := context.WithTimeout(context.Background(), atOnce)
	defer cancel()
	return h.boot(ctx) == nil
}

// Stop ends the engine and everything that it started. It returns within the grace and
// two seconds, unless the kernel takes longer to take apart what was killed: then within
// the grace and some ten seconds. Once ctx has ended it takes two seconds at most. Its
// error names the processes that are not gone by then.
func (h *handle) Stop(ctx context.Context) error {
	h.mu.Lock()
	h.stopping = true
	link, grace := h.link, h.launcher.Grace
	h.mu.Unlock()
	if ctx.Err() == nil {
		link.order(order{Grace: grace, Limit: dyingLimit})
		if h.goneBy(ctx.Done(), grace+dyingLimit+patience) {
			return h.leftError()
		}
	}
	link.order(order{Limit: hurryLimit})
	if h.goneBy(nil, hurryLimit+patience) {
		return h.leftError()
	}
	link.kill()
	if h.goneBy(nil, 2*patience) {
		return h.leftError()
	}
	return errors.New("stop engine: everything is killed, and not yet gone")
}

// goneBy waits until all is gone; false: cut short, or not within the limit.
func (h *handle) goneBy(cut <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-h.gone:
		return true
	case <-cut:
	case <-timer.C:
	}
	return false
}

func (h *handle) leftError() error {
	if len(h.left) == 0 {
		return nil
	}
	return fmt.Errorf("stop engine: not gone after SIGKILL: %s", strings.Join(h.left, ", "))
}
