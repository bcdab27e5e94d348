// Package cli is the command line of servegate: one file a subcommand, flags and
// streams, and the one place where an error becomes an exit code.
//
// Rules of its output: the result goes to stdout and everything else to stderr, with
// the prefix "servegate:", in lower case and without a final period; an error is one
// line that names the cause, and a hint line where there is a remedy. What the commands
// do stands in the packages that they join.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/servegate/servegate/cmd/internal/config"
	"github.com/servegate/servegate/gate"
)

// Main runs the command line args and returns the exit code. The first SIGINT, SIGTERM
// or SIGHUP (of a terminal that is closed) ends what goes on in good order; a second one
// ends the process.
func Main(env Env, args []string) int {
	ends := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	context.AfterFunc(ctx, stop)
	// A measurement doesn't end because nobody reads how it goes. Caught, and not
	// ignored: an engine would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	// The HTTP library logs what servers send out of turn, which may be anything.
	log.SetOutput(io.Discard)
	return run(ctx, env, args)
}

// codeError is an exit code that needs no word: the command has said it all.
type codeError int

func (c codeError) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

func run(ctx context.Context, env Env, args []string) int {
	result := &output{w: env.Stdout}
	env.Stdout = result
	root := newRoot(env)
	root.SetArgs(args)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	err := root.ExecuteContext(ctx)
	if err == nil && result.err != nil {
		err = fmt.Errorf("write result: %w", result.err)
	}
	var code codeError
	if errors.As(err, &code) {
		return int(code)
	}
	if err != nil {
		complain(env.Stderr, err)
	}
	return exitCode(err)
}

// complain prints an error, a line each where there are several, and its hint.
func complain(w io.Writer, err error) {
	var faults *config.Faults
	if errors.As(err, &faults) {
		fmt.Fprintln(w, faults.Error())
		return
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(w, "servegate: interrupted")
		return
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(w, "servegate: %s\n", strings.TrimSuffix(line, "\n"))
	}
	if hint := hintOf(err); hint != "" {
		fmt.Fprintf(w, "servegate: hint: %s\n", hint)
	}
}

// newRoot builds the command tree.
func newRoot(env Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "servegate",
		Short: "Gate the performance of LLM-serving engines",
		Long: `servegate boots an LLM-serving engine, measures a pinned matrix of workloads and
loads against its OpenAI-compatible API, and writes down what happened: raw requests,
metrics, and the conditions that they hold under.

Begin with:
  servegate validate -c servegate.yaml      what would be measured, and under which conditions
  servegate run -c servegate.yaml --out DIR boot the engine, measure, write DIR`,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return &usageError{err: fmt.Errorf("unknown command %q", args[0]), hint: suggest(cmd, args[0])}
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &usageError{err: err, hint: "see " + cmd.CommandPath() + " --help"}
	})
	root.AddCommand(newDemo(env), newRun(env), newGate(env), newCompare(env), newBaseline(env), newReport(env),
		newValidate(env), newVerify(env), newSchema(env), newEngine(env))
	return root
}

// suggest names the command that was probably meant.
func suggest(cmd *cobra.Command, typed string) string {
	if near := cmd.SuggestionsFor(typed); len(near) > 0 {
		return "did you mean servegate " + near[0] + "?"
	}
	return "see servegate --help"
}

// noArgs is cobra.NoArgs as a fault of the command line.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &usageError{err: fmt.Errorf("unexpected argument %q", args[0]), hint: "see " + cmd.CommandPath() + " --help"}
	}
	return nil
}

// version is the version of the module, as the Go toolchain has stamped it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

// tool is this servegate, as it stands in the files that it writes.
func tool() gate.Tool { return gate.Tool{Name: "servegate", Version: version()} }
