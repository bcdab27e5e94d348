package process

import (
	"os"
	"testing"

	"github.com/servegate/servegate/runner/engine"
	"github.com/servegate/servegate/runner/engine/enginetest"
)

// superviseArg makes the test binary the supervisor.
const superviseArg = "test-supervise"

// roles are what the test binary can be beside a test and an engine.
var roles = map[string]func() int{superviseArg: Supervise}

func TestMain(m *testing.M) {
	enginetest.Main()
	if len(os.Args) > 1 {
		if role, ok := roles[os.Args[1]]; ok {
			os.Exit(role())
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
