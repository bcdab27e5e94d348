package strict

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// Value is one place of a document, bound to a Go variable.
type Value interface {
	// Read sets the variable from n, which stands at path, or reports to r why not.
	Read(r *Reader, n *yaml.Node, path string)
	// Write returns the variable as YAML, or nil where it is unset and left out.
	Write() *yaml.Node
	// Schema returns a JSON Schema of what Read takes, with the variable as it is bound
	// now as the default.
	Schema() Schema
}

// Schema is a JSON Schema, ready for encoding/json.
type Schema = map[string]any

// Encode returns what v writes as YAML text.
func Encode(v Value) ([]byte, error) {
	n := v.Write()
	if n == nil {
		return nil, errors.New("write config: nothing is set")
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(n); err != nil {
		return nil, fmt.Errorf("write config: %w", err)
	}
	if err := enc.Close(); err != nil {
		return nil, fmt.Errorf("write config: %w", err)
	}
	return b.Bytes(), nil
}

// Checked is a Value with a rule that its own schema doesn't state.
type Checked struct {
	Value
	// Check is called once the value was read without a fault.
	Check func(r *Reader, path string)
	// Rules are added to the value's schema; they say of Check what a schema can say.
	Rules Schema
}

// Read reads the value and holds it against its rule.
func (c Checked) Read(r *Reader, n *yaml.Node, path string) {
	before := r.found
	c.Value.Read(r, n, path)
	if r.found == before && c.Check != nil {
		c.Check(r, path)
	}
}

// Schema returns the value's schema and the rules.
func (c Checked) Schema() Schema {
	s := c.Value.Schema()
	for k, v := range c.Rules {
		s[k] = v
	}
	return s
}

// Optional is a part of the document that may be absent; its variable is then nil.
type Optional[T any] struct {
	Var **T
	New func() *T // with defaults
	Of  func(*T) Value
}

// Read makes the variable and reads it.
func (o Optional[T]) Read(r *Reader, n *yaml.Node, path string) {
	*o.Var = o.New()
	o.Of(*o.Var).Read(r, n, path)
}

// Write writes the variable where there is one.
func (o Optional[T]) Write() *yaml.Node {
	if *o.Var == nil {
		return nil
	}
	return o.Of(*o.Var).Write()
}

// Schema describes the variable with the defaults that New gives.
func (o Optional[T]) Schema() Schema { return o.Of(o.New()).Schema() }

// Shorthand takes a scalar for what else is written out as a mapping or a list. Both
// write to the same variable.
type Shorthand struct {
	Short, Long Value
	// IsShort says whether the variable, as it is, is written in the short form.
	IsShort func() bool
}

// Read takes either form.
func (s Shorthand) Read(r *Reader, n *yaml.Node, path string) {
	if n.Kind == yaml.ScalarNode {
		s.Short.Read(r, n, path)
		return
	}
	s.Long.Read(r, n, path)
}

// Write writes the form that IsShort chooses.
func (s Shorthand) Write() *yaml.Node {
	if s.IsShort() {
		return s.Short.Write()
	}
	return s.Long.Write()
}

// Schema describes both forms.
func (s Shorthand) Schema() Schema {
	return Schema{"oneOf": []any{s.Short.Schema(), s.Long.Schema()}}
}

// form names what a node is without showing what stands in it.
func form(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping of keys"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "nothing"
	case n.Tag == "!!int" || n.Tag == "!!float":
		return "a number"
	case n.Tag == "!!bool":
		return "a truth value"
	case n.Tag == "!!timestamp":
		return "a date"
	}
	return "a text"
}

// shownValue names a scalar and shows it.
func shownValue(n *yaml.Node) string {
	kind := strings.TrimPrefix(form(n), "a ")
	if kind == "text" {
		return "the text " + quote(n.Value)
	}
	return "the " + kind + " " + cut(n.Value)
}
