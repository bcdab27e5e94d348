package dir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/servegate/servegate/baselines"
)

// Store is the store in one directory. The zero value is of no use, see [New].
type Store struct{ root string }

var _ baselines.Store = (*Store)(nil)

// New returns the store in the directory root, which need not exist until something is
// appended. It touches nothing.
func New(root string) *Store { return &Store{root: filepath.Clean(root)} }

// Append adds an entry, see [baselines.Store].
func (s *Store) Append(ctx context.Context, e baselines.Entry) error {
	if err := s.append(ctx, e); err != nil {
		return fmt.Errorf("append to baseline store %s: %w", s.root, hinted(err))
	}
	return nil
}

func (s *Store) append(ctx context.Context, e baselines.Entry) error {
	data, err := baselines.Encode(e)
	if err != nil {
		return err
	}
	name := e.Name()
	folder := filepath.Join(s.root, filepath.FromSlash(path.Dir(name)))
	if err := makeDir(folder); err != nil {
		return err
	}
	if err := checkFolder(folder); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil { // the last moment at which nothing was written
		return err
	}
	if err := publish(folder, path.Base(name), data); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s: %w", name, baselines.ErrExists)
	} else if err != nil {
		return err
	}
	return nil
}

// Remove deletes records, see [baselines.Store].
func (s *Store) Remove(ctx context.Context, names []string) error {
	if err := s.remove(ctx, names); err != nil {
		return fmt.Errorf("remove from baseline store %s: %w", s.root, hinted(err))
	}
	return nil
}

func (s *Store) remove(ctx context.Context, names []string) error {
	for _, name := range names { // all of them first, so that a wrong one leaves all others
		if err := ctx.Err(); err != nil {
			return err
		}
		if path.Dir(name)+"/" != baselines.RecordFolder {
			return fmt.Errorf("%.200q: only records can be removed, and it is none", name)
		}
		if _, err := s.read(name); err != nil {
			return fmt.Errorf("%.200s is left where it is, with all others: %w", name, err)
		}
	}
	for _, name := range names {
		if err := os.Remove(s.path(name)); err != nil {
			return err
		}
	}
	if len(names) == 0 {
		return nil
	}
	return syncDir(s.path(baselines.RecordFolder))
}

// path is where an entry of that name stands.
func (s *Store) path(name string) string { return filepath.Join(s.root, filepath.FromSlash(name)) }

// hinted adds what can be done about the commonest faults.
func hinted(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission), isReadOnly(err):
		return fmt.Errorf("%w (the store is read-only here: only the job that records baselines needs to write to it)", err)
	case errors.Is(err, errors.ErrUnsupported):
		return fmt.Errorf("%w (the store needs a file system that has hard links)", err)
	}
	return err
}
