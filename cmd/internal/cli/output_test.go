package cli

import (
	"bytes"
	"os"
	"strings"
	"syscall"
	"testing"
)

// failing takes the first n bytes, and fails from then on as a file does.
type failing struct {
	n   int
	err error
}

func (f *failing) Write(p []byte) (int, error) {
	if f.n -= len(p); f.n < 0 {
		return 0, &os.PathError{Op: "write", Path: "/dev/stdout", Err: f.err}
	}
	return len(p), nil
}

// A result that can't be written is a failure; one that nobody reads to its end is not.
func TestResultIsWritten(t *testing.T) {
	for _, args := range [][]string{{"schema"}, {"--help"}, {"--version"}, {"run", "--help"}} {
		var stderr bytes.Buffer
		env := Env{Stdout: &failing{err: syscall.ENOSPC}, Stderr: &stderr, Getenv: os.Getenv}
		if got := run(t.Context(), env, args); got != ExitMeasure || !strings.Contains(stderr.String(), "no space left") {
			t.Errorf("%v: got exit code %d, %q, want %d and why", args, got, stderr.String(), ExitMeasure)
		}
		stderr.Reset()
		env.Stdout = &failing{n: 20, err: syscall.EPIPE}
		if got := run(t.Context(), env, args); got != ExitPassed || stderr.Len() > 0 {
			t.Errorf("%v into a pipe that is closed: got exit code %d, %q, want %d and no word", args, got, stderr.String(), ExitPassed)
		}
	}
}
