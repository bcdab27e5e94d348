package process

import (
	"encoding/gob"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/servegate/servegate/runner/engine"
)

// supervise is the supervisor proper; see [Supervise].
func supervise() int {
	for fd := controlFD; fd <= logFD; fd++ {
		unix.CloseOnExec(fd) // an engine that held the pipes open would hide our death
	}
	control := os.NewFile(controlFD, "control")
	s := &supervisor{
		status: gob.NewEncoder(os.NewFile(statusFD, "status")),
		orders: make(chan order, 1),
		limit:  dyingLimit,
	}
	dec := gob.NewDecoder(control)
	if err := dec.Decode(&s.spec); err != nil {
		return 2
	}
	s.log = engine.NewLog(os.NewFile(logFD, "log"), s.spec.Offset, s.spec.LogLimit, engine.NewMask(s.spec.Secrets...))
	if err := s.start(); err != nil {
		s.reportFailure(err)
		return 126
	}
	s.report(report{Kind: started, PID: s.pid})
	go s.listen(dec)
	s.report(report{Kind: gone, Left: s.run()})
	return s.code
}

// supervisor is the state of the supervisor process.
type supervisor struct {
	spec   spec
	status *gob.Encoder
	log    *engine.Log
	pump   *pump
	pid    int
	code   int // of our own exit

	orders   chan order
	children <-chan unix.WaitStatus // the engine's end; closed when nobody is left
	signals  chan os.Signal

	ending   bool          // the engine was asked to end, or has ended
	stopped  bool          // it was asked, by the launcher
	deadline time.Time     // when whoever is left is killed, if ending
	limit    time.Duration // how long after that they may take to die
}

// start begins to adopt orphans and starts the engine, with its output in a pipe.
func (s *supervisor) start() error {
	s.signals = make(chan os.Signal, 1)
	signal.Notify(s.signals, endSignals...)
	if err := adoptOrphans(); err != nil {
		return err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer w.Close()
	attr := &syscall.ProcAttr{
		Dir: s.spec.Dir, Env: s.spec.Env,
		Files: []uintptr{null.Fd(), w.Fd(), w.Fd()},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	}
	signalledByParentsDeath(attr.Sys, syscall.SIGKILL)
	// Not os/exec: all children are reaped in one place, see reap.
	if s.pid, err = syscall.ForkExec(s.spec.Program, s.spec.Argv, attr); err != nil {
		return err
	}
	s.children = reap(s.pid)
	s.pump = startPump(r, s.log)
	return nil
}

// listen turns what the launcher sends into orders. Its death is one too.
func (s *supervisor) listen(dec *gob.Decoder) {
	for {
		var o order
		if err := dec.Decode(&o); err != nil {
			s.orders <- order{Grace: min(s.spec.Grace, leftoverGrace), Limit: dyingLimit, Lost: true}
			return
		}
		s.orders <- o
	}
}

// run watches over the engine until nobody of its tree is left, and returns who could
// not be killed.
func (s *supervisor) run() (left []string) {
	var kill <-chan time.Time
	for {
		select {
		case status, alive := <-s.children:
			if !alive {
				s.finish()
				return nil
			}
			s.reportExit(status)
			s.end(min(s.spec.Grace, leftoverGrace))
		case o := <-s.orders:
			s.stopped = s.stopped || !o.Lost
			s.limit = min(s.limit, o.Limit)
			s.end(o.Grace)
		case <-s.signals:
			s.end(s.spec.Grace)
		case now := <-kill:
			if now.After(s.deadline.Add(s.limit)) {
				s.finish()
				return survivors(s.pid)
			}
			signalTree(s.pid, unix.SIGKILL)
		}
		// What is killed may be forking: it is looked for again until it is gone.
		kill = time.After(max(killEvery, time.Until(s.deadline)))
		if !s.ending {
			kill = nil
		}
	}
}

// killEvery is the pause between two rounds of killing.
const killEvery = 5 * time.Millisecond

// end asks the engine's whole tree to end, once, and sets when it is killed; a later
// call can only bring that forward.
func (s *supervisor) end(grace time.Duration) {
	deadline := time.Now().Add(grace)
	if !s.ending {
		s.ending, s.deadline = true, deadline
		if grace > 0 {
			signalTree(s.pid, unix.SIGTERM)
		}
	}
	if deadline.Before(s.deadline) {
		s.deadline = deadline
	}
	if grace <= 0 {
		signalTree(s.pid, unix.SIGKILL)
	}
}

// finish closes the log, once nothing can be written to it any more.
func (s *supervisor) finish() {
	s.pump.close()
	_ = s.log.Close() // reported with the exit, as far as it had happened by then
}

// reportExit tells how the engine's first process ended, with its last words. What it
// had written by then is in the log before that, though its children may write on.
func (s *supervisor) reportExit(status unix.WaitStatus) {
	s.pump.catchUp()
	exit := exitOf(status)
	exit.Stopped = s.stopped
	exit.LastLines = s.log.LastLines(exitLines)
	if err := s.log.Fault(); err != nil {
		exit.LogFault = err.Error()
	}
	s.code = exitCode(status)
	s.report(report{Kind: exited, Exit: exit})
}

// exitLines is how many lines of the log an exit carries.
const exitLines = 50

func exitOf(status unix.WaitStatus) engine.Exit {
	if status.Signaled() {
		return engine.Exit{Code: -1, Signal: unix.SignalName(status.Signal()), At: time.Now()}
	}
	return engine.Exit{Code: status.ExitStatus(), At: time.Now()}
}

// report sends a report. Nobody may be there to read it: then the closed control pipe
// says so, and ends the engine.
func (s *supervisor) report(r report) { _ = s.status.Encode(r) }

func (s *supervisor) reportFailure(err error) {
	r := report{Kind: failed, Error: err.Error()}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		r.Errno = int(errno)
	}
	s.report(r)
}

// reap waits for all children. It sends the status of the first one, and closes the
// channel when there is none left: since orphans are adopted, nobody of the engine's
// tree is then alive. Nothing is forked meanwhile, so that "none" is final.
func reap(pid int) <-chan unix.WaitStatus {
	out := make(chan unix.WaitStatus, 1)
	go func() {
		defer close(out)
		for {
			var status unix.WaitStatus
			child, err := unix.Wait4(-1, &status, 0, nil)
			switch {
			case errors.Is(err, unix.EINTR):
			case err != nil:
				awaitGroup(pid)
				return
			case child == pid:
				out <- status
			}
		}
	}()
	return out
}
