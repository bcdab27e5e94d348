package dir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// publish puts a file of that content and name into the folder, as a whole and durably. It
// fails with fs.ErrExist where the name is taken.
func publish(folder, name string, data []byte) error {
	// The dot hides it from readers, and from most people who add files to a repository.
	f, err := os.CreateTemp(folder, ".new-*")
	if err != nil {
		return err
	}
	temp := f.Name()
	defer os.Remove(temp) // under its own name the file stays; what is left is no entry
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644) // others read it; a temporary file is its maker's alone
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	// A link in place of a rename, which would replace an entry that is there.
	if err := os.Link(temp, filepath.Join(folder, name)); err != nil {
		return err
	}
	return syncDir(folder)
}

// makeDir makes a folder with those above it, and makes their names survive a power cut.
func makeDir(folder string) error {
	if _, err := os.Lstat(folder); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(folder)
	if err := makeParent(parent); err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(parent)
}

// makeParent is makeDir for a folder that may be a link to one: only what is within the
// store must be no link.
func makeParent(folder string) error {
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) || folder == filepath.Dir(folder) {
		return err
	}
	return makeDir(folder)
}

// syncDir makes the names in a folder survive a power cut.
func syncDir(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// checkFolder says whether the path is a folder, and no link to one.
func checkFolder(folder string) error {
	info, err := os.Lstat(folder)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is %s, expected a folder", folder, kindOf(info.Mode()))
	}
	return err
}

// isReadOnly reports whether err says that the whole file system is read-only.
func isReadOnly(err error) bool { return errors.Is(err, syscall.EROFS) }
