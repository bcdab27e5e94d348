package strict

import (
	"fmt"
	"regexp"

	"gopkg.in/yaml.v3"
)

// The bounds of a document. An honest config of hundreds of cells stays far below.
const (
	maxDepth = 32
	maxNodes = 50_000 // after aliases are written out: ten aliases of ten aliases ... grow without end
)

// expander writes aliases out, so that what reads the tree later never meets one, and
// refuses the YAML that a config has no use for.
type expander struct {
	r     *Reader
	nodes int
	alias *yaml.Node // the outermost alias that is being written out
	full  bool       // a bound was hit and reported; the rest is skipped
}

var variable = regexp.MustCompile(`\$\{[^}]*\}`)

// expand returns a copy of n without aliases; nil where a bound was hit.
func (e *expander) expand(n *yaml.Node, depth int) *yaml.Node {
	e.nodes++
	switch {
	case e.full:
		return nil
	case depth > maxDepth:
		return e.stop(n, fmt.Sprintf("nested more than %d levels deep", maxDepth), "a config is never nested that deep; an alias that contains itself is")
	case e.nodes > maxNodes:
		return e.stop(n, fmt.Sprintf("more than %d values once aliases are written out", maxNodes), "use fewer aliases (*name), and none inside what another one names")
	case n.Kind == yaml.AliasNode:
		if e.alias == nil {
			e.alias = n
			defer func() { e.alias = nil }()
		}
		return e.expand(n.Alias, depth+1)
	}
	e.refuse(n)
	out := &yaml.Node{Kind: n.Kind, Style: n.Style, Tag: n.Tag, Value: n.Value, Line: n.Line, Column: n.Column}
	for _, child := range n.Content {
		c := e.expand(child, depth+1)
		if c == nil {
			return nil
		}
		out.Content = append(out.Content, c)
	}
	return out
}

func (e *expander) stop(n *yaml.Node, what, hint string) *yaml.Node {
	if e.alias != nil {
		n = e.alias // where the reader wrote it, not where it leads
	}
	e.full = true
	e.r.reportAt(n, "", what, hint)
	return nil
}

// refuse reports what YAML has and a config doesn't.
func (e *expander) refuse(n *yaml.Node) {
	if n.Style&yaml.TaggedStyle != 0 {
		e.r.reportAt(n, "", fmt.Sprintf("the YAML tag %s, expected a plain value", quote(n.Tag)), "remove the tag")
	}
	if n.Kind == yaml.ScalarNode {
		if v := variable.FindString(n.Value); v != "" {
			e.r.warnAt(n, fmt.Sprintf("%s is taken as it stands: nothing is expanded in a config", quote(v)))
		}
	}
}
