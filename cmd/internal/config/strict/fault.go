package strict

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Fault is one thing that is wrong in a file, and where it stands.
type Fault struct {
	File   string
	Line   int    // from 1; 0: the file as a whole
	Column int    // from 1, in characters
	Path   string // the key, as in engine.docker.args[2]; empty: the document
	What   string // what is wrong, and what was expected
	Hint   string // what to do about it
	Err    error  // the cause, where the file could not be read
}

// Error returns the fault on one line, without its hint.
func (f Fault) Error() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", f.Line, f.Column)
	}
	b.WriteString(": ")
	if f.Path != "" {
		b.WriteString(f.Path)
		b.WriteString(": ")
	}
	b.WriteString(f.What)
	return b.String()
}

// Unwrap returns the cause, so that a missing file is fs.ErrNotExist.
func (f Fault) Unwrap() error { return f.Err }

// Faults is everything that is wrong with a file, in the order of its lines. It is
// never empty where it is an error.
type Faults struct{ List []Fault }

// maxPrinted is how many faults are printed: a file with more is not a config with
// mistakes but another file.
const maxPrinted = 50

// Error returns a line for each fault, each followed by a line with its hint.
func (f *Faults) Error() string {
	var b strings.Builder
	for i, fault := range f.List {
		if i > 0 {
			b.WriteByte('\n')
		}
		if i == maxPrinted {
			fmt.Fprintf(&b, "and %d more", len(f.List)-maxPrinted)
			break
		}
		b.WriteString(fault.Error())
		if fault.Hint != "" {
			b.WriteString("\n    hint: ")
			b.WriteString(fault.Hint)
		}
	}
	return b.String()
}

// Unwrap returns the faults as errors.
func (f *Faults) Unwrap() []error {
	errs := make([]error, len(f.List))
	for i, fault := range f.List {
		errs[i] = fault
	}
	return errs
}

// sortFaults orders faults as they stand in the file.
func sortFaults(list []Fault) {
	slices.SortStableFunc(list, func(a, b Fault) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
}

// quote returns text from a file as it may be shown: quoted, and cut where it is long.
func quote(s string) string { return strconv.Quote(cut(s)) }

func cut(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}
