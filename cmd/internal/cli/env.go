package cli

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/term"
)

// Env is everything of the process that a command touches, so that tests can stand in
// for it: streams, environment variables, and what stderr is.
type Env struct {
	Stdout io.Writer // the result
	Stderr io.Writer // progress, warnings, errors
	Getenv func(string) string
	// Terminal says whether Stderr is a terminal: a live bar is drawn there, and a line
	// now and then written elsewhere.
	Terminal bool
}

// System is the Env of the running process.
func System() Env {
	return Env{
		Stdout:   os.Stdout,
		Stderr:   os.Stderr,
		Getenv:   os.Getenv,
		Terminal: term.IsTerminal(int(os.Stderr.Fd())),
	}
}

// output is standard output. It keeps its first error, so that no command can end with
// success whose result is lost. A reader that has gone, as head does once it has its
// lines, is none.
type output struct {
	w    io.Writer
	gone bool
	err  error
}

func (o *output) Write(p []byte) (int, error) {
	if o.gone {
		return len(p), nil
	}
	n, err := o.w.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		o.gone = true
		return len(p), nil
	}
	if o.err == nil {
		o.err = err
	}
	return n, err
}
