package rundir

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/servegate/servegate/gate"
)

// Check is what a verification looked at.
type Check struct {
	Repetitions int // repetitions derived again from their raw records
	Records     int // raw records read for it
	// Unfinished lists repetitions with raw records that run.json doesn't hold, since
	// the run was cut short in their midst.
	Unfinished []Ref
}

// Verify checks that nothing was changed, lost or added since the run was finished
// (that is left out where it never was), and that every repetition in run.json is byte
// for byte what its raw records give. It returns all faults at once, each with the file
// or the repetition that has it, or ctx's error.
func (d *Dir) Verify(ctx context.Context) (Check, error) {
	var faults []error
	if d.run.Complete {
		faults = d.checkManifest(ctx)
	}
	check, more := d.rederive(ctx)
	faults = append(faults, more...)
	faults = append(faults, d.unlisted(&check)...)
	if err := ctx.Err(); err != nil {
		return check, fmt.Errorf("verify %s: %w", d.path, err)
	}
	if err := errors.Join(faults...); err != nil {
		return check, fmt.Errorf("verify %s: %w", d.path, err)
	}
	return check, nil
}

// rederive derives every repetition of run.json again, several at a time.
func (d *Dir) rederive(ctx context.Context) (Check, []error) {
	type job struct{ cell, repetition int }
	var jobs []job
	for c := range d.run.Cells {
		for r := range d.run.Cells[c].Repetitions {
			jobs = append(jobs, job{c, r})
		}
	}
	var records atomic.Int64
	faults := make([]error, len(jobs))
	inParallel(ctx, len(jobs), func() func(int) {
		var buf Buffer
		return func(i int) {
			cell := &d.run.Cells[jobs[i].cell]
			stored := d.run.repetitions[jobs[i].cell][jobs[i].repetition]
			n, err := d.derivedAs(cell, &cell.Repetitions[jobs[i].repetition], stored, &buf)
			records.Add(int64(n))
			faults[i] = err
		}
	})
	faults = slices.DeleteFunc(faults, func(err error) bool { return err == nil })
	return Check{Repetitions: len(jobs), Records: int(records.Load())}, faults
}

// derivedAs reads the raw records of a repetition, and says where what they give differs
// from what is stored.
func (d *Dir) derivedAs(cell *gate.CellRun, rep *gate.Repetition, stored json.RawMessage, buf *Buffer) (records int, err error) {
	ref := Ref{Cell: cell.ID, Index: rep.Index}
	reqs, err := d.ReadRequests(ref.Cell, ref.Index, buf)
	if err != nil {
		return len(reqs), err
	}
	derived := gate.Derive(cell.Cell, rep.Facts, reqs)
	for m, text := range derived.Histograms {
		if told := rep.Histograms[m]; gate.SameHistogram(told, text) {
			derived.Histograms[m] = told // compressed by another Go release, perhaps
		}
	}
	want, err := encodeRepetition(&derived)
	if err != nil {
		return len(reqs), fmt.Errorf("%s: %w", ref, err)
	}
	var got bytes.Buffer
	if err := json.Compact(&got, stored); err != nil {
		return len(reqs), fmt.Errorf("%s: %w", ref, err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		a, b := around(got.Bytes(), want)
		return len(reqs), fmt.Errorf("%s: %s is not what its raw records give: %q, not %q", ref, runFile, a, b)
	}
	return len(reqs), nil
}

// around returns what stands about the first byte in which a and b differ.
func around(a, b []byte) (ina, inb []byte) {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	from := max(0, at-48)
	return a[from:min(len(a), at+16)], b[from:min(len(b), at+16)]
}

// unlisted looks for raw records that run.json has no repetition of.
func (d *Dir) unlisted(check *Check) []error {
	refs, err := d.Raw()
	if err != nil {
		return []error{err}
	}
	listed := map[Ref]bool{}
	for _, c := range d.run.Cells {
		for _, r := range c.Repetitions {
			listed[Ref{Cell: c.ID, Index: r.Index}] = true
		}
	}
	var faults []error
	for _, ref := range refs {
		switch {
		case listed[ref]:
		case d.run.Complete:
			faults = append(faults, fmt.Errorf("%s: has raw records and is not in %s", ref, runFile))
		default:
			check.Unfinished = append(check.Unfinished, ref)
		}
	}
	return faults
}

// inParallel calls, for each i below n, a function that worker gave, on as many
// goroutines as there are processors; each has a function of its own. It stops early
// when ctx ends.
func inParallel(ctx context.Context, n int, worker func() func(i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			do := worker()
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	group.Wait()
}
