package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/gate/stats"
)

// lineLimit is the number of runes that a string from outside may take.
const lineLimit = 400

// RunText writes the closing table of a run: for each cell goodput, throughput and the
// latencies (geometric means over its valid repetitions), the outcomes of all its
// requests, and what was invalid and why.
func RunText(w io.Writer, r *gate.Run) error {
	out := &errWriter{w: w}
	head(out, r)
	for i := range r.Cells {
		fmt.Fprintln(out)
		cell(out, &r.Cells[i])
	}
	for _, text := range r.Warnings {
		fmt.Fprintf(out, "\nwarning: %s\n", plain(text, lineLimit))
	}
	if !r.Complete {
		fmt.Fprintf(out, "\nINCOMPLETE: %s\n", plain(orElse(r.Incomplete, "the run was cut short"), lineLimit))
	}
	return out.err
}

func head(w io.Writer, r *gate.Run) {
	subject := strings.TrimSpace(r.Subject.Engine + " " + r.Subject.Version)
	fmt.Fprintf(w, "run %s of %s: %s\n", plain(r.ID, lineLimit), plain(subject, lineLimit), plural(len(r.Cells), "cell", "cells"))
}

// cell writes the block of one cell.
func cell(w io.Writer, c *gate.CellRun) {
	valid, invalid := split(c.Repetitions)
	fmt.Fprintf(w, "%s  %s  (%s)\n", plain(c.ID, lineLimit), plural(len(valid), "valid repetition", "valid repetitions"), conditions(c))
	if len(valid) > 0 {
		scalars(w, c, valid)
		latencies(w, valid)
	}
	outcomes(w, c.Repetitions)
	for _, rep := range invalid {
		fmt.Fprintf(w, "  invalid      repetition %d: %s\n", rep.Index, plain(strings.Join(rep.InvalidReasons, "; "), lineLimit))
	}
	if c.Invalid != "" {
		fmt.Fprintf(w, "  INVALID      %s\n", plain(c.Invalid, lineLimit))
	}
}

// conditions names what a reader must know to take the numbers of a cell: its load,
// lengths and streaming mode.
func conditions(c *gate.CellRun) string {
	var parts []string
	for _, path := range []string{"arrival", "workload.input", "workload.output", "streaming.mode", "cache.condition"} {
		if f, ok := c.Envelope[path]; ok && f.Value != nil {
			parts = append(parts, plain(fmt.Sprint(f.Value), lineLimit))
		}
	}
	return strings.Join(parts, ", ")
}

// split parts the repetitions into valid and invalid ones.
func split(all []gate.Repetition) (valid, invalid []gate.Repetition) {
	for _, rep := range all {
		if rep.Valid {
			valid = append(valid, rep)
		} else {
			invalid = append(invalid, rep)
		}
	}
	return valid, invalid
}

// scalars writes the metrics that are one value a repetition.
func scalars(w io.Writer, c *gate.CellRun, reps []gate.Repetition) {
	for _, m := range []gate.Metric{gate.Goodput, gate.RequestThroughput, gate.OutputTokenThroughput} {
		d, _ := gate.Define(m)
		got := collect(reps, m, func(s gate.Summary) *float64 { return s.Value })
		note := spread(got)
		switch {
		case len(got) == 0 && reps[0].Metrics[m].Reason != "":
			note = "  (" + plain(reps[0].Metrics[m].Reason, lineLimit) + ")"
		case m == gate.Goodput && c.SLO.IsZero():
			note += "  (no SLO is set: every ok request counts)"
		}
		fmt.Fprintf(w, "  %-12s %s%s\n", label(m), mean(got, d.Unit), note)
	}
}

// latencies writes a table of p50, p95 and p99.
func latencies(w io.Writer, reps []gate.Repetition) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "  \tp50\tp95\tp99\tsamples a repetition\t")
	for _, m := range []gate.Metric{gate.TTFT, gate.ITL, gate.TPOT, gate.E2E} {
		if _, ok := reps[0].Metrics[m]; !ok {
			continue
		}
		d, _ := gate.Define(m)
		fmt.Fprintf(tw, "  %s\t%s\t%s\t%s\t%d\t\n", strings.ToUpper(string(m)),
			mean(collect(reps, m, func(s gate.Summary) *float64 { return s.P50 }), d.Unit),
			mean(collect(reps, m, func(s gate.Summary) *float64 { return s.P95 }), d.Unit),
			mean(collect(reps, m, func(s gate.Summary) *float64 { return s.P99 }), d.Unit),
			reps[0].Metrics[m].Count)
	}
	tw.Flush()
}

// collect gathers one statistic of one metric over repetitions, leaving out where it
// was withheld.
func collect(reps []gate.Repetition, m gate.Metric, of func(gate.Summary) *float64) []float64 {
	var got []float64
	for _, rep := range reps {
		if s, ok := rep.Metrics[m]; ok {
			if v := of(s); v != nil {
				got = append(got, *v)
			}
		}
	}
	return got
}

// mean prints the geometric mean of v. Values that have none (a goodput of 0) are
// averaged plainly.
func mean(v []float64, u gate.Unit) string {
	if len(v) == 0 {
		return withheld
	}
	if g, ok := stats.GeometricMean(v); ok {
		return value(g, u)
	}
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return value(sum/float64(len(v)), u)
}

// spread prints the lowest and highest of several values, in their unit.
func spread(v []float64) string {
	if len(v) < 2 {
		return ""
	}
	low, high := v[0], v[0]
	for _, x := range v {
		low, high = min(low, x), max(high, x)
	}
	return fmt.Sprintf("  (%s to %s)", significant(low, 4), significant(high, 4))
}

// outcomes writes what became of the requests of all repetitions, valid or not.
func outcomes(w io.Writer, reps []gate.Repetition) {
	total, by := 0, map[gate.Outcome]int{}
	for _, rep := range reps {
		total += rep.Requests.Issued
		for o, n := range rep.Requests.By {
			by[o] += n
		}
	}
	if total == 0 {
		return
	}
	var parts []string
	for _, o := range gate.Outcomes {
		if by[o] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", by[o], o))
		}
	}
	rate := float64(total-by[gate.OK]) / float64(total)
	fmt.Fprintf(w, "  outcomes     %d issued: %s (error rate %s)\n", total, strings.Join(parts, ", "), value(rate, gate.Ratio))
}

// label is the name of a scalar metric in the closing table.
func label(m gate.Metric) string {
	switch m {
	case gate.RequestThroughput:
		return "requests"
	case gate.OutputTokenThroughput:
		return "output"
	default:
		return string(m)
	}
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// errWriter keeps the first error, so that a table is written without a check a line.
type errWriter struct {
	w   io.Writer
	err error
}

func (e *errWriter) Write(p []byte) (int, error) {
	if e.err != nil {
		return 0, e.err
	}
	n, err := e.w.Write(p)
	e.err = err
	return n, err
}
