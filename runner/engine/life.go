package engine

import (
	"fmt"
	"sync"
	"time"
)

// Life is the time between an engine's start and its end. A nil *Life never ends: it
// belongs to an engine that was only found, and that nobody here watches.
type Life struct {
	done      chan struct{}
	exit      Exit // written before done is closed, read after
	lastLines func(n int) []string
}

// NewLife begins a life, and returns the function that ends it; only its first call
// counts. lastLines reads the end of the log while the engine runs; nil: there is none.
func NewLife(lastLines func(n int) []string) (*Life, func(Exit)) {
	l := &Life{done: make(chan struct{}), lastLines: lastLines}
	var once sync.Once
	return l, func(e Exit) {
		once.Do(func() {
			l.exit = e
			close(l.done)
		})
	}
}

// Done is closed when the engine has ended.
func (l *Life) Done() <-chan struct{} {
	if l == nil {
		return nil
	}
	return l.done
}

// Ended tells whether the engine has ended.
func (l *Life) Ended() bool {
	select {
	case <-l.Done():
		return true
	default:
		return false
	}
}

// Exit says how the engine ended. Before Done is closed it is the zero Exit.
func (l *Life) Exit() Exit {
	if !l.Ended() {
		return Exit{}
	}
	return l.exit
}

// LastLines returns up to n lines from the end of the engine's log as it stands, oldest
// first, with secrets masked and control characters removed. It is empty where the log
// is not ours to read.
func (l *Life) LastLines(n int) []string {
	switch {
	case l == nil:
		return nil
	case l.Ended() && len(l.exit.LastLines) > 0:
		return last(l.exit.LastLines, n)
	case l.lastLines == nil:
		return nil
	}
	return l.lastLines(n)
}

// Exit is how an engine ended.
type Exit struct {
	Code    int       // exit code; -1 if a signal ended it or if it isn't known
	Signal  string    // the signal that ended it, as in SIGKILL; empty: none
	At      time.Time // when it was noticed
	Stopped bool      // it had been asked to end
	// Note is what else is known of the end; empty: nothing.
	Note string
	// LogFault says why the log file is incomplete (a full disk); empty: it isn't.
	LogFault string
	// LastLines is the end of the log, oldest first, with secrets masked.
	LastLines []string
}

// String says how the engine ended, as the end of a sentence that begins with its name.
func (e Exit) String() string {
	var s string
	switch {
	case e.Signal != "":
		s = "was ended by " + e.Signal
	case e.Code >= 0:
		s = fmt.Sprintf("exited with code %d", e.Code)
	default:
		s = "ended"
	}
	if e.Note != "" {
		s += " (" + e.Note + ")"
	}
	return s
}

// last returns up to n elements from the end of lines.
func last(lines []string, n int) []string {
	return lines[max(0, len(lines)-max(0, n)):]
}
