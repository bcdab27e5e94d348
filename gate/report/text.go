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
	used, start := width(first), true
	t.WriteString(first)
	for _, w := range l.words() {
		switch {
		case start:
			start = false
		case t.width > 0 && used+1+w.width() > t.width:
			t.WriteString("\n" + next)
			used = width(next)
		default:
			t.WriteByte(' ')
			used++
		}
		t.WriteString(t.inline(w))
		used += w.width()
	}
	t.WriteByte('\n')
}

// words parts l at its spaces; a word may be of several spans.
func (l inline) words() []inline {
	var out []inline
	var word inline
	for _, s := range l {
		if s.kind == sign {
			continue
		}
		for i, text := range strings.Split(s.text, " ") {
			if i > 0 && len(word) > 0 {
				out, word = append(out, word), nil
			}
			if text != "" {
				word = append(word, span{text: text, kind: s.kind, tone: s.tone})
			}
		}
	}
	if len(word) > 0 {
		out = append(out, word)
	}
	return out
}

// table writes columns that line up. Those that don't fit beside the others stand below
// them, row by row, with their titles.
func (t *terminal) table(tab table) {
	widths, fit, used := make([]int, len(tab.titles)), 0, 0
	for i, title := range tab.titles {
		widths[i] = width(title)
		for _, row := range tab.rows {
			widths[i] = max(widths[i], row[i].width())
		}
		if used += len(margin) + widths[i]; i == 0 || fit == i && (t.width <= 0 || used <= t.width) {
			fit = i + 1
		}
	}
	titles := make([]inline, fit)
	for i, title := range tab.titles[:fit] {
		titles[i] = words(title)
	}
	t.row(titles, widths, tab.right)
	for _, row := range tab.rows {
		t.row(row[:fit], widths, tab.right)
		t.below(tab.titles[fit:], row[fit:])
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

// below writes cells with their titles, as many a line as fit.
func (t *terminal) below(titles []string, cells []inline) {
	const indent = margin + margin
	var line inline
	for i, c := range cells {
		if c.width() == 0 {
			continue
		}
		item := append(words(titles[i]+" "), c...)
		switch comma := word(", "); {
		case line == nil:
			line = item
		case len(indent)+line.width()+width(", ")+item.width()+width(",") <= t.width:
			line = append(append(line, comma), item...)
		default:
			t.wrapped(append(line, comma), indent, indent+margin)
			line = item
		}
	}
	if line != nil {
		t.wrapped(line, indent, indent+margin)
	}
}

func (t *terminal) inline(l inline) string {
	var b strings.Builder
	for _, s := range l {
		if s.kind != sign {
			b.WriteString(t.tinted(s.text, s.tone))
		}
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
