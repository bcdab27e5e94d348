package enginetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/servegate/servegate/runner/engine"
)

// Grace is how long the suite wants engines to have between being asked to end and being
// killed.
const Grace = 500 * time.Millisecond

// generous bounds everything that must happen soon, on a machine that is busy.
const generous = 30 * time.Second

// Run holds a launcher to its contract. newLauncher returns one whose engine behaves as
// told, has the [Grace] and runs on this host.
func Run(t *testing.T, newLauncher func(t *testing.T, b Behaviour) engine.Launcher) {
	tests := []struct {
		name string
		test func(t *testing.T, s *suite)
	}{
		{"ready engine serves until it is stopped", testReady},
		{"death at boot is reported at once, with its last words", testDiesAtBoot},
		{"exit code 0 at boot is a failure too", testExitsAtBoot},
		{"slow start is waited for", testSlowStart},
		{"engine that never gets ready runs into the timeout", testNeverReady},
		{"interrupt ends the waiting", testInterrupt},
		{"engine that ignores SIGTERM is killed", testIgnoresSIGTERM},
		{"stop with an ended context kills at once", testStopAtOnce},
		{"daemons end with a stopped engine", testForks},
		{"daemons end with an engine that dies", testForksAndDies},
		{"flood of output neither blocks nor hides the engine", testFloods},
		{"death on the first request is no readiness", testDiesOnFirstRequest},
		{"failure of the first request is no readiness", testFailsFirstRequest},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.test(t, &suite{newLauncher})
		})
	}
}

type suite struct {
	newLauncher func(*testing.T, Behaviour) engine.Launcher
}

// launch starts an engine, and stops it at the test's end should the test not have.
func (s *suite) launch(t *testing.T, b Behaviour) engine.Handle {
	t.Helper()
	h, err := s.newLauncher(t, b).Launch(t.Context())
	if err != nil {
		t.Fatalf("Launch: %v", err)
	}
	t.Cleanup(func() {
		// The test's context has ended by now, which would mean: kill at once.
		if err := h.Stop(context.Background()); err != nil {
			t.Errorf("Stop at the end of the test: %v", err)
		}
	})
	return h
}

// ready starts an engine and waits until it is ready.
func (s *suite) ready(t *testing.T, b Behaviour) engine.Handle {
	t.Helper()
	h := s.launch(t, b)
	if err := engine.AwaitReady(t.Context(), h, probe(generous)); err != nil {
		t.Fatalf("AwaitReady: %v", err)
	}
	return h
}

func probe(timeout time.Duration) engine.Probe {
	return engine.Probe{Interval: 20 * time.Millisecond, Timeout: timeout, FirstToken: token}
}

// token asks for a token.
func token(ctx context.Context, base string) error {
	_, err := get(ctx, base+"/token")
	return err
}

func get(ctx context.Context, address string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	req.Close = true // a connection that is kept would hide a server's end
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %d: %s", res.StatusCode, body)
	}
	return string(body), err
}

// stop stops the engine and checks that this was in time and left nothing.
func stop(t *testing.T, h engine.Handle) {
	t.Helper()
	start := time.Now()
	if err := h.Stop(t.Context()); err != nil {
		t.Fatalf("Stop: %v", err)
	}
	if took := time.Since(start); took > Grace+generous {
		t.Errorf("Stop took %v with a grace of %v", took, Grace)
	}
	if !h.Life().Ended() {
		t.Error("the engine's life goes on after Stop")
	}
	if !h.Life().Exit().Stopped {
		t.Errorf("Exit().Stopped = false after Stop, exit: %+v", h.Life().Exit())
	}
	base, err := url.Parse(h.URL())
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", ":"+base.Port())
	if err != nil {
		t.Fatalf("the engine's port is not free after Stop: %v", err)
	}
	l.Close()
}

// notReady waits for an engine that must not get ready.
func notReady(t *testing.T, h engine.Handle, timeout time.Duration) *engine.NotReadyError {
	t.Helper()
	start := time.Now()
	err := engine.AwaitReady(t.Context(), h, probe(timeout))
	var e *engine.NotReadyError
	if !errors.As(err, &e) {
		t.Fatalf("AwaitReady: got %v, want a NotReadyError", err)
	}
	if took := time.Since(start); took > timeout+generous {
		t.Errorf("AwaitReady took %v", took)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error has more than one line: %q", err)
	}
	return e
}

// says checks that the error's message has all parts.
func says(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("got error %q, want it to say %q", err, part)
		}
	}
}

// logs waits until the last line of the engine's log begins with a text: what an engine
// has written takes a moment to be there.
func logs(t *testing.T, h engine.Handle, prefix string) {
	t.Helper()
	for deadline := time.Now().Add(generous); ; time.Sleep(20 * time.Millisecond) {
		lines := h.Life().LastLines(1)
		if len(lines) == 1 && strings.HasPrefix(lines[0], prefix) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("LastLines(1) = %q, want one that begins with %q", lines, prefix)
		}
	}
}

// endsSoon waits until nobody listens at the address.
func endsSoon(t *testing.T, address string) {
	t.Helper()
	for deadline := time.Now().Add(generous); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		conn.Close()
		if time.Now().After(deadline) {
			t.Fatalf("a process of the engine still listens at %s", address)
		}
	}
}
