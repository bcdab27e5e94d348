// Package enginetest holds launchers to what the runner expects of them: [Run] is a
// conformance suite that each launcher's tests call.
//
// The engine that it launches is the test binary itself, run again with the arguments
// of a [Behaviour]; a TestMain that calls [Main] first makes it one. It serves no model
// and no OpenAI API: what a real engine does is left to runner/engine/sim.
package enginetest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// Behaviour is what the launched engine does.
type Behaviour string

// The behaviours.
const (
	Ready              Behaviour = "ready"                 // serves
	DiesAtBoot         Behaviour = "dies-at-boot"          // says [LastWords] and exits with code 3
	ExitsAtBoot        Behaviour = "exits-at-boot"         // exits with code 0
	SlowStart          Behaviour = "slow-start"            // answers 503 for a while
	NeverReady         Behaviour = "never-ready"           // answers 503 for ever
	IgnoresSIGTERM     Behaviour = "ignores-sigterm"       // serves, and can only be killed
	Forks              Behaviour = "forks"                 // serves, and starts daemons, see /daemons
	ForksAndDies       Behaviour = "forks-and-dies"        // as Forks, until it is asked for /die
	Floods             Behaviour = "floods"                // serves once it has written [FloodBytes]
	DiesOnFirstRequest Behaviour = "dies-on-first-request" // is healthy, then exits with code 7
	FailsFirstRequest  Behaviour = "fails-first-request"   // is healthy, and answers 500 to all else
)

const (
	// LastWords is the last line of the log of an engine that dies at boot.
	LastWords = "RuntimeError: the weights are haunted"
	// FloodBytes is how much a flooding engine writes, far more than a pipe holds.
	FloodBytes = 32 << 20

	engineArg = "enginetest-engine"
	daemonArg = "enginetest-daemon"
	slowStart = time.Second
)

// Args returns the arguments with which the test binary behaves so, listening on port.
func (b Behaviour) Args(port string) []string { return []string{engineArg, string(b), port} }

// Main makes this process the engine of a test, and does not return, if it was started
// as one. A TestMain calls it first.
func Main() {
	if len(os.Args) < 3 {
		return
	}
	switch os.Args[1] {
	case engineArg:
		os.Exit(behave(Behaviour(os.Args[2]), os.Args[3]))
	case daemonArg:
		os.Exit(daemon(os.Args[2]))
	}
}

// behave is the engine. It returns the code to exit with.
func behave(b Behaviour, port string) int {
	fmt.Println("engine boots")
	fake := &fakeEngine{readyAt: time.Now()}
	switch b {
	case DiesAtBoot:
		fmt.Fprintln(os.Stderr, LastWords)
		return 3
	case ExitsAtBoot:
		return 0
	case SlowStart:
		fake.readyAt = time.Now().Add(slowStart)
	case NeverReady:
		fake.readyAt = time.Now().Add(time.Hour)
	case IgnoresSIGTERM:
		signal.Ignore(syscall.SIGTERM)
	case Floods:
		flood(os.Stdout)
	case DiesOnFirstRequest:
		fake.onRequest = func(http.ResponseWriter) { os.Exit(7) }
	case FailsFirstRequest:
		fake.onRequest = func(w http.ResponseWriter) { http.Error(w, "no worker is left", 500) }
	case Forks, ForksAndDies:
		if err := fake.startDaemons(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	if err := http.ListenAndServe(":"+port, fake); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return 1
}

// flood writes lines of log as fast as they are taken.
func flood(w io.Writer) {
	out := bufio.NewWriter(w)
	line := strings.Repeat("flood ", 20) + "\n"
	for n := 0; n < FloodBytes; n += len(line) {
		_, _ = out.WriteString(line)
	}
	_ = out.Flush()
}

// fakeEngine serves /health, /token, /daemons and /die.
type fakeEngine struct {
	readyAt   time.Time
	onRequest func(http.ResponseWriter) // answers /token; nil: a token does
	daemons   []string                  // addresses
}

func (f *fakeEngine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/health":
		if time.Now().Before(f.readyAt) {
			http.Error(w, "loading weights", http.StatusServiceUnavailable)
		}
	case "/token":
		if f.onRequest != nil {
			f.onRequest(w)
			return
		}
		fmt.Fprint(w, "token")
	case "/daemons":
		fmt.Fprint(w, strings.Join(f.daemons, "\n"))
	case "/die":
		os.Exit(9)
	default:
		http.NotFound(w, r)
	}
}

// startDaemons starts what a launcher must find: a child in a session of its own, and a
// daemon whose parent is gone, that has its session and nothing of our environment. Both
// ignore SIGTERM and hold the engine's output open. Each owns a listening socket, so
// that it can be seen from outside whether it lives.
func (f *fakeEngine) startDaemons() error {
	for _, kind := range []string{"child", "parent"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		socket, err := l.(*net.TCPListener).File()
		if err != nil {
			return err
		}
		if err := startDaemon(kind, socket, os.Environ()); err != nil {
			return err
		}
		f.daemons = append(f.daemons, l.Addr().String())
		_, _ = l.Close(), socket.Close() // the daemon has its own
	}
	return nil
}

func startDaemon(kind string, socket *os.File, env []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, daemonArg, kind)
	cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdout, os.Stderr, env
	cmd.ExtraFiles = []*os.File{socket}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil || kind != "parent" {
		return err
	}
	return cmd.Wait() // then its daemon runs, and is an orphan
}

// daemon is a process that an engine leaves behind: it ignores SIGTERM and holds its
// socket. A "parent" first hands the socket to a daemon of its own, and ends.
func daemon(kind string) int {
	if kind == "parent" {
		if err := startDaemon("orphan", os.NewFile(3, "socket"), []string{"PATH=/"}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	time.Sleep(time.Hour)
	return 0
}
