package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/gate/report"
)

// formats are the forms that a verdict is printed in.
var formats = []string{"text", "markdown", "json", "junit"}

// format is one of formats, as --format has it. It is looked at when the command line is
// read: a measurement may take an hour, and must not end in a word that is misspelt.
type format string

// String is the form itself, for a flag.
func (f *format) String() string { return string(*f) }

// Type says what the flag's value is, in help texts.
func (f *format) Type() string { return "form" }

// Set takes the form from the command line.
func (f *format) Set(text string) error {
	if !slices.Contains(formats, text) {
		return fmt.Errorf("expected one of %s", strings.Join(formats, ", "))
	}
	*f = format(text)
	return nil
}

// registerFormat adds --format to cmd.
func registerFormat(cmd *cobra.Command, f *format) {
	*f = "text"
	cmd.Flags().Var(f, "format", "`form` of the report on stdout: "+strings.Join(formats, ", "))
}

func newReport(env Env) *cobra.Command {
	var file string
	var form format
	cmd := &cobra.Command{
		Use:   "report --verdict FILE",
		Short: "Print the report of a verdict again",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			data, err := os.ReadFile(file)
			if err != nil {
				return &usageError{err: fmt.Errorf("read verdict: %w", err), hint: "name a verdict.json with --verdict"}
			}
			v, err := gate.ReadVerdict(data)
			if err != nil {
				return &usageError{err: fmt.Errorf("read verdict %s: %w", file, err)}
			}
			return printVerdict(env, v, form)
		},
	}
	cmd.Flags().StringVar(&file, "verdict", "", "verdict.json `file`")
	registerFormat(cmd, &form)
	return cmd
}

// printVerdict writes the report of a verdict to stdout.
func printVerdict(env Env, v *gate.Verdict, form format) error {
	var out []byte
	var err error
	switch form {
	case "markdown":
		out = report.Markdown(v, report.Options{})
	case "json":
		out, err = report.JSON(v)
	case "junit":
		out, err = report.JUnit(v)
	default:
		color, width := env.screen()
		out = report.Text(v, report.TextOptions{Color: color, Width: width})
	}
	if err != nil {
		return fmt.Errorf("print report: %w", err)
	}
	_, err = env.Stdout.Write(out)
	return err
}

// screen says whether stdout shows colours, and how many columns it has; 0 where it is
// no terminal.
func (e Env) screen() (color bool, width int) {
	file, ok := e.screenFile()
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return false, 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		width = 0
	}
	return e.Getenv("NO_COLOR") == "" && e.Getenv("TERM") != "dumb", width
}

// screenFile is stdout as a file, where it is one.
func (e Env) screenFile() (*os.File, bool) {
	w := e.Stdout
	if o, ok := w.(*output); ok {
		w = o.w
	}
	file, ok := w.(*os.File)
	return file, ok
}

// exitOf is the exit of a verdict: nil where the policy lets it through.
func exitOf(v *gate.Verdict) error {
	if !v.Failed {
		return nil
	}
	return codeError(resultCode(v.Failing()))
}

// resultCode is the exit code of a result that fails.
func resultCode(r gate.Result) int {
	switch {
	case r == gate.Regressed:
		return ExitRegressed
	case r == gate.Invalid:
		return ExitMeasure
	case r == gate.Inconclusive:
		return ExitInconclusive
	case slices.Contains([]gate.Result{gate.NotComparable, gate.NoBaseline}, r):
		return ExitIncomparable
	}
	return ExitPassed
}
