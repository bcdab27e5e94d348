package report

import (
	"strings"
)

// markdown lays d out as GitHub's Markdown.
func (d document) markdown() string {
	var b strings.Builder
	for i, part := range d {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(markdownBlock(part))
	}
	return b.String()
}

// markdownBlock lays out one block; it ends with a line feed.
func markdownBlock(part block) string {
	switch part := part.(type) {
	case heading:
		return strings.Repeat("#", part.level+1) + " " + part.text.markdown() + "\n"
	case paragraph:
		return inline(part).markdownLine() + "\n"
	case bullets:
		var b strings.Builder
		for _, item := range part {
			b.WriteString("- " + item.markdownLine() + "\n")
		}
		return b.String()
	case table:
		return part.markdown()
	case fence:
		return fenced(part.language, part.text)
	case fold:
		return "<details><summary>" + part.summary + "</summary>\n\n" + part.blocks.markdown() + "\n</details>\n"
	}
	return ""
}

func (t table) markdown() string {
	var b strings.Builder
	rule := make([]string, len(t.titles))
	for i := range rule {
		if rule[i] = "---"; t.right[i] {
			rule[i] = "---:"
		}
	}
	b.WriteString("| " + strings.Join(t.titles, " | ") + " |\n| " + strings.Join(rule, " | ") + " |\n")
	for _, row := range t.rows {
		for _, c := range row {
			b.WriteString("| " + c.markdown() + " ")
		}
		b.WriteString("|\n")
	}
	return b.String()
}

// markdownLine is markdown for the start of a line, where text from outside could begin
// a list, a quote or a heading.
func (l inline) markdownLine() string {
	if len(l) > 0 && l[0].kind == prose {
		return pause + l.markdown()
	}
	return l.markdown()
}

func (l inline) markdown() string {
	var b strings.Builder
	for _, s := range l {
		switch s.kind {
		case prose:
			b.WriteString(escapeProse(s.text))
		case code:
			b.WriteString(escapeCode(s.text))
		case strong:
			b.WriteString("**" + s.text + "**")
		default:
			b.WriteString(s.text)
		}
	}
	return b.String()
}
