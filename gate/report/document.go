package report

import (
	"slices"
	"strings"
)

// document is a report before it is laid out: blocks of spans, each of which says where
// its text comes from. Only a renderer turns spans into bytes, so that no string from
// outside reaches a page unescaped.
type document []block

// block is one of heading, paragraph, bullets, table, fence and fold.
type block any

// heading is a title; level 1 is the headline of the report.
type heading struct {
	level int
	text  inline
}

type paragraph inline

type bullets []inline

// table has a row of titles. A column in right is aligned to the right.
type table struct {
	titles []string
	right  []bool
	rows   [][]inline
}

// fence is text that is shown as it is, line by line.
type fence struct {
	language string
	text     string
}

// fold is what a reader opens when wanted. A terminal has nothing to open: it shows what
// is brief and leaves out the rest, and says where that is.
type fold struct {
	summary string
	blocks  document
	brief   bool
}

// inline is text within a line.
type inline []span

// span is a piece of a line.
type span struct {
	text string
	kind kind
	tone tone
}

// kind says where a span's text comes from, and how it is shown.
type kind int

const (
	ours   kind = iota // a constant of this package, or digits and units: shown as it is
	prose              // a sentence that may quote anything
	code               // a literal from outside: a name, an argument, a digest
	strong             // as prose, with weight
	sign               // a picture of ours, for pages only
)

// tone is what a reader is to feel about a span.
type tone int

const (
	neutral tone = iota
	good
	bad
	doubtful
)

// word is text of our own.
func word(s string) span { return span{text: s} }

// words is a line of our own text.
func words(s string) inline { return inline{word(s)} }

// weighty is text with weight.
func weighty(s string) span { return span{text: s, kind: strong} }

// sentence is text that may quote anything, cut at [lineLimit].
func sentence(s string) span { return span{text: plain(s, lineLimit), kind: prose} }

// literalLimit is the number of runes that a literal from outside may take.
const literalLimit = 200

// literal is a name, a value or an argument from outside, cut at [literalLimit].
func literal(s string) span {
	if s = strings.TrimSpace(plain(s, literalLimit)); s == "" {
		return word("(none)")
	}
	return span{text: s, kind: code}
}

// filled returns t without the columns that are empty in every row.
func (t table) filled() table {
	out := table{rows: make([][]inline, len(t.rows))}
	for i, title := range t.titles {
		if !slices.ContainsFunc(t.rows, func(row []inline) bool { return row[i].width() > 0 }) {
			continue
		}
		out.titles, out.right = append(out.titles, title), append(out.right, t.right[i])
		for j, row := range t.rows {
			out.rows[j] = append(out.rows[j], row[i])
		}
	}
	return out
}

// list joins lines by commas.
func list(items []inline) inline {
	var out inline
	for i, item := range items {
		if i > 0 {
			out = append(out, word(", "))
		}
		out = append(out, item...)
	}
	return out
}
