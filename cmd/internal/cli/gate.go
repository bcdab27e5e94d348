package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/servegate/servegate/baselines"
	"github.com/servegate/servegate/baselines/dir"
	"github.com/servegate/servegate/cmd/internal/config"
	"github.com/servegate/servegate/cmd/internal/gating"
	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/gate/report"
	"github.com/servegate/servegate/gate/rundir"
	"github.com/servegate/servegate/runner"
)

// gateFlags is the command line of servegate gate.
type gateFlags struct {
	source
	out, run string // of a run to make, or of one that was made
	store    string // directory of the baselines; empty: the config's
	against  string // git ref of the target branch
	format   format
	signOff  bool
}

func newGate(env Env) *cobra.Command {
	var g gateFlags
	cmd := &cobra.Command{
		Use:   "gate -c FILE (--out DIR | --run DIR)",
		Short: "Measure, compare with the stored baselines, and say whether it passes",
		Long: `Measure as servegate run does (or take a run that was made), hold each cell against
the stored baselines whose envelope matches, and answer with a verdict: the report goes to
stdout; verdict.json, report.md and the baseline records that were used go into the run
directory; and the exit code says it (see README). A cell whose conditions changed by the
config alone is not comparable, and is not measured.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return g.gate(cmd.Context(), env) },
	}
	g.source.register(cmd)
	f := cmd.Flags()
	f.StringVarP(&g.out, "out", "o", "", "`directory` to write the run into, new or empty")
	f.StringVar(&g.run, "run", "", "run `directory` to judge, instead of measuring")
	f.StringVar(&g.store, "store", "", "`directory` of the baselines (default from the config)")
	f.StringVar(&g.against, "target", env.Getenv("GITHUB_BASE_REF"), "git `ref` of the target branch: baselines of its commits before the merge base count first")
	f.BoolVar(&g.signOff, "sign-off", false, "judge as for a release: undeclared conditions and differences are refused")
	registerFormat(cmd, &g.format)
	return cmd
}

// gate is servegate gate.
func (g *gateFlags) gate(ctx context.Context, env Env) error {
	if (g.run == "") == (g.out == "") {
		return &usageError{err: errors.New("want either --out or --run"), hint: "--out DIR measures into DIR, --run DIR judges a run that was made"}
	}
	if err := g.checkGiven(); err != nil {
		return err
	}
	cfg, err := g.load(env)
	if err != nil {
		return err
	}
	entries, err := readStore(ctx, env, g.storeOf(cfg))
	if err != nil {
		return err
	}
	judge := g.judge(ctx, env, cfg, g.situation(env))
	run, foreseen, err := g.runToJudge(ctx, env, cfg, judge, entries)
	if err != nil {
		return err
	}
	v := judge.Judge(run, entries, foreseen)
	if err := g.complete(v, cfg); err != nil {
		return err
	}
	if err := keepVerdict(v, gating.Used(entries, v)); err != nil {
		// Reporting never decides: the verdict stands, and it is printed.
		fmt.Fprintf(env.Stderr, "servegate: warning: %v\n", err)
	}
	if err := printVerdict(env, v, g.format); err != nil {
		return err
	}
	return exitOf(v)
}

// checkGiven refuses, beside a run that was made, flags that say how to make one: they
// would change nothing, and whoever gave them would be told of another build.
func (g *gateFlags) checkGiven() error {
	if g.run != "" && (g.command != "" || g.flags.Image != "" || g.flags.URL != "" || g.flags.Commit != "" || g.flags.Repetitions != 0) {
		return &usageError{
			err:  errors.New("--run takes a run that was made, which no flag of the build or of --repetitions changes"),
			hint: "leave these flags out, or measure with --out DIR",
		}
	}
	return nil
}

// situation is what the gate is run for.
func (g *gateFlags) situation(env Env) config.Situation {
	switch event := env.Getenv("GITHUB_EVENT_NAME"); {
	case g.signOff:
		return config.SignOff
	case event == "pull_request" || event == "merge_group":
		return config.PullRequest
	}
	return config.Other
}

// storeOf is the directory of the baselines.
func (g *gateFlags) storeOf(cfg *config.Config) string {
	if g.store != "" {
		return g.store
	}
	return cfg.Baselines.Dir
}

// judge is what runs are judged by in a situation.
func (g *gateFlags) judge(ctx context.Context, env Env, cfg *config.Config, s config.Situation) gating.Gate {
	judge := gating.Gate{
		Policy: cfg.Policy(s),
		Class:  cfg.Hardware.Class,
		Pool:   baselines.Pool{Repetitions: cfg.Baselines.Pool.Repetitions, Span: cfg.Baselines.Pool.Span},
		Tool:   tool(),
		Now:    time.Now().UTC().Truncate(time.Second),
	}
	judge.Promote = []gate.Result{}
	for _, r := range cfg.Baselines.Promote {
		judge.Promote = append(judge.Promote, gate.Result(r))
	}
	if g.against != "" {
		repository := gating.Repository{}
		judge.Branch = gating.BranchOf(g.against)
		judge.Ancestry = repository.Ancestry(ctx, g.against)
		if judge.Ancestry == nil {
			judge.Ancestry = repository.Ancestry(ctx, "origin/"+g.against)
		}
	}
	return judge
}

// runToJudge is the run that was made, or one that is measured now. Cells that can't be
// compared by what config and host tell are not measured: they are returned with what
// they differ in.
func (g *gateFlags) runToJudge(ctx context.Context, env Env, cfg *config.Config, judge gating.Gate, entries []baselines.Entry) (*gate.Run, map[string]gate.Base, error) {
	if g.run != "" {
		return g.givenRun(ctx, cfg)
	}
	if len(entries) == 0 {
		return nil, nil, &incomparableError{fmt.Errorf("the baseline store %s is empty: there is nothing to compare with", g.storeOf(cfg))}
	}
	plan, err := cfg.Plan(g.subset, config.Overrides{})
	if err != nil {
		return nil, nil, err
	}
	planned := runner.Preview(ctx, plan)
	foreseen := judge.Foresee(planned, entries)
	plan.Cells = slices.DeleteFunc(slices.Clone(plan.Cells), func(c runner.Cell) bool {
		_, hopeless := foreseen[c.ID]
		return hopeless
	})
	if len(plan.Cells) == 0 {
		planned.Complete = true // all that there was to measure
		return planned, foreseen, nil
	}
	run, err := execute(ctx, env, cfg, plan, g.out)
	var failed *runner.MeasureError
	switch {
	case ctx.Err() != nil: // also where it came too late to keep the run from its end
		return nil, nil, ctx.Err()
	case run == nil || err != nil && !errors.As(err, &failed):
		return nil, nil, err
	case err != nil:
		complain(env.Stderr, err)
	}
	return withUnmeasured(run, planned, foreseen), foreseen, nil
}

// givenRun is the run that was made. Cells of the subset that it lacks are added to it as
// absent: whoever made it on a smaller matrix must not pass for that.
func (g *gateFlags) givenRun(ctx context.Context, cfg *config.Config) (*gate.Run, map[string]gate.Base, error) {
	directory, err := openVerified(ctx, g.run)
	if err != nil {
		return nil, nil, err
	}
	plan, err := cfg.Plan(g.subset, config.Overrides{})
	if err != nil {
		return nil, nil, err
	}
	run := *directory.Run()
	run.Cells = slices.Clone(run.Cells)
	known := map[string]gate.Base{}
	for _, c := range plan.Cells {
		if !slices.ContainsFunc(run.Cells, func(r gate.CellRun) bool { return r.ID == c.ID }) {
			run.Cells = append(run.Cells, gate.CellRun{Cell: c.Cell, Planned: plan.Measure.Repetitions})
			known[c.ID] = gate.Base{Missing: gate.NoBaseline, Reason: gate.Absent}
		}
	}
	return &run, known, nil
}

// openVerified opens a run directory that was handed over, and refuses one whose numbers
// are not what its raw data give: every verdict can be computed again.
func openVerified(ctx context.Context, directory string) (*rundir.Dir, error) {
	d, err := rundir.Open(directory)
	if err == nil {
		_, err = d.Verify(ctx)
	}
	if err != nil {
		return nil, &usageError{err: err, hint: "judge the run directory as servegate wrote it"}
	}
	return d, nil
}

// withUnmeasured adds the cells that were not measured, as they were planned.
func withUnmeasured(run, planned *gate.Run, foreseen map[string]gate.Base) *gate.Run {
	whole := *run
	whole.Cells = slices.Clone(run.Cells)
	for _, c := range planned.Cells {
		if _, hopeless := foreseen[c.ID]; hopeless {
			whole.Cells = append(whole.Cells, c)
		}
	}
	return &whole
}

// complete adds to a verdict what a reader needs beside it.
func (g *gateFlags) complete(v *gate.Verdict, cfg *config.Config) error {
	resolved, err := cfg.YAML()
	if err != nil {
		return fmt.Errorf("print config: %w", err)
	}
	v.Config = string(resolved)
	directory := cmp.Or(g.run, g.out)
	if _, err := rundir.Open(directory); err != nil {
		return nil // nothing was measured
	}
	v.Artifacts = directory
	v.Reproduce = []string{"servegate " + shellLine([]string{"gate", "-c", filepath.Join(directory, "config.yaml"), "--out", "DIR"})}
	return nil
}

// keepVerdict writes a verdict, its report and the records behind it into the run
// directory. Where nothing was measured there is none.
func keepVerdict(v *gate.Verdict, used []baselines.Entry) error {
	directory := v.Artifacts
	if directory == "" {
		return nil
	}
	data, err := report.JSON(v)
	if err != nil {
		return fmt.Errorf("write verdict: %w", err)
	}
	errs := []error{
		rundir.Keep(directory, rundir.VerdictFile, data),
		rundir.Keep(directory, rundir.ReportFile, report.Markdown(v, report.Options{Size: -1})),
	}
	records := map[string][]byte{}
	for _, e := range used {
		record, err := baselines.Encode(e)
		if err != nil {
			return fmt.Errorf("copy baseline: %w", err)
		}
		records[filepath.Base(e.Name())] = record
	}
	return errors.Join(append(errs, rundir.KeepBase(directory, records))...)
}

// readStore reads the baselines in a directory, and tells of the files that are none. A
// store that isn't there is empty.
func readStore(ctx context.Context, env Env, directory string) ([]baselines.Entry, error) {
	contents, err := dir.New(directory).Entries(ctx)
	if err != nil && !errors.Is(err, baselines.ErrMissing) {
		return nil, &usageError{err: err}
	}
	for _, b := range contents.Broken {
		fmt.Fprintf(env.Stderr, "servegate: warning: %q is no baseline, and is skipped: %s\n", filepath.Join(directory, b.Name), strings.ReplaceAll(b.Err.Error(), "\n", " "))
	}
	return contents.Entries, nil
}

// incomparableError says that there is nothing to compare with.
type incomparableError struct{ err error }

func (e *incomparableError) Error() string { return e.err.Error() }

// Hint says what to do about it.
func (e *incomparableError) Hint() string {
	return "record a baseline with servegate baseline add"
}
