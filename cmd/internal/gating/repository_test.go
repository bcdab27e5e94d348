package gating

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// history is a repository whose main has the commits one, two and three, and whose branch
// topic left it after two, with the commit side.
type history struct {
	Repository
	ids map[string]string
}

func makeHistory(t *testing.T) history {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here")
	}
	h := history{Repository{Dir: filepath.Join(t.TempDir(), "origin")}, map[string]string{}}
	h.ids["absent"] = strings.Repeat("0123", 10)
	if err := os.Mkdir(h.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	command(t, h.Dir, "init", "--quiet", "--initial-branch=main")
	commit := func(name string) {
		command(t, h.Dir, "commit", "--quiet", "--allow-empty", "--message", name)
		h.ids[name] = command(t, h.Dir, "rev-parse", "HEAD")
	}
	commit("one")
	commit("two")
	command(t, h.Dir, "checkout", "--quiet", "-b", "topic")
	commit("side")
	command(t, h.Dir, "checkout", "--quiet", "main")
	commit("three")
	command(t, h.Dir, "checkout", "--quiet", "topic")
	return h
}

// command runs git, as nobody in particular.
func command(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestAncestry(t *testing.T) {
	h := makeHistory(t)
	tests := []struct {
		commit          string
		ancestor, known bool
	}{
		{"one", true, true},
		{"two", true, true}, // the merge base itself
		{"side", false, true},
		{"three", false, true}, // of main, and made after topic had left it
		{"absent", false, false},
	}
	ancestry := h.Ancestry(t.Context(), "main")
	for _, tt := range tests {
		if ancestor, known := ancestry(h.ids[tt.commit]); ancestor != tt.ancestor || known != tt.known {
			t.Errorf("%s: got ancestor %t, known %t, want %t, %t", tt.commit, ancestor, known, tt.ancestor, tt.known)
		}
	}
	for _, ref := range []string{"nowhere", "", "--upload-pack=x", "--octopus"} {
		if h.Ancestry(t.Context(), ref) != nil {
			t.Errorf("ref %q: got an answer, want none", ref)
		}
	}
	if (Repository{Dir: t.TempDir()}).Ancestry(t.Context(), "main") != nil {
		t.Error("outside of a repository: got an answer, want none")
	}
}

// In a shallow clone the line of ancestors is cut off: that a commit isn't on it proves
// nothing.
func TestAncestryInAShallowClone(t *testing.T) {
	h := makeHistory(t)
	clone := filepath.Join(t.TempDir(), "clone")
	command(t, "", "clone", "--quiet", "--depth=1", "--branch=main", "file://"+h.Dir, clone)
	command(t, clone, "fetch", "--quiet", "--depth=1", "origin", h.ids["one"])
	ancestry := Repository{Dir: clone}.Ancestry(t.Context(), "origin/main")
	if ancestor, known := ancestry(h.ids["one"]); ancestor || known {
		t.Errorf("got ancestor %t, known %t, want neither", ancestor, known)
	}
	if ancestor, known := ancestry(h.ids["three"]); !ancestor || !known {
		t.Errorf("the merge base itself: got ancestor %t, known %t, want both", ancestor, known)
	}
}

func TestHeadAndWhole(t *testing.T) {
	h := makeHistory(t)
	if commit, branch := h.Head(t.Context()); commit != h.ids["side"] || branch != "topic" {
		t.Errorf("got %s on %q, want %s on topic", commit, branch, h.ids["side"])
	}
	command(t, h.Dir, "checkout", "--quiet", "--detach")
	if commit, branch := h.Head(t.Context()); commit != h.ids["side"] || branch != "" {
		t.Errorf("detached: got %s on %q, want %s on no branch", commit, branch, h.ids["side"])
	}
	for given, want := range map[string]string{
		h.ids["one"][:9]: h.ids["one"],
		h.ids["absent"]:  h.ids["absent"], // of another repository, and whole
		"0123012":        "",
		"-x":             "",
	} {
		if got := h.Whole(t.Context(), given); got != want {
			t.Errorf("the whole of %q: got %q, want %q", given, got, want)
		}
	}
}

func TestBranchOf(t *testing.T) {
	for ref, want := range map[string]string{
		"main": "main", "origin/main": "main", "refs/heads/release/2": "release/2", "refs/remotes/origin/main": "main", "upstream/main": "upstream/main",
	} {
		if got := BranchOf(ref); got != want {
			t.Errorf("%q: got %q, want %q", ref, got, want)
		}
	}
}
