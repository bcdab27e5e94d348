package sim

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// asEngine in the environment makes the test binary an engine, whose flags are its
// arguments.
const asEngine = "SERVEGATE_TEST_SIM_ENGINE"

func TestMain(m *testing.M) {
	if os.Getenv(asEngine) == "" {
		os.Exit(m.Run())
	}
	os.Exit(engineMain(os.Args[1:]))
}

func engineMain(args []string) int {
	opts := Defaults()
	opts.Log = os.Stderr
	fs := pflag.NewFlagSet("sim", pflag.ContinueOnError)
	opts.Flags(fs)
	if err := fs.Parse(args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	err := Serve(ctx, opts)
	if crash := (*CrashError)(nil); errors.As(err, &crash) {
		return crash.Code
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	return 0
}

// process is an engine of its own.
type process struct {
	cmd  *exec.Cmd
	addr string        // host:port
	up   chan struct{} // closed when it says that it runs
	gone chan struct{} // closed at its end
	mu   sync.Mutex
	log  strings.Builder
}

// start starts an engine process on a free port and ends it with the test.
func start(t testing.TB, env []string, args ...string) *process {
	t.Helper()
	addr := freeAddr(t)
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{addr: addr, up: make(chan struct{}), gone: make(chan struct{})}
	p.cmd = exec.Command(os.Args[0], append([]string{"--port=" + port}, args...)...)
	p.cmd.Env = append(append(os.Environ(), asEngine+"=1"), env...)
	out, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.gone)
		p.read(out)
		_ = p.cmd.Wait() // its state is looked at by the test
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // mostly it is gone already
		<-p.gone
	})
	return p
}

func (p *process) read(out io.Reader) {
	lines, up := bufio.NewScanner(out), false
	for lines.Scan() {
		p.mu.Lock()
		p.log.WriteString(lines.Text() + "\n")
		p.mu.Unlock()
		if !up && strings.Contains(lines.Text(), "Application startup complete") {
			up = true
			close(p.up)
		}
	}
}

func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// ready waits until the engine says that it is.
func (p *process) ready(t testing.TB) {
	t.Helper()
	select {
	case <-p.up:
	case <-p.gone:
		t.Fatalf("the engine ended while booting: %v\n%s", p.cmd.ProcessState, p.text())
	case <-time.After(20 * time.Second):
		t.Fatalf("the engine is not ready after 20 s\n%s", p.text())
	}
}

// exit waits for the engine's end and returns its exit code.
func (p *process) exit(t testing.TB) int {
	t.Helper()
	select {
	case <-p.gone:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(20 * time.Second):
		t.Fatalf("the engine still runs after 20 s\n%s", p.text())
		return 0
	}
}

func freeAddr(t testing.TB) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}
