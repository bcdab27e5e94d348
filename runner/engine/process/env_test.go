package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEnvironment(t *testing.T) {
	ours := []string{
		"PATH=/bin", "LC_TIME=C", "CUDA_VISIBLE_DEVICES=0,1", "HF_HOME=/models",
		"VLLM_USE_V1=0", "OMP_NUM_THREADS=1", "CUDA_LAUNCH_BLOCKING=1", "PYTHONPATH=/x", "LD_PRELOAD=x.so",
		"GITHUB_TOKEN=ghs_secret", "HF_TOKEN=hf_secret", "PLAIN=p", "EMPTY=", "=odd",
	}
	l := Launcher{
		Env:     map[string]string{"OMP_NUM_THREADS": "8", "PATH": "/engine/bin", "SOME_PASSWORD": "declared-here"},
		PassEnv: []string{"PLAIN", "EMPTY", "ABSENT", "OMP_NUM_THREADS"},
		Secrets: []string{"HF_TOKEN", "PLAIN", "MISSING"},
	}
	env, unset, secrets := environment(l, ours)
	want := []string{
		"CUDA_VISIBLE_DEVICES=0,1", "EMPTY=", "HF_HOME=/models", "HF_TOKEN=hf_secret", "LC_TIME=C",
		"OMP_NUM_THREADS=8", "PATH=/engine/bin", "PLAIN=p", "SOME_PASSWORD=declared-here",
	}
	if diff := cmp.Diff(want, env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ABSENT", "MISSING"}, unset); diff != "" {
		t.Errorf("unset (-want +got):\n%s", diff)
	}
	slices.Sort(secrets)
	if diff := cmp.Diff([]string{"declared-here", "hf_secret", "p"}, secrets); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
}

// The engine gets what was computed, and nothing of ours or the supervisor's beside it.
func TestEngineSeesOnlyItsEnvironment(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", "ghs_0123456789")
	t.Setenv("SGLANG_ANYTHING", "1")
	l := shell("")
	l.Command = []string{"/usr/bin/env", "PORT={port}"}
	_, exit := runToEnd(t, l)
	for _, line := range exit.LastLines {
		name, _, _ := strings.Cut(line, "=")
		if !PassedOn(name) && name != "PORT" && name != markName {
			t.Errorf("the engine sees %s", line)
		}
	}
	if !slices.ContainsFunc(exit.LastLines, func(s string) bool { return strings.HasPrefix(s, "PATH=") }) {
		t.Errorf("the engine doesn't see PATH: %q", exit.LastLines)
	}
}

func TestLookProgram(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"bin/tool", "other/tool", "here"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll("none/tool", 0o755); err != nil { // a folder is no program
		t.Fatal(err)
	}
	tests := []struct{ name, program, dir, path, want string }{
		{"first in PATH", "tool", "", dir + "/none:" + dir + "/other:" + dir + "/bin", dir + "/other/tool"},
		{"absolute", dir + "/bin/tool", "/", "", dir + "/bin/tool"},
		{"relative to ours", "./here", "", "", dir + "/here"},
		{"relative to the engine's folder", "./tool", dir + "/bin", "", dir + "/bin/tool"},
		{"relative to a relative folder", "./tool", "bin", "", dir + "/bin/tool"},
		{"not by a relative entry", "here", "", ".::" + dir + "/bin", ""},
		{"no PATH", "tool", "", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := lookProgram(tt.program, tt.dir, []string{"PATH=" + tt.path})
			if got != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("lookProgram = %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}
