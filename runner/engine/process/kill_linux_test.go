package process

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/servegate/servegate/runner/engine"
	"github.com/servegate/servegate/runner/engine/enginetest"
)

// generous bounds everything that must happen soon, on a machine that is busy.
const generous = 30 * time.Second

// launchArg makes the test binary a servegate that launches an engine and gets killed.
const launchArg = "test-launch"

func init() {
	roles[launchArg] = func() int { return launchAndWait(enginetest.Behaviour(os.Args[2])) }
}

// launched is what a test needs to know of an engine that is about to be orphaned.
type launched struct {
	URL        string
	Guard      int   // pid
	Supervisor int   // pid
	Others     []int // pids of the engine and its daemons
	Daemons    []string
}

// observe waits for an engine and looks up its processes.
func observe(ctx context.Context, h *handle) (launched, error) {
	err := engine.AwaitReady(ctx, h, engine.Probe{Interval: 10 * time.Millisecond, Timeout: generous})
	if err != nil {
		return launched{}, err
	}
	for len(h.Life().LastLines(1)) == 0 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	l := launched{URL: h.URL(), Guard: h.current().cmd.Process.Pid}
	res, err := http.Get(l.URL + "/daemons")
	if err != nil {
		return launched{}, err
	}
	defer res.Body.Close()
	list, err := io.ReadAll(res.Body)
	if err != nil {
		return launched{}, err
	}
	l.Daemons = strings.Fields(string(list))
	all, err := processes()
	if err != nil {
		return launched{}, err
	}
	for _, p := range descendants(all, l.Guard) {
		if p.parent == l.Guard {
			l.Supervisor = p.pid
		} else {
			l.Others = append(l.Others, p.pid)
		}
	}
	return l, nil
}

// launchAndWait is a servegate that has launched an engine, tells of it, and goes on
// until it is killed.
func launchAndWait(b enginetest.Behaviour) int {
	h, err := launcher(b).Launch(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	l, err := observe(context.Background(), h.(*handle))
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(l)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	time.Sleep(time.Hour)
	return 0
}

// nothingLeft waits until no process of the engine is alive and nobody listens at its
// addresses.
func (l launched) nothingLeft(t *testing.T) {
	t.Helper()
	if len(l.Others) < 1+len(l.Daemons) || l.Supervisor == 0 {
		t.Fatalf("test saw too few processes of the engine: %+v", l)
	}
	base, err := url.Parse(l.URL)
	if err != nil {
		t.Fatal(err)
	}
	pids := append([]int{l.Guard, l.Supervisor}, l.Others...)
	for deadline := time.Now().Add(generous); ; time.Sleep(10 * time.Millisecond) {
		left := slices.DeleteFunc(slices.Clone(pids), func(pid int) bool {
			p, ok := readProc(pid)
			return !ok || !p.alive()
		})
		listens := slices.DeleteFunc(append(slices.Clone(l.Daemons), base.Host), func(address string) bool {
			conn, err := net.Dial("tcp", address)
			if err == nil {
				conn.Close()
			}
			return err != nil
		})
		if len(left) == 0 && len(listens) == 0 {
			return
		}
		if time.Now().After(deadline) {
			for _, pid := range left {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			t.Fatalf("still alive: %v of %+v; still listening: %v", left, l, listens)
		}
	}
}

func TestNothingOutlivesServegate(t *testing.T) {
	tests := []struct {
		name      string
		behaviour enginetest.Behaviour
		signal    syscall.Signal
	}{
		{"killed", enginetest.Ready, syscall.SIGKILL},
		{"killed, with daemons", enginetest.Forks, syscall.SIGKILL},
		{"killed, with an engine that ignores SIGTERM", enginetest.IgnoresSIGTERM, syscall.SIGKILL},
		{"crashed, with daemons", enginetest.Forks, syscall.SIGQUIT},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(self(), launchArg, string(tt.behaviour))
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			var words bytes.Buffer
			cmd.Stderr = &words
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadBytes('\n')
			var l launched
			if err == nil {
				err = json.Unmarshal(line, &l)
			}
			if kill := cmd.Process.Signal(tt.signal); kill != nil {
				t.Error(kill)
			}
			_ = cmd.Wait() // it was killed
			if err != nil {
				t.Fatalf("launch in another process: %v: %s", err, &words)
			}
			l.nothingLeft(t)
		})
	}
}

func TestNothingOutlivesTheSupervisor(t *testing.T) {
	tests := []struct {
		name   string
		kill   func(l launched) error
		signal string // how the engine ends
	}{
		{"supervisor killed", func(l launched) error { return syscall.Kill(l.Supervisor, syscall.SIGKILL) }, "SIGKILL"},
		{"guard killed", func(l launched) error { return syscall.Kill(l.Guard, syscall.SIGKILL) }, "SIGTERM"},
		{"supervisor asked to end", func(l launched) error { return syscall.Kill(l.Supervisor, syscall.SIGTERM) }, "SIGTERM"},
		{"whole group asked to end", func(l launched) error { return syscall.Kill(-l.Guard, syscall.SIGHUP) }, "SIGTERM"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := launch(t, launcher(enginetest.Forks))
			l, err := observe(t.Context(), h)
			if err != nil {
				t.Fatal(err)
			}
			if err := tt.kill(l); err != nil {
				t.Fatal(err)
			}
			select {
			case <-h.Life().Done():
			case <-time.After(generous):
				t.Fatal("the engine's end isn't noticed")
			}
			if got := h.Life().Exit(); got.Signal != tt.signal || got.Stopped || len(got.LastLines) == 0 {
				t.Errorf("exit = %+v, want %s, not stopped by us, and the log's end", got, tt.signal)
			}
			l.nothingLeft(t)
		})
	}
}

// Both are killed at once, so that nobody adopts: what carries the mark is found all the
// same. (A daemon without any trace of its origin would not be.)
func TestMarkedProcessesDoNotOutliveGuardAndSupervisor(t *testing.T) {
	t.Parallel()
	cmd := []string{"/bin/sh", "-c", "setsid sleep 1000 & exec sleep 1000 # {port}"}
	h := launch(t, Launcher{Command: cmd, Supervisor: []string{self(), superviseArg}})
	mark := []byte(markName + "=" + h.current().mark)
	marked := func() (n int) {
		all, err := processes()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range all {
			env, err := os.ReadFile(procPath(p.pid, "environ"))
			if err == nil && p.alive() && bytes.Contains(env, mark) {
				n++
			}
		}
		return n
	}
	for deadline := time.Now().Add(generous); marked() < 2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the engine's processes aren't found by their mark")
		}
	}
	if err := syscall.Kill(-h.current().cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-h.Life().Done()
	<-h.gone
	if n := marked(); n > 0 {
		t.Errorf("%d marked processes are left", n)
	}
}

// A supervisor that hangs must not make Stop hang.
func TestStopWithAHangingSupervisor(t *testing.T) {
	t.Parallel()
	h := launch(t, launcher(enginetest.Forks))
	l, err := observe(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{l.Supervisor, l.Guard} {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := h.Stop(ctx); err != nil {
		t.Errorf("Stop: %v", err)
	}
	l.nothingLeft(t)
}

func TestReadProc(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	p, ok := readProc(pid)
	if !ok || p.parent != os.Getpid() || p.group != pid || !p.alive() {
		t.Errorf("readProc = %+v, %v", p, ok)
	}
	later := p
	later.start += "1" // another process that has got the number since
	later.signal(syscall.SIGKILL)
	if now, ok := readProc(pid); !ok || !now.alive() {
		t.Error("a process was killed that only has the number of the one meant")
	}
	p.signal(syscall.SIGKILL)
	for deadline := time.Now().Add(generous); p.alive() && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		p, _ = readProc(pid)
	}
	if p.alive() {
		t.Error("the process outlives SIGKILL")
	}
	_ = cmd.Wait() // killed
	if _, ok := readProc(pid); ok {
		t.Error("a process that was reaped is still there")
	}
}
