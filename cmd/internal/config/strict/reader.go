package strict

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"gopkg.in/yaml.v3"
)

// MaxSize is the largest file that is read, in bytes.
const MaxSize = 1 << 20

// ReadFile reads the file at path, of at most [MaxSize] bytes. An error is a [*Faults].
func ReadFile(path string) ([]byte, error) {
	fail := func(err error, what, hint string) error {
		return &Faults{List: []Fault{{File: path, What: what, Hint: hint, Err: err}}}
	}
	f, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fail(err, "read config: no such file", "name an existing file, or start from an example")
	case errors.Is(err, fs.ErrPermission):
		return nil, fail(err, "read config: permission denied", "make the file readable for the user that servegate runs as")
	case err != nil:
		return nil, fail(err, "read config: "+err.Error(), "name a readable file")
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fail(err, "read config: "+err.Error(), "name a readable file")
	}
	if info.IsDir() {
		return nil, fail(nil, "read config: a directory, expected a file", "name the file in it")
	}
	// The size that the file system tells isn't trusted: a pipe or a growing file has none.
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, fail(err, "read config: "+err.Error(), "name a readable file")
	}
	if len(data) > MaxSize {
		return nil, fail(nil, "read config: over 1 MiB, expected a config of a few KiB", "check that this is the right file")
	}
	return data, nil
}

// Reader collects what is wrong with a document while it is read.
type Reader struct {
	file     string
	at       map[string]mark // where the value of each path stands
	faults   []Fault
	found    int // faults, those that weren't kept included
	warnings []Fault
}

// Read sets the variables that v is bound to from data, which stands in the named
// file. It never fails: what is wrong is held by the Reader, see [Reader.Err].
func Read(file string, data []byte, v Value) *Reader {
	r := &Reader{file: file, at: map[string]mark{}}
	root, fault := parse(file, data)
	if fault != nil {
		r.add(*fault)
		return r
	}
	e := expander{r: r}
	if root = e.expand(root, 0); root == nil {
		return r
	}
	r.at[""] = mark{root.Line, root.Column}
	v.Read(r, root, "")
	return r
}

// Report adds a fault of the value at path; where that isn't in the file, because it
// has its default, the place is that of the nearest key around it.
func (r *Reader) Report(path, what, hint string) {
	at := r.find(path)
	r.add(Fault{File: r.file, Line: at.line, Column: at.column, Path: path, What: what, Hint: hint})
}

// Warn adds a warning about the value at path.
func (r *Reader) Warn(path, what string) {
	at := r.find(path)
	r.warn(Fault{File: r.file, Line: at.line, Column: at.column, Path: path, What: what})
}

// Given reports whether the file has a value at path.
func (r *Reader) Given(path string) bool {
	_, ok := r.at[path]
	return ok
}

// Faulty reports whether a fault was found at path or below it, so that a rule between
// keys isn't held against values that were never read.
func (r *Reader) Faulty(path string) bool {
	for _, f := range r.faults {
		if rest, ok := strings.CutPrefix(f.Path, path); ok && (rest == "" || path == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// Where returns "file:line:column" of the value at path.
func (r *Reader) Where(path string) string {
	at := r.find(path)
	return fmt.Sprintf("%s:%d:%d", r.file, at.line, at.column)
}

// Err returns all faults as a [*Faults] in the order of their lines, or nil.
func (r *Reader) Err() error {
	if len(r.faults) == 0 {
		return nil
	}
	sortFaults(r.faults)
	return &Faults{List: r.faults}
}

// Warnings returns the warnings in the order of their lines, each as one line of text.
func (r *Reader) Warnings() []string {
	sortFaults(r.warnings)
	var out []string
	for _, w := range r.warnings {
		out = append(out, w.Error())
	}
	return out
}

func (r *Reader) find(path string) mark {
	for {
		if at, ok := r.at[path]; ok {
			return at
		}
		i := strings.LastIndexAny(path, ".[")
		if i < 0 {
			return r.at[""]
		}
		path = path[:i]
	}
}

func (r *Reader) reportAt(n *yaml.Node, path, what, hint string) {
	r.add(Fault{File: r.file, Line: n.Line, Column: n.Column, Path: path, What: what, Hint: hint})
}

// maxFaults bounds the work that a file of nothing but faults can cause; nobody reads
// more warnings than maxWarnings.
const (
	maxFaults   = 1000
	maxWarnings = 100
)

func (r *Reader) add(f Fault) {
	r.found++
	if len(r.faults) < maxFaults {
		r.faults = append(r.faults, f)
	}
}

func (r *Reader) warnAt(n *yaml.Node, what string) {
	r.warn(Fault{File: r.file, Line: n.Line, Column: n.Column, What: what})
}

func (r *Reader) warn(f Fault) {
	if len(r.warnings) < maxWarnings {
		r.warnings = append(r.warnings, f)
	}
}
