package process

import (
	"time"

	"github.com/servegate/servegate/runner/engine"
)

// Launcher and supervisor talk over two pipes in gob, which carries arguments and
// environment byte by byte. The launcher sends one spec and then orders; that the pipe
// closes is the last of them. The supervisor sends reports: started or failed, exited,
// gone.

// The descriptors that a supervisor inherits.
const (
	controlFD = 3 + iota // spec and orders
	statusFD             // reports
	logFD                // the engine's log, not opened to append
)

// spec is the engine that a supervisor starts.
type spec struct {
	Program  string // absolute
	Argv     []string
	Env      []string
	Dir      string // empty: ours
	Grace    time.Duration
	Secrets  []string // values to mask in the log
	Offset   int64    // where this boot's log begins
	LogLimit int64
}

// order tells the supervisor to end the engine, and to kill it after the grace.
type order struct {
	Grace time.Duration
	Limit time.Duration // how long after that it may take to die
	Lost  bool          // nobody told so: the launcher is gone
}

// report is what a supervisor has to say.
type report struct {
	Kind  kind
	PID   int         // started: the engine's
	Error string      // failed: why the engine could not be started
	Errno int         // failed: the system's error number; 0: none
	Exit  engine.Exit // exited
	Left  []string    // gone: processes that could not be killed
}

type kind int

const (
	started kind = iota + 1 // the engine runs
	failed                  // it could not be started; nothing follows
	exited                  // its first process has ended
	gone                    // everything that it had started has, too; nothing follows
)

// markName is the environment variable by which the processes of one boot are found.
const markName = "SERVEGATE_ENGINE_ID"

const (
	// dyingLimit is how long processes that were killed may take to be gone before they
	// are reported as left: the kernel needs a while to take one apart that has tens of
	// GB or a GPU, and forever if a driver doesn't let go of it.
	dyingLimit = 10 * time.Second
	// hurryLimit is the same where the caller is in a hurry.
	hurryLimit = time.Second
	// patience is how much longer than agreed the launcher waits for a supervisor, or a
	// lost one's guard, before it takes matters into its own hands.
	patience = 200 * time.Millisecond
	// leftoverGrace is how long processes have that outlive an engine which ended by
	// itself: what they would still want to write has no reader.
	leftoverGrace = 2 * time.Second
)
