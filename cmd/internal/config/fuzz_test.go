package config

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// FuzzLoad feeds the parser whatever a stranger may write. It never panics and never
// takes long; what it accepts is printed as a config that parses to the same, can be
// planned, and is accepted by the packages that execute the plan.
func FuzzLoad(f *testing.F) {
	for _, glob := range []string{"testdata/ok/*.yaml", "testdata/err/*.yaml", "../../../.github/examples/*.yaml"} {
		for _, file := range cases(f, glob) {
			f.Add(read(f, file))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		start := time.Now()
		c, err := Parse("f", data)
		if spent := time.Since(start); spent > 10*time.Second {
			t.Errorf("took %s for %d bytes", spent, len(data))
		}
		if err != nil {
			_ = err.Error()
			return
		}
		printed, err := c.YAML()
		if err != nil {
			t.Fatalf("YAML: %v", err)
		}
		again, err := Parse("printed", printed)
		if err != nil {
			t.Fatalf("printed config is refused: %v\n%s", err, printed)
		}
		if diff := cmp.Diff(c, again, resolved); diff != "" {
			t.Fatalf("printed config differs (-first +second):\n%s\n%s", diff, printed)
		}
		if twice, err := again.YAML(); err != nil || !bytes.Equal(printed, twice) {
			t.Fatalf("printed twice (%v):\n%s\n%s", err, printed, twice)
		}
		for _, s := range c.Matrix {
			p, err := c.Preview(s.Name, Overrides{})
			if err != nil {
				t.Fatalf("Preview(%s): %v", s.Name, err)
			}
			if err := p.Declared.Validate(); err != nil {
				t.Errorf("declared envelope: %v", err)
			}
			for _, cell := range p.Cells {
				if err := cell.Workload.Validate(); err != nil {
					t.Errorf("cell %s: workload: %v", cell.ID, err)
				}
				if err := cell.Load.Validate(); err != nil {
					t.Errorf("cell %s: load: %v", cell.ID, err)
				}
			}
		}
	})
}
