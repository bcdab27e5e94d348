//go:build unix && !linux

package process

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// adoptOrphans can't be done here: a daemon that leaves the engine's group survives.
func adoptOrphans() error { return nil }

// canAdopt says that adoptOrphans doesn't work.
const canAdopt = false

// signalledByParentsDeath can't be done here: the launcher kills the group of a lost
// supervisor.
func signalledByParentsDeath(*syscall.SysProcAttr, syscall.Signal) {}

// nameProcess can't be done here.
func nameProcess(string) {}

// awaitGroup returns when nobody is left in the engine's process group.
func awaitGroup(engine int) {
	for syscall.Kill(-engine, 0) == nil {
		time.Sleep(killEvery)
	}
}

// selfProgram is the path of our own binary.
func selfProgram() (string, error) { return os.Executable() }

// signalTree sends a signal to the engine's process group.
func signalTree(engine int, sig syscall.Signal) { _ = syscall.Kill(-engine, sig) }

// survivors describes what is left of the engine's process group.
func survivors(engine int) []string {
	if syscall.Kill(-engine, 0) != nil {
		return nil
	}
	return []string{fmt.Sprintf("process group %d", engine)}
}

// killBelow can't be done here: killOrphans follows it.
func killBelow(int, time.Duration) {}

// killOrphans kills the engine's process group, for as long as limit.
func killOrphans(_ string, engine int, limit time.Duration) []string {
	if engine <= 1 {
		return nil // it never started, and kill(-1) would mean everybody
	}
	for deadline := time.Now().Add(limit); ; time.Sleep(killEvery) {
		left := survivors(engine)
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		signalTree(engine, syscall.SIGKILL)
	}
}
