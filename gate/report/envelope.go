package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/servegate/gate"
)

// conditions prints the envelope in full: what all cells have in common, what they
// differ in, and what nobody told. A conclusion holds under these conditions only.
func (c *composer) conditions() document {
	d := document{heading{2, words("Conditions under which this holds")}}
	var cells []gate.CellComparison
	var bare []inline
	for _, cell := range c.v.Cells {
		if len(cell.Envelope) > 0 {
			cells = append(cells, cell)
		} else {
			bare = append(bare, inline{literal(cell.ID)})
		}
	}
	if len(bare) > 0 {
		bare = bare[:c.take(len(bare), "cells of unknown conditions")]
		d = append(d, paragraph(append(words("Unknown, since it wasn't measured, of: "), list(bare)...)))
	}
	if len(cells) == 0 {
		return append(d, paragraph(words("No cell tells of any.")))
	}
	alike, varied := shared(cells)
	t := table{titles: []string{"condition", "value (told by)"}, right: make([]bool, 2)}
	for _, group := range groups(alike) {
		var items []inline
		for _, path := range group.paths {
			items = append(items, fieldInline(path, cells[0].Envelope[path]))
		}
		t.rows = append(t.rows, []inline{{literal(group.name)}, list(items)})
	}
	if len(t.rows) > 0 {
		d = append(d, t)
	}
	if len(varied) > 0 {
		d = append(d, paragraph(words("What differs between the cells:")), c.byCell(cells, varied))
	}
	return append(d, undeclared(cells))
}

// shared parts the paths of all envelopes into those of one value in every cell, and
// the others; both in the order of the registry.
func shared(cells []gate.CellComparison) (alike, varied []string) {
	all := map[string]bool{}
	for i := range cells {
		for path := range cells[i].Envelope {
			all[path] = true
		}
	}
	place := map[string]int{}
	for i, f := range gate.EnvelopeFields {
		place[f.Path] = i - len(gate.EnvelopeFields)
	}
	paths := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		if d := place[a] - place[b]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for _, path := range paths {
		first := cells[0].Envelope[path].String()
		if slices.ContainsFunc(cells, func(c gate.CellComparison) bool { return c.Envelope[path].String() != first }) {
			varied = append(varied, path)
		} else {
			alike = append(alike, path)
		}
	}
	return alike, varied
}

// group is the paths of an envelope with the same beginning.
type group struct {
	name  string
	paths []string
}

func groups(paths []string) []group {
	var out []group
	for _, path := range paths {
		name, _, _ := strings.Cut(path, ".")
		if n := len(out); n == 0 || out[n-1].name != name {
			out = append(out, group{name: name})
		}
		out[len(out)-1].paths = append(out[len(out)-1].paths, path)
	}
	return out
}

// fieldInline is a field with its name within its group: "max_length 4096 (engine)".
func fieldInline(path string, f gate.Field) inline {
	_, name, dotted := strings.Cut(path, ".")
	if strings.HasPrefix(path, "parallel.") {
		name = strings.ToUpper(name)
	}
	if !dotted {
		return inline{fieldValue(path, f), told(f)}
	}
	return inline{sentence(name), word(" "), fieldValue(path, f), told(f)}
}

// fieldValue prints the value of a field, scaled where it is a time or a size.
func fieldValue(path string, f gate.Field) span {
	switch {
	case f.Source == "":
		return word("absent")
	case f.Source == gate.Undeclared:
		return span{text: "undeclared", kind: strong, tone: doubtful}
	}
	n, numeric := number(f.Value)
	switch {
	case !numeric:
		return literal(fmt.Sprint(f.Value))
	case strings.HasPrefix(path, "slo."), path == "measure.duration":
		return literal(value(n, gate.Seconds))
	case path == "accelerator.memory":
		return literal(significant(n/(1<<30), 3) + " GiB")
	case path == "cache.hit_ratio":
		return literal(percent(n))
	}
	return literal(fmt.Sprint(f.Value))
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// told says who told a field.
func told(f gate.Field) span {
	if f.Source == "" || f.Source == gate.Undeclared {
		return word("")
	}
	return sentence(" (" + string(f.Source) + ")")
}

// byCell is the table of the fields that aren't the same in every cell: a row a value.
func (c *composer) byCell(in []gate.CellComparison, paths []string) block {
	t := table{titles: []string{"condition", "value (told by)", "cells"}, right: make([]bool, 3)}
	for _, path := range paths {
		var order []string
		cells := map[string][]inline{}
		fields := map[string]gate.Field{}
		for i := range in {
			f := in[i].Envelope[path]
			key := f.String()
			if _, seen := fields[key]; !seen {
				order = append(order, key)
			}
			fields[key] = f
			cells[key] = append(cells[key], inline{literal(in[i].ID)})
		}
		for _, key := range order[:c.take(len(order), "values of fields that differ between cells")] {
			names := cells[key][:c.take(len(cells[key]), "names of cells")]
			t.rows = append(t.rows, []inline{{literal(path)}, {fieldValue(path, fields[key]), told(fields[key])}, list(names)})
		}
	}
	return t
}

// undeclared names the fields that nobody told, in any cell.
func undeclared(cells []gate.CellComparison) block {
	var items []inline
	for _, f := range gate.EnvelopeFields {
		if slices.ContainsFunc(cells, func(c gate.CellComparison) bool { return c.Envelope[f.Path].Source == gate.Undeclared }) {
			items = append(items, inline{literal(f.Path)})
		}
	}
	if len(items) == 0 {
		return paragraph(words("Every condition that applies was told."))
	}
	return paragraph(append(inline{weighty("Undeclared"), word(", told by nobody and so the same only by assumption: ")}, list(items)...))
}
