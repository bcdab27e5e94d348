package rundir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/servegate/gate"
)

// Dir is a run directory that is read. It trusts nothing in it: no symbolic link is
// followed, no size believed. Its methods may be called from several goroutines.
type Dir struct {
	path   string
	run    *storedRun
	limits limits
}

// Open reads run.json of the run directory dir. It refuses a schema that this servegate
// doesn't know, unknown keys, keys given twice, and a run that contradicts itself. A run
// that was cut short is not refused: see [gate.Run] Complete.
func Open(dir string) (*Dir, error) {
	d := &Dir{path: dir, limits: defaultLimits}
	data, err := d.readFile(runFile, maxRunSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("open run directory %s: %w (is it the --out of a run?)", dir, err)
	case err != nil:
		return nil, fmt.Errorf("open run directory %s: %w", dir, err)
	}
	if d.run, err = decodeRun(data); err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(dir, runFile), err)
	}
	return d, nil
}

// Run returns the run that run.json holds. It is shared by all callers.
func (d *Dir) Run() *gate.Run { return &d.run.Run }

// Raw lists the repetitions that have a folder, in order of cell and index. Of a run
// that was cut short it may list one more than run.json does: its records can be read,
// and were never derived from.
func (d *Dir) Raw() ([]Ref, error) {
	cells, err := d.list(cellsDir)
	if err != nil {
		return nil, fmt.Errorf("list repetitions: %w", err)
	}
	var refs []Ref
	for _, cell := range cells {
		names, err := d.list(path.Join(cellsDir, cell))
		if err != nil {
			return nil, fmt.Errorf("list repetitions: %w", err)
		}
		for _, name := range names {
			index, err := strconv.Atoi(name)
			ref := Ref{Cell: cell, Index: index}
			if err != nil || strconv.Itoa(index) != name || ref.check() != nil {
				return nil, fmt.Errorf("list repetitions: %q is no repetition", path.Join(cellsDir, cell, name))
			}
			refs = append(refs, ref)
		}
	}
	slices.SortFunc(refs, func(a, b Ref) int {
		if c := strings.Compare(a.Cell, b.Cell); c != 0 {
			return c
		}
		return a.Index - b.Index
	})
	return refs, nil
}

// list returns the names in a folder of the run directory.
func (d *Dir) list(name string) ([]string, error) {
	full, info, err := d.stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is %s, expected a folder", name, kindOf(info.Mode()))
	}
	entries, err := os.ReadDir(full)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// stat looks at name, which has slashes, and follows no link on the way to it.
func (d *Dir) stat(name string) (full string, info fs.FileInfo, err error) {
	full = d.path
	for i, part := range strings.Split(name, "/") {
		if i > 0 && !info.IsDir() {
			return "", nil, fmt.Errorf("%s is %s, expected a folder", full, kindOf(info.Mode()))
		}
		full = filepath.Join(full, part)
		if info, err = os.Lstat(full); err != nil {
			return "", nil, err
		}
	}
	return full, info, nil
}

// openFile opens a regular file of the run directory. Opening anything else could wait
// forever, or read what isn't ours to show.
func (d *Dir) openFile(name string) (*os.File, fs.FileInfo, error) {
	full, info, err := d.stat(name)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is %s, expected a regular file", full, kindOf(info.Mode()))
	}
	f, err := os.Open(full)
	if err != nil {
		return nil, nil, err
	}
	opened, err := f.Stat()
	if err == nil && !os.SameFile(info, opened) {
		err = fmt.Errorf("%s was replaced while it was opened", full)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, opened, nil
}

// readFile reads a whole file of at most limit bytes.
func (d *Dir) readFile(name string, limit int64) ([]byte, error) {
	f, info, err := d.openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > limit {
		return nil, fmt.Errorf("%s has %d bytes, the limit is %d", name, info.Size(), limit)
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}

// kindOf names what a file is that is not what was expected.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode.IsDir():
		return "a folder"
	case mode.IsRegular():
		return "a file"
	}
	return "a device, pipe or socket"
}
