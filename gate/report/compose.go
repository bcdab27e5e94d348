package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/servegate/gate"
)

// composer turns a verdict into a document within limits.
type composer struct {
	v      *gate.Verdict
	limits limits
	rows   []row
	left   []string // what was left out
}

// compose builds the report of v.
func compose(v *gate.Verdict, l limits) document {
	c := &composer{v: v, limits: l, rows: gatingRows(v)}
	d := document{heading{1, c.headline()}}
	d = append(d, c.worst()...)
	d = append(d, paragraph(c.ruling()))
	if across := c.across(); across != nil {
		d = append(d, across)
	}
	d = append(d, c.changes()...)
	d = append(d, c.gating()...)
	d = append(d, c.troubles()...)
	d = append(d, c.advisory()...)
	d = append(d, c.conditions()...)
	d = append(d, c.outcomes()...)
	d = append(d, c.remarks()...)
	d = append(d, c.evidence()...)
	return append(d, c.omissions()...)
}

// headline says the verdict in words.
func (c *composer) headline() inline {
	line := inline{c.mark(), word("servegate: "), outcome(c.v.Result, false)}
	if r := c.readings(); r != nil {
		line = append(append(line, word(" in ")), r...)
	}
	if n, of := c.tally(); of > 0 && (c.v.Result == gate.Regressed || c.v.Result == gate.Inconclusive || c.v.Result == gate.Passed) {
		line = append(line, word(fmt.Sprintf(", %d of %s", n, plural(of, "gating row", "gating rows"))))
	}
	if c.v.Result == gate.Improved && c.implausible() {
		line = append(line, word(", implausibly"))
	}
	if len(c.v.ComparedAcross) > 0 {
		var paths []inline
		for _, d := range c.v.ComparedAcross[:min(len(c.v.ComparedAcross), 3, c.limits.items)] {
			paths = append(paths, inline{literal(d.Path)})
		}
		line = append(append(line, word(", compared across ")), list(paths)...)
		if len(paths) < len(c.v.ComparedAcross) {
			line = append(line, word(", ..."))
		}
	}
	return line
}

// mark is the sign before the headline. Green is for what was proved.
func (c *composer) mark() span {
	s := span{kind: sign}
	switch {
	case c.v.Failed:
		s.text = "❌ "
	case (c.v.Result == gate.Passed || c.v.Result == gate.Improved) && !c.implausible():
		s.text = "✅ "
	default:
		s.text = "⚠️ "
	}
	return s
}

// tally counts the gating rows that came to the run's result, and all of them.
func (c *composer) tally() (n, of int) {
	for _, r := range c.rows {
		if r.result == c.v.Result {
			n++
		}
	}
	return n, len(c.rows)
}

func (c *composer) implausible() bool {
	return slices.ContainsFunc(c.rows, func(r row) bool { return r.implausible })
}

// readings names where the regressions lie, each reading once.
func (c *composer) readings() inline {
	var seen []string
	for _, cell := range c.v.Cells {
		if cell.Result == gate.Regressed && cell.Reading != "" && !slices.Contains(seen, cell.Reading) {
			seen = append(seen, cell.Reading)
		}
	}
	var out []inline
	for _, s := range seen[:min(len(seen), 3)] {
		out = append(out, inline{sentence(s)})
	}
	return list(out)
}

// meanings says what each reading goes by.
var meanings = map[string]string{
	gate.ReadingPrefill:  "TTFT moved and the median ITL did not, so that the time went into the first token",
	gate.ReadingDecode:   "the median TPOT moved more than the median TTFT, so that each token takes longer",
	gate.ReadingQueueing: "requests wait longer for their turn: the tail of TTFT moved alone, or all of TTFT while decode became faster",
}

// worstRows is the number of rows that the headline shows.
const worstRows = 5

// worst lists the rows that regressed most, and what the readings mean.
func (c *composer) worst() document {
	var items bullets
	regressed := 0
	for _, r := range c.rows {
		if r.result != gate.Regressed {
			continue
		}
		if regressed++; regressed <= worstRows {
			items = append(items, r.brief())
		}
	}
	if regressed > worstRows {
		items = append(items, words(fmt.Sprintf("and %d more", regressed-worstRows)))
	}
	for _, cell := range c.v.Cells {
		if meaning, ok := meanings[cell.Reading]; ok && cell.Result == gate.Regressed && !slices.ContainsFunc(items, func(l inline) bool { return l[0].text == cell.Reading }) {
			items = append(items, inline{weighty(cell.Reading), word(": " + meaning)})
		}
	}
	if items == nil {
		return nil
	}
	return document{items}
}

// ruling says what the policy makes of the result.
func (c *composer) ruling() inline {
	var failOn []string
	for _, r := range c.v.Policy.FailOn {
		failOn = append(failOn, spoken(r))
	}
	rule := " It fails on: " + strings.Join(failOn, ", ") + "."
	if len(failOn) == 0 {
		rule = " It fails on nothing."
	}
	var line inline
	proved := c.v.Result == gate.Passed || c.v.Result == gate.Improved || c.v.Result == gate.Regressed
	switch {
	case c.v.Failed:
		line = inline{word("The policy "), weighty("fails the gate"), word(" on this.")}
		if failing := c.v.Failing(); failing != c.v.Result && failing != "" {
			line = inline{word("The policy "), weighty("fails the gate"), word(" on the cells that came to: "), sentence(spoken(failing)), word(".")}
		}
	case proved && c.v.Result != gate.Regressed:
		return inline{word("The policy lets it pass. "), sentence(explanation(c.v.Result))}
	case proved:
		line = inline{word("The policy "), weighty("lets this regression through"), word(".")}
	default:
		line = inline{word("The policy lets it through, but "), weighty("nothing was proved"), word(".")}
	}
	return append(line, sentence(rule), word(" "), sentence(explanation(c.v.Result)))
}

// explanation says what a result means, for someone who meets it for the first time.
func explanation(r gate.Result) string {
	switch r {
	case gate.Regressed:
		return "The rows named are worse by more than their tolerance, beyond what chance explains."
	case gate.Passed:
		return "In every gating row a regression of the size that must be caught is ruled out."
	case gate.Improved:
		return "No row got worse by the size that must be caught, and some are better by more than their tolerance."
	case gate.Inconclusive:
		return "The data neither show a regression nor rule out one of the size that must be caught; more repetitions or a quieter machine would tell."
	case gate.NotComparable:
		return "The conditions differ from those of every baseline, and numbers from different conditions don't compare."
	case gate.NoBaseline:
		return "There is nothing to compare with."
	case gate.Invalid:
		return "It could not be measured, and what could not be measured is no pass."
	}
	return ""
}
