package cli

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/servegate/servegate/baselines"
	"github.com/servegate/servegate/baselines/dir"
	"github.com/servegate/servegate/cmd/internal/config"
	"github.com/servegate/servegate/cmd/internal/gating"
	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/gate/rundir"
)

func newBaseline(env Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "baseline",
		Short: "Keep the runs that others are held against",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBaselineAdd(env), newBaselineList(env), newBaselineShow(env),
		newBaselineDecide(env, baselines.Promotion), newBaselineDecide(env, baselines.Retraction),
		newBaselinePrune(env), newBaselineCheck(env))
	return cmd
}

// newBaselineAdd records a run: it is measured and judged as by a gate, and its cells
// are promoted as their results allow.
func newBaselineAdd(env Env) *cobra.Command {
	var g gateFlags
	var actor string
	cmd := &cobra.Command{
		Use:   "add -c FILE (--out DIR | --run DIR)",
		Short: "Measure a baseline (or take a run that was made) and store it",
		Long: `Measure with baseline_repetitions (or take a run that was made), hold it against the
baselines that are stored, and add it to the store. Cells that passed, improved, are
inconclusive, have no baseline or whose conditions changed become baselines; a cell that
regressed, is invalid or improved beyond belief doesn't, unless it is promoted by hand.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return g.add(cmd.Context(), env, actor) },
	}
	g.source.register(cmd)
	f := cmd.Flags()
	f.StringVarP(&g.out, "out", "o", "", "`directory` to write the run into, new or empty")
	f.StringVar(&g.run, "run", "", "run `directory` to record, instead of measuring")
	f.StringVar(&g.store, "store", "", "`directory` of the baselines (default from the config)")
	f.StringVar(&actor, "actor", actorOf(env), "`name` of who records it")
	registerFormat(cmd, &g.format)
	return cmd
}

// actorOf is who does what is done here, as far as the environment tells.
func actorOf(env Env) string {
	if actor := env.Getenv("GITHUB_ACTOR"); actor != "" {
		return actor
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "unknown"
}

// add is servegate baseline add.
func (g *gateFlags) add(ctx context.Context, env Env, actor string) error {
	if (g.run == "") == (g.out == "") {
		return &usageError{err: errors.New("want either --out or --run"), hint: "--out DIR measures into DIR, --run DIR takes a run that was made"}
	}
	if err := g.checkGiven(); err != nil {
		return err
	}
	cfg, err := g.load(env)
	if err != nil {
		return err
	}
	store := g.storeOf(cfg)
	entries, err := readStore(ctx, env, store)
	if err != nil {
		return err
	}
	run, err := g.runToRecord(ctx, env, cfg)
	if err != nil {
		return err
	}
	judge := g.judge(ctx, env, cfg, config.Record)
	v := judge.Judge(run.Run(), entries, nil)
	if err := g.complete(v, cfg); err != nil {
		return err
	}
	digest, err := run.ManifestDigest()
	if err != nil {
		return &usageError{err: err, hint: "only a complete run becomes a baseline"}
	}
	by := gating.Recorder{Actor: actor, Manifest: digest}
	repository := gating.Repository{}
	by.Commit, by.Branch = repository.Head(ctx)
	if commit := run.Run().Subject.Commit; commit != "" {
		by.Commit = repository.Whole(ctx, commit)
	}
	record, err := judge.Record(run.Run(), v, by)
	if err != nil {
		return &usageError{err: err}
	}
	if err := dir.New(store).Append(ctx, baselines.Entry{Record: record}); err != nil {
		hint := "the store must be a directory that can be written; the run is kept: store it with servegate baseline add --run"
		if errors.Is(err, baselines.ErrExists) {
			hint = "each run is stored once; servegate baseline list shows them"
		}
		return &usageError{err: err, hint: hint}
	}
	if err := keepVerdict(v, gating.Used(entries, v)); err != nil {
		fmt.Fprintf(env.Stderr, "servegate: warning: %v\n", err)
	}
	fmt.Fprintf(env.Stderr, "servegate: stored %s in %s\n", record.Run.ID, store)
	if err := printVerdict(env, v, g.format); err != nil {
		return err
	}
	return exitOf(v)
}

// runToRecord is the run that was made, or one that is measured now.
func (g *gateFlags) runToRecord(ctx context.Context, env Env, cfg *config.Config) (*rundir.Dir, error) {
	directory := g.run
	if directory == "" {
		plan, err := cfg.Plan(g.subset, config.Overrides{})
		if err != nil {
			return nil, err
		}
		if g.flags.Repetitions == 0 {
			plan.Measure.Repetitions = cfg.Measure.BaselineRepetitions
		}
		if _, err := execute(ctx, env, cfg, plan, g.out); err != nil {
			return nil, err
		}
		directory = g.out
	}
	return openVerified(ctx, directory)
}

// storeFlags is the command line of what looks at a store or changes it.
type storeFlags struct {
	source
	store string
}

func (s *storeFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&s.path, "config", "c", "", "config `file` that says where the store is")
	cmd.Flags().StringVar(&s.store, "store", "", "`directory` of the baselines, instead of the config's")
}

// open reads the store, and tells where it is. cfg is nil where --store said that.
func (s *storeFlags) open(ctx context.Context, env Env) (directory string, entries []baselines.Entry, cfg *config.Config, err error) {
	directory = s.store
	if directory == "" {
		if cfg, err = s.load(env); err != nil {
			return "", nil, nil, err
		}
		directory = cfg.Baselines.Dir
	}
	entries, err = readStore(ctx, env, directory)
	return directory, entries, cfg, err
}

func newBaselineList(env Env) *cobra.Command {
	var s storeFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the cells of all stored runs, and which of them count",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			directory, entries, _, err := s.open(cmd.Context(), env)
			if err != nil {
				return err
			}
			if len(entries) == 0 {
				return &incomparableError{fmt.Errorf("the baseline store %s is empty", directory)}
			}
			return listBaselines(env, entries)
		},
	}
	s.register(cmd)
	return cmd
}

// listBaselines prints a line for each cell of each record.
func listBaselines(env Env, entries []baselines.Entry) error {
	standings := baselines.Fold(entries)
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "run\tmeasured\tcell\trepetitions\trunner class\tcommit\tstanding")
	for _, e := range entries {
		if e.Record == nil {
			continue
		}
		for _, c := range e.Record.Run.Cells {
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%.12s\t%s\n", e.Record.Run.ID, e.Record.Run.Started.Format(time.DateTime),
				c.ID, len(c.Repetitions), e.Record.Class, e.Record.Commit, standingLine(standings.Of(e.Record.Run.ID, c.ID)))
		}
	}
	return w.Flush()
}

// standingLine says in a few words whether a cell counts.
func standingLine(s baselines.Standing) string {
	switch {
	case s.Retracted:
		return "retracted: " + s.Why
	case s.Promoted:
		return "baseline: " + s.Why
	}
	return "no baseline: " + s.Why
}

func newBaselineShow(env Env) *cobra.Command {
	var s storeFlags
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Print a stored run as JSON",
		Args:  oneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			_, entries, _, err := s.open(cmd.Context(), env)
			if err != nil {
				return err
			}
			entry, err := entryOf(entries, args[0])
			if err != nil {
				return err
			}
			data, err := baselines.Encode(entry)
			if err != nil {
				return err
			}
			_, err = env.Stdout.Write(data)
			return err
		},
	}
	s.register(cmd)
	return cmd
}

// oneRun wants one argument, the id of a run.
func oneRun(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return &usageError{err: errors.New("want the id of one run"), hint: "servegate baseline list shows them"}
	}
	return nil
}

// entryOf is the record of the run with an id.
func entryOf(entries []baselines.Entry, id string) (baselines.Entry, error) {
	for _, e := range entries {
		if e.Record != nil && e.Record.Run.ID == id {
			return e, nil
		}
	}
	return baselines.Entry{}, &usageError{err: fmt.Errorf("the store has no run %q", id), hint: "servegate baseline list shows them"}
}

// newBaselineDecide is promote or retract: a decision by hand.
func newBaselineDecide(env Env, kind baselines.EventKind) *cobra.Command {
	var s storeFlags
	var d baselines.Decision
	use, short, make := "promote", "Make the cells of a stored run baselines, whatever their results were", baselines.NewPromotion
	if kind == baselines.Retraction {
		use, short, make = "retract", "Take the cells of a stored run out of the baselines", baselines.NewRetraction
	}
	cmd := &cobra.Command{
		Use:   use + " RUN --reason TEXT",
		Short: short,
		Args:  oneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			directory, entries, _, err := s.open(cmd.Context(), env)
			if err != nil {
				return err
			}
			if _, err := entryOf(entries, args[0]); err != nil {
				return err
			}
			d.Run, d.At = args[0], time.Now().UTC().Truncate(time.Second)
			event, err := make(entries, d)
			if err != nil {
				return &usageError{err: err, hint: "say why with --reason"}
			}
			if err := dir.New(directory).Append(cmd.Context(), baselines.Entry{Event: event}); err != nil {
				return &usageError{err: err}
			}
			fmt.Fprintf(env.Stdout, "%s of %s stored in %s\n", kind, args[0], directory)
			return nil
		},
	}
	s.register(cmd)
	f := cmd.Flags()
	f.StringVar(&d.Reason, "reason", "", "`text` that says why")
	f.StringVar(&d.Actor, "actor", actorOf(env), "`name` of who decides")
	f.StringSliceVar(&d.Cells, "cells", nil, "`ids` of the cells (default all)")
	if kind == baselines.Promotion {
		f.StringVar(&d.Anchor, "anchor", "", "`name` that pins it, a release for example: it is never pruned")
	}
	return cmd
}

func newBaselinePrune(env Env) *cobra.Command {
	var s storeFlags
	var keep int
	var yes bool
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "List the records that retention would drop, and with --yes drop them",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			directory, entries, cfg, err := s.open(cmd.Context(), env)
			if err != nil {
				return err
			}
			if keep == 0 && cfg != nil {
				keep = cfg.Baselines.Keep
			}
			if keep < 1 {
				return &usageError{err: errors.New("--keep is missing"), hint: "say how many records of a cell and runner class stay"}
			}
			var names []string
			for _, d := range baselines.Prune(entries, keep) {
				names = append(names, d.Name)
				fmt.Fprintf(env.Stdout, "%s\n", d.Name)
			}
			if !yes || len(names) == 0 {
				fmt.Fprintf(env.Stderr, "servegate: %d records beyond the newest %d of a cell; nothing was dropped (--yes drops them)\n", len(names), keep)
				return nil
			}
			return dir.New(directory).Remove(cmd.Context(), names)
		},
	}
	s.register(cmd)
	cmd.Flags().IntVar(&keep, "keep", 0, "`number` of records of a cell and runner class that stay (default from the config)")
	cmd.Flags().BoolVar(&yes, "yes", false, "drop them")
	return cmd
}

func newBaselineCheck(env Env) *cobra.Command {
	var s storeFlags
	var age time.Duration
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Fail when the newest baseline of a cell is older than its limit",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, entries, cfg, err := s.open(cmd.Context(), env)
			if err != nil {
				return err
			}
			if age == 0 && cfg != nil {
				age = cfg.Baselines.MaxAge
			}
			if age <= 0 {
				return &usageError{err: errors.New("--max-age is missing"), hint: "say how old a baseline may be, e.g. 168h"}
			}
			stale := baselines.Check(entries, baselines.Limits{MaxAge: age}, time.Now())
			for _, st := range stale {
				fmt.Fprintln(env.Stdout, st)
			}
			if len(stale) > 0 {
				return codeError(resultCode(gate.NoBaseline))
			}
			fmt.Fprintf(env.Stdout, "every baseline is younger than %s\n", age)
			return nil
		},
	}
	s.register(cmd)
	cmd.Flags().DurationVar(&age, "max-age", 0, "`limit` of the age (default from the config)")
	return cmd
}
