package process

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/servegate/servegate/runner/engine"
)

// supervisorLink is the launcher's end of one supervisor process.
type supervisorLink struct {
	cmd    *exec.Cmd
	mark   string // of the engine's processes
	engine int    // pid of the engine; 0: not started

	mu      sync.Mutex // orders come from several goroutines
	control *os.File
	enc     *gob.Encoder
	status  *os.File
	dec     *gob.Decoder
}

// startSupervisor runs the supervisor, which then waits for its spec.
func startSupervisor(argv []string, logPath, mark string) (*supervisorLink, error) {
	cmd, err := supervisorCommand(argv)
	if err != nil {
		return nil, err
	}
	var theirs, ours []*os.File
	defer func() { closeAll(theirs) }()
	controlR, controlW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make control pipe: %w", err)
	}
	theirs, ours = append(theirs, controlR), append(ours, controlW)
	statusR, statusW, err := os.Pipe()
	if err != nil {
		closeAll(ours)
		return nil, fmt.Errorf("make status pipe: %w", err)
	}
	theirs, ours = append(theirs, statusW), append(ours, statusR)
	log, words, err := openForSupervisor(logPath)
	if err != nil {
		closeAll(ours)
		return nil, err
	}
	theirs = append(theirs, log, words)
	cmd.ExtraFiles = []*os.File{controlR, statusW, log}
	cmd.Stderr = words
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		closeAll(ours)
		return nil, fmt.Errorf("start supervisor %q: %w", cmd.Path, err)
	}
	return &supervisorLink{
		cmd: cmd, mark: mark, control: controlW, enc: gob.NewEncoder(controlW),
		status: statusR, dec: gob.NewDecoder(statusR),
	}, nil
}

// supervisorCommand is the command argv, or our own binary in the part of the supervisor.
// It keeps our name: a binary that plays several parts may go by it.
func supervisorCommand(argv []string) (*exec.Cmd, error) {
	if len(argv) > 0 {
		return exec.Command(argv[0], argv[1:]...), nil
	}
	if os.Getenv(partName) != "" {
		// A program that doesn't know the part would launch an engine in its place, and
		// so on without end.
		return nil, errors.New("this process was started as a supervisor and doesn't call Supervise")
	}
	self, err := selfProgram()
	if err != nil {
		return nil, fmt.Errorf("find our own binary: %w", err)
	}
	cmd := exec.Command(self, "engine", "supervise")
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), partName+"=1")
	return cmd, nil
}

// partName is the environment variable that tells our own binary that it is to be the
// supervisor. No engine gets it.
const partName = "SERVEGATE_PART_SUPERVISOR"

// openForSupervisor opens the log twice: for the engine's output at offsets, and at its
// end for what the supervisor has to say should it not come to work at all.
func openForSupervisor(path string) (log, words *os.File, err error) {
	log, err = os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open engine log: %w", err)
	}
	words, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		log.Close()
		return nil, nil, fmt.Errorf("open engine log: %w", err)
	}
	return log, words, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// begin sends the spec and waits until the engine runs. ctx bounds it.
func (s *supervisorLink) begin(ctx context.Context, sp spec) error {
	stop := context.AfterFunc(ctx, func() {
		// Unblocks both directions, for good: the supervisor is given up.
		_ = s.control.SetWriteDeadline(time.Unix(1, 0))
		_ = s.status.SetReadDeadline(time.Unix(1, 0))
	})
	var r report
	err := s.enc.Encode(sp)
	if err == nil {
		err = s.dec.Decode(&r)
	}
	if !stop() {
		err = ctx.Err() // even if the engine runs: the pipes are of no use any more
	}
	switch {
	case err != nil:
		return s.unheard(ctx, err)
	case r.Kind != started:
		return startError(sp.Program, r)
	}
	s.engine = r.PID
	return nil
}

// unheard explains why the supervisor does not answer.
func (s *supervisorLink) unheard(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("start engine: %w", context.Cause(ctx))
	}
	return fmt.Errorf("speak to supervisor %q: it ended without an answer: %w", s.cmd.Path, err)
}

// startError turns the report of a failed start into an error with a remedy.
func startError(program string, r report) error {
	var err error = syscall.Errno(r.Errno)
	if r.Errno == 0 {
		err = errors.New(r.Error)
	}
	remedy := ""
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		remedy = "it is neither a binary for this machine nor a script with a #! line"
	case errors.Is(err, syscall.ENOENT):
		remedy = "the interpreter in its #! line, or the loader it was built for, does not exist"
	case errors.Is(err, syscall.E2BIG):
		remedy = "arguments and environment are too long"
	case errors.Is(err, syscall.EACCES):
		remedy = "check its mode bits, and that its file system isn't mounted noexec"
	}
	return &engine.LaunchError{Err: fmt.Errorf("run program %q: %w", program, err), Remedy: remedy}
}

// launchError makes an error one of a launch, unless it is already.
func launchError(err error) error {
	var known *engine.LaunchError
	if errors.As(err, &known) {
		return err
	}
	return &engine.LaunchError{Err: err}
}

// order tells the supervisor to end the engine. One that is gone has done so already.
func (s *supervisorLink) order(o order) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.enc.Encode(o)
}

// next returns the supervisor's next report; false: it is gone without one.
func (s *supervisorLink) next() (report, bool) {
	var r report
	if err := s.dec.Decode(&r); err != nil {
		return report{}, false
	}
	return r, true
}

// kill does the work of a supervisor that doesn't: it kills the engine with everything
// below it, then the supervisor and its guard.
func (s *supervisorLink) kill() {
	if s.cmd.Process.Signal(syscall.Signal(0)) != nil {
		return // gone, and its number may be another's
	}
	// As long as the guard is there, orphans gather below it, where they can be found.
	killBelow(s.cmd.Process.Pid, patience)
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
}

// release frees what a supervisor that is gone has left with us.
func (s *supervisorLink) release() {
	closeAll([]*os.File{s.control, s.status})
	_ = s.cmd.Wait() // its exit code is the engine's, which was reported
}

// dispose ends a supervisor that was lost or never came to work, with whatever is left
// of its engine, and describes what was not gone within the limit.
func (s *supervisorLink) dispose(limit time.Duration) []string {
	s.order(order{Limit: limit})
	timer := time.AfterFunc(patience, s.kill)
	s.release()
	timer.Stop()
	return killOrphans(s.mark, s.engine, limit)
}
