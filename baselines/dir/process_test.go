package dir

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/servegate/servegate/baselines"
	"github.com/servegate/servegate/baselines/storetest"
)

// The test binary is a writer of its own where these are set: it appends records from one
// number on, until it has written so many, and prints each one's number when it is durable.
const (
	rootVariable  = "SERVEGATE_TEST_STORE"
	fromVariable  = "SERVEGATE_TEST_FROM"
	countVariable = "SERVEGATE_TEST_COUNT"
)

func TestWriterProcess(t *testing.T) {
	root := os.Getenv(rootVariable)
	if root == "" {
		t.Skip("only a process of the tests below")
	}
	from, _ := strconv.Atoi(os.Getenv(fromVariable))
	count, _ := strconv.Atoi(os.Getenv(countVariable))
	for n := from; n < from+count; n++ {
		if err := New(root).Append(context.Background(), bigRecord(t, n)); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("\nstored %d\n", n)
	}
}

// bigRecord is a record of some 200 kB, so that a kill falls into the writing of it.
func bigRecord(t *testing.T, n int) baselines.Entry {
	return storetest.Record(t, n, func(r *baselines.Record) {
		for range 20 {
			r.Run.Warnings = append(r.Run.Warnings, strings.Repeat("w", 10_000))
		}
	})
}

// writer is the command of a writer.
func writer(t *testing.T, root string, from, count int, out *strings.Builder) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestWriterProcess$", "-test.v")
	cmd.Env = append(os.Environ(), rootVariable+"="+root, fromVariable+"="+strconv.Itoa(from), countVariable+"="+strconv.Itoa(count))
	cmd.Stdout, cmd.Stderr = out, out
	return cmd
}

// storedNumbers are the records that writers said were durable.
func storedNumbers(t *testing.T, outs []strings.Builder) (names []string) {
	t.Helper()
	for i := range outs {
		for line := range strings.Lines(outs[i].String()) {
			if text, ok := strings.CutPrefix(strings.TrimSpace(line), "stored "); ok {
				n, err := strconv.Atoi(text)
				if err != nil {
					continue // cut off by the kill
				}
				names = append(names, storetest.Record(t, n).Name())
			}
		}
	}
	return names
}

// wantStored checks that nothing is broken and that all of names are there.
func wantStored(t *testing.T, root string, names []string) (found int) {
	t.Helper()
	contents := read(t, root)
	if len(contents.Broken) != 0 {
		t.Errorf("broken entries: got %v, want none", contents.Broken)
	}
	there := map[string]bool{}
	for _, e := range contents.Entries {
		there[e.Name()] = true
	}
	for _, name := range names {
		if !there[name] {
			t.Errorf("%s was stored and is lost", name)
		}
	}
	return len(contents.Entries)
}

func TestTwentyProcesses(t *testing.T) {
	const writers, each = 20, 3
	root := filepath.Join(t.TempDir(), "store")
	outs := make([]strings.Builder, writers)
	errs := make([]error, writers)
	var all sync.WaitGroup
	for w := range writers {
		cmd := writer(t, root, 1+w*each, each, &outs[w])
		all.Go(func() { errs[w] = cmd.Run() })
	}
	all.Wait()
	for w, err := range errs {
		if err != nil {
			t.Errorf("writer %d: %v\n%s", w, err, outs[w].String())
		}
	}
	names := storedNumbers(t, outs)
	if found := wantStored(t, root, names); len(names) != writers*each || found != writers*each {
		t.Errorf("got %d reported and %d entries, want %d of both", len(names), found, writers*each)
	}
}

func TestKilledWriters(t *testing.T) {
	const writers = 10
	root := filepath.Join(t.TempDir(), "store")
	outs := make([]strings.Builder, writers)
	for w := range writers {
		cmd := writer(t, root, 1+w*10_000, 10_000, &outs[w])
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitForRecords(t, root, w)
		// At another place of its writing each time.
		time.Sleep(time.Duration(w) * 700 * time.Microsecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait() // says that it was killed
	}
	names := storedNumbers(t, outs)
	if found := wantStored(t, root, names); found < writers {
		t.Errorf("got %d entries, want at least one a writer", found)
	}
	if err := New(root).Append(t.Context(), storetest.Record(t, 999_999)); err != nil {
		t.Errorf("append after the kills: %v", err)
	}
}

// waitForRecords waits until a record of writer w is there.
func waitForRecords(t *testing.T, root string, w int) {
	t.Helper()
	first := filepath.Join(root, storetest.Record(t, 1+w*10_000).Name())
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(first); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("writer %d stored nothing in 30 s", w)
		}
	}
}
