package strict

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{"workloads", "loads", "model", "matrix", "measure", "ready_timeout", "tp"}
	tests := []struct{ name, want string }{
		{"workload", "workloads"},
		{"lods", "loads"},
		{"modle", "model"}, // two letters swapped
		{"Model", "model"},
		{"ready-timeout", "ready_timeout"},
		{"mesaure", "measure"},
		{"pt", ""}, // too short to guess
		{"banana", ""},
		{"", ""},
		{strings.Repeat("model", 1000), ""},
	}
	for _, tt := range tests {
		if got := Nearest(tt.name, known); got != tt.want {
			t.Errorf("Nearest(%.20q): got %q, want %q", tt.name, got, tt.want)
		}
	}
}
