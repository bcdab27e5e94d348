package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/servegate/servegate/gate"
)

// across tells of the expected changes of the envelope that were met.
func (c *composer) across() block {
	if len(c.v.ComparedAcross) == 0 {
		return nil
	}
	line := inline{weighty("Compared across"), word(" changes that the policy expects: ")}
	var items []inline
	shown := c.take(len(c.v.ComparedAcross), "expected changes")
	for _, d := range c.v.ComparedAcross[:shown] {
		items = append(items, inline{literal(d.Path), word(" "), fieldValue(d.Path, d.A), word(" -> "), fieldValue(d.Path, d.B)})
	}
	return paragraph(append(line, list(items)...))
}

// changes lists what differs in subject and context, and which runs were compared.
func (c *composer) changes() document {
	d := document{heading{2, words("What changed")}}
	t := table{titles: []string{"what", "where", "base", "head", "expected"}, right: make([]bool, 5)}
	add := func(what string, changes []gate.Change) {
		for _, ch := range changes[:c.take(len(changes), "changes of the "+what)] {
			expected := "no"
			if ch.Expected {
				expected = "yes"
			}
			t.rows = append(t.rows, []inline{words(what), {literal(ch.Path)}, {literal(ch.Base)}, {literal(ch.Head)}, words(expected)})
		}
	}
	add("subject", c.v.Subject)
	add("context", c.v.Context)
	switch {
	case len(t.rows) > 0:
		d = append(d, t)
	case len(c.v.Base) > 0:
		d = append(d, paragraph(words("Nothing that was told differs between base and head, in subject or context.")))
	}
	return append(d, c.runs())
}

// runs tells which runs were compared.
func (c *composer) runs() block {
	t := table{titles: []string{"side", "run", "engine", "commit", "image or address", "runner class", "started"}, right: make([]bool, 7)}
	t.rows = append(t.rows, runRow("head", c.v.Head))
	for _, ref := range c.v.Base[:c.take(len(c.v.Base), "runs of the base")] {
		t.rows = append(t.rows, runRow("base", ref))
	}
	if len(c.v.Base) == 0 {
		t.rows = append(t.rows, []inline{words("base"), words("(none)"), nil, nil, nil, nil, nil})
	}
	return t.filled()
}

func runRow(side string, ref gate.RunRef) []inline {
	place := ref.Subject.Image
	if place == "" {
		place = ref.Subject.URL
	}
	var started inline
	if !ref.Started.IsZero() {
		started = words(ref.Started.UTC().Format(time.DateTime + " UTC"))
	}
	engine := strings.TrimSpace(ref.Subject.Engine + " " + ref.Subject.Version)
	return []inline{words(side), {literal(ref.ID)}, present(engine), present(brief(ref.Subject.Commit)), present(place), present(ref.Class), started}
}

// present is a literal, or nothing where there is none.
func present(s string) inline {
	if s == "" {
		return nil
	}
	return inline{literal(s)}
}

// brief is the beginning of a commit, which tells it from others.
func brief(commit string) string { return commit[:min(len(commit), 12)] }

// take returns how many of n things are shown, and remembers how many are not.
func (c *composer) take(n int, what string) int {
	return c.first(n, c.limits.items, what)
}

func (c *composer) first(n, most int, what string) int {
	if n <= most {
		return n
	}
	c.left = append(c.left, fmt.Sprintf("%d %s", n-most, what))
	return most
}

// omissions says what was left out.
func (c *composer) omissions() document {
	if len(c.left) == 0 {
		return nil
	}
	return document{paragraph{weighty("Left out"), word(" to keep this short: " + strings.Join(c.left, ", ") + ". All of it stands in verdict.json.")}}
}
