package process

import (
	"strings"
	"testing"
)

// A program that was started as the supervisor, and launches an engine instead of being
// one, would start itself without end.
func TestNoSupervisorWithinASupervisor(t *testing.T) {
	t.Setenv(partName, "1")
	if _, err := (Launcher{Command: []string{"true", "{port}"}}).Launch(t.Context()); err == nil || !strings.Contains(err.Error(), "Supervise") {
		t.Errorf("got %v, want a refusal", err)
	}
}
