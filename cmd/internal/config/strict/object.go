package strict

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Object is a mapping of known keys.
type Object struct {
	Keys []Key // in the order in which they are written
	// OneOf names keys of which exactly one must be given, AtMostOne two keys of which
	// one may be.
	OneOf     []string
	AtMostOne []string
	// OmitEmpty leaves the mapping out where none of its keys is set.
	OmitEmpty bool
}

// Key is one key of an [Object].
type Key struct {
	Name     string
	Doc      string // what it means, in a sentence; units included
	Value    Value
	Required bool
	With     string   // the key that must be given for this one to mean anything
	Also     []string // what others call it, for the hint on an unknown key
	Examples []any    // as JSON
}

// Read reads each known key and reports unknown, repeated and missing ones.
func (o Object) Read(r *Reader, n *yaml.Node, path string) {
	if n.Kind != yaml.MappingNode {
		r.reportAt(n, path, fmt.Sprintf("%s, expected a mapping of keys", form(n)), "keys here: "+strings.Join(o.names(), ", "))
		return
	}
	given := readPairs(r, n, path, func(key *yaml.Node, value *yaml.Node, at string) {
		i := slices.IndexFunc(o.Keys, func(k Key) bool { return k.Name == key.Value })
		if i < 0 {
			r.reportAt(key, shown(path, key.Value), "unknown key "+quote(key.Value), o.hintFor(key.Value))
			return
		}
		o.Keys[i].Value.Read(r, value, at)
	})
	o.checkPresence(r, path, given)
}

// checkPresence holds the keys that were given against what must and may be given.
func (o Object) checkPresence(r *Reader, path string, given map[string]bool) {
	for _, k := range o.Keys {
		if k.Required && !given[k.Name] {
			r.Report(join(path, k.Name), "missing, expected "+k.Doc, "add "+k.example())
		}
		if k.With != "" && given[k.Name] && !given[k.With] {
			r.Report(join(path, k.Name), fmt.Sprintf("given without %s, expected both or neither", k.With), fmt.Sprintf("add %s, or remove %s", k.With, k.Name))
		}
	}
	if len(o.OneOf) > 0 && len(among(o.OneOf, given)) == 0 {
		r.Report(path, "none of "+strings.Join(o.OneOf, ", ")+" is given, expected one of them", "add "+o.key(o.OneOf[0]).example())
	}
	for _, group := range [][]string{o.OneOf, o.AtMostOne} {
		if got := among(group, given); len(got) > 1 {
			r.Report(path, enumerate(got)+" are given, expected one of them", "keep one and remove the rest")
		}
	}
}

func enumerate(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// among returns those of names that are given.
func among(names []string, given map[string]bool) (got []string) {
	for _, name := range names {
		if given[name] {
			got = append(got, name)
		}
	}
	return got
}

// Write writes the keys that are set.
func (o Object) Write() *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, k := range o.Keys {
		if v := k.Value.Write(); v != nil {
			n.Content = append(n.Content, scalarNode("!!str", k.Name), v)
		}
	}
	if len(n.Content) == 0 {
		if o.OmitEmpty {
			return nil
		}
		n.Style = yaml.FlowStyle
	}
	return n
}

// Schema describes the keys and the rules on their presence.
func (o Object) Schema() Schema {
	properties, required, needs := Schema{}, []string{}, Schema{}
	for _, k := range o.Keys {
		properties[k.Name] = k.schema()
		if k.Required {
			required = append(required, k.Name)
		}
		if k.With != "" {
			needs[k.Name] = []string{k.With}
		}
	}
	s := Schema{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	if len(needs) > 0 {
		s["dependentRequired"] = needs
	}
	if len(o.OneOf) > 0 {
		var alternatives []any
		for _, name := range o.OneOf {
			alternatives = append(alternatives, Schema{"required": []string{name}})
		}
		s["oneOf"] = alternatives
	}
	if len(o.AtMostOne) > 0 {
		s["not"] = Schema{"required": o.AtMostOne}
	}
	return s
}

// schema is the schema of the key's value with its words, and its default where it has
// one that stands in one scalar or list.
func (k Key) schema() Schema {
	s := k.Value.Schema()
	s["description"] = k.Doc
	if len(k.Examples) > 0 {
		s["examples"] = k.Examples
	}
	if n := k.Value.Write(); n != nil && n.Kind != yaml.MappingNode && !k.Required {
		var v any
		if n.Decode(&v) == nil {
			s["default"] = v
		}
	}
	return s
}

// example returns the key as it may be written.
func (k Key) example() string {
	if s, ok := k.Value.(Scalar); ok {
		return k.Name + ": " + s.Example
	}
	if len(k.Examples) == 0 {
		return k.Name + ": ..."
	}
	var n yaml.Node
	if err := n.Encode(map[string]any{k.Name: k.Examples[0]}); err != nil {
		return k.Name + ": ..."
	}
	n.Content[1].Style = yaml.FlowStyle
	text, _ := yaml.Marshal(&n) // what could be encoded can be printed
	return strings.TrimSpace(string(text))
}

func (o Object) names() []string {
	var names []string
	for _, k := range o.Keys {
		names = append(names, k.Name)
	}
	return names
}

func (o Object) key(name string) Key {
	for _, k := range o.Keys {
		if k.Name == name {
			return k
		}
	}
	return Key{Name: name}
}

// hintFor says what an unknown key was meant to be: a key that others call so, one
// that stands a level deeper, or one that is spelled alike.
func (o Object) hintFor(name string) string {
	for _, k := range o.Keys {
		if slices.Contains(k.Also, fold(name)) {
			return "did you mean " + k.Name + "?"
		}
	}
	for _, k := range o.Keys {
		if inner, ok := k.Value.(interface{ names() []string }); ok && slices.Contains(inner.names(), name) {
			return fmt.Sprintf("%s stands under %s", name, k.Name)
		}
	}
	if name == "<<" {
		return "merge keys aren't read: write the keys out, so that each line says what holds"
	}
	return didYouMean(name, o.names())
}

func (o Optional[T]) names() []string {
	if inner, ok := o.Of(o.New()).(interface{ names() []string }); ok {
		return inner.names()
	}
	return nil
}

func (c Checked) names() []string {
	if inner, ok := c.Value.(interface{ names() []string }); ok {
		return inner.names()
	}
	return nil
}

// readPairs calls each for the keys of the mapping n, and reports those that come
// twice. It returns the keys that were given.
func readPairs(r *Reader, n *yaml.Node, path string, each func(key, value *yaml.Node, at string)) map[string]bool {
	first := map[string]*yaml.Node{}
	given := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!null" {
			r.reportAt(key, path, form(key)+" as a key, expected a name", "write name: value")
			continue
		}
		at := join(path, key.Value)
		if f, ok := first[key.Value]; ok {
			r.reportAt(key, shown(path, key.Value), fmt.Sprintf("given twice, first on line %d", f.Line), "remove one of the two")
			continue
		}
		first[key.Value] = key
		given[key.Value] = true
		r.at[at] = mark{value.Line, value.Column}
		each(key, value, at)
	}
	return given
}

// shown is the path of a name that nobody has checked yet, left out where it could not
// stand in a message.
func shown(path, name string) string {
	if !plainName.MatchString(name) {
		return path
	}
	return join(path, name)
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_.@/-]{1,64}$`)

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
