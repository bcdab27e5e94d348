package process

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// innerName is the environment variable that tells the supervisor from its guard.
const innerName = "SERVEGATE_SUPERVISOR"

// Supervise is the whole of the supervisor process: it starts the engine that it is
// told of over an inherited pipe, ends it when it is told to or when that pipe closes,
// and returns the code that the process is to exit with: the engine's own, 128 plus the
// signal that ended it, 126 if it could not be started, or 2 if nobody speaks to it
// (it is no command for humans).
//
// Where orphans can be adopted it does so twice: it runs itself again, as a guard above
// the supervisor proper. A supervisor that is killed with -9 orphans everything below
// it, daemons without a trace of their origin included, and the guard is who gets them;
// if it is the guard that is killed, the supervisor ends the engine.
func Supervise() int {
	// A death signal is sent when the thread that forked ends, not the process.
	runtime.LockOSThread()
	nameProcess("engine-keeper")
	if !canAdopt || os.Getenv(innerName) != "" {
		return supervise()
	}
	code, err := guard()
	if err != nil {
		// Our standard error is the engine's log, and the launcher quotes it.
		fmt.Fprintln(os.Stderr, "guard engine:", err)
		return 126
	}
	return code
}

// guard runs the supervisor proper, and kills what it may leave behind.
func guard() (code int, err error) {
	// Taken note of and left to the supervisor, which gets them as well. They are not
	// ignored, since the engine would inherit that.
	signal.Notify(make(chan os.Signal, 1), endSignals...)
	if err := adoptOrphans(); err != nil {
		return 0, err
	}
	self, err := selfProgram()
	if err != nil {
		return 0, fmt.Errorf("find our own binary: %w", err)
	}
	attr := &syscall.ProcAttr{
		Env:   append(os.Environ(), innerName+"=1"),
		Files: []uintptr{0, 1, 2, controlFD, statusFD, logFD},
		Sys:   &syscall.SysProcAttr{},
	}
	signalledByParentsDeath(attr.Sys, syscall.SIGTERM)
	pid, err := syscall.ForkExec(self, os.Args, attr)
	if err != nil {
		return 0, fmt.Errorf("start supervisor: %w", err)
	}
	for fd := controlFD; fd <= logFD; fd++ {
		_ = unix.Close(fd) // the launcher must see the supervisor's end, not ours
	}
	children := reap(pid)
	status := <-children
	for deadline := time.Now().Add(dyingLimit); time.Now().Before(deadline); {
		select {
		case <-children: // closed: nobody is left
			return exitCode(status), nil
		case <-time.After(killEvery):
		}
		signalTree(pid, unix.SIGKILL)
	}
	return exitCode(status), nil
}

// endSignals are what a terminal or the end of a job sends: they mean the same as a
// closed control pipe.
var endSignals = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT}

// exitCode is what a process exits with to pass on how its child ended.
func exitCode(status unix.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}
