// Package process starts an engine as a child process, and ends it together with
// everything that it started, whatever happens to the process that started it.
//
// Between us and the engine stands a supervisor: our own binary, run again (see
// [Supervise]). It leads a process group of its own, adopts whatever the engine's
// processes orphan, writes the engine's log, and holds the read end of a pipe whose other end is
// ours. When that pipe closes, be it by kill -9, it ends the engine. Should the
// supervisor itself be killed, the kernel kills the engine with it, and a second process
// above it (the guard) ends what it had adopted. Should both be killed, the launcher
// looks for what carries the engine's mark or its process group.
//
// The engine gets no session of its own: the kernel shares the processors out between
// sessions (sched_autogroup), and an engine that saturates them would keep the client in
// the other one waiting for tens of milliseconds.
//
// Elsewhere than on Linux there are no orphans to adopt and no marks to read: the
// engine's process group is ended, and a daemon that left it survives.
//
// The package knows nothing of what the engine serves: whether it is ready is asked by
// [engine.AwaitReady], and what it is by profiles.
package process

import "github.com/servegate/servegate/runner/engine"

var _ engine.Launcher = Launcher{}
