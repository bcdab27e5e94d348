package process

import (
	"os"
	"testing"

	"github.com/servegate/servegate/runner/engine"
	"github.com/servegate/servegate/runner/engine/enginetest"
)

// The test binary also is the supervisor, the engine, and a servegate that gets killed.
const (
	superviseArg = "test-supervise"
	launchArg    = "test-launch"
)

func TestMain(m *testing.M) {
	enginetest.Main()
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case superviseArg:
			os.Exit(Supervise())
		case launchArg:
			os.Exit(launchAndWait(enginetest.Behaviour(os.Args[2])))
		}
	}
	os.Exit(m.Run())
}

// self returns the path of the test binary.
func self() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

// launcher returns a launcher of an engine that is the test binary, run again.
func launcher(b enginetest.Behaviour) Launcher {
	return Launcher{
		Command:    append([]string{self()}, b.Args("{port}")...),
		Grace:      enginetest.Grace,
		Supervisor: []string{self(), superviseArg},
	}
}

func TestConformance(t *testing.T) {
	enginetest.Run(t, func(_ *testing.T, b enginetest.Behaviour) engine.Launcher { return launcher(b) })
}
