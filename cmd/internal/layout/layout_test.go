package layout

import (
	"os"
	"strings"
	"testing"
)

// TestHouse holds the repository to the rules.
func TestHouse(t *testing.T) {
	sources, err := parse(os.DirFS("../../.."))
	if err != nil {
		t.Fatal(err)
	}
	if _, here := sources.packages["cmd/internal/layout"]; !here {
		t.Fatalf("parsed %d packages, and this one is not among them", len(sources.packages))
	}
	for _, rule := range rules {
		t.Run(strings.ReplaceAll(rule.name, " ", "-"), func(t *testing.T) {
			rule.check(sources, func(at, what string) {
				t.Errorf("%s: %s\n\trule: %s\n\twhy: %s", at, what, rule.name, rule.why)
			})
		})
	}
}

// TestTable holds the table to the law that makes circles impossible.
func TestTable(t *testing.T) {
	for i, r := range house {
		if (r.pure || len(r.never) > 0) && r.reason == "" {
			t.Errorf("%s: a restriction without a reason", r.path)
		}
		for _, later := range house[i:] {
			base, _ := strings.CutSuffix(later.path, "/...")
			own := matches(r.path, base) // a folder's packages may know each other
			if matchesAny(r.ours, base) && !own {
				t.Errorf("%s may import %s, which does not stand above it", r.path, later.path)
			}
		}
	}
}
