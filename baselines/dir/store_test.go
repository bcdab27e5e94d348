package dir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servegate/servegate/baselines"
	"github.com/servegate/servegate/baselines/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Place {
		root := filepath.Join(t.TempDir(), "deep", "store")
		return storetest.Place{
			Open: func() baselines.Store { return New(root) },
			Plant: func(name string, data []byte) {
				if err := os.WriteFile(filepath.Join(root, name), data, 0o644); err != nil {
					t.Fatal(err)
				}
			},
			Planted: func(name string) []byte {
				data, err := os.ReadFile(filepath.Join(root, name))
				if err != nil {
					t.Fatal(err)
				}
				return data
			},
		}
	})
}

// stored makes a store with one record and returns its root and the record's path.
func stored(t *testing.T) (root, record string) {
	t.Helper()
	root = filepath.Join(t.TempDir(), "store")
	e := storetest.Record(t, 1)
	if err := New(root).Append(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	return root, filepath.Join(root, e.Name())
}

func read(t *testing.T, root string) baselines.Contents {
	t.Helper()
	contents, err := New(root).Entries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return contents
}

func TestHostileFiles(t *testing.T) {
	for _, test := range []struct {
		name, want string
		plant      func(record, at string) error
	}{
		{"symbolic link", "is a symbolic link", os.Symlink},
		{"folder", "is a folder", func(_, at string) error { return os.Mkdir(at, 0o755) }},
		{"empty", "the file is empty", func(_, at string) error { return os.WriteFile(at, nil, 0o644) }},
		{"copy under another name", "that of another entry", os.Link},
		{"huge", "more than the limit", func(_, at string) error {
			if err := os.WriteFile(at, nil, 0o644); err != nil {
				return err
			}
			return os.Truncate(at, baselines.MaxSize+1) // sparse
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			root, record := stored(t)
			at := filepath.Join(filepath.Dir(record), "20260801T120000Z-other.json")
			if err := test.plant(record, at); err != nil {
				t.Fatal(err)
			}
			got := read(t, root)
			if len(got.Entries) != 1 || len(got.Broken) != 1 || !strings.Contains(got.Broken[0].Error(), test.want) {
				t.Errorf("got %d entries, broken %v; want 1 entry, and one broken that %q", len(got.Entries), got.Broken, test.want)
			}
			if _, err := os.Lstat(at); err != nil {
				t.Errorf("the broken entry is gone: %v", err)
			}
		})
	}
}

func TestHiddenFilesAreNoEntries(t *testing.T) {
	root, record := stored(t)
	for _, name := range []string{".new-123", ".gitkeep"} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(record), name), []byte("{"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, root); len(got.Entries) != 1 || len(got.Broken) != 0 {
		t.Errorf("got %d entries, broken %v; want 1 and none", len(got.Entries), got.Broken)
	}
}

func TestAppendLeavesNothingBeside(t *testing.T) {
	root, record := stored(t)
	if err := New(root).Append(t.Context(), storetest.Record(t, 1)); err == nil {
		t.Fatal("append of a run that is there: got no error")
	}
	found, err := os.ReadDir(filepath.Dir(record))
	if err != nil || len(found) != 1 {
		t.Errorf("got %v and error %v, want the record alone", found, err)
	}
}

func TestFolderThatIsALink(t *testing.T) {
	root, elsewhere := filepath.Join(t.TempDir(), "store"), t.TempDir()
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(root, "records")); err != nil {
		t.Fatal(err)
	}
	if err := New(root).Append(t.Context(), storetest.Record(t, 1)); err == nil || !strings.Contains(err.Error(), "is a symbolic link") {
		t.Errorf("append through a link: got error %v", err)
	}
	if _, err := New(root).Entries(t.Context()); err == nil || !strings.Contains(err.Error(), "is a symbolic link") {
		t.Errorf("entries through a link: got error %v", err)
	}
	if found, _ := os.ReadDir(elsewhere); len(found) != 0 {
		t.Errorf("written elsewhere: %v", found)
	}
}

func TestStoreThatIsAFile(t *testing.T) {
	root := filepath.Join(t.TempDir(), "store")
	if err := os.WriteFile(root, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := New(root).Entries(t.Context()); err == nil || !strings.Contains(err.Error(), "is a file, expected a folder") {
		t.Errorf("got error %v", err)
	}
	if err := New(root).Append(t.Context(), storetest.Record(t, 1)); err == nil {
		t.Error("append: got no error")
	}
}
