package rundir

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestFullFileSystem writes onto a file system of 64 pages.
func TestFullFileSystem(t *testing.T) {
	mount := t.TempDir()
	if err := syscall.Mount("tmpfs", mount, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("mounting a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(mount, 0); err != nil {
			t.Error(err)
		}
	})
	w, err := Create(filepath.Join(mount, "run"))
	if err != nil {
		t.Fatal(err)
	}
	run := testRun(t, testCell)
	addRepetition(t, w, &run.Cells[0], 1, testRequests(1, 100, 4))
	if err := w.WriteRun(run); err != nil {
		t.Fatal(err)
	}
	rep, err := w.Repetition("chat@near", 2)
	if err != nil {
		t.Fatal(err)
	}
	reqs := testRequests(2, 10_000, 16)
	for i := range reqs {
		if err := rep.Add(&reqs[i]); err != nil {
			break
		}
	}
	if err := rep.Close(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Close: got %v, want %v", err, syscall.ENOSPC)
	}
	run.Warnings = []string{strings.Repeat("x", 256<<10)}
	if err := w.WriteRun(run); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("WriteRun: got %v, want %v", err, syscall.ENOSPC)
	}
	// What was written before is whole, and of the rest whatever fitted.
	if slices.Contains(tree(t, w.Dir()), runFile+tempSuffix) {
		t.Error("a half-written run.json was left")
	}
	d := mustOpen(t, w.Dir())
	if check, err := d.Verify(t.Context()); err != nil || check.Repetitions != 1 {
		t.Errorf("Verify: got %+v, %v, want one repetition", check, err)
	}
	got, err := readAll(t, d, "chat@near", 2)
	if !errors.Is(err, ErrTruncated) || len(got) == 0 {
		t.Errorf("the repetition that filled the disk: got %d records, %v, want some and %v", len(got), err, ErrTruncated)
	}
}
