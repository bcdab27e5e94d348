package report

import "strings"

// page lays a document out as GitHub's Markdown.
type page struct {
	strings.Builder
	limit int // runes that a string from outside may take
}

func (p *page) document(d document) {
	for i, part := range d {
		if i > 0 {
			p.WriteByte('\n')
		}
		p.block(part)
	}
}

// block lays out one block; it ends with a line feed.
func (p *page) block(part block) {
	switch part := part.(type) {
	case heading:
		p.WriteString(strings.Repeat("#", part.level+1) + " " + p.inline(part.text) + "\n")
	case paragraph:
		p.WriteString(p.line(inline(part)) + "\n")
	case bullets:
		for _, item := range part {
			p.WriteString("- " + p.line(item) + "\n")
		}
	case table:
		p.table(part)
	case fence:
		p.WriteString(fenced(part.language, part.text))
	case fold:
		p.WriteString("<details><summary>" + part.summary + "</summary>\n\n")
		p.document(part.blocks)
		p.WriteString("\n</details>\n")
	}
}

func (p *page) table(t table) {
	rule := make([]string, len(t.titles))
	for i := range rule {
		if rule[i] = "---"; t.right[i] {
			rule[i] = "---:"
		}
	}
	p.WriteString("| " + strings.Join(t.titles, " | ") + " |\n| " + strings.Join(rule, " | ") + " |\n")
	for _, row := range t.rows {
		for _, c := range row {
			p.WriteString("| " + p.inline(c) + " ")
		}
		p.WriteString("|\n")
	}
}

// line is inline for the start of a line, where text from outside could begin a list, a
// quote or a heading.
func (p *page) line(l inline) string {
	if len(l) > 0 && l[0].kind == prose {
		return pause + p.inline(l)
	}
	return p.inline(l)
}

func (p *page) inline(l inline) string {
	var b strings.Builder
	for _, s := range l {
		switch s.kind {
		case prose:
			b.WriteString(escapeProse(plain(s.text, p.limit)))
		case code:
			b.WriteString(escapeCode(strings.TrimSpace(plain(s.text, p.limit))))
		case strong:
			b.WriteString("**" + escapeProse(strings.TrimSpace(plain(s.text, p.limit))) + "**")
		default:
			b.WriteString(s.text)
		}
	}
	return b.String()
}
