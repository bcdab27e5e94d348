package dir

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servegate/servegate/baselines"
	"github.com/servegate/servegate/baselines/storetest"
	"github.com/servegate/servegate/gate"
)

// BenchmarkEntries reads a store of 20 records, of 24 cells with 6 repetitions each and
// eight histograms of 2 kB a repetition.
func BenchmarkEntries(b *testing.B) {
	root := filepath.Join(b.TempDir(), "store")
	text := strings.Repeat("HISTFAAAAB4=", 170)
	size := 0
	for n := range 20 {
		e := storetest.Record(b, n+1, func(r *baselines.Record) {
			cell := r.Run.Cells[0]
			cell.Repetitions = nil
			for i := range 6 {
				rep := storetest.Repetition(i + 1)
				for _, d := range gate.Metrics {
					rep.Metrics[d.Metric] = rep.Metrics[gate.TTFT]
					if d.Distribution {
						rep.Histograms[d.Metric] = text
					}
				}
				cell.Repetitions = append(cell.Repetitions, rep)
			}
			r.Run.Cells, r.Results = nil, nil
			for i := range 24 {
				cell.ID = fmt.Sprintf("chat@%d", i)
				r.Run.Cells = append(r.Run.Cells, cell)
				r.Results = append(r.Results, baselines.CellResult{Cell: cell.ID, Result: gate.Passed})
			}
		})
		data, err := baselines.Encode(e)
		if err != nil {
			b.Fatal(err)
		}
		size += len(data)
		if err := New(root).Append(b.Context(), e); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		if got, err := New(root).Entries(b.Context()); err != nil || len(got.Entries) != 20 {
			b.Fatalf("got %d entries, error %v", len(got.Entries), err)
		}
	}
}
