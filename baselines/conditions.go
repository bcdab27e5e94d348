package baselines

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/servegate/gate"
)

// contextPrefix stands before the paths of the context among differences.
const contextPrefix = "context."

// comparable returns the records whose conditions are the head's. Where there are none it
// leaves in what the one that differs least does, the newest of equals.
func (m *matcher) comparable(found []candidate) []candidate {
	var fit []candidate
	least := -1
	for i := range found {
		c := &found[i]
		c.differs = m.differences(c)
		if len(c.differs) == 0 {
			fit = append(fit, *c)
		}
		if least < 0 || len(c.differs) < len(found[least].differs) {
			least = i
		}
	}
	if len(fit) > 0 {
		return fit
	}
	c := &found[least]
	m.base.Differs = c.differs
	m.base.Reason = fmt.Sprintf("%s, none under the same conditions: the closest, %s, differs in %s",
		areStored(len(found)), commitOf(c.Record), paths(c.differs))
	return nil
}

// differences returns what forbids a comparison of the record with the head: fields of the
// envelope that differ, beside the expected ones; under the strict policy also those that
// neither side declares; and the context where its rule is strict.
func (m *matcher) differences(c *candidate) []gate.Difference {
	base, head := c.cell.Envelope.Mask(m.q.ExpectChanged...), m.q.Cell.Envelope.Mask(m.q.ExpectChanged...)
	differs := diff(base, head)
	if m.q.Strict {
		for _, path := range head.UndeclaredPaths() {
			if base[path].Source == gate.Undeclared {
				differs = append(differs, gate.Difference{Path: path, A: base[path], B: head[path]})
			}
		}
	}
	return append(differs, contextDifferences(c.Run.Context, m.q.Context, m.q.Rules)...)
}

// diff is gate.Diff, quicker where there is nothing to tell: most records of a store have
// the same envelope.
func diff(a, b gate.Envelope) []gate.Difference {
	if maps.Equal(a, b) {
		return nil
	}
	return gate.Diff(a, b)
}

// contextDifferences returns where two contexts differ and the rule is strict.
func contextDifferences(base, head gate.Context, rules map[string]gate.ContextRule) []gate.Difference {
	all := maps.Clone(base)
	if all == nil {
		all = gate.Context{}
	}
	maps.Copy(all, head)
	var differs []gate.Difference
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if ruleOf(rules, path) == gate.ContextStrict && significant(path, base[path]) != significant(path, head[path]) {
			differs = append(differs, gate.Difference{Path: contextPrefix + path, A: contextField(base, path), B: contextField(head, path)})
		}
	}
	return differs
}

// ruleOf returns the rule of a path of the context: that of the path itself, else of the
// nearest group above it, else the default one.
func ruleOf(rules map[string]gate.ContextRule, path string) gate.ContextRule {
	for at := path; at != ""; {
		if rule, ok := rules[at]; ok {
			return rule
		}
		at = at[:max(strings.LastIndexByte(at, '.'), 0)]
	}
	if rule, ok := rules["default"]; ok {
		return rule
	}
	return gate.ContextWarn
}

// significant is the part of a value that decides. Of a driver that is the major version:
// a fix to it is listed, and changes no conditions.
func significant(path, value string) string {
	if path == "gpu.driver" {
		value, _, _ = strings.Cut(value, ".")
	}
	return value
}

// contextField is a value of the context as a field, so that both kinds of differences are
// shown alike. What a side doesn't tell is absent.
func contextField(c gate.Context, path string) gate.Field {
	value, told := c[path]
	if !told {
		return gate.Field{}
	}
	return gate.Field{Value: value, Source: gate.FromHost}
}

// paths lists the paths of differences, with both values where they are few.
func paths(differs []gate.Difference) string {
	const few = 3
	var texts []string
	for _, d := range differs {
		text := d.Path
		switch {
		case d.A.Source == gate.Undeclared && d.B.Source == gate.Undeclared:
			text += " (undeclared, which the strict policy refuses)"
		case len(differs) <= few:
			text += fmt.Sprintf(" (base %.80s, head %.80s)", d.A, d.B)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}
