package rundir

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// manifestSchema names the format of manifest.json.
const manifestSchema = "servegate.manifest/v1"

// maxFiles bounds the files of a run directory that are looked at.
const maxFiles = 200_000

// manifest lists the files of a finished run, sorted by path.
type manifest struct {
	Schema string         `json:"schema"`
	Files  []manifestFact `json:"files"`
}

// manifestFact is what the manifest says of one file.
type manifestFact struct {
	Path   string `json:"path"` // in the run directory, with slashes
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // hex
}

// laterFiles are written into a finished run by gate, and stand in no manifest of ours:
// base has its own.
var laterFiles = []string{"verdict.json", "report.md", "report.html", "base"}

// makeManifest is the content of manifest.json for what dir holds.
func makeManifest(dir string) ([]byte, error) {
	d := &Dir{path: dir}
	names, faults := d.files()
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	m := manifest{Schema: manifestSchema, Files: []manifestFact{}}
	for _, name := range names {
		fact, err := d.fact(name)
		if err != nil {
			return nil, err
		}
		m.Files = append(m.Files, fact)
	}
	data, err := json.MarshalIndent(m, "", " ")
	return append(data, '\n'), err
}

// files lists the regular files of the run, sorted, without the manifest and what gate
// writes. Whatever is neither a file nor a folder is a fault.
func (d *Dir) files() (names []string, faults []error) {
	err := filepath.WalkDir(d.path, func(full string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(d.path, full)
		name = filepath.ToSlash(name)
		switch {
		case err != nil:
			return err
		case slices.Contains(laterFiles, name) && entry.IsDir():
			return fs.SkipDir
		case slices.Contains(laterFiles, name), name == manifestFile:
			return nil
		case entry.Type().IsRegular():
			names = append(names, name)
		case !entry.IsDir():
			faults = append(faults, fmt.Errorf("%s: is %s", name, kindOf(entry.Type())))
		}
		if len(names)+len(faults) > maxFiles {
			return fmt.Errorf("more than %d files", maxFiles)
		}
		return nil
	})
	if err != nil {
		faults = append(faults, err)
	}
	slices.Sort(names)
	return names, faults
}

// fact reads what the manifest says of a file.
func (d *Dir) fact(name string) (manifestFact, error) {
	file, _, err := d.openFile(name)
	if err != nil {
		return manifestFact{}, err
	}
	defer file.Close()
	h := sha256.New()
	size, err := io.Copy(h, file)
	return manifestFact{Path: name, Size: size, SHA256: hex.EncodeToString(h.Sum(nil))}, err
}

// readManifest reads manifest.json by path.
func (d *Dir) readManifest() (map[string]manifestFact, error) {
	data, err := d.readFile(manifestFile, maxRunSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is missing: the run was cut short while it was finished", manifestFile)
	}
	if err != nil {
		return nil, err
	}
	var m manifest
	if err := checkSchema(data, manifestSchema); err != nil {
		return nil, fmt.Errorf("read %s: %w", manifestFile, err)
	}
	if err := readStrict(data, &m); err != nil {
		return nil, fmt.Errorf("read %s: %w", manifestFile, err)
	}
	facts := map[string]manifestFact{}
	for _, f := range m.Files {
		if _, again := facts[f.Path]; again {
			return nil, fmt.Errorf("read %s: %.80q is there twice", manifestFile, f.Path)
		}
		facts[f.Path] = f
	}
	return facts, nil
}

// checkManifest names all files that are missing, changed, or not in the manifest. The
// paths in it are only compared with names that were found, never opened.
func (d *Dir) checkManifest(ctx context.Context) []error {
	want, err := d.readManifest()
	if err != nil {
		return []error{err}
	}
	names, faults := d.files()
	found := make([]error, len(names))
	inParallel(ctx, len(names), func() func(int) {
		return func(i int) {
			name := names[i]
			w, listed := want[name]
			if !listed {
				found[i] = fmt.Errorf("%s: not in the manifest", name)
				return
			}
			found[i] = d.checkFact(w)
		}
	})
	for path := range want {
		if _, there := slices.BinarySearch(names, path); !there {
			found = append(found, fmt.Errorf("%.200s: missing", path))
		}
	}
	faults = append(faults, found...)
	faults = slices.DeleteFunc(faults, func(err error) bool { return err == nil })
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return faults
}

// checkFact holds a file against what the manifest says of it.
func (d *Dir) checkFact(want manifestFact) error {
	got, err := d.fact(want.Path)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", want.Path, err)
	case got.Size != want.Size:
		return fmt.Errorf("%s: changed, it has %d bytes and had %d", want.Path, got.Size, want.Size)
	case got.SHA256 != want.SHA256:
		return fmt.Errorf("%s: changed, its sha256 differs from the manifest's", want.Path)
	}
	return nil
}
