package gate

import (
	"math"
	"strings"
	"testing"
)

func TestRegistry(t *testing.T) {
	ids := map[string]bool{}
	for _, d := range Metrics {
		if got, ok := Define(d.Metric); !ok || got != d {
			t.Errorf("Define(%s): got %+v, %v", d.Metric, got, ok)
		}
		if !strings.HasPrefix(d.ID, string(d.Metric)+"/") || ids[d.ID] {
			t.Errorf("%s: definition id %q is another's", d.Metric, d.ID)
		}
		ids[d.ID] = true
		if d.Unit == "" || d.Doc == "" || d.Direction != HigherIsBetter && d.Direction != LowerIsBetter {
			t.Errorf("%s: the registry leaves something open: %+v", d.Metric, d)
		}
		if d.Distribution && (d.Unit != Seconds || d.Floor(.99) != 299 || d.Floor(1) != math.MaxInt) {
			t.Errorf("%s: got unit %s, floor of p99 %d", d.Metric, d.Unit, d.Floor(.99))
		}
		if !d.Distribution && d.Floor(.99) != 1 {
			t.Errorf("%s: a scalar has no sample floor, got %d", d.Metric, d.Floor(.99))
		}
	}
	if got, ok := Define("latency"); ok {
		t.Errorf("Define of an unknown metric: got %+v", got)
	}
}
