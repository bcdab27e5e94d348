package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/servegate/servegate/cmd/internal/config"
	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/runner"
)

func newValidate(env Env) *cobra.Command {
	var from source
	var resolved bool
	cmd := &cobra.Command{
		Use:   "validate -c FILE",
		Short: "Check the config and show the plan that it resolves to",
		Long: `Check the config, all faults at once, and show what would be measured: each cell with
its envelope (the conditions that its numbers will hold under), its fingerprint as far
as it is known before the engine was asked, and how long the run takes at least.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := from.load(env)
			if err != nil {
				return err
			}
			if resolved {
				out, err := cfg.YAML()
				if err != nil {
					return fmt.Errorf("print config: %w", err)
				}
				_, err = env.Stdout.Write(out)
				return err
			}
			plan, err := cfg.Preview(from.subset, config.Overrides{})
			if err != nil {
				return err
			}
			showPlan(cmd.Context(), env.Stdout, plan)
			return nil
		},
	}
	from.register(cmd)
	cmd.Flags().BoolVar(&resolved, "resolved", false, "print the config with every default filled in, and nothing else")
	return cmd
}

// showPlan prints what a plan would measure.
func showPlan(ctx context.Context, w io.Writer, p runner.Plan) {
	fmt.Fprintf(w, "engine    %s\n", describeEngine(p))
	fmt.Fprintf(w, "measures  %d cells x %d repetitions, %s\n", len(p.Cells), p.Measure.Repetitions, boots(p))
	fmt.Fprintf(w, "takes     %s\n", expected(p))
	for i, record := range runner.Preview(ctx, p).Cells {
		fmt.Fprintf(w, "\n%s\n", record.ID)
		fmt.Fprintf(w, "  warm-up      %d requests\n", p.Cells[i].WarmupRequests(p.Measure))
		showEnvelope(w, record.Envelope)
		fmt.Fprintf(w, "  fingerprint  %s (before the engine was asked)\n", record.Fingerprint)
	}
}

func describeEngine(p runner.Plan) string {
	switch e := p.Engine; {
	case e.Attach != nil:
		return e.Kind + ", attached to at " + e.Attach.URL
	case e.Process != nil:
		return e.Kind + ", started as: " + strings.Join(e.Process.Command, " ")
	default:
		return e.Kind + ", in a container (this version can't start one yet)"
	}
}

func boots(p runner.Plan) string {
	switch {
	case p.Engine.Attach != nil:
		return "never booted: the engine runs already"
	case p.Measure.Boot == runner.BootPerRepetition:
		return fmt.Sprintf("%d boots, one for each round of repetitions", p.Measure.Repetitions)
	default:
		return "one boot"
	}
}

// expected says how long the run takes, as far as that doesn't depend on the engine.
func expected(p runner.Plan) string {
	var total time.Duration
	unknown := 0
	for _, c := range p.Cells {
		d, known := p.Measure.Expected(c)
		if !known {
			unknown++
		}
		total += d * time.Duration(p.Measure.Repetitions)
	}
	text := fmt.Sprintf("%s under load, and the boots", total)
	if unknown > 0 {
		text += fmt.Sprintf("; and what the engine needs for the closed loops of %d cells, %d requests a repetition", unknown, p.Measure.Requests)
	}
	return text
}

// showEnvelope prints the fields that somebody told, and names those that nobody did.
func showEnvelope(w io.Writer, e gate.Envelope) {
	var undeclared []string
	for _, field := range gate.EnvelopeFields {
		f, ok := e[field.Path]
		switch {
		case !ok:
		case f.Source == gate.Undeclared:
			undeclared = append(undeclared, field.Path)
		default:
			fmt.Fprintf(w, "  %-24s %s\n", field.Path, f)
		}
	}
	if len(undeclared) > 0 {
		fmt.Fprintf(w, "  %-24s %s\n", "undeclared", strings.Join(undeclared, ", "))
	}
}
