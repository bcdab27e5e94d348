package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Stage is how far an engine had come.
type Stage string

// The stages of a boot.
const (
	StageBoot       Stage = "boot"        // it had not yet said that it is up
	StageFirstToken Stage = "first token" // it had, and was asked for a token
)

// NotReadyError says why an engine did not get ready.
type NotReadyError struct {
	Stage     Stage
	Waited    time.Duration
	Exit      *Exit    // how it ended; nil: it still runs, or isn't ours
	LastProbe error    // why it wasn't up when last asked; nil: it was, or never was asked
	LastLines []string // the end of its log, oldest first, up to 20 lines, masked
	// Err is the context's error, the failure of the first request, or the answer that
	// ruled the server out; nil where the engine ended.
	Err error
}

// Error says all of it on one line.
func (e *NotReadyError) Error() string {
	waited := e.Waited.Round(10 * time.Millisecond)
	var what string
	switch {
	case e.Exit != nil && e.Stage == StageFirstToken:
		what = fmt.Sprintf("it answered as healthy, then %v on its first request, %v after its start", e.Exit, waited)
	case e.Exit != nil:
		what = fmt.Sprintf("it %v after %v, before it was ready", e.Exit, waited)
	case errors.Is(e.Err, context.DeadlineExceeded) && e.Stage == StageFirstToken:
		what = fmt.Sprintf("it answered as healthy, but its first token had not come after %v", waited)
	case errors.Is(e.Err, context.DeadlineExceeded):
		what = fmt.Sprintf("not ready after %v", waited)
	case errors.Is(e.Err, context.Canceled):
		what = fmt.Sprintf("interrupted after %v", waited)
	case e.Stage == StageFirstToken:
		what = fmt.Sprintf("it answered as healthy, but its first request failed: %v", e.Err)
	default:
		what = fmt.Sprintf("%v, for %v", e.Err, waited)
	}
	if e.LastProbe != nil && !errors.Is(e.Err, e.LastProbe) && e.Stage == StageBoot {
		what += fmt.Sprintf("; last probe: %v", e.LastProbe)
	}
	// Errors of others may have several lines.
	return "wait for engine: " + clean(strings.Join(strings.Fields(what), " ")) + inOneLine(e.LastLines)
}

// Unwrap returns what the engine's end doesn't explain.
func (e *NotReadyError) Unwrap() error { return e.Err }

// Hint says what to do about it, where the cause is a well-known one; else it is empty.
func (e *NotReadyError) Hint() string { return hint(e) }

// inOneLine returns the last few lines of a log as the end of a one-line message.
func inOneLine(lines []string) string {
	const few, wide = 3, 240
	if len(lines) == 0 {
		return ""
	}
	s := "; its log ends with: "
	for i, line := range last(lines, few) {
		line = strings.TrimSpace(line)
		if i > 0 {
			s += " | "
		}
		if r := []rune(line); len(r) > wide {
			line = string(r[:wide]) + "..."
		}
		s += line
	}
	return s
}
