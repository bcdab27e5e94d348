package rundir

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/servegate/servegate/gate"
)

// The names of files that are written once a run is judged.
const (
	VerdictFile = "verdict.json"
	ReportFile  = "report.md"
)

// KeepBase writes what the run in dir was held against, below base, in place of what
// was there: copies of baseline records by the names of their files, and a manifest. Of
// no records nothing is left.
func KeepBase(dir string, records map[string][]byte) error {
	base := filepath.Join(dir, "base")
	if err := os.RemoveAll(base); err != nil {
		return fmt.Errorf("keep base: %w", err)
	}
	if len(records) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(records)) {
		if err := checkName("record", strings.TrimSuffix(name, ".json")); err != nil {
			return fmt.Errorf("keep base: %w", err)
		}
		if err := Keep(dir, "base/records/"+name, records[name]); err != nil {
			return err
		}
	}
	manifest, err := makeManifest(base)
	if err != nil {
		return fmt.Errorf("keep base: %w", err)
	}
	return Keep(dir, "base/"+manifestFile, manifest)
}

// Keep writes a file of the run directory dir that came after the run: a verdict, a
// report, or one below base. It replaces one that is there, as a whole.
func Keep(dir, name string, data []byte) error {
	top, _, _ := strings.Cut(name, "/")
	if !slices.Contains(laterFiles, top) || !filepath.IsLocal(filepath.FromSlash(name)) {
		return fmt.Errorf("keep %q: not a file that is written after a run", name)
	}
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("keep %s: %w", name, err)
	}
	if err := replaceFile(path, data); err != nil {
		return fmt.Errorf("keep %s: %w", name, err)
	}
	return nil
}

// ReadRun reads the run at path: a run directory, or a run.json by itself. The files of a
// complete run are held against their manifest, where there is one; whether run.json
// follows from them is for [Dir.Verify] to say, and takes longer.
func ReadRun(ctx context.Context, path string) (*gate.Run, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read run: %w", err)
	}
	if !info.IsDir() {
		dir, name := filepath.Split(path)
		d := &Dir{path: filepath.Clean(dir), limits: defaultLimits}
		data, err := d.readFile(name, maxRunSize)
		if err != nil {
			return nil, fmt.Errorf("read run %s: %w", path, err)
		}
		run, err := decodeRun(data)
		if err != nil {
			return nil, fmt.Errorf("read run %s: %w", path, err)
		}
		return &run.Run, nil
	}
	d, err := Open(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(filepath.Join(path, manifestFile)); d.run.Complete && err == nil {
		if err := errors.Join(d.checkManifest(ctx)...); err != nil {
			return nil, fmt.Errorf("read run %s: %w", path, err)
		}
	}
	return d.Run(), ctx.Err()
}

// ManifestDigest is the digest of the run directory's manifest, which stands for all of
// its files: "sha256:" and 64 hex digits. A run that was cut short has none.
func (d *Dir) ManifestDigest() (string, error) {
	data, err := d.readFile(manifestFile, maxRunSize)
	if err != nil {
		return "", fmt.Errorf("read manifest: %w", err)
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
