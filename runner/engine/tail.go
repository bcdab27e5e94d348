package engine

import (
	"bytes"
	"io"
	"os"
	"strings"
	"unicode"
)

// Tail returns up to n lines from the end of the log file at path, oldest first and
// printable, and looks at nothing before the offset. A file that can't be read has none:
// who asks for the last words of an engine has a failure of his own to report.
func Tail(path string, offset int64, n int) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil
	}
	from := max(offset, size-tailBytes, 0)
	text, err := io.ReadAll(io.NewSectionReader(f, from, tailBytes))
	if err != nil {
		return nil
	}
	if from > offset {
		text = text[bytes.IndexByte(text, '\n')+1:]
	}
	return printable(text, n)
}

// printable splits text into lines and returns up to n of the last that aren't blank,
// each without what a hostile log could do to a terminal.
func printable(text []byte, n int) []string {
	var lines []string
	for line := range strings.Lines(string(text)) {
		if line = clean(line); strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return last(lines, n)
}

// clean removes escape sequences and control characters from a line, and white space at
// its end.
func clean(line string) string {
	var b strings.Builder
	escape := false // within ESC [ ... letter
	for _, r := range strings.ToValidUTF8(line, "\uFFFD") {
		switch {
		case escape:
			escape = r == '[' || r == ';' || r == '?' || unicode.IsDigit(r)
		case r == '\x1b':
			escape = true
		case r == '\t':
			b.WriteByte(' ')
		case unicode.IsPrint(r):
			b.WriteRune(r)
		}
	}
	return strings.TrimRight(b.String(), " ")
}
