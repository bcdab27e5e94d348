package dir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/servegate/servegate/baselines/storetest"
)

// asStranger runs f as a user who owns nothing. Permissions mean nothing to root, who runs
// tests in containers.
func asStranger(t *testing.T, f func()) {
	t.Helper()
	if os.Getuid() != 0 {
		f()
		return
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := syscall.Setfsuid(65534)
		if err == nil {
			f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestReadOnlyStore(t *testing.T) {
	root, record := stored(t)
	if err := os.Chmod(filepath.Dir(root), 0o755); err != nil {
		t.Fatal(err)
	}
	// The folder above t.TempDir is its owner's alone.
	if err := os.Chmod(filepath.Dir(filepath.Dir(root)), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{root, filepath.Dir(record)} {
		if err := os.Chmod(folder, 0o555); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(folder, 0o755) })
	}
	errs := map[string]error{}
	asStranger(t, func() {
		errs["append"] = New(root).Append(t.Context(), storetest.Record(t, 2))
		errs["append to a new folder"] = New(root).Append(t.Context(), storetest.Retraction(t, read(t, root).Entries, storetest.Decision(1, "why not")))
		errs["remove"] = New(root).Remove(t.Context(), []string{filepath.Join("records", filepath.Base(record))})
	})
	for what, err := range errs {
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "the store is read-only here") {
			t.Errorf("%s: got error %v, want one that says that the store is read-only", what, err)
		}
	}
	if got := read(t, root); len(got.Entries) != 1 || len(got.Broken) != 0 {
		t.Errorf("got %d entries, broken %v; want 1 and none", len(got.Entries), got.Broken)
	}
}
