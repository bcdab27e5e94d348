package runner

import (
	"time"

	"github.com/servegate/servegate/gate"
)

// Event is something that a run tells while it goes on, for a bar or a log. A run
// never waits for its listener to do anything with it.
type Event struct {
	Kind  EventKind
	Cell  string // the cell, where the event is about one
	Index int    // the repetition, from 1
	Boot  int    // the boot, from 1

	Phase gate.Phase    // Progress: the phase of the requests
	Done  int           // Progress: measured requests that ended
	Want  int           // Progress: measured requests in all; 0 where a duration is measured
	Spent time.Duration // Ready: from launch to the first token. Progress: since the repetition began
	Of    time.Duration // Progress: the measured duration, where one is set

	Repetition *gate.Repetition // Measured: what came out
	Text       string           // Warning: what to say; Booting: what is done
}

// EventKind is the kind of an Event.
type EventKind string

// The kinds of events, in the order in which a run emits them.
const (
	Booting   EventKind = "booting"   // an engine is being started
	Ready     EventKind = "ready"     // it answered with a token
	Measuring EventKind = "measuring" // a repetition begins
	Progress  EventKind = "progress"  // now and then while it goes on
	Measured  EventKind = "measured"  // a repetition has ended
	Stopping  EventKind = "stopping"  // the engine is being stopped
	Warning   EventKind = "warning"   // something to be told; stands in run.json too
)
