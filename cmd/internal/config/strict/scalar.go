package strict

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"
)

// Problem says why a text can't be a value.
type Problem struct {
	What string // what was got; empty: the value as it stands
	Want string // what was expected; empty: what the value's kind says
	Hint string // what to do; empty: the example is shown
}

// Scalar is a Value that stands in one YAML scalar.
type Scalar struct {
	Expected string // completes "expected ...": "a duration such as 500ms"
	Example  string // as it is written in YAML
	Tag      string // the YAML type that it must have; empty: any, the text decides
	Secret   bool   // a wrong value may be a secret: it isn't shown
	Set      func(text string) *Problem
	// Text returns the value as Set takes it, and false where it is unset.
	Text   func() (string, bool)
	Rules  Schema
	Quoted bool // its text is written as a YAML string whatever it looks like
}

// Read sets the value from a scalar.
func (s Scalar) Read(r *Reader, n *yaml.Node, path string) {
	report := func(what, hint string) {
		if hint == "" {
			hint = s.hint(path)
		}
		r.reportAt(n, path, what, hint)
	}
	switch {
	case isPlaceholder(n) && !s.Secret:
		report("a mapping, expected "+s.Expected, fmt.Sprintf(`quote it, since braces make a mapping: "{%s}"`, n.Content[0].Value))
		return
	case n.Kind != yaml.ScalarNode || n.Tag == "!!null":
		report(form(n)+", expected "+s.Expected, "")
		return
	case s.Tag != "" && n.Tag != s.Tag && (s.Tag != "!!float" || n.Tag != "!!int"):
		report(s.got(n)+", expected "+s.Expected, s.retype(n))
		return
	}
	if p := s.Set(n.Value); p != nil {
		report(cmp.Or(p.What, s.got(n))+", expected "+cmp.Or(p.Want, s.Expected), p.Hint)
	}
}

func (s Scalar) got(n *yaml.Node) string {
	if s.Secret {
		return form(n) + " (not shown)"
	}
	return shownValue(n)
}

func (s Scalar) hint(path string) string {
	name := path[strings.LastIndexByte(path, '.')+1:]
	if strings.ContainsRune(name, '[') {
		return "for example: " + s.Example
	}
	return fmt.Sprintf("for example: %s: %s", name, s.Example)
}

// retype says how a value of another YAML type becomes one of the type that is expected.
func (s Scalar) retype(n *yaml.Node) string {
	switch {
	case s.Tag == "!!str" && !s.Secret:
		return "quote it: " + quote(n.Value)
	case s.Tag == "!!bool":
		return "write true or false"
	case n.Tag == "!!str" && n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		return "write the number without quotes"
	}
	return ""
}

// isPlaceholder reports whether a mapping is what YAML makes of an unquoted {name}.
func isPlaceholder(n *yaml.Node) bool {
	return n.Kind == yaml.MappingNode && len(n.Content) == 2 && n.Content[1].Kind == yaml.ScalarNode && n.Content[1].Tag == "!!null" &&
		n.Content[0].Kind == yaml.ScalarNode && plainName.MatchString(n.Content[0].Value)
}

// Write writes the value as the shortest YAML that reads back as it.
func (s Scalar) Write() *yaml.Node {
	text, ok := s.Text()
	if !ok {
		return nil
	}
	// A number or a truth value is what its text says; a tag would be written out.
	tag := ""
	if s.Quoted || s.Tag == "!!str" || s.Tag == "" && !wholeNumber.MatchString(text) {
		tag = "!!str"
	}
	return scalarNode(tag, text)
}

// Schema returns the rules of the value.
func (s Scalar) Schema() Schema {
	out := Schema{}
	for k, v := range s.Rules {
		out[k] = v
	}
	return out
}

// Worded is a scalar for whose unset value a word stands, such as auto or never.
type Worded struct {
	Scalar
	Word  string
	Unset func()
}

// OrWord makes word stand for the unset value of s; unset unsets it.
func OrWord(word string, unset func(), s Scalar) Worded {
	s.Expected, s.Example = word+", or "+s.Expected, word
	return Worded{Scalar: s, Word: word, Unset: unset}
}

// Read takes the word or the value.
func (w Worded) Read(r *Reader, n *yaml.Node, path string) {
	if n.Kind == yaml.ScalarNode && n.Value == w.Word {
		w.Unset()
		return
	}
	w.Scalar.Read(r, n, path)
}

// Write writes the value, or the word where it is unset.
func (w Worded) Write() *yaml.Node {
	if n := w.Scalar.Write(); n != nil {
		return n
	}
	return scalarNode("!!str", w.Word)
}

// Schema takes the word beside the value.
func (w Worded) Schema() Schema {
	return Schema{"oneOf": []any{Schema{"const": w.Word}, w.Scalar.Schema()}}
}

var wholeNumber = regexp.MustCompile(`^[0-9]+$`)

func scalarNode(tag, text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text}
}

// Text is a line of text that Check, where given, finds nothing wrong with.
func Text(v *string, expected, example string, check func(string) *Problem) Scalar {
	return Scalar{
		Expected: expected, Example: example, Tag: "!!str",
		Set: func(text string) *Problem {
			if text == "" {
				return &Problem{What: "an empty text"}
			}
			if strings.IndexFunc(text, unicode.IsControl) >= 0 {
				return &Problem{What: "a text with a control character", Hint: "write it on one line, without escapes"}
			}
			if check != nil {
				if p := check(text); p != nil {
					return p
				}
			}
			*v = text
			return nil
		},
		Text:  func() (string, bool) { return *v, *v != "" },
		Rules: Schema{"type": "string", "pattern": `^[^\x00-\x1f\x7f-\x9f]+$`},
	}
}

// Word is an argument or the value of an environment variable: any scalar, by its text
// as it stands in the file, so that a number needs no quotes.
func Word(v *string, check func(string) *Problem) Scalar {
	return Scalar{
		Expected: "a text", Example: "text",
		Set: func(text string) *Problem {
			if strings.ContainsRune(text, 0) {
				return &Problem{What: "a text with a NUL", Hint: "no argument and no variable can hold one"}
			}
			if check != nil {
				if p := check(text); p != nil {
					return p
				}
			}
			*v = text
			return nil
		},
		Text:   func() (string, bool) { return *v, true },
		Rules:  Schema{"type": []string{"string", "number", "boolean"}},
		Quoted: true,
	}
}

// Matching is a text that a pattern describes.
func Matching(v *string, pattern *regexp.Regexp, expected, example string) Scalar {
	s := Text(v, expected, example, func(text string) *Problem {
		if !pattern.MatchString(text) {
			return &Problem{}
		}
		return nil
	})
	s.Rules = Schema{"type": "string", "pattern": pattern.String()}
	return s
}

// Enum is one of a few words.
func Enum[T ~string](v *T, words ...T) Scalar {
	var names []string
	for _, w := range words {
		names = append(names, string(w))
	}
	return Scalar{
		Expected: "one of " + strings.Join(names, ", "), Example: names[0], Tag: "!!str",
		Set: func(text string) *Problem {
			if !slices.Contains(names, text) {
				return &Problem{Hint: didYouMean(text, names)}
			}
			*v = T(text)
			return nil
		},
		Text:  func() (string, bool) { return string(*v), *v != "" },
		Rules: Schema{"type": "string", "enum": names},
	}
}

// Bool is true or false.
func Bool(v *bool) Scalar {
	return Scalar{
		Expected: "true or false", Example: "true", Tag: "!!bool",
		Set: func(text string) *Problem {
			b, err := strconv.ParseBool(strings.ToLower(text))
			if err != nil {
				return &Problem{}
			}
			*v = b
			return nil
		},
		Text:  func() (string, bool) { return strconv.FormatBool(*v), true },
		Rules: Schema{"type": "boolean"},
	}
}

// Count is a whole number from low to high. One that is 0 is unset, unless low is 0.
func Count[T int | uint64](v *T, low, high T) Scalar {
	expected := fmt.Sprintf("a whole number from %d to %d", low, high)
	if low == high {
		expected = fmt.Sprint(low)
	}
	return Scalar{
		Expected: expected, Example: fmt.Sprint(max(*v, low, 1)), Tag: "!!int",
		Set: func(text string) *Problem {
			n, err := strconv.ParseUint(text, 10, 64)
			if err != nil || n < uint64(low) || n > uint64(high) {
				return &Problem{}
			}
			*v = T(n)
			return nil
		},
		Text:  func() (string, bool) { return fmt.Sprint(*v), *v != 0 || low == 0 },
		Rules: Schema{"type": "integer", "minimum": low, "maximum": high},
	}
}

// Number is a decimal number from low, above 0, to high. One that is 0 is unset.
func Number(v *float64, low, high float64, expected, example string) Scalar {
	return Scalar{
		Expected: expected, Example: example, Tag: "!!float",
		Set: func(text string) *Problem {
			f, err := strconv.ParseFloat(text, 64)
			if err != nil || !decimal.MatchString(text) || f < low || f > high {
				return &Problem{}
			}
			*v = f
			return nil
		},
		Text:  func() (string, bool) { return strconv.FormatFloat(*v, 'f', -1, 64), *v != 0 },
		Rules: Schema{"type": "number", "minimum": low, "maximum": high},
	}
}

var decimal = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)
