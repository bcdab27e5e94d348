package rundir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

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
