package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/servegate/servegate/runner"
)

func engineConfig(launcher string) string {
	return "version: 1\nengine: {kind: vllm, api_key: KEY, " + launcher + "}\nmodel: tiny\nworkloads: {chat: {input: 512, output: 128}}\nloads: {c8: {closed: 8}}\n"
}

const (
	processLauncher = `process: {command: [old, "{port}"], dir: /opt, env: {A: 1}, secrets: [S], pass_env: [P], ready_timeout: 7m}`
	attachLauncher  = `attach: {url: "http://old:1", ready_timeout: 9s}`
	dockerLauncher  = `docker: {image: "old@sha256:9f2b7c1e4a6d8035b1c2e3f4a5968778695a4b3c2d1e0f9e8d7c6b5a49382716", env: {A: 1}, secrets: [S], ready_timeout: 7m}`
)

func TestOverrides(t *testing.T) {
	tests := []struct {
		name, launcher string
		o              Overrides
		want           runner.Engine // kind, API key and grace left out
	}{
		{"none", attachLauncher, Overrides{}, runner.Engine{Attach: &runner.Attach{URL: "http://old:1"}, ReadyTimeout: 9 * time.Second}},
		{"command for command", processLauncher, Overrides{Command: []string{"new", "{port}", "{model}"}}, runner.Engine{
			Process:      &runner.Process{Command: []string{"new", "{port}", "tiny"}, Dir: "/opt", Env: map[string]string{"A": "1"}, Secrets: []string{"S"}, PassEnv: []string{"P"}},
			ReadyTimeout: 7 * time.Minute,
		}},
		{"command for container", dockerLauncher, Overrides{Command: []string{"new", "{port}"}}, runner.Engine{
			Process:      &runner.Process{Command: []string{"new", "{port}"}, Env: map[string]string{"A": "1"}, Secrets: []string{"S"}},
			ReadyTimeout: 7 * time.Minute,
		}},
		{"command for URL", attachLauncher, Overrides{Command: []string{"new", "{port}"}}, runner.Engine{
			Process: &runner.Process{Command: []string{"new", "{port}"}}, ReadyTimeout: 20 * time.Minute,
		}},
		{"URL for command", processLauncher, Overrides{URL: "https://new/v1/"}, runner.Engine{Attach: &runner.Attach{URL: "https://new"}, ReadyTimeout: 30 * time.Second}},
		{"URL for URL", attachLauncher, Overrides{URL: "http://new:8000"}, runner.Engine{Attach: &runner.Attach{URL: "http://new:8000"}, ReadyTimeout: 9 * time.Second}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := mustParse(t, engineConfig(tt.launcher))
			p, err := c.Plan("", tt.o)
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Kind, tt.want.APIKey, tt.want.StopGrace = "vllm", "KEY", 10*time.Second
			if diff := cmp.Diff(tt.want, p.Engine); diff != "" {
				t.Errorf("Engine (-want +got):\n%s", diff)
			}
			// What was measured is what the run directory's config says.
			applied, err := c.With(tt.o)
			if err != nil {
				t.Fatal(err)
			}
			printed, err := applied.YAML()
			if err != nil {
				t.Fatal(err)
			}
			q, err := mustParse(t, string(printed)).Plan("", Overrides{})
			if diff := cmp.Diff(p, q); err != nil || diff != "" {
				t.Errorf("plan of the printed config: %v (-applied +printed):\n%s", err, diff)
			}
		})
	}
}

func TestOverrideSubject(t *testing.T) {
	const digest = "@sha256:1111111111111111111111111111111111111111111111111111111111111111"
	c := mustParse(t, engineConfig(dockerLauncher))
	out, err := c.With(Overrides{Image: "new" + digest, Commit: "ABCDEF0123", Repetitions: 9})
	if err != nil {
		t.Fatal(err)
	}
	p, err := out.Preview("", Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Subject.Image != "new"+digest || p.Subject.Commit != "abcdef0123" || p.Measure.Repetitions != 9 {
		t.Errorf("got %+v with %d repetitions", p.Subject, p.Measure.Repetitions)
	}
	if len(out.Warnings) != 0 {
		t.Errorf("got warnings %q", out.Warnings)
	}
	tagged, err := c.With(Overrides{Image: "new:latest"})
	if err != nil || len(tagged.Warnings) != 1 || len(c.Warnings) != 0 {
		t.Errorf("a tag: got warnings %q, %v", tagged.Warnings, err)
	}
	c = mustParse(t, engineConfig("docker: {image: old}"))
	if pinned, err := c.With(Overrides{Image: "new" + digest}); err != nil || len(pinned.Warnings) != 0 || len(c.Warnings) != 1 {
		t.Errorf("a tag in the config and a digest over it: got warnings %q, %v", pinned.Warnings, err)
	}
}

func TestOverridesRefused(t *testing.T) {
	tests := []struct {
		name, launcher string
		o              Overrides
		want           string
	}{
		{"two builds", processLauncher, Overrides{Image: "x", URL: "http://x"}, "--image and --url are given, expected one build under test"},
		{"image without container", processLauncher, Overrides{Image: "x"}, "--image: the config starts no container, expected engine.docker in it"},
		{"bad image", dockerLauncher, Overrides{Image: "a b"}, `--image: "a b", expected an image with its digest`},
		{"bad URL", processLauncher, Overrides{URL: "localhost:8000"}, `--url: "localhost:8000", expected a URL such as http://127.0.0.1:8000`},
		{"URL with password", processLauncher, Overrides{URL: "http://u:hunter2@x"}, "--url: a URL with credentials, expected a URL such as http://127.0.0.1:8000"},
		{"command without port", attachLauncher, Overrides{Command: []string{"serve"}}, "command: no argument has {port} in it, expected the port that is chosen for each boot"},
		{"command with a secret", attachLauncher, Overrides{Command: []string{"serve", "{port}", "--api-key=x"}}, "command: an argument that takes a secret, expected none of those"},
		{"bad commit", attachLauncher, Overrides{Commit: "main"}, `--engine-commit: "main", expected 7 to 64 hexadecimal digits in lower case`},
		{"bad repetitions", attachLauncher, Overrides{Repetitions: -1}, `--repetitions: "-1", expected a whole number from 1 to 1000`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := mustParse(t, engineConfig(tt.launcher)).Plan("", tt.o)
			if got := planErrorText(t, err); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Error("the message shows the password")
			}
		})
	}
}

func TestOverridesFromEnv(t *testing.T) {
	env := map[string]string{
		"SERVEGATE_IMAGE":         "i",
		"SERVEGATE_COMMAND":       `serve --port {port} --name "two words"`,
		"SERVEGATE_ENGINE_COMMIT": "abcdef0",
		"SERVEGATE_REPETITIONS":   "5",
	}
	got, err := OverridesFromEnv(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	want := Overrides{Image: "i", Command: []string{"serve", "--port", "{port}", "--name", "two words"}, Commit: "abcdef0", Repetitions: 5}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	over := Overrides{URL: "http://x"}.Over(got)
	if diff := cmp.Diff(Overrides{URL: "http://x", Commit: "abcdef0", Repetitions: 5}, over); diff != "" {
		t.Errorf("a flag replaces the build of the environment as a whole (-want +got):\n%s", diff)
	}
	for name, value := range map[string]string{"SERVEGATE_REPETITIONS": "many", "SERVEGATE_COMMAND": "serve"} {
		_, err := OverridesFromEnv(func(n string) string {
			if n == name {
				return value
			}
			return ""
		})
		planErrorText(t, err)
	}
}

func TestParseCommand(t *testing.T) {
	tests := []struct {
		text string
		want []string
		err  string
	}{
		{`serve --port {port}`, []string{"serve", "--port", "{port}"}, ""},
		{"  serve\t{port}\n", []string{"serve", "{port}"}, ""},
		{`serve "{port}" 'it is' "a \"b\"" c\ d ''`, []string{"serve", "{port}", "it is", `a "b"`, "c d", ""}, ""},
		{`serve '\{port}'`, []string{"serve", `\{port}`}, ""},
		{`["serve", "--port", "{port}", 8]`, []string{"serve", "--port", "{port}", "8"}, ""},
		{`serve $HOME {port}`, []string{"serve", "$HOME", "{port}"}, ""},
		{`serve "{port}`, nil, `command: the " at its end is never closed`},
		{`serve {port}\`, nil, `command: the \ at its end is never closed`},
		{`serve {port} | tee log`, nil, "command: | is given as an argument, and no shell reads it"},
		{``, nil, "command: nothing in it, expected a program and its arguments"},
		{`[serve, {port}]`, nil, "command: a mapping, expected a text"},
		{`[serve`, nil, "command: not valid YAML: did not find expected ',' or ']'"},
		{"serve {port} a\x00b", nil, "command: a text with a NUL, expected a text"},
		{"serve {port} \xff", nil, "command: bytes that are no UTF-8, expected UTF-8 text"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			got, err := ParseCommand(tt.text)
			if tt.err != "" {
				if text := planErrorText(t, err); text != tt.err {
					t.Errorf("got %q, want %q", text, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
