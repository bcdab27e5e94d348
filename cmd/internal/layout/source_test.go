package layout

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// source is one Go file that is not a test.
type source struct {
	*ast.File
	path  string // from the root
	lines int
	fset  *token.FileSet
}

// at is where node begins, as path:line.
func (s source) at(node ast.Node) string {
	return fmt.Sprintf("%s:%d", s.path, s.fset.Position(node.Pos()).Line)
}

// span is the number of lines that node takes.
func (s source) span(node ast.Node) int {
	return s.fset.Position(node.End()).Line - s.fset.Position(node.Pos()).Line + 1
}

// imports returns the paths of what s imports.
func (s source) imports() []string {
	var paths []string
	for _, spec := range s.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			panic(err) // the parser has read it
		}
		paths = append(paths, imported)
	}
	return paths
}

// name is what s calls the package imported as importPath; empty if it doesn't import it.
func (s source) name(importPath string) string {
	for _, spec := range s.Imports {
		if spec.Path.Value == strconv.Quote(importPath) {
			if spec.Name != nil {
				return spec.Name.Name
			}
			return path.Base(importPath)
		}
	}
	return ""
}

// tree is the sources of a module by the folder that they lie in.
type tree struct {
	root     fs.FS
	packages map[string][]source
}

// folders returns the folders with packages, in order.
func (t tree) folders() []string {
	var folders []string
	for folder := range t.packages {
		folders = append(folders, folder)
	}
	slices.Sort(folders)
	return folders
}

// parse reads all Go files below root but tests, test data, hidden folders and nested
// modules.
func parse(root fs.FS) (tree, error) {
	t := tree{root: root, packages: map[string][]source{}}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skip(root, name)
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		lines := bytes.Count(text, []byte("\n"))
		t.packages[path.Dir(name)] = append(t.packages[path.Dir(name)], source{file, name, lines, fset})
		return nil
	})
	return t, err
}

func skip(root fs.FS, folder string) error {
	if folder == "." {
		return nil
	}
	if base := path.Base(folder); strings.HasPrefix(base, ".") || base == "testdata" || base == "vendor" {
		return fs.SkipDir
	}
	if _, err := fs.Stat(root, path.Join(folder, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

// matches reports whether folder is named by pattern: itself, or "x/..." for x and all
// below it.
func matches(pattern, folder string) bool {
	base, below := strings.CutSuffix(pattern, "/...")
	return folder == base || below && strings.HasPrefix(folder, base+"/")
}

func matchesAny(patterns []string, folder string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, folder) })
}

// roomOf returns the room of a folder: the one that names it, else the one with the
// longest pattern.
func roomOf(folder string) (room, bool) {
	var found room
	for _, r := range house {
		if matches(r.path, folder) && len(r.path) > len(found.path) {
			found = r
		}
		if r.path == folder {
			return r, true
		}
	}
	return found, found.path != ""
}
