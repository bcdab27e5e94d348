package rundir

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/servegate/gate"
)

// crashVar makes the test binary a run that is killed, see killedRun.
const crashVar = "RUNDIR_TEST_CRASH"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashVar); dir != "" {
		if err := killedRun(dir); err != nil {
			fmt.Println(err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// killedRun writes records, says so a second later, writes more, and waits to be killed.
func killedRun(dir string) error {
	w, err := Create(dir)
	if err != nil {
		return err
	}
	run := &gate.Run{Schema: gate.RunSchema, ID: "killed", Cells: []gate.CellRun{{Cell: testCell}}}
	if err := w.WriteRun(run); err != nil {
		return err
	}
	rep, err := w.Repetition(testCell.ID, 1)
	if err != nil {
		return err
	}
	reqs := testRequests(1, 400, 16)
	for i := range reqs {
		if i == 200 {
			time.Sleep(time.Second)
			fmt.Println("200 written")
		}
		if err := rep.Add(&reqs[i]); err != nil {
			return err
		}
	}
	fmt.Println("400 written")
	time.Sleep(time.Minute)
	return errors.New("not killed")
}

// TestKilled has a run killed as nothing can catch it.
func TestKilled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashVar+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if said = append(said, lines.Text()); len(said) == 2 {
			break
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // says only that it was killed
	if want := []string{"200 written", "400 written"}; !slices.Equal(said, want) {
		t.Fatalf("the run said %q, want %q", said, want)
	}

	d := mustOpen(t, dir)
	if d.Run().Complete {
		t.Error("the run is marked complete")
	}
	check, err := d.Verify(t.Context())
	if want := []Ref{{testCell.ID, 1}}; err != nil || !slices.Equal(check.Unfinished, want) {
		t.Errorf("Verify: got %+v, %v, want %v unfinished", check, err, want)
	}
	got, err := readAll(t, d, testCell.ID, 1)
	if !errors.Is(err, ErrTruncated) {
		t.Errorf("read: got %v, want %v", err, ErrTruncated)
	}
	if len(got) < 200 || !reflect.DeepEqual(got, testRequests(1, 400, 16)[:len(got)]) {
		t.Errorf("read: got %d records, want the first 200 at least", len(got))
	}
}

// unfinishedRun writes n records, flushed several times, and closes the repetition, but
// not the run.
func unfinishedRun(t *testing.T, n int) (dir, file string, reqs []gate.Request) {
	t.Helper()
	reqs = testRequests(1, n, 3)
	dir = filepath.Join(t.TempDir(), "run") // not of the bubble, which ends before it is read
	synctest.Test(t, func(t *testing.T) {
		w, err := Create(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WriteRun(testRun(t, testCell)); err != nil {
			t.Fatal(err)
		}
		rep, err := w.Repetition("chat@near", 1)
		if err != nil {
			t.Fatal(err)
		}
		for i := range reqs {
			if err := rep.Add(&reqs[i]); err != nil {
				t.Fatal(err)
			}
			if i%(n/10) == 0 {
				time.Sleep(time.Second)
			}
		}
		if err := rep.Close(); err != nil {
			t.Fatal(err)
		}
	})
	return dir, filepath.Join(dir, "cells/chat@near/1/requests.jsonl.zst"), reqs
}

// TestTruncatedAnywhere cuts a file of raw records at every 97th byte.
func TestTruncatedAnywhere(t *testing.T) {
	dir, file, reqs := unfinishedRun(t, 1000)
	d := mustOpen(t, dir)
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := readAll(t, d, "chat@near", 1); err != nil || len(got) != len(reqs) {
		t.Fatalf("whole file: got %d records, %v", len(got), err)
	}
	complete := mustOpen(t, dir)
	complete.run.Complete = true
	var buf Buffer // one for all, as after an error it must serve again
	last, lengths := len(reqs), map[int]bool{}
	for size := info.Size() - 1; size >= 0; size -= 97 {
		if err := os.Truncate(file, size); err != nil {
			t.Fatal(err)
		}
		got, err := d.ReadRequests("chat@near", 1, &buf)
		if !errors.Is(err, ErrTruncated) {
			t.Fatalf("cut at %d: got %v, want %v", size, err, ErrTruncated)
		}
		if len(got) > last || !reflect.DeepEqual(got, reqs[:len(got)]) && len(got) > 0 {
			t.Fatalf("cut at %d: the %d records are not those that were written", size, len(got))
		}
		last, lengths[len(got)] = len(got), true
		if _, err := complete.ReadRequests("chat@near", 1, &buf); errors.Is(err, ErrTruncated) || !strings.Contains(err.Error(), "damaged") {
			t.Fatalf("cut at %d in a complete run: got %v, want that it is damaged", size, err)
		}
	}
	if last != 0 || len(lengths) < 10 {
		t.Errorf("got %d different lengths, the shortest %d; want at least 10 and 0", len(lengths), last)
	}
}

// TestDamagedAnywhere flips single bits: that must show, or change no record.
func TestDamagedAnywhere(t *testing.T) {
	dir, file, reqs := unfinishedRun(t, 100)
	d := mustOpen(t, dir)
	whole := mustRead(t, file)
	rng := rand.New(rand.NewPCG(1, 2))
	var buf Buffer
	for range 500 {
		at, bit := rng.IntN(len(whole)), rng.IntN(8)
		damaged := slices.Clone(whole)
		damaged[at] ^= 1 << bit
		mustWrite(t, file, damaged)
		got, err := d.ReadRequests("chat@near", 1, &buf)
		if err == nil && !reflect.DeepEqual(got, reqs) {
			t.Fatalf("bit %d of byte %d flipped: other records, and no error", bit, at)
		}
	}
}

func TestLeftoversOfACrash(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(dir string) error
		want   string // of the error of Verify
	}{
		{"none", func(string) error { return nil }, ""},
		{"before the manifest", func(dir string) error {
			return os.Remove(filepath.Join(dir, manifestFile))
		}, "manifest.json is missing: the run was cut short while it was finished"},
		{"in the manifest", func(dir string) error {
			path := filepath.Join(dir, manifestFile)
			return errors.Join(os.WriteFile(path+tempSuffix, []byte(`{"schema":`), 0o644), os.Remove(path))
		}, "manifest.json is missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := finishedRun(t, 1, 100, testCell)
			if err := tt.change(dir); err != nil {
				t.Fatal(err)
			}
			_, err := mustOpen(t, dir).Verify(t.Context())
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Verify: got %v, want %q", err, tt.want)
			}
		})
	}
	t.Run("in run.json", func(t *testing.T) {
		w := newWriter(t)
		run := testRun(t, testCell)
		addRepetition(t, w, &run.Cells[0], 1, testRequests(1, 100, 4))
		if err := w.WriteRun(run); err != nil {
			t.Fatal(err)
		}
		temp := filepath.Join(w.Dir(), runFile+tempSuffix)
		mustWrite(t, temp, mustRead(t, filepath.Join(w.Dir(), runFile))[:50])
		if check, err := mustOpen(t, w.Dir()).Verify(t.Context()); err != nil || check.Repetitions != 1 {
			t.Errorf("Verify: got %+v, %v, want one repetition", check, err)
		}
		if err := w.Finish(run); err != nil { // had it not been a crash
			t.Fatal(err)
		}
		if _, err := os.Stat(temp); err == nil {
			t.Error("the leftover outlived the next run.json")
		}
	})
	t.Run("before run.json", func(t *testing.T) {
		w := newWriter(t)
		_, err := Open(w.Dir())
		if want := "(is it the --out of a run?)"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open: got %v, want %q", err, want)
		}
	})
}
