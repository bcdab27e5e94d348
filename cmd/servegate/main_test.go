package main

import (
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/servegate/servegate/cmd/internal/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"servegate": func() { os.Exit(cli.Main(cli.System(), os.Args[1:])) },
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "measures": measures},
	})
}

// exits runs a program and checks its exit code: testscript's own "!" can't tell 2
// from 3.
//
//	exits CODE PROGRAM [ARG...]
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := code(ts, args[1:]); got != want {
		ts.Fatalf("%v: got exit code %d, want %d", args[1:], got, want)
	}
}

// measures runs a measurement, which may find that this machine was too busy to measure
// on: a test can't rule that out. The result is there all the same.
//
//	measures PROGRAM [ARG...]
func measures(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: measures PROGRAM [ARG...]")
	}
	if got := code(ts, args); got != cli.ExitPassed && got != cli.ExitMeasure {
		ts.Fatalf("%v: got exit code %d, want %d or %d", args, got, cli.ExitPassed, cli.ExitMeasure)
	}
}

func code(ts *testscript.TestScript, args []string) int {
	err := ts.Exec(args[0], args[1:]...)
	if err == nil {
		return 0
	}
	exit, ok := err.(*exec.ExitError)
	if !ok {
		ts.Fatalf("%v: %v", args, err)
	}
	return exit.ExitCode()
}
