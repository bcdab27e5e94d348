package enginetest

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/servegate/servegate/runner/engine"
)

func testReady(t *testing.T, s *suite) {
	h := s.ready(t, Ready)
	if strings.HasSuffix(h.URL(), "/") || strings.HasSuffix(h.URL(), "/v1") {
		t.Errorf("URL() = %q, want the bare base", h.URL())
	}
	if h.Life().Ended() {
		t.Fatalf("a ready engine has ended: %v", h.Life().Exit())
	}
	logs(t, h, "engine boots")
	stop(t, h)
	if err := h.Stop(t.Context()); err != nil {
		t.Errorf("second Stop: %v", err)
	}
	if err := token(t.Context(), h.URL()); err == nil {
		t.Error("the engine answers after Stop")
	}
}

func testDiesAtBoot(t *testing.T, s *suite) {
	h := s.launch(t, DiesAtBoot)
	e := notReady(t, h, time.Hour)
	if e.Stage != engine.StageBoot || e.Exit == nil || e.Exit.Code != 3 || e.Exit.Stopped {
		t.Fatalf("got stage %q, exit %+v, want an exit with code 3 at boot", e.Stage, e.Exit)
	}
	if n := len(e.LastLines); n == 0 || e.LastLines[n-1] != LastWords {
		t.Errorf("LastLines = %q, want them to end with %q", e.LastLines, LastWords)
	}
	says(t, e, "exited with code 3", LastWords)
	if err := h.Stop(t.Context()); err != nil {
		t.Errorf("Stop of an engine that is dead already: %v", err)
	}
	if got := h.Life().Exit(); got.Code != 3 || got.Stopped {
		t.Errorf("exit after Stop: got %+v, want the one before", got)
	}
}

func testExitsAtBoot(t *testing.T, s *suite) {
	e := notReady(t, s.launch(t, ExitsAtBoot), time.Hour)
	if e.Exit == nil || e.Exit.Code != 0 || e.Exit.Signal != "" {
		t.Fatalf("exit = %+v, want code 0", e.Exit)
	}
	says(t, e, "exited with code 0")
	if e.Hint() == "" {
		t.Error("no hint for an engine that ended by itself")
	}
}

func testSlowStart(t *testing.T, s *suite) {
	h := s.ready(t, SlowStart)
	stop(t, h)
}

func testNeverReady(t *testing.T, s *suite) {
	h := s.launch(t, NeverReady)
	e := notReady(t, h, 2*time.Second)
	if !errors.Is(e, context.DeadlineExceeded) || e.Exit != nil {
		t.Errorf("got %v (exit %v), want a timeout", e, e.Exit)
	}
	says(t, e, "not ready after", "503", "loading weights")
	if h.Life().Ended() {
		t.Errorf("AwaitReady has ended the engine: %v", h.Life().Exit())
	}
	stop(t, h)
}

func testInterrupt(t *testing.T, s *suite) {
	h := s.launch(t, NeverReady)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	if err := engine.AwaitReady(ctx, h, probe(time.Hour)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	stop(t, h)
}

func testIgnoresSIGTERM(t *testing.T, s *suite) {
	h := s.ready(t, IgnoresSIGTERM)
	stop(t, h)
	if got := h.Life().Exit().Signal; got != "SIGKILL" {
		t.Errorf("exit = %+v, want it killed", h.Life().Exit())
	}
}

func testStopAtOnce(t *testing.T, s *suite) {
	h := s.ready(t, IgnoresSIGTERM)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Stop(ctx); err != nil {
		t.Fatalf("Stop: %v", err)
	}
	if !h.Life().Ended() {
		t.Error("the engine lives after Stop")
	}
}

func testForks(t *testing.T, s *suite) {
	h := s.ready(t, Forks)
	daemons := daemonsOf(t, h)
	stop(t, h)
	for _, address := range daemons {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			t.Errorf("a daemon of the engine survived Stop: it listens at %s", address)
		}
	}
}

func testForksAndDies(t *testing.T, s *suite) {
	h := s.ready(t, ForksAndDies)
	daemons := daemonsOf(t, h)
	_, _ = get(t.Context(), h.URL()+"/die") // it can't answer
	select {
	case <-h.Life().Done():
	case <-time.After(generous):
		t.Fatal("the engine's death isn't noticed: do its daemons hold its output open?")
	}
	if got := h.Life().Exit(); got.Code != 9 || got.Stopped {
		t.Errorf("exit = %+v, want code 9, not stopped", got)
	}
	for _, address := range daemons {
		endsSoon(t, address)
	}
}

// daemonsOf returns the addresses at which the engine's daemons listen.
func daemonsOf(t *testing.T, h engine.Handle) []string {
	t.Helper()
	list, err := get(t.Context(), h.URL()+"/daemons")
	if err != nil {
		t.Fatal(err)
	}
	daemons := strings.Fields(list)
	if len(daemons) != 2 {
		t.Fatalf("the engine has %d daemons, want 2", len(daemons))
	}
	for _, address := range daemons {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatalf("a daemon is dead before anybody stopped it: %v", err)
		}
		conn.Close()
	}
	return daemons
}

func testFloods(t *testing.T, s *suite) {
	h := s.ready(t, Floods)
	logs(t, h, "flood flood")
	stop(t, h)
}

func testDiesOnFirstRequest(t *testing.T, s *suite) {
	e := notReady(t, s.launch(t, DiesOnFirstRequest), generous)
	if e.Stage != engine.StageFirstToken || e.Exit == nil || e.Exit.Code != 7 {
		t.Fatalf("got %v (stage %q, exit %+v), want code 7 on the first token", e, e.Stage, e.Exit)
	}
	says(t, e, "healthy", "exited with code 7", "first request")
}

func testFailsFirstRequest(t *testing.T, s *suite) {
	h := s.launch(t, FailsFirstRequest)
	e := notReady(t, h, generous)
	if e.Stage != engine.StageFirstToken || e.Exit != nil {
		t.Fatalf("got %v (stage %q, exit %+v), want a failed first token", e, e.Stage, e.Exit)
	}
	says(t, e, "healthy", "status 500", "no worker is left")
	stop(t, h)
}
