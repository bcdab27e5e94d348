package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/servegate/servegate/runner/engine/process"
	"github.com/servegate/servegate/runner/engine/sim"
)

func newEngine(env Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "engine",
		Short: "Engines that come with servegate",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSim(env), newSupervise())
	return cmd
}

func newSim(env Env) *cobra.Command {
	o := sim.Defaults()
	o.Log = env.Stderr
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Serve the simulated engine",
		Long: `Serve an engine that has no model and no GPU, and schedules as one that has: an
OpenAI-compatible API in front of continuous batching with KV blocks and prefix caching,
at speeds and with faults that the flags set. It ends on SIGTERM.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Check(); err != nil {
				return &usageError{err: fmt.Errorf("check flags: %w", err), hint: "see " + cmd.CommandPath() + " --help"}
			}
			err := sim.Serve(cmd.Context(), o)
			var crash *sim.CrashError
			if errors.As(err, &crash) {
				return codeError(crash.Code)
			}
			return err
		},
	}
	o.Flags(cmd.Flags())
	return cmd
}

// newSupervise is the process that stands between us and an engine that we started.
func newSupervise() *cobra.Command {
	return &cobra.Command{
		Use:    "supervise",
		Short:  "Watch over an engine process (started by servegate itself)",
		Hidden: true,
		Args:   cobra.ArbitraryArgs,
		RunE:   func(*cobra.Command, []string) error { return codeError(process.Supervise()) },
	}
}
