package layout

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

func checkRoot(t tree, report func(at, what string)) {
	entries, err := fs.ReadDir(t.root, ".")
	if err != nil {
		report(".", err.Error())
	}
	ignored := ignoredNames(t.root)
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, ".") || slices.Contains(atRoot, name) {
			continue
		}
		if !slices.ContainsFunc(ignored, func(pattern string) bool {
			ok, err := path.Match(pattern, name)
			return ok && err == nil
		}) {
			report(name, "stands at the root; docs belong into .github/docs, tools into .ci")
		}
	}
}

// ignoredNames returns the lines of .gitignore that can name something at the root: what
// is built there is no part of the repository.
func ignoredNames(root fs.FS) []string {
	text, err := fs.ReadFile(root, ".gitignore")
	if err != nil {
		return nil
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		line = strings.Trim(strings.TrimSpace(line), "/")
		if line != "" && !strings.HasPrefix(line, "#") && !strings.Contains(line, "/") {
			names = append(names, line)
		}
	}
	return names
}
