package report

import (
	"fmt"
	"strings"

	"github.com/servegate/servegate/gate"
)

// troubles tells of the cells that couldn't be compared, and why.
func (c *composer) troubles() document {
	var d document
	var troubled []*gate.CellComparison
	for i := range c.v.Cells {
		cell := &c.v.Cells[i]
		switch cell.Result {
		case gate.NotComparable, gate.NoBaseline, gate.Invalid:
			troubled = append(troubled, cell)
		default:
			if cell.Reason != "" && cell.Result != gate.Regressed {
				troubled = append(troubled, cell)
			}
		}
	}
	for _, cell := range troubled[:c.take(len(troubled), "cells that weren't compared")] {
		d = append(d, c.trouble(cell)...)
	}
	return d
}

// trouble tells of one cell.
func (c *composer) trouble(cell *gate.CellComparison) document {
	d := document{heading{2, inline{literal(cell.ID), word(": "), outcome(cell.Result, false)}}}
	switch cell.Reason {
	case "":
	case gate.Absent:
		d = append(d, paragraph(words("Why: absent, that is: it was planned, and the run lacks it.")))
	default:
		d = append(d, paragraph{word("Why: "), sentence(cell.Reason)})
	}
	switch cell.Result {
	case gate.NotComparable:
		if len(cell.Differs) > 0 {
			d = append(d, paragraph(words("It differs from the baseline that differs least in:")), c.differences(cell.Differs))
		}
		d = append(d, paragraph{word("If the change is meant, name its path in "), literal("gate.expect_changed"), word(" to compare across it; or record a baseline under the new conditions.")})
	case gate.NoBaseline:
		d = append(d, paragraph{word("To record one, run this on the branch that changes are held against: "), literal("servegate baseline add -c servegate.yaml --out DIR")})
	case gate.Invalid:
		d = append(d, paragraph(words("The numbers of the cell, if any, are kept with the raw artifacts, and are not averaged.")))
	}
	return d
}

// differences is the table of the fields that differ.
func (c *composer) differences(diffs []gate.Difference) block {
	t := table{titles: []string{"field", "base", "head"}, right: make([]bool, 3)}
	for _, d := range diffs[:c.take(len(diffs), "fields that differ")] {
		t.rows = append(t.rows, []inline{{literal(d.Path)}, {fieldValue(d.Path, d.A), told(d.A)}, {fieldValue(d.Path, d.B), told(d.B)}})
	}
	return t
}

// outcomes is the table of what became of the head's requests, with the repetitions that
// were compared, and why others were not.
func (c *composer) outcomes() document {
	d := document{heading{2, words("Repetitions and outcomes")}}
	t := table{
		titles: []string{"cell", "verdict", "base repetitions", "head repetitions", "requests of head", "ok", "others", "error rate"},
		right:  []bool{false, false, true, true, true, true, false, true},
	}
	var invalid bullets
	for i := range c.v.Cells[:c.take(len(c.v.Cells), "cells with their outcomes")] {
		cell := &c.v.Cells[i]
		t.rows = append(t.rows, []inline{
			{literal(cell.ID)},
			{outcome(cell.Result, false)},
			words(boots(cell.Base)), words(boots(cell.Head)),
			words(fmt.Sprint(cell.Outcomes.Issued)), words(fmt.Sprint(cell.Outcomes.By[gate.OK])), failures(cell.Outcomes), words(errorRate(cell.Outcomes)),
		})
		for _, reason := range cell.Invalid[:c.take(len(cell.Invalid), "reasons of invalid repetitions")] {
			invalid = append(invalid, inline{word("in "), literal(cell.ID), word(": "), sentence(reason)})
		}
	}
	if len(t.rows) == 0 {
		return append(d, paragraph(words("None: the run has no cell.")))
	}
	d = append(d, t)
	if invalid != nil {
		d = append(d, paragraph(words("Repetitions of the head that are invalid, and so in no number above:")), invalid)
	}
	return d
}

// boots prints how many repetitions there were, and of how many boots.
func boots(s gate.SideCount) string {
	if s.Repetitions == 0 {
		return "0"
	}
	return fmt.Sprintf("%d of %s", s.Repetitions, plural(s.Boots, "boot", "boots"))
}

// failures counts the requests that weren't ok, by outcome.
func failures(n gate.Counts) inline {
	var parts []string
	for _, o := range gate.Outcomes {
		if o != gate.OK && n.By[o] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n.By[o], strings.ReplaceAll(string(o), "_", " ")))
		}
	}
	return words(strings.Join(parts, ", "))
}

func errorRate(n gate.Counts) string {
	if n.Issued <= 0 {
		return withheld
	}
	return value(float64(n.Issued-n.By[gate.OK])/float64(n.Issued), gate.Ratio)
}

// remarks are the notes of the cells and the warnings of the verdict.
func (c *composer) remarks() document {
	var items bullets
	for _, w := range c.v.Warnings[:c.take(len(c.v.Warnings), "warnings")] {
		items = append(items, inline{weighty("warning"), word(": "), sentence(w)})
	}
	for i := range c.v.Cells {
		cell := &c.v.Cells[i]
		if cell.Result == gate.Regressed && cell.Reason != "" {
			items = append(items, inline{word("in "), literal(cell.ID), word(": "), sentence(cell.Reason)})
		}
		for _, note := range cell.Notes[:c.take(len(cell.Notes), "notes")] {
			items = append(items, inline{word("in "), literal(cell.ID), word(": "), sentence(note)})
		}
	}
	if items == nil {
		return nil
	}
	return document{heading{2, words("Warnings and notes")}, items}
}

// evidence says how to get the same numbers, where the raw ones are, and with which
// configuration they were measured.
func (c *composer) evidence() document {
	d := document{heading{2, words("Evidence")}}
	if len(c.v.Reproduce) > 0 {
		var script strings.Builder
		for _, command := range c.v.Reproduce[:c.take(len(c.v.Reproduce), "commands to reproduce it")] {
			script.WriteString(plain(command, lineLimit) + "\n")
		}
		d = append(d, paragraph(words("To reproduce it:")), fence{"sh", script.String()})
	}
	artifacts := inline{word("Raw artifacts: ")}
	if c.v.Artifacts == "" {
		artifacts = append(artifacts, word("nobody told where they are"))
	} else {
		artifacts = append(artifacts, literal(c.v.Artifacts))
	}
	d = append(d, paragraph(artifacts))
	if c.v.Config != "" && c.first(1, configs(c.limits), "full config of the head") > 0 {
		d = append(d, fold{summary: "Full config of the head", blocks: document{fence{"yaml", c.v.Config}}})
	}
	made := inline{word("Made by "), sentence(strings.TrimSpace(c.v.Tool.Name + " " + c.v.Tool.Version))}
	if !c.v.At.IsZero() {
		made = append(made, word(", "+c.v.At.UTC().Format("2006-01-02 15:04:05 UTC")))
	}
	return append(d, paragraph(append(made, word("."))))
}

func configs(l limits) int {
	if l.config {
		return 1
	}
	return 0
}
