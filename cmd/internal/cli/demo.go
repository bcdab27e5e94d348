package cli

import (
	"context"
	_ "embed" // demoConfig
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/gate/rundir"
)

//go:embed demo.yaml
var demoConfig string

// demoEngine is the command of the demo's engine, as its config has it.
const demoEngine = "servegate engine sim --port {port} --batch-delay 2ms"

// scenario is one command line of the demo, and what it is to come to.
type scenario struct {
	what    string
	args    []string // {dir} is the demo's directory
	code    int
	reading string // of a regression
}

var scenarios = []scenario{
	{what: "record a baseline", args: []string{"baseline", "add", "-c", "{dir}/servegate.yaml", "--out", "{dir}/base"}},
	{what: "gate an unchanged build: it passes", args: []string{"gate", "-c", "{dir}/servegate.yaml", "--out", "{dir}/unchanged"}},
	{
		what: "gate a build whose prefill takes twice as long: it regressed",
		args: []string{"gate", "-c", "{dir}/servegate.yaml", "--out", "{dir}/slow-prefill", "--command", demoEngine + " --slow-prefill 2"},
		code: ExitRegressed, reading: gate.ReadingPrefill,
	},
	{
		what: "gate a build whose decode takes twice as long: it regressed",
		args: []string{"gate", "-c", "{dir}/servegate.yaml", "--out", "{dir}/slow-decode", "--command", demoEngine + " --slow-decode 2"},
		code: ExitRegressed, reading: gate.ReadingDecode,
	},
	{
		what: "gate under another workload: it is not comparable, and nothing is booted",
		args: []string{"gate", "-c", "{dir}/longer-prompts.yaml", "--out", "{dir}/longer-prompts"},
		code: ExitIncomparable,
	},
}

func newDemo(env Env) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show the whole gate on the built-in engine, in under a minute",
		Long: `Boot the built-in engine, record a baseline, gate an unchanged build, one slowed in
prefill, one slowed in decode, and one measured under other conditions; print each report
and each gate's exit code. It runs the commands that it prints, and nothing else.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return demo(cmd.Context(), env, dir) },
	}
	cmd.Flags().StringVar(&dir, "out", "", "`directory` to keep the demo's files in (default: none are kept)")
	return cmd
}

// demo plays all scenarios. The error says which of them came out otherwise.
func demo(ctx context.Context, env Env, dir string) error {
	if dir == "" {
		temp, err := os.MkdirTemp("", "servegate-demo-")
		if err != nil {
			return fmt.Errorf("make directory: %w", err)
		}
		defer os.RemoveAll(temp)
		dir = temp
	}
	if err := writeDemo(dir); err != nil {
		return &usageError{err: err, hint: "--out must be a directory that is new or empty, in a place that can be written"}
	}
	fmt.Fprintf(env.Stdout, "%s/servegate.yaml:\n\n%s", dir, demoConfig)
	getenv := env.Getenv
	env.Getenv = func(name string) string { // the demo is the same everywhere, but for its looks
		if name == "NO_COLOR" || name == "TERM" {
			return getenv(name)
		}
		return ""
	}
	var errs []error
	for i, s := range scenarios {
		fmt.Fprintf(env.Stdout, "\n=== %d of %d: %s\n", i+1, len(scenarios), s.what)
		err := s.play(ctx, env, dir)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// writeDemo writes the demo's two configs; the second has longer prompts.
func writeDemo(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	there, err := os.ReadDir(dir)
	switch {
	case err != nil:
		return err
	case len(there) > 0:
		return fmt.Errorf("%s isn't empty, and its files are not ours to overwrite", dir)
	}
	config := strings.Replace(demoConfig, "dir: baselines", fmt.Sprintf("dir: %q", filepath.Join(dir, "baselines")), 1)
	longer := strings.Replace(config, "max: 384", "max: 512", 1)
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "servegate.yaml"), []byte(config), 0o644),
		os.WriteFile(filepath.Join(dir, "longer-prompts.yaml"), []byte(longer), 0o644),
	)
}

// play runs the command line of a scenario as the process itself would, and holds its
// exit code, and its reading, against what was announced.
func (s scenario) play(ctx context.Context, env Env, dir string) error {
	args := make([]string, len(s.args))
	for i, a := range s.args {
		args[i] = strings.ReplaceAll(a, "{dir}", dir)
	}
	fmt.Fprintf(env.Stdout, "$ servegate %s\n\n", shellLine(args))
	code := run(ctx, env, args)
	fmt.Fprintf(env.Stdout, "\nexit code %d\n", code)
	if code != s.code {
		return fmt.Errorf("%s: exit code %d instead of %d", s.what, code, s.code)
	}
	if s.reading == "" {
		return nil
	}
	data, err := os.ReadFile(filepath.Join(args[len(args)-3], rundir.VerdictFile))
	if err != nil {
		return fmt.Errorf("%s: %w", s.what, err)
	}
	v, err := gate.ReadVerdict(data)
	if err != nil {
		return fmt.Errorf("%s: %w", s.what, err)
	}
	if got := v.Cells[0].Reading; got != s.reading {
		return fmt.Errorf("%s: its reading is %q instead of %q", s.what, got, s.reading)
	}
	return nil
}

// shellLine joins arguments so that a shell would take them apart again.
func shellLine(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = a
		if strings.ContainsAny(a, " {}'\"") {
			quoted[i] = "'" + a + "'"
		}
	}
	return strings.Join(quoted, " ")
}
