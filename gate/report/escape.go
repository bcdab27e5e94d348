package report

import (
	"fmt"
	"strings"
)

// pause is a zero-width space. GitHub looks for mentions and references in the rendered
// text, where an entity is a character again; only another character in between stops it.
const pause = "&#8203;"

// escapeProse makes s, one line, safe as text of a Markdown line or table cell: nothing
// in it is markup, HTML, a link, a mention or a reference to an issue.
func escapeProse(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '@' || c == '#':
			b.WriteByte(c)
			b.WriteString(pause)
		case c == '-' && reference(s[:i]):
			b.WriteString("-" + pause)
		case strings.IndexByte("\\`*_<>&|[]!~$", c) >= 0,
			c == ':' && strings.HasPrefix(s[i+1:], "/"),
			c == '.' && i > 0 && s[i-1]|0x20 == 'w':
			fmt.Fprintf(&b, "&#%d;", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// reference reports whether a dash after s would make it "GH-", which refers to an issue.
func reference(s string) bool {
	return len(s) >= 2 && strings.EqualFold(s[len(s)-2:], "gh")
}

// escapeCode shows s, one line, as code. A code span holds whatever can be copied from
// it unchanged; the rest, which could end the span or the cell, becomes entities in an
// element.
func escapeCode(s string) string {
	if spannable(s) {
		return "`" + s + "`"
	}
	var b strings.Builder
	b.WriteString("<code>")
	for _, r := range s {
		switch {
		case r == '@' || r == '#':
			b.WriteRune(r)
			b.WriteString(pause)
		case r < 0x80 && !alphanumeric(r) && r != ' ':
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteString("</code>")
	return b.String()
}

// spannable reports whether s stands in a code span as it is, within a table too. A
// backtick would end it, a pipe the cell; a backslash might escape what follows.
func spannable(s string) bool {
	inner := strings.TrimSpace(s)
	if inner == "" || len(inner) != len(s) {
		return false
	}
	for _, r := range s {
		if r < 0x80 && !alphanumeric(r) && !strings.ContainsRune(" ._-/:@+=,()%", r) {
			return false
		}
	}
	return true
}

func alphanumeric(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// fenced puts text between fences that are longer than any run of backticks in it.
func fenced(language, text string) string {
	text = strings.TrimRight(lines(text), "\n")
	longest, run := 2, 0
	for _, r := range text {
		if r == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	marks := strings.Repeat("`", longest+1)
	return marks + language + "\n" + text + "\n" + marks + "\n"
}

// lines makes text of several lines harmless: no control or format characters but line
// feeds, tabs as spaces, and nothing that looks like the start of an HTML comment, by
// which a comment of ours is told from others.
func lines(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		line = plain(strings.ReplaceAll(line, "\t", "  "), lineLimit)
		b.WriteString(strings.ReplaceAll(line, "<!--", "<!\u200b--"))
		b.WriteByte('\n')
	}
	return b.String()
}
