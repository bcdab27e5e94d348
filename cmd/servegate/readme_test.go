package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/servegate/servegate/cmd/internal/config"
)

// fences are the README's blocks of one language.
func fences(t *testing.T, language string) []string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```").FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) == 0 {
		t.Fatalf("the README has no block of %s", language)
	}
	return blocks
}

// Every command of the README is run as it stands, from the repository's root; only the
// directory "out" lies elsewhere.
func TestREADMECommands(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	for _, block := range fences(t, "sh") {
		for line := range strings.Lines(block) {
			line = strings.TrimSpace(line)
			if line == "go test ./..." {
				continue // that is what runs this test
			}
			args := strings.Fields(line)
			if len(args) < 3 || !slices.Equal(args[:3], []string{"go", "run", "./cmd/servegate"}) {
				t.Errorf("%q: this test can't run it", line)
				continue
			}
			for i, a := range args {
				if a == "out" {
					args[i] = out
				}
			}
			runFromRoot(t, line, args)
		}
	}
}

func runFromRoot(t *testing.T, line string, args []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = "../.."
	text, err := cmd.CombinedOutput()
	// A machine that is too busy to measure on is found out, and no fault of the README.
	busy := regexp.MustCompile(`client was late|streams had a request in flight`).Match(text)
	if err != nil && !busy {
		t.Errorf("%s: %v\n%s", line, err, text)
	}
}

// Every config in the README is a config.
func TestREADMEConfigs(t *testing.T) {
	for _, block := range fences(t, "yaml") {
		if _, err := config.Parse("README.md", []byte(block)); err != nil {
			t.Errorf("%v\n%s", err, block)
		}
	}
}
