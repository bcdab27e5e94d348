package dir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/servegate/servegate/baselines"
)

// The limits of what a store may hold before it isn't read any more.
const (
	maxFiles = 100_000
	maxTotal = 4 << 30 // bytes
)

// Entries reads the store, see [baselines.Store].
func (s *Store) Entries(ctx context.Context) (baselines.Contents, error) {
	contents, err := s.entries(ctx)
	if err != nil {
		return baselines.Contents{}, fmt.Errorf("read baseline store %s: %w", s.root, err)
	}
	return contents, nil
}

func (s *Store) entries(ctx context.Context) (baselines.Contents, error) {
	var contents baselines.Contents
	names, err := s.names()
	if err != nil {
		return contents, err
	}
	entries, errs := s.readAll(ctx, names)
	if err := ctx.Err(); err != nil {
		return contents, err
	}
	for i, name := range names {
		switch {
		case errors.Is(errs[i], fs.ErrNotExist): // removed since it was listed
		case errs[i] != nil:
			contents.Broken = append(contents.Broken, baselines.Broken{Name: name, Err: errs[i]})
		default:
			contents.Entries = append(contents.Entries, entries[i])
		}
	}
	return contents, nil
}

// names lists what stands in the store, sorted. Hidden files are none of its entries:
// they are being written, or belong to the tool that keeps the directory.
func (s *Store) names() ([]string, error) {
	info, err := os.Stat(s.root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w (a run that is recorded makes it)", baselines.ErrMissing)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("it is %s, expected a folder", kindOf(info.Mode()))
	}
	var names []string
	var total int64
	for _, folder := range []string{baselines.EventFolder, baselines.RecordFolder} {
		found, err := os.ReadDir(s.path(folder))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = checkFolder(s.path(folder))
		}
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if strings.HasPrefix(f.Name(), ".") {
				continue
			}
			names = append(names, folder+f.Name())
			if info, err := f.Info(); err == nil && info.Mode().IsRegular() {
				total += min(info.Size(), baselines.MaxSize+1) // what is larger isn't read
			}
		}
	}
	if len(names) > maxFiles || total > maxTotal {
		return nil, fmt.Errorf("it holds %d files of %d MiB, the limits are %d and %d (baseline prune removes what isn't needed)",
			len(names), total>>20, maxFiles, maxTotal>>20)
	}
	return names, nil
}

// readAll reads entries on all processors: decoding takes longer than reading. Where ctx
// ends it stops early.
func (s *Store) readAll(ctx context.Context, names []string) ([]baselines.Entry, []error) {
	entries, errs := make([]baselines.Entry, len(names)), make([]error, len(names))
	var next atomic.Int64
	var readers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(names)) {
		readers.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(names) {
					return
				}
				entries[i], errs[i] = s.read(names[i])
			}
		})
	}
	readers.Wait()
	return entries, errs
}

// read reads one entry.
func (s *Store) read(name string) (baselines.Entry, error) {
	data, err := readFile(s.path(name))
	if err != nil {
		return baselines.Entry{}, err
	}
	return baselines.Decode(name, data)
}

// readFile reads a regular file. Opening anything else could wait forever, or read what
// isn't ours to show.
func readFile(full string) ([]byte, error) {
	info, err := os.Lstat(full)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("it is %s, expected a regular file", kindOf(info.Mode()))
	}
	if info.Size() > baselines.MaxSize {
		return nil, fmt.Errorf("%d bytes are more than the limit of %d", info.Size(), baselines.MaxSize)
	}
	f, err := os.Open(full)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if opened, err := f.Stat(); err != nil || !os.SameFile(info, opened) {
		return nil, errors.Join(fmt.Errorf("%s was replaced while it was opened", filepath.Base(full)), err)
	}
	return io.ReadAll(io.LimitReader(f, baselines.MaxSize+1))
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
