package rundir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
		}, "is a link to nothing"},
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
		if _, err := w.LogPath(role); err == nil || !strings.Contains(err.Error(), "name log: role") {
			t.Errorf("LogPath(%q): got %v, want an error about the role", role, err)
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
	log, err := w.LogPath("engine")
	if want := filepath.Join(w.Dir(), "logs", "engine.log"); err != nil || log != want {
		t.Errorf("log path: got %s, %v, want %s", log, err, want)
	}
	if err := os.WriteFile(log, []byte("first boot\nsecond boot\n"), 0o644); err != nil {
		t.Fatal(err)
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
		{"a context twice", func(r *gate.Run) { r.Context = gate.Context{"nccl": "1", "NCCL": "2"} }, "is there twice, in another case"},
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

func TestFinishThatFailsLeavesTheRunIncomplete(t *testing.T) {
	w := newWriter(t)
	run := testRun(t, testCell)
	if err := os.RemoveAll(w.Dir()); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(run); err == nil || run.Complete {
		t.Errorf("got %v and complete %v, want an error and an incomplete run", err, run.Complete)
	}
}
