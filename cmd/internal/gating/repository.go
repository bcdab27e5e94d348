package gating

import (
	"context"
	"errors"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// gitTimeout bounds one question to git.
const gitTimeout = 10 * time.Second

// Repository answers questions about the commits of the git repository in a directory.
// Where there is no git or no repository, it knows nothing.
type Repository struct{ Dir string }

// Head is the commit that is checked out, and its branch; empty where nobody knows.
func (r Repository) Head(ctx context.Context) (commit, branch string) {
	commit, _ = r.git(ctx, []string{"rev-parse", "--verify", "--quiet"}, "HEAD^{commit}")
	branch, err := r.git(ctx, []string{"symbolic-ref", "--short", "--quiet"}, "HEAD")
	if err != nil {
		branch = "" // a detached head, as CI has it
	}
	return commit, branch
}

// wholeID is a commit's id that is not abbreviated.
var wholeID = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// Whole is the whole id of a commit that may be abbreviated; empty where the repository
// doesn't tell, for example since the engine's source is another one.
func (r Repository) Whole(ctx context.Context, commit string) string {
	if wholeID.MatchString(commit) {
		return commit
	}
	whole, _ := r.git(ctx, []string{"rev-parse", "--verify", "--quiet"}, commit+"^{commit}")
	return whole
}

// Ancestry returns the question whether a commit is an ancestor of the merge base of
// HEAD and ref, or nil where that merge base isn't known.
func (r Repository) Ancestry(ctx context.Context, ref string) func(commit string) (ancestor, known bool) {
	base, err := r.git(ctx, []string{"merge-base"}, "HEAD", ref)
	if err != nil || base == "" {
		return nil
	}
	shallow, err := r.git(ctx, []string{"rev-parse", "--is-shallow-repository"})
	whole := err == nil && shallow == "false"
	return func(commit string) (ancestor, known bool) {
		_, err := r.git(ctx, []string{"merge-base", "--is-ancestor"}, commit, base)
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			// Others: git doesn't know the commit. In a shallow clone the line of ancestors
			// may be cut off before it.
			return false, whole && exit.ExitCode() == 1
		}
		return err == nil, err == nil
	}
}

// BranchOf is the branch that ref names, as a record tells it: "main" of "origin/main" and
// of "refs/heads/main".
func BranchOf(ref string) string {
	for _, prefix := range []string{"refs/heads/", "refs/remotes/origin/", "origin/"} {
		if branch, found := strings.CutPrefix(ref, prefix); found {
			return branch
		}
	}
	return ref
}

// git runs one git command on names. A name comes from outside, and must not be taken
// for an option.
func (r Repository) git(ctx context.Context, command []string, names ...string) (string, error) {
	for _, name := range names {
		if name == "" || strings.HasPrefix(name, "-") {
			return "", errors.New("no name in git")
		}
	}
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", slices.Concat(command, names)...)
	cmd.Dir = r.Dir
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}
