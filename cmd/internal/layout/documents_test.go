package layout

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// fileName finds the files of the repository that a page names in backquotes: those with
// a folder of ours in front, and patterns.
var fileName = regexp.MustCompile("`((?:cmd|gate|runner|baselines|\\.ci|\\.github)/[A-Za-z0-9_./*-]+)`")

func TestContributingNamesFilesThatExist(t *testing.T) {
	const root = "../../.."
	page, err := os.ReadFile(filepath.Join(root, ".github/CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	names := fileName.FindAllStringSubmatch(string(page), -1)
	if len(names) < 20 {
		t.Errorf("found %d names of files in CONTRIBUTING.md, want those of the ten steps at least", len(names))
	}
	for _, name := range names {
		found, err := filepath.Glob(filepath.Join(root, name[1]))
		if err != nil || len(found) == 0 {
			t.Errorf("CONTRIBUTING.md names %s, which is not there (%v)", name[1], err)
		}
	}
}
