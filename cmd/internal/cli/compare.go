package cli

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/servegate/servegate/cmd/internal/gating"
	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/gate/rundir"
)

func newCompare(env Env) *cobra.Command {
	var form format
	cmd := &cobra.Command{
		Use:   "compare BASE HEAD",
		Short: "Compare two runs, without a store and without a config",
		Long: `Hold the run HEAD against the run BASE under the default policy. Each is a run
directory or a run.json. The exit code is that of a gate.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return &usageError{err: errors.New("want two runs, the base and the head"), hint: "see " + cmd.CommandPath() + " --help"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			base, err := rundir.ReadRun(cmd.Context(), args[0])
			if err != nil {
				return &usageError{err: err}
			}
			head, err := rundir.ReadRun(cmd.Context(), args[1])
			if err != nil {
				return &usageError{err: err}
			}
			judge := gating.Gate{Policy: gate.DefaultPolicy(), Tool: tool(), Now: time.Now().UTC().Truncate(time.Second)}
			v, err := judge.Compare(base, head)
			if err != nil {
				return &usageError{err: err, hint: "a base must be a complete run, and neither run edited by hand"}
			}
			v.Artifacts = args[1]
			if err := printVerdict(env, v, form); err != nil {
				return err
			}
			return exitOf(v)
		},
	}
	registerFormat(cmd, &form)
	return cmd
}
