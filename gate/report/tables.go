package report

import (
	"fmt"
	"slices"
)

// gating is the table of the gating rows.
func (c *composer) gating() document {
	d := document{heading{2, words("Gating rows")}}
	if len(c.rows) == 0 {
		return append(d, paragraph(words("None: no cell could be compared.")))
	}
	passed := slices.IndexFunc(c.rows, func(r row) bool { return r.rank() >= 3 })
	if passed < 0 {
		passed = len(c.rows)
	}
	shown := slices.Clone(c.rows[:c.first(passed, c.limits.failing, "rows that regressed or prove nothing")])
	shown = append(shown, c.rows[passed:][:c.first(len(c.rows)-passed, c.limits.passed, "rows that passed or improved")]...)
	if len(shown) > 0 {
		d = append(d, rowTable(shown))
	}
	return append(d, fold{summary: "How to read these rows", blocks: document{c.legend()}, brief: true})
}

func rowTable(rows []row) table {
	t := table{
		titles: []string{"cell", "metric", "verdict", "base", "head", "change", "interval", "tolerance", "must catch", "n", "smallest detectable", "remark"},
		right:  []bool{false, false, false, true, true, true, true, true, true, true, true, false},
	}
	for _, r := range rows {
		t.rows = append(t.rows, []inline{
			{literal(r.cell)},
			{sentence(r.metric)},
			{outcome(r.result, r.implausible)},
			words(r.base), words(r.head), words(r.change), words(r.interval),
			words(r.tolerance), words(r.mustCatch), words(r.n), words(r.smallest), r.remark(),
		})
	}
	return t.filled()
}

// legend says how the columns come about.
func (c *composer) legend() block {
	p := c.v.Policy
	return bullets{
		words("Base and head are geometric means over repetitions; change is head / base - 1."),
		words(fmt.Sprintf("Each end of the interval is a one-sided bound at %s; the unit is the repetition, never the request.", percent(1-p.Level))),
		words(fmt.Sprintf("Regressed: the whole interval lies beyond the tolerance, the change is larger than its floor, and \"no regression\" is rejected at a level of %s shared by all gating rows (Holm).", percent(p.FamilyLevel))),
		words("Passed: the interval excludes a regression of the size that must be caught. Inconclusive: neither."),
		words("n: repetitions x requests in the window, of base; of head. Smallest detectable: what would have been found in four of five cases."),
	}
}

// advisory is the folded table of the rows that don't gate.
func (c *composer) advisory() document {
	t := table{titles: []string{"cell", "metric", "base", "head", "change", "interval", "n", "why it doesn't gate"}, right: []bool{false, false, true, true, true, true, true, false}}
	for i := range c.v.Cells {
		cell := &c.v.Cells[i]
		for j := range cell.Rows {
			if cell.Rows[j].Gating {
				continue
			}
			r := newRow(cell, &cell.Rows[j])
			why := inline{word("not in the policy")}
			if r.why != "" {
				why = inline{sentence(r.why)}
			}
			t.rows = append(t.rows, []inline{{literal(r.cell)}, {sentence(r.metric)}, words(r.base), words(r.head), words(r.change), words(r.interval), words(r.n), why})
		}
	}
	switch {
	case len(t.rows) == 0:
		return nil
	case !c.limits.advisory:
		c.first(len(t.rows), 0, "advisory rows")
		return nil
	}
	note := paragraph(words("None of these is judged: a change here may be chance."))
	return document{fold{summary: plural(len(t.rows), "advisory row", "advisory rows"), blocks: document{note, t}, brief: true}}
}
