package rundir

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/servegate/servegate/gate"
)

// BenchmarkEncode is the time that Add takes of who measures, but for the lock.
func BenchmarkEncode(b *testing.B) {
	for _, chunks := range []int{1, 16, 128} {
		b.Run(fmt.Sprintf("chunks=%d", chunks), func(b *testing.B) {
			r := testRequests(1, 1, chunks)[0]
			buf := appendRequest(nil, &r)
			b.SetBytes(int64(len(buf)))
			b.ReportAllocs()
			for b.Loop() {
				buf = appendRequest(buf[:0], &r)
			}
		})
	}
}

// BenchmarkAdd writes to a file, compression included, and says how large a record of 16
// chunks is there.
func BenchmarkAdd(b *testing.B) {
	w := newWriter(b)
	rep, err := w.Repetition("chat@near", 1)
	if err != nil {
		b.Fatal(err)
	}
	reqs := testRequests(1, 10_000, 16)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if n%100_000 == 0 { // stay below what may wait, as no disk keeps up with this loop
			if err := rep.Close(); err != nil {
				b.Fatal(err)
			}
			if rep, err = w.Repetition("chat@near", 2+n/100_000); err != nil {
				b.Fatal(err)
			}
		}
		if err := rep.Add(&reqs[n%len(reqs)]); err != nil {
			b.Fatal(err)
		}
		n++
	}
	if err := rep.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(sizeOf(b, w.Dir()))/float64(n), "disk-B/op")
}

func sizeOf(tb testing.TB, dir string) (size int64) {
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		size += info.Size()
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return size
}

// BenchmarkDecode reads records of 16 chunks, the fast way and the strict one.
func BenchmarkDecode(b *testing.B) {
	r := testRequests(1, 1, 16)[0]
	line := appendRequest(nil, &r)
	line = line[:len(line)-1]
	for _, bench := range []struct {
		name   string
		decode func(*decoder, []byte, *gate.Request) error
	}{
		{"canonical", (*decoder).decode},
		{"strict", func(_ *decoder, line []byte, r *gate.Request) error { return decodeStrict(line, r) }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			d := newDecoder()
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for b.Loop() {
				d.reset()
				if err := bench.decode(d, line, &r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRead reads one repetition of 8333 records from disk.
func BenchmarkRead(b *testing.B) {
	const n = 8333
	w := newWriter(b)
	run := testRun(b, testCell)
	addRepetition(b, w, &run.Cells[0], 1, testRequests(1, n, 16))
	if err := w.Finish(run); err != nil {
		b.Fatal(err)
	}
	d := mustOpen(b, w.Dir())
	var buf Buffer
	b.ReportAllocs()
	for b.Loop() {
		if reqs, err := d.ReadRequests("chat@near", 1, &buf); err != nil || len(reqs) != n {
			b.Fatal(len(reqs), err)
		}
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/n, "ns/record")
}

// BenchmarkRederive verifies a run of 24 cells x 5 repetitions, 10^6 requests of 16
// chunks in all: every manifest digest, and every metric derived again from disk. The
// target is below 5 s and 500 MB on two cores.
func BenchmarkRederive(b *testing.B) {
	const cells, repetitions, records = 24, 5, 1_000_000
	dir := writeLarge(b, cells, repetitions, records/cells/repetitions+1)
	debug.FreeOSMemory() // what writing took is not what verifying takes
	peak := watchMemory()
	n := 0
	for b.Loop() {
		check, err := mustOpen(b, dir).Verify(context.Background())
		if err != nil || check.Repetitions != cells*repetitions {
			b.Fatal(check, err)
		}
		n += check.Records
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "requests/s")
	b.ReportMetric(float64(peak())/1e6, "peak-MB")
	b.ReportMetric(float64(sizeOf(b, dir))/1e6, "disk-MB")
}

// writeLarge writes a finished run whose cells differ in name and noise only.
func writeLarge(b *testing.B, cells, repetitions, records int) string {
	b.Helper()
	w := newWriter(b)
	run := testRun(b)
	for c := range cells {
		cell := testCell
		cell.ID = fmt.Sprintf("chat@load%d", c)
		run.Cells = append(run.Cells, gate.CellRun{Cell: cell, Envelope: testEnvelope(b), Fingerprint: testEnvelope(b).Fingerprint()})
		for index := 1; index <= repetitions; index++ {
			addRepetition(b, w, &run.Cells[c], index, testRequests(uint64(c*repetitions+index), records, 16))
		}
	}
	if err := w.Finish(run); err != nil {
		b.Fatal(err)
	}
	return w.Dir()
}

// watchMemory samples what the process holds of the machine's memory, until the function
// it returns is called, which gives the largest value in bytes.
func watchMemory() func() uint64 {
	stop, peak := make(chan struct{}), make(chan uint64)
	go func() {
		sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		var most uint64
		for {
			metrics.Read(sample)
			most = max(most, sample[0].Value.Uint64()-sample[1].Value.Uint64())
			select {
			case <-stop:
				peak <- most
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	return func() uint64 { close(stop); return <-peak }
}
