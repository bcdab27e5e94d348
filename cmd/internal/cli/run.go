package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"github.com/servegate/servegate/cmd/internal/config"
	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/gate/report"
	"github.com/servegate/servegate/gate/rundir"
	"github.com/servegate/servegate/runner"
)

// measuringGC makes the garbage collector run seldom while we measure: its pauses
// would be the engine's, and the client's heap is small.
const measuringGC = 400

func newRun(env Env) *cobra.Command {
	var from source
	var out string
	cmd := &cobra.Command{
		Use:   "run -c FILE --out DIR",
		Short: "Boot the engine, measure every cell, write a run directory",
		Long: `Boot the engine (or attach to it), measure every cell of the chosen subset with its
repetitions, and write DIR: run.json with the metrics and their envelopes, the raw
requests, the engine's log, and a manifest. The closing table goes to stdout.

A run that is cut short leaves what it has measured, marked incomplete.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return measure(cmd.Context(), env, &from, out)
		},
	}
	from.register(cmd)
	cmd.Flags().StringVarP(&out, "out", "o", "", "`directory` to write, new or empty")
	return cmd
}

// measure is servegate run.
func measure(ctx context.Context, env Env, from *source, out string) error {
	cfg, err := from.load(env)
	if err != nil {
		return err
	}
	plan, err := cfg.Plan(from.subset, config.Overrides{})
	if err != nil {
		return err
	}
	run, err := execute(ctx, env, cfg, plan, out)
	if run != nil && measured(run) {
		if tableErr := report.RunText(env.Stdout, run); tableErr != nil && err == nil {
			err = fmt.Errorf("print table: %w", tableErr)
		}
	}
	return err
}

// execute runs a plan into the directory out. The run is nil where nothing was begun.
func execute(ctx context.Context, env Env, cfg *config.Config, plan runner.Plan, out string) (*gate.Run, error) {
	if out == "" {
		return nil, &usageError{err: errors.New("no --out"), hint: "name a directory that is new or empty"}
	}
	resolved, err := cfg.YAML()
	if err != nil {
		return nil, fmt.Errorf("print config: %w", err)
	}
	w, err := rundir.Create(out)
	if err != nil {
		return nil, &usageError{err: err, hint: "--out must be a directory that is new or empty, in a place that can be written"}
	}
	if err := w.WriteConfig(resolved); err != nil {
		return nil, err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(measuringGC))
	run, err := runner.Run(ctx, plan, runner.Options{
		Out:    w,
		Tool:   tool(),
		Notify: newProgress(env).notify,
		Getenv: env.Getenv,
	})
	fmt.Fprintf(env.Stderr, "servegate: wrote %s\n", out)
	return run, err
}

// measured reports whether a run has any repetition to show.
func measured(r *gate.Run) bool {
	return slices.ContainsFunc(r.Cells, func(c gate.CellRun) bool { return len(c.Repetitions) > 0 })
}
