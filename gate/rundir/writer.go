package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/servegate/servegate/gate"
)

// Writer writes a run directory. Its methods may be called from several goroutines.
type Writer struct {
	dir string

	mu       sync.Mutex // one write of run.json at a time
	open     map[Ref]bool
	finished bool
}

// Create makes the run directory dir, with the folders above it, and returns its
// writer. A folder that is there already must be empty: nothing of another run is ever
// overwritten. Where it fails it leaves nothing that wasn't there before.
func Create(dir string) (*Writer, error) {
	made, err := makeEmpty(dir)
	if err != nil {
		return nil, fmt.Errorf("create run directory: %w", err)
	}
	// Making the folders now shows at once whether dir can be written. Mkdir, not
	// MkdirAll: of two runs that were given one directory, the second fails here.
	for _, sub := range []string{cellsDir, logsDir} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			removeMade(made)
			return nil, fmt.Errorf("create run directory: %w", err)
		}
		made = append(made, filepath.Join(dir, sub))
	}
	return &Writer{dir: dir, open: map[Ref]bool{}}, nil
}

// makeEmpty makes dir and the folders above it and returns those that it made, or
// checks that dir is an empty folder.
func makeEmpty(dir string) (made []string, err error) {
	entries, err := os.ReadDir(dir)
	switch {
	case err == nil && len(entries) == 0:
		return nil, nil
	case err == nil:
		return nil, fmt.Errorf("%s is not empty: it holds %q (choose another, or remove it)", dir, entries[0].Name())
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if _, err := os.Lstat(dir); err == nil {
		return nil, fmt.Errorf("%s is a link to nothing", dir)
	}
	var missing []string
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		missing = append(missing, at)
	}
	for i := len(missing) - 1; i >= 0; i-- {
		if err := os.Mkdir(missing[i], 0o755); err != nil {
			removeMade(made)
			return nil, err
		}
		made = append(made, missing[i])
	}
	return made, nil
}

// removeMade removes folders that were made in vain, the last first.
func removeMade(made []string) {
	for i := len(made) - 1; i >= 0; i-- {
		os.Remove(made[i]) // what stays is empty, and there is an error to return already
	}
}

// Dir is the path of the run directory, as it was given.
func (w *Writer) Dir() string { return w.dir }

// WriteConfig writes the resolved configuration, with its secrets masked already.
func (w *Writer) WriteConfig(yaml []byte) error {
	return w.replace(configFile, yaml)
}

// LogPath is where the output of an engine in the given role is to be written:
// logs/<role>.log. Where an engine is booted again under the same role, its log goes on.
func (w *Writer) LogPath(role string) (string, error) {
	if err := checkName("role", role); err != nil {
		return "", fmt.Errorf("name log: %w", err)
	}
	return filepath.Join(w.dir, logsDir, role+".log"), nil
}

// WriteRun replaces run.json, as a whole or not at all. It is meant to be called before
// the first repetition and after each of them. A run that [Open] would refuse is
// refused here.
func (w *Writer) WriteRun(run *gate.Run) error {
	data, err := encodeRun(run)
	if err != nil {
		return fmt.Errorf("write %s: %w", runFile, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.finished {
		return fmt.Errorf("write %s: the run is finished", runFile)
	}
	return w.replace(runFile, data)
}

// Finish sets run.Complete and writes run.json and, last of all, the manifest. All
// repetitions must be closed. Where it fails run.Complete is false again; run.json may
// say otherwise by then, and the missing manifest tells that it isn't so.
func (w *Writer) Finish(run *gate.Run) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ref := range w.open {
		return fmt.Errorf("finish run: repetition %s is still open", ref)
	}
	run.Complete = true
	if err := w.finish(run); err != nil {
		run.Complete = false
		return fmt.Errorf("finish run: %w", err)
	}
	w.finished = true
	return nil
}

func (w *Writer) finish(run *gate.Run) error {
	data, err := encodeRun(run)
	if err != nil {
		return err
	}
	if err := w.replace(runFile, data); err != nil {
		return err
	}
	manifest, err := makeManifest(w.dir)
	if err != nil {
		return err
	}
	return w.replace(manifestFile, manifest)
}

// replace writes a file beside name, brings it to the disk and puts it in name's place,
// so that a crash leaves the old or the new content and nothing between.
func (w *Writer) replace(name string, data []byte) error {
	return replaceFile(filepath.Join(w.dir, name), data)
}

func replaceFile(path string, data []byte) error {
	temp := path + tempSuffix
	err := writeSynced(temp, data)
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		os.Remove(temp) // there is an error to return already
		return err
	}
	return syncDir(filepath.Dir(path))
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncDir makes the names in a folder survive a power cut.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
