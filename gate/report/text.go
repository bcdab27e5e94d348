package report

import (
	"strings"
	"unicode/utf8"
)

// terminal lays a document out for a terminal.
type terminal struct {
	strings.Builder
	color bool
	width int // 0: as wide as it gets
}

// margin stands before everything but headings.
const margin = "  "

func (t *terminal) document(d document) {
	for i, part := range d {
		if i > 0 {
			t.WriteByte('\n')
		}
		t.block(part)
	}
}

func (t *terminal) block(part block) {
	switch part := part.(type) {
	case heading:
		line := t.inline(part.text)
		if t.color {
			line = "\x1b[1m" + line + "\x1b[0m"
		}
		t.WriteString(line + "\n")
	case paragraph:
		t.wrapped(inline(part), margin, margin)
	case bullets:
		for _, item := range part {
			t.wrapped(item, margin+"- ", margin+"  ")
		}
	case table:
		t.table(part)
	case fence:
		for line := range strings.SplitSeq(strings.TrimRight(lines(part.text), "\n"), "\n") {
			t.WriteString(strings.TrimRight(margin+margin+line, " ") + "\n")
		}
	case fold:
		t.fold(part)
	}
}

func (t *terminal) fold(f fold) {
	if !f.brief {
		t.wrapped(words(f.summary+": see verdict.json, or the report as Markdown"), margin, margin)
		return
	}
	t.block(heading{2, words(f.summary)})
	t.document(f.blocks)
}

// wrapped writes a line, broken at spaces where it is wider than the terminal. A word
// that is too wide itself stays whole, so that it can be copied.
func (t *terminal) wrapped(l inline, first, next string) {
	used, gap := width(first), ""
	t.WriteString(first)
	for _, s := range l {
		for part := range strings.SplitAfterSeq(s.text, " ") {
			text := strings.TrimRight(part, " ")
			if text != "" {
				if t.width > 0 && gap != "" && used+len(gap)+width(text) > t.width {
					t.WriteString("\n" + next)
					used, gap = width(next), ""
				}
				t.WriteString(gap + t.tinted(text, s.tone))
				used, gap = used+len(gap)+width(text), ""
			}
			gap += part[len(text):]
		}
	}
	t.WriteByte('\n')
}

// table writes columns that line up, or a paragraph a row where they don't fit.
func (t *terminal) table(tab table) {
	widths := make([]int, len(tab.titles))
	for i, title := range tab.titles {
		widths[i] = width(title)
	}
	for _, row := range tab.rows {
		for i, c := range row {
			widths[i] = max(widths[i], c.width())
		}
	}
	total := 0
	for _, w := range widths {
		total += len(margin) + w
	}
	if t.width > 0 && total > t.width {
		t.narrow(tab)
		return
	}
	titles := make([]inline, len(tab.titles))
	for i, title := range tab.titles {
		titles[i] = words(title)
	}
	for _, row := range append([][]inline{titles}, tab.rows...) {
		t.row(row, widths, tab.right)
	}
}

func (t *terminal) row(row []inline, widths []int, right []bool) {
	var line strings.Builder
	for i, c := range row {
		pad := strings.Repeat(" ", widths[i]-c.width())
		if right[i] {
			line.WriteString(margin + pad + t.inline(c))
		} else {
			line.WriteString(margin + t.inline(c) + pad)
		}
	}
	t.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}

// narrow writes a row as its first cell, and the others with their titles below.
func (t *terminal) narrow(tab table) {
	for _, row := range tab.rows {
		t.wrapped(row[0], margin, margin)
		var rest []inline
		for i, c := range row[1:] {
			if c.width() > 0 {
				rest = append(rest, append(words(tab.titles[i+1]+" "), c...))
			}
		}
		t.wrapped(list(rest), margin+margin, margin+margin)
	}
}

func (t *terminal) inline(l inline) string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(t.tinted(s.text, s.tone))
	}
	return b.String()
}

// tinted puts s in the colour of its tone, where colour is wanted.
func (t *terminal) tinted(s string, to tone) string {
	if !t.color || to == neutral {
		return s
	}
	return map[tone]string{good: "\x1b[32m", bad: "\x1b[31m", doubtful: "\x1b[33m"}[to] + s + "\x1b[39m"
}

// width is the number of columns that l takes, without its colours.
func (l inline) width() int {
	n := 0
	for _, s := range l {
		n += width(s.text)
	}
	return n
}

func width(s string) int { return utf8.RuneCountInString(s) }
