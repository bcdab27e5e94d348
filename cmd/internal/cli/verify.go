package cli

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/servegate/servegate/gate/rundir"
)

func newVerify(env Env) *cobra.Command {
	return &cobra.Command{
		Use:   "verify DIR",
		Short: "Check a run directory and derive its metrics again",
		Long: `Check that every file of a run directory is what its manifest says, and that every
number in run.json is, byte for byte, what the raw requests give.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &usageError{err: errors.New("want one run directory"), hint: "see " + cmd.CommandPath() + " --help"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := rundir.Open(args[0])
			if err != nil {
				return &usageError{err: err}
			}
			check, err := dir.Verify(cmd.Context())
			if ctxErr := cmd.Context().Err(); ctxErr != nil {
				return ctxErr
			}
			if err != nil {
				return &usageError{err: err}
			}
			fmt.Fprintf(env.Stdout, "%s: %d repetitions derived again from %d raw requests: the same byte for byte\n", args[0], check.Repetitions, check.Records)
			for _, ref := range check.Unfinished {
				fmt.Fprintf(env.Stdout, "%s: cut short, not in run.json\n", ref)
			}
			if !dir.Run().Complete {
				fmt.Fprintf(env.Stdout, "the run is incomplete: %s\n", cmp.Or(dir.Run().Incomplete, "it ended without a word, as when killed, or goes on"))
			}
			return nil
		},
	}
}
