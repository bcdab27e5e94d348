package rundir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/servegate/servegate/gate"
)

func TestCreate(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(dir string) error
		want string // part of the error, or ""
	}{
		{"nothing there", func(string) error { return nil }, ""},
		{"an empty folder", func(dir string) error { return os.MkdirAll(dir, 0o755) }, ""},
		{"a file", func(dir string) error { return writeBelow(dir) }, "not a directory"},
		{"not empty", func(dir string) error { return writeBelow(filepath.Join(dir, "notes.txt")) }, `is not empty: it holds "notes.txt" (choose another, or remove it)`},
		{"a file above", func(dir string) error { return writeBelow(filepath.Dir(dir)) }, "not a directory"},
		{"a dangling link", func(dir string) error {
			return errors.Join(os.MkdirAll(filepath.Dir(dir), 0o755), os.Symlink("nowhere", dir))
		}, "no such file or directory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			dir := filepath.Join(root, "a", "b", "run")
			if err := tt.make(dir); err != nil {
				t.Fatal(err)
			}
			before := tree(t, root)
			w, err := Create(dir)
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "create run directory: ") {
					t.Errorf("error: got %v, want %q", err, tt.want)
				}
				if diff := cmp.Diff(before, tree(t, root)); diff != "" {
					t.Errorf("it left something (-before +after):\n%s", diff)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if w.Dir() != dir {
				t.Errorf("Dir: got %s, want %s", w.Dir(), dir)
			}
			if _, err := Create(dir); err == nil {
				t.Error("a second Create of the same folder: got no error")
			}
		})
	}
}

// TestCreateReadOnly needs a folder that even root can't write.
func TestCreateReadOnly(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	if f, err := os.Create(filepath.Join(dir, "x")); err == nil {
		f.Close()
		if dir = "/proc/self"; !isFolder(dir) {
			t.Skip("modes don't bind this user, and there is no /proc that does")
		}
	}
	for _, path := range []string{filepath.Join(dir, "run"), dir} {
		_, err := Create(path)
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("Create(%s): got %v, want an error with the path", path, err)
		}
	}
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// writeBelow writes a file, with the folders above it.
func writeBelow(path string) error {
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("x"), 0o644))
}

// tree lists all paths below root.
func tree(tb testing.TB, root string) (paths []string) {
	tb.Helper()
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		paths = append(paths, filepath.ToSlash(rel))
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return paths
}

func TestNamesThatCouldEscape(t *testing.T) {
	w := newWriter(t)
	before := tree(t, filepath.Dir(w.Dir()))
	long := strings.Repeat("a", maxName+1)
	for _, id := range []string{
		"", "chat", "@", "chat@", "@near", "../x@near", "chat@..", "chat@../../x", "a/b@c", `a\b@c`, "chat@near/1",
		"chat@near@far", ".chat@near", "chat@.", "chat @near", "chat@near\x00", "chät@near", "chat@near\n", long + "@near",
	} {
		if _, err := w.Repetition(id, 1); err == nil || !strings.Contains(err.Error(), "cell id") {
			t.Errorf("Repetition(%q, 1): got %v, want an error about the cell id", id, err)
		}
	}
	for _, index := range []int{-1, 0, maxIndex + 1} {
		if _, err := w.Repetition("chat@near", index); err == nil {
			t.Errorf("Repetition(.., %d): got no error", index)
		}
	}
	for _, role := range []string{"", ".", "..", "../x", "a/b", "a@b", long} {
		if _, _, err := w.CreateLog(role); err == nil || !strings.Contains(err.Error(), "create log: role") {
			t.Errorf("CreateLog(%q): got %v, want an error about the role", role, err)
		}
	}
	if diff := cmp.Diff(before, tree(t, filepath.Dir(w.Dir()))); diff != "" {
		t.Errorf("a refused name left something (-before +after):\n%s", diff)
	}
	for _, id := range []string{"chat@near", "Chat_2-a.b@0.5"} {
		rep, err := w.Repetition(id, maxIndex)
		if err != nil {
			t.Fatalf("Repetition(%q): %v", id, err)
		}
		if err := rep.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWriterWritesTheDirectory(t *testing.T) {
	w := newWriter(t)
	if err := w.WriteConfig([]byte("version: 1\n")); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"first boot\n", "second boot\n"} {
		f, path, err := w.CreateLog("engine")
		if err != nil {
			t.Fatal(err)
		}
		if want := filepath.Join(w.Dir(), "logs", "engine.log"); path != want {
			t.Errorf("log path: got %s, want %s", path, want)
		}
		if _, err := f.WriteString(line); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	run := testRun(t, testCell)
	if err := w.WriteRun(run); err != nil {
		t.Fatal(err)
	}
	if got := mustOpen(t, w.Dir()).Run(); got.Complete || len(got.Cells[0].Repetitions) != 0 {
		t.Errorf("run.json before the first repetition: got %+v", got)
	}
	reqs := testRequests(1, 100, 4)
	addRepetition(t, w, &run.Cells[0], 1, reqs)
	if err := w.Finish(run); err != nil {
		t.Fatal(err)
	}

	want := []string{
		".", "cells", "cells/chat@near", "cells/chat@near/1", "cells/chat@near/1/requests.jsonl.zst",
		"config.yaml", "logs", "logs/engine.log", "manifest.json", "run.json",
	}
	if diff := cmp.Diff(want, tree(t, w.Dir())); diff != "" {
		t.Errorf("directory (-want +got):\n%s", diff)
	}
	if got, want := string(mustRead(t, filepath.Join(w.Dir(), "logs/engine.log"))), "first boot\nsecond boot\n"; got != want {
		t.Errorf("log: got %q, want %q", got, want)
	}
	d := mustOpen(t, w.Dir())
	if diff := cmp.Diff(run, d.Run()); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
	got, err := readAll(t, d, "chat@near", 1)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(reqs, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

func TestWriterRefuses(t *testing.T) {
	w := newWriter(t)
	run := testRun(t, testCell)
	rep, err := w.Repetition("chat@near", 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Repetition("chat@near", 1); !errors.Is(err, fs.ErrExist) {
		t.Errorf("the same repetition twice: got %v, want that it exists", err)
	}
	if err := w.Finish(run); err == nil || !strings.Contains(err.Error(), "repetition chat@near/1 is still open") {
		t.Errorf("Finish with an open repetition: got %v", err)
	}
	if run.Complete {
		t.Error("a refused Finish marked the run complete")
	}
	for range 2 {
		if err := rep.Close(); err != nil {
			t.Fatal(err)
		}
	}
	r := testRequests(1, 1, 1)[0]
	if err := rep.Add(&r); !errors.Is(err, errClosed) {
		t.Errorf("Add after Close: got %v, want %v", err, errClosed)
	}
	if _, err := rep.Telemetry("gpu"); !errors.Is(err, errClosed) {
		t.Errorf("Telemetry after Close: got %v, want %v", err, errClosed)
	}
	if err := w.Finish(run); err != nil {
		t.Fatal(err)
	}
	if err := w.WriteRun(run); err == nil || !strings.Contains(err.Error(), "the run is finished") {
		t.Errorf("WriteRun after Finish: got %v", err)
	}
	if _, err := w.Repetition("chat@near", 2); err == nil || !strings.Contains(err.Error(), "the run is finished") {
		t.Errorf("Repetition after Finish: got %v", err)
	}
}

// TestWriteRunRefuses what Open would refuse, and leaves the run.json that was there.
func TestWriteRunRefuses(t *testing.T) {
	w := newWriter(t)
	if err := w.WriteRun(testRun(t, testCell)); err != nil {
		t.Fatal(err)
	}
	before := mustRead(t, filepath.Join(w.Dir(), runFile))
	for _, tt := range []struct {
		name   string
		change func(*gate.Run)
		want   string
	}{
		{"no schema", func(r *gate.Run) { r.Schema = "" }, `schema ""`},
		{"a cell twice", func(r *gate.Run) { r.Cells = append(r.Cells, r.Cells[0]) }, `cell "chat@near" is there twice`},
		{"a bad id", func(r *gate.Run) { r.Cells[0].ID = "../x@y" }, "cell id"},
		{"a repetition twice", func(r *gate.Run) {
			r.Cells[0].Repetitions = make([]gate.Repetition, 2)
			r.Cells[0].Repetitions[0].Index, r.Cells[0].Repetitions[1].Index = 1, 1
		}, "repetition 1 is there twice"},
		{"no index", func(r *gate.Run) { r.Cells[0].Repetitions = make([]gate.Repetition, 1) }, "repetition 0"},
		{"a wrong fingerprint", func(r *gate.Run) { r.Cells[0].Fingerprint = "sha256:0" }, "its envelope has sha256:"},
		{"an unknown path", func(r *gate.Run) { r.Cells[0].Envelope["x"] = gate.Field{Source: gate.Undeclared} }, "no such field"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := testRun(t, testCell)
			tt.change(run)
			err := w.WriteRun(run)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "write run.json: ") {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if after := mustRead(t, filepath.Join(w.Dir(), runFile)); string(after) != string(before) {
				t.Error("run.json changed")
			}
		})
	}
	run := testRun(t, testCell)
	run.Cells[0].Envelope, run.Cells[0].Fingerprint = nil, ""
	if err := w.WriteRun(run); err != nil {
		t.Errorf("a cell that was not measured yet has no envelope: %v", err)
	}
	if err := w.Finish(run); err == nil || !strings.Contains(err.Error(), "fingerprint") {
		t.Errorf("a finished run without envelope: got %v, want an error about the fingerprint", err)
	}
}

// TestAddFromManyGoroutines is a test for the race detector, too.
func TestAddFromManyGoroutines(t *testing.T) {
	w := newWriter(t)
	if err := w.WriteRun(testRun(t, testCell)); err != nil {
		t.Fatal(err)
	}
	rep, err := w.Repetition("chat@near", 1)
	if err != nil {
		t.Fatal(err)
	}
	const streams, each = 8, 500
	var group sync.WaitGroup
	for stream := range streams {
		group.Go(func() {
			for _, r := range testRequests(uint64(stream), each, 16) {
				r.Stream = stream
				if err := rep.Add(&r); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Go(func() {
		for range each {
			if err := rep.Err(); err != nil {
				t.Error(err)
			}
		}
	})
	group.Wait()
	if err := rep.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := readAll(t, mustOpen(t, w.Dir()), "chat@near", 1)
	if err != nil || len(got) != streams*each {
		t.Fatalf("read: got %d records, %v, want %d", len(got), err, streams*each)
	}
	next := make([]int, streams)
	for _, r := range got {
		if r.Index != next[r.Stream] {
			t.Fatalf("stream %d: got record %d, want %d", r.Stream, r.Index, next[r.Stream])
		}
		next[r.Stream]++
	}
}

// TestFlush holds the promise that a kill loses no more than the last second.
func TestFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWriter(t)
		if err := w.WriteRun(testRun(t, testCell)); err != nil {
			t.Fatal(err)
		}
		rep, err := w.Repetition("chat@near", 1)
		if err != nil {
			t.Fatal(err)
		}
		gpu, err := rep.Telemetry("gpu")
		if err != nil {
			t.Fatal(err)
		}
		reqs := testRequests(1, 30, 2)
		for i := range reqs {
			if err := rep.Add(&reqs[i]); err != nil {
				t.Fatal(err)
			}
			if _, err := fmt.Fprintf(gpu, "{\"n\":%d}\n", i); err != nil {
				t.Fatal(err)
			}
			if i%7 == 0 {
				time.Sleep(time.Second)
				synctest.Wait()
				d := mustOpen(t, w.Dir())
				got, err := readAll(t, d, "chat@near", 1)
				if !errors.Is(err, ErrTruncated) || len(got) != i+1 {
					t.Fatalf("a second later: got %d records, %v, want %d and %v", len(got), err, i+1, ErrTruncated)
				}
				text, err := readTelemetry(d, "gpu")
				if n := strings.Count(text, "\n"); !errors.Is(err, ErrTruncated) || n != i+1 {
					t.Fatalf("telemetry a second later: got %d lines, %v, want %d and %v", n, err, i+1, ErrTruncated)
				}
			}
		}
		if err := rep.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func readTelemetry(d *Dir, name string) (string, error) {
	r, err := d.Telemetry("chat@near", 1, name)
	if err != nil {
		return "", err
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	return string(text), err
}

func TestTelemetry(t *testing.T) {
	w := newWriter(t)
	run := testRun(t)
	rep, err := w.Repetition("chat@near", 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "../x", "a/b", requestsName} {
		if _, err := rep.Telemetry(name); err == nil || !strings.Contains(err.Error(), "begin telemetry of chat@near/1") {
			t.Errorf("Telemetry(%q): got %v, want an error", name, err)
		}
	}
	engine, err := rep.Telemetry("engine")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Repeat("{\"running\":3}\n", 20_000) // more than a block
	if n, err := io.WriteString(engine, want); n != len(want) || err != nil {
		t.Fatalf("Write: got %d, %v", n, err)
	}
	if err := engine.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(engine, "x"); !errors.Is(err, errClosed) {
		t.Errorf("Write after Close: got %v, want %v", err, errClosed)
	}
	if _, err := rep.Telemetry("gpu"); err != nil { // left to the repetition to close
		t.Fatal(err)
	}
	if err := rep.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.WriteRun(run); err != nil {
		t.Fatal(err)
	}
	d := mustOpen(t, w.Dir())
	for name, want := range map[string]string{"engine": want, "gpu": ""} {
		if got, err := readTelemetry(d, name); got != want || err != nil {
			t.Errorf("%s: got %d bytes, %v, want %d", name, len(got), err, len(want))
		}
	}
	if _, err := readTelemetry(d, "cpu"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("telemetry that isn't there: got %v, want %v", err, fs.ErrNotExist)
	}
	if _, err := readTelemetry(d, "../x"); err == nil || !strings.Contains(err.Error(), "read telemetry") {
		t.Errorf("a name that escapes: got %v", err)
	}
}

// TestSlowDisk has a disk that takes nothing: Add must not wait for it, and must not
// gather records without end.
func TestSlowDisk(t *testing.T) {
	r, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	const limit = 4 << 20
	s, err := newStream(pipe, limit)
	if err != nil {
		t.Fatal(err)
	}
	line := append([]byte(strings.Repeat("x", 999)), '\n')
	n := 0
	for err = nil; err == nil; n++ {
		err = s.commit(append(s.begin(), line...))
		if n > 100*limit/len(line) {
			t.Fatal("no limit to what waits")
		}
	}
	if want := "the disk does not keep up, 4 MiB wait for it"; !strings.Contains(err.Error(), want) {
		t.Errorf("error: got %v, want %q", err, want)
	}
	r.Close() // the write that hangs fails
	if again := s.close(); again != err {
		t.Errorf("close: got %v, want the first error, %v", again, err)
	}
}

// TestFullDisk writes to a device that behaves like a full disk.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("no device that is always full: %v", err)
	}
	s, err := newStream(full, maxWaiting)
	if err != nil {
		t.Fatal(err)
	}
	w := newWriter(t)
	rep := &RepetitionWriter{w: w, ref: Ref{"chat@near", 1}, requests: s}
	r := testRequests(1, 1, 1)[0]
	deadline := time.Now().Add(10 * time.Second)
	for err = nil; err == nil && time.Now().Before(deadline); {
		err = rep.Add(&r)
	}
	for name, err := range map[string]error{"Add": err, "Err": rep.Err(), "Close": rep.Close()} {
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(fmt.Sprint(err), "/dev/full") {
			t.Errorf("%s: got %v, want %v with the path", name, err, syscall.ENOSPC)
		}
	}
}
