package cli

import (
	"io"
	"os"

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
