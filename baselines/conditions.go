package baselines

import (
	"fmt"
	"maps"
	"strings"

	"github.com/servegate/servegate/gate"
)

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
	policy := gate.Policy{Context: m.q.Rules, ExpectChanged: m.q.ExpectChanged}
	return append(differs, policy.ContextDifferences(c.Run.Context, m.q.Context)...)
}

// diff is gate.Diff, quicker where there is nothing to tell: most records of a store have
// the same envelope.
func diff(a, b gate.Envelope) []gate.Difference {
	if maps.Equal(a, b) {
		return nil
	}
	return gate.Diff(a, b)
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
