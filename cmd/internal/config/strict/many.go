package strict

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Name is what the keys of a mapping whose keys are the user's must look like.
type Name struct {
	Pattern  *regexp.Regexp
	Expected string   // completes "expected ..."
	Hint     string   // what to do
	Known    []string // the names, where they are known; the nearest one is the hint
}

func (n Name) ok(r *Reader, key *yaml.Node, path string) bool {
	if n.Pattern.MatchString(key.Value) {
		return true
	}
	hint := n.Hint
	if near := Nearest(key.Value, n.Known); near != "" {
		hint = "did you mean " + near + "?"
	}
	r.reportAt(key, shown(path, key.Value), fmt.Sprintf("the name %s, expected %s", quote(key.Value), n.Expected), hint)
	return false
}

// Named is a mapping from names that the user chooses to values of one kind, kept in
// the order of the file.
type Named[T any] struct {
	Var  *[]T
	Name Name
	Min  int // how many there must be
	// New makes an element with its defaults, and NameOf tells its name.
	New    func(name string) T
	NameOf func(T) string
	Of     func(*T) Value
}

// Read reads the elements. One that is faulty is kept all the same, so that what refers
// to its name isn't faulty too.
func (m Named[T]) Read(r *Reader, n *yaml.Node, path string) {
	if n.Kind != yaml.MappingNode {
		r.reportAt(n, path, form(n)+", expected a mapping from names", "write name: value under it")
		return
	}
	*m.Var = nil
	readPairs(r, n, path, func(key, value *yaml.Node, at string) {
		if !m.Name.ok(r, key, path) {
			return
		}
		e := m.New(key.Value)
		m.Of(&e).Read(r, value, at)
		*m.Var = append(*m.Var, e)
	})
	if len(n.Content) < 2*m.Min {
		r.reportAt(n, path, "empty, expected at least one entry", "write name: value under it")
	}
}

// Write writes the elements in their order.
func (m Named[T]) Write() *yaml.Node {
	if len(*m.Var) == 0 {
		return nil
	}
	n := &yaml.Node{Kind: yaml.MappingNode}
	for i := range *m.Var {
		e := &(*m.Var)[i]
		n.Content = append(n.Content, scalarNode("!!str", m.NameOf(*e)), m.Of(e).Write())
	}
	return n
}

// Schema describes the names and the elements.
func (m Named[T]) Schema() Schema {
	e := m.New("name")
	return Schema{
		"type":                 "object",
		"propertyNames":        Schema{"pattern": m.Name.Pattern.String()},
		"minProperties":        m.Min,
		"additionalProperties": m.Of(&e).Schema(),
	}
}

// Dict is a mapping from names to values of one kind whose order means nothing.
type Dict[T any] struct {
	Var  *map[string]T
	Name Name
	Of   func(name string, v *T) Value
}

// Read sets the entries that are given; others keep what they are.
func (d Dict[T]) Read(r *Reader, n *yaml.Node, path string) {
	if n.Kind != yaml.MappingNode {
		r.reportAt(n, path, form(n)+", expected a mapping from names", "write name: value under it")
		return
	}
	entries := maps.Clone(*d.Var)
	if entries == nil && len(n.Content) > 0 {
		entries = map[string]T{}
	}
	readPairs(r, n, path, func(key, value *yaml.Node, at string) {
		if !d.Name.ok(r, key, path) {
			return
		}
		var v T
		d.Of(key.Value, &v).Read(r, value, at)
		entries[key.Value] = v
	})
	*d.Var = entries
}

// Write writes the entries sorted by name.
func (d Dict[T]) Write() *yaml.Node {
	if len(*d.Var) == 0 {
		return nil
	}
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, name := range slices.Sorted(maps.Keys(*d.Var)) {
		v := (*d.Var)[name]
		n.Content = append(n.Content, scalarNode("!!str", name), d.Of(name, &v).Write())
	}
	return n
}

// Schema describes the names and the values.
func (d Dict[T]) Schema() Schema {
	var v T
	s := Schema{
		"type":                 "object",
		"propertyNames":        Schema{"pattern": d.Name.Pattern.String()},
		"additionalProperties": d.Of("", &v).Schema(),
	}
	if n := d.Write(); n != nil {
		var v any
		if n.Decode(&v) == nil {
			s["default"] = v
		}
	}
	return s
}

// List is a list of values of one kind.
type List[T any] struct {
	Var    *[]T
	Of     func(*T) Value
	Min    int  // how many there must be
	Unique bool // no two that are written alike
}

// Read reads the items; the list that was there before is gone.
func (l List[T]) Read(r *Reader, n *yaml.Node, path string) {
	if n.Kind != yaml.SequenceNode {
		r.reportAt(n, path, form(n)+", expected a list", l.hint(n))
		return
	}
	*l.Var = []T{}
	first := map[string]int{}
	for i, item := range n.Content {
		at := path + "[" + strconv.Itoa(i) + "]"
		r.at[at] = mark{item.Line, item.Column}
		var v T
		l.Of(&v).Read(r, item, at)
		*l.Var = append(*l.Var, v)
		if !l.Unique || item.Kind != yaml.ScalarNode {
			continue
		}
		if line, ok := first[item.Value]; ok {
			r.reportAt(item, at, fmt.Sprintf("given twice in the list, first on line %d", line), "remove one of the two")
			continue
		}
		first[item.Value] = item.Line
	}
	if len(n.Content) < l.Min {
		r.reportAt(n, path, "an empty list, expected at least one item", "add an item, or remove the key")
	}
}

// hint shows how what was given, or an example, is written as a list.
func (l List[T]) hint(n *yaml.Node) string {
	var v T
	item, _ := l.Of(&v).(Scalar)
	words := strings.Fields(n.Value)
	if n.Kind != yaml.ScalarNode || len(words) == 0 || len(words) > 8 || len(n.Value) > 80 || item.Secret {
		words = []string{cmp.Or(item.Example, "...")}
	}
	return "write a list: [" + strings.Join(words, ", ") + "]"
}

// Write writes the items on one line where they are scalars.
func (l List[T]) Write() *yaml.Node {
	if *l.Var == nil {
		return nil
	}
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for i := range *l.Var {
		item := l.Of(&(*l.Var)[i]).Write()
		if item.Kind != yaml.ScalarNode {
			n.Style = 0
		}
		n.Content = append(n.Content, item)
	}
	return n
}

// Schema describes the items.
func (l List[T]) Schema() Schema {
	var v T
	s := Schema{"type": "array", "items": l.Of(&v).Schema()}
	if l.Min > 0 {
		s["minItems"] = l.Min
	}
	if l.Unique {
		s["uniqueItems"] = true
	}
	return s
}
