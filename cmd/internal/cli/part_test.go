package cli

import (
	"os"
	"testing"
)

// TestMain lets the test binary play servegate for the processes that it starts itself
// as: the supervisor of an engine, and the simulated engine. Without it the supervisor
// would be all tests once more.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "engine" {
		os.Exit(Main(System(), os.Args[1:]))
	}
	os.Exit(m.Run())
}
