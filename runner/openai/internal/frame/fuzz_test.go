package frame

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzScan holds the scanner to encoding/json: it accepts the same objects, and misses
// none of their choices.
func FuzzScan(f *testing.F) {
	for _, c := range frames {
		f.Add([]byte(c.in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got, ok := Scan(in)
		if strings.Count(string(in), "{")+strings.Count(string(in), "[") > maxDepth {
			return // perhaps nested deeper than we follow
		}
		object := strings.HasPrefix(strings.TrimLeft(string(in), " \t\r\n"), "{")
		if want := json.Valid(in) && object; ok != want {
			t.Fatalf("got accepted %v, want %v", ok, want)
		}
		if !ok || strings.ContainsAny(got.Failure, "\r\n") {
			if ok {
				t.Fatalf("got an error of several lines: %q", got.Failure)
			}
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(in, &want); err != nil {
			t.Fatalf("got a frame of what is no object: %v", err)
		}
		var choices []json.RawMessage
		if json.Unmarshal(want["choices"], &choices) == nil && got.Choices < len(choices) {
			t.Errorf("got %d choices, want %d", got.Choices, len(choices))
		}
	})
}
