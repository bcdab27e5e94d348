package gating

import (
	"context"
	"errors"
	"os/exec"
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

// Ancestry returns the question whether a commit is an ancestor of the merge base of
// HEAD and ref, or nil where that merge base isn't known.
func (r Repository) Ancestry(ctx context.Context, ref string) func(commit string) (ancestor, known bool) {
	base, err := r.git(ctx, []string{"merge-base"}, "HEAD", ref)
	if err != nil || base == "" {
		return nil
	}
	return func(commit string) (ancestor, known bool) {
		_, err := r.git(ctx, []string{"merge-base", "--is-ancestor"}, commit, base)
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return false, exit.ExitCode() == 1 // others: git doesn't know the commit
		}
		return err == nil, err == nil
	}
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
