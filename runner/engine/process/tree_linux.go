package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// adoptOrphans makes us the parent of every descendant whose own parent ends, however
// it has detached itself.
func adoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become subreaper: %w", err)
	}
	return nil
}

// canAdopt says that adoptOrphans works.
const canAdopt = true

// signalledByParentsDeath has the kernel send a signal to a child when the thread that
// forks it ends.
func signalledByParentsDeath(attr *syscall.SysProcAttr, sig syscall.Signal) { attr.Pdeathsig = sig }

// nameProcess sets what ps and killall call us. Whoever kills servegate by its name must
// not hit the one that cleans up after it; up to 15 bytes.
func nameProcess(name string) {
	_ = os.WriteFile("/proc/self/comm", []byte(name), 0) // cosmetic elsewhere
}

// awaitGroup has nothing to wait for: without children we have no descendants.
func awaitGroup(int) {}

// selfProgram is the path of our own binary. This link works even after the file was
// replaced or removed.
func selfProgram() (string, error) { return "/proc/self/exe", nil }

// signalTree sends a signal to all our descendants, the engine with pid engine first of
// all where the others can't be listed.
func signalTree(engine int, sig syscall.Signal) {
	all, err := processes()
	if err != nil {
		_ = syscall.Kill(-engine, sig) // gone is what we want
		return
	}
	for _, p := range descendants(all, os.Getpid()) {
		p.signal(sig)
	}
}

// survivors describes our descendants that are alive.
func survivors(int) []string {
	all, err := processes()
	if err != nil {
		return []string{"unknown: " + err.Error()}
	}
	return describe(descendants(all, os.Getpid()))
}

// killBelow kills all descendants of a process, for as long as limit.
func killBelow(root int, limit time.Duration) {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(killEvery) {
		all, err := processes()
		if err != nil {
			return
		}
		below := descendants(all, root)
		if len(below) == 0 {
			return
		}
		for _, p := range below {
			p.signal(unix.SIGKILL)
		}
	}
}

// killOrphans kills what a lost supervisor's engine has left behind, for as long as
// limit, and describes what survived. Its processes are known by the mark in their
// environment or by the engine's group, and theirs by being their children.
//
// A process that is being forked while the list is read may be missed: only a second
// look that finds nobody counts.
func killOrphans(mark string, engine int, limit time.Duration) []string {
	quiet := 0
	for deadline := time.Now().Add(limit); ; time.Sleep(killEvery) {
		all, err := processes()
		if err != nil {
			return []string{"unknown: " + err.Error()}
		}
		var left []proc
		for _, p := range all {
			if p.alive() && p.pid != os.Getpid() && p.belongs(mark, engine) {
				left = append(left, p)
				left = append(left, descendants(all, p.pid)...)
			}
		}
		if len(left) > 0 {
			quiet = 0
		} else if quiet++; quiet == 2 {
			return nil
		}
		if time.Now().After(deadline) {
			return describe(left)
		}
		for _, p := range left {
			p.signal(unix.SIGKILL)
		}
	}
}

// proc is one process, as /proc/PID/stat has it.
type proc struct {
	pid, parent, group int
	name               string
	state              byte
	start              string // since boot, in ticks: tells it from a later one
}

// processes lists all processes that we can see.
func processes() ([]proc, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var all []proc
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := readProc(pid); ok {
				all = append(all, p)
			}
		}
	}
	return all, nil
}

// readProc reads one process; false: there is none.
func readProc(pid int) (proc, bool) {
	text, err := os.ReadFile(procPath(pid, "stat"))
	if err != nil {
		return proc{}, false
	}
	// The name is in parentheses and may hold any character, these included.
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return proc{}, false
	}
	fields := strings.Fields(string(text[end+1:]))
	const startField = 19 // starttime, the 22nd field of the line
	if len(fields) <= startField {
		return proc{}, false
	}
	p := proc{pid: pid, name: string(text[open+1 : end]), state: fields[0][0], start: fields[startField]}
	for i, to := range []*int{&p.parent, &p.group} {
		if *to, err = strconv.Atoi(fields[1+i]); err != nil {
			return proc{}, false
		}
	}
	return p, true
}

func procPath(pid int, file string) string {
	return filepath.Join("/proc", strconv.Itoa(pid), file)
}

// alive tells a running process from one that only waits to be reaped.
func (p proc) alive() bool { return p.state != 'Z' && p.state != 'X' }

// belongs tells whether p is of the boot with the mark, whose engine had the pid.
func (p proc) belongs(mark string, engine int) bool {
	// Group 0 is the kernel's: an engine that never started is nobody's.
	if engine > 0 && p.group == engine {
		return true
	}
	env, err := os.ReadFile(procPath(p.pid, "environ"))
	return err == nil && bytes.Contains(env, []byte(markName+"="+mark))
}

// signal sends a signal to p, and to no other process that has got its number since: a
// descriptor is opened first, which then can only mean the one that we look at.
func (p proc) signal(sig syscall.Signal) {
	handle, err := os.FindProcess(p.pid)
	if err != nil {
		return
	}
	defer func() { _ = handle.Release() }()
	if now, ok := readProc(p.pid); ok && now.start == p.start {
		_ = handle.Signal(sig) // it may be gone, and should be
	}
}

// descendants returns the living descendants of root among all.
func descendants(all []proc, root int) []proc {
	children := map[int][]proc{}
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p)
	}
	var found []proc
	for queue := children[root]; len(queue) > 0; queue = queue[1:] {
		p := queue[0]
		if p.alive() {
			found = append(found, p)
		}
		queue = append(queue, children[p.pid]...)
	}
	return found
}

func describe(list []proc) []string {
	var out []string
	for _, p := range list {
		out = append(out, fmt.Sprintf("%d (%s, state %c)", p.pid, p.name, p.state))
	}
	return out
}
