package rundir

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// The files and folders of a run directory.
const (
	runFile      = "run.json"
	manifestFile = "manifest.json"
	configFile   = "config.yaml"
	cellsDir     = "cells"
	logsDir      = "logs"
	requestsName = "requests"
	linesSuffix  = ".jsonl.zst"
	tempSuffix   = ".tmp"
)

// maxName bounds the length of a name: file systems take 255 bytes, suffix included.
const maxName = 200

// maxIndex bounds the index of a repetition.
const maxIndex = 99_999

// checkName says whether name may name a file: letters, digits, '.', '_' and '-', and
// no dot in front, so that it is neither hidden nor a way out of its folder.
func checkName(what, name string) error {
	bad := func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("._-", r))
	}
	switch {
	case name == "":
		return fmt.Errorf("%s is empty", what)
	case len(name) > maxName:
		return fmt.Errorf("%s %.40q...: longer than %d bytes", what, name, maxName)
	case name[0] == '.' || strings.ContainsFunc(name, bad):
		return fmt.Errorf("%s %q: expected letters, digits, '.', '_' and '-', not beginning with '.'", what, name)
	}
	return nil
}

// checkCellID says whether id is workload@load, each of them a name.
func checkCellID(id string) error {
	workload, load, ok := strings.Cut(id, "@")
	if !ok {
		return fmt.Errorf("cell id %.40q: expected workload@load", id)
	}
	if len(id) > maxName {
		return fmt.Errorf("cell id %.40q...: longer than %d bytes", id, maxName)
	}
	if err := checkName("workload", workload); err != nil {
		return fmt.Errorf("cell id %.40q: %w", id, err)
	}
	if err := checkName("load", load); err != nil {
		return fmt.Errorf("cell id %.40q: %w", id, err)
	}
	return nil
}

func checkIndex(index int) error {
	if index < 1 || index > maxIndex {
		return fmt.Errorf("repetition %d: expected an index from 1 to %d", index, maxIndex)
	}
	return nil
}

// Ref names one repetition of a run.
type Ref struct {
	Cell  string // the cell's id
	Index int    // the repetition's index in its cell, from 1
}

// String is the reference as messages show it: chat@near/2.
func (r Ref) String() string { return r.Cell + "/" + strconv.Itoa(r.Index) }

// check says whether r may name a folder.
func (r Ref) check() error {
	if err := checkCellID(r.Cell); err != nil {
		return err
	}
	return checkIndex(r.Index)
}

// folder is the repetition's folder in the run directory, with slashes.
func (r Ref) folder() string { return path.Join(cellsDir, r.Cell, strconv.Itoa(r.Index)) }

// file is the path of one of the repetition's files of lines.
func (r Ref) file(name string) string { return path.Join(r.folder(), name+linesSuffix) }
