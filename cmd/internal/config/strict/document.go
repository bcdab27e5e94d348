package strict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// parse reads the one YAML document of data. What is wrong with it as YAML comes back
// as a fault.
func parse(file string, data []byte) (*yaml.Node, *Fault) {
	fault := func(at mark, what, hint string) *Fault {
		return &Fault{File: file, Line: at.line, Column: at.column, What: what, Hint: hint}
	}
	if at, what := firstInvalid(data); at >= 0 {
		return nil, fault(position(data, at), what+", expected UTF-8 text", "save the file as UTF-8 text")
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, next yaml.Node
	err := decode(dec, &doc)
	if errors.Is(err, io.EOF) {
		return nil, fault(mark{1, 1}, "the file is empty, expected a config", "start with: version: 1")
	}
	if err != nil {
		at, what, hint := explain(data, err)
		return nil, fault(at, what, hint)
	}
	switch err := decode(dec, &next); {
	case err == nil:
		return nil, fault(mark{next.Line, next.Column}, "a second YAML document begins here, expected one", "remove the --- line, or keep the other document in a file of its own")
	case !errors.Is(err, io.EOF):
		at, what, hint := explain(data, err)
		return nil, fault(at, what, hint)
	}
	return doc.Content[0], nil
}

// decode guards against a parser that panics: what a stranger wrote into a file must
// never end the process.
func decode(dec *yaml.Decoder, n *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	return dec.Decode(n)
}

type mark struct{ line, column int }

// position turns an offset into a line and a column.
func position(data []byte, offset int) mark {
	before := data[:offset]
	start := bytes.LastIndexByte(before, '\n') + 1
	return mark{bytes.Count(before, []byte{'\n'}) + 1, utf8.RuneCount(before[start:]) + 1}
}

// firstInvalid returns the offset of the first byte that no YAML file has, and what is
// there; -1 where there is none. The parser would say so without a line.
func firstInvalid(data []byte) (int, string) {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size <= 1 {
			return i, "bytes that are no UTF-8"
		}
		if unicode.IsControl(r) && !strings.ContainsRune("\t\n\r\u0085", r) || r == 0xFFFE || r == 0xFFFF {
			return i, fmt.Sprintf("the control character %U", r)
		}
		i += size
	}
	return -1, ""
}

var (
	yamlLine      = regexp.MustCompile(`^yaml: line (\d+): (?s:(.*))$`)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
	grammar       = regexp.MustCompile(`^did not find expected (<document start>|node content|'-' indicator|key|',' or )`)
	tabIndent     = regexp.MustCompile(`^ *\t`)
)

// explain turns an error of the YAML parser into a fault that says what to do.
func explain(data []byte, err error) (at mark, what, hint string) {
	what = strings.TrimPrefix(err.Error(), "yaml: ")
	at = mark{1, 1}
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		at.line, _ = strconv.Atoi(m[1])
		what = m[2]
		if grammar.MatchString(what) {
			at.line++ // the parser counts these lines from 0, and those of its scanner from 1
		}
	}
	if m := unknownAnchor.FindStringSubmatch(what); m != nil {
		if i := bytes.Index(data, []byte("*"+m[1])); i >= 0 {
			at = position(data, i)
		}
		return at, fmt.Sprintf("alias %s has no anchor", quote("*"+m[1])), "define it above with &" + m[1] + ", or quote a value that begins with *"
	}
	if tab, ok := findTab(data, at.line); ok {
		return tab, "a tab in the indentation, expected spaces", "YAML doesn't allow tabs for indentation; indent with two spaces"
	}
	return at, "not valid YAML: " + what, yamlHint(what)
}

// findTab looks for a tab in the indentation of the line that the parser complains
// about; it counts differently before and after a token, so the neighbours are looked
// at too.
func findTab(data []byte, line int) (mark, bool) {
	lines := bytes.Split(data, []byte{'\n'})
	for _, l := range []int{line, line - 1, line + 1} {
		if l < 1 || l > len(lines) {
			continue
		}
		if m := tabIndent.Find(lines[l-1]); m != nil {
			return mark{l, len(m)}, true
		}
	}
	return mark{}, false
}

// yamlHint says what most often leads to a complaint of the parser.
func yamlHint(what string) string {
	switch {
	case strings.Contains(what, "cannot start any token"):
		return "quote a value that begins with @, ` or %"
	case strings.Contains(what, "alphabetic or numeric"):
		return "quote a value that begins with * or &"
	case strings.Contains(what, "mapping values are not allowed"):
		return "quote a value that has \": \" in it, and check the indentation"
	case strings.Contains(what, "did not find expected"):
		return "check the indentation, the brackets and the quotes just above"
	case strings.Contains(what, "exceeded max depth"):
		return "a config is never nested that deep"
	}
	return "check the syntax at this line and just above"
}
