package frame

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// maxDepth is the deepest nesting that a cursor follows. Answers have five levels.
const maxDepth = 200

// cursor walks over one JSON text and builds nothing: a frame is looked at thousands of
// times a second on a core that the engine may share, and little of it is of interest.
// It accepts what encoding/json accepts, up to maxDepth. Once something is wrong, bad
// stays set, loops over members and elements end, and every further call is harmless.
//
//	for c.open('{'); c.more('}'); {
//		switch string(c.key()) {
//		case "usage": ...
//		default: c.skip()
//		}
//	}
type cursor struct {
	b     []byte
	i     int
	depth int
	first bool // the innermost object or array has had no member yet
	bad   bool
}

// peek is the next byte that isn't white space, 0 at the end.
func (c *cursor) peek() byte {
	for c.i < len(c.b) {
		switch ch := c.b[c.i]; ch {
		case ' ', '\n', '\t', '\r':
			c.i++
		default:
			return ch
		}
	}
	return 0
}

// open enters an object or an array, and is bad where there is none.
func (c *cursor) open(bracket byte) {
	if c.peek() != bracket || c.depth == maxDepth {
		c.bad = true
		return
	}
	c.i++
	c.depth++
	c.first = true
}

// more goes to the next member or element, and leaves the object or array at its end.
func (c *cursor) more(bracket byte) bool {
	if c.bad {
		return false
	}
	first := c.first
	c.first = false
	switch ch := c.peek(); {
	case ch == bracket:
		c.i++
		c.depth--
		return false
	case first:
		return true
	case ch == ',':
		c.i++
		return true
	}
	c.bad = true
	return false
}

// key reads a member's key and the colon behind it.
func (c *cursor) key() []byte {
	if c.peek() != '"' {
		c.bad = true
		return nil
	}
	raw, escaped := c.str()
	if c.peek() != ':' {
		c.bad = true
		return nil
	}
	c.i++
	if escaped {
		return []byte(unquote(raw))
	}
	return raw[1 : len(raw)-1]
}

// end says whether the whole text was one good value.
func (c *cursor) end() bool {
	return c.peek() == 0 && c.i == len(c.b) && !c.bad
}

// skip passes over a value and returns its text.
func (c *cursor) skip() []byte {
	ch := c.peek()
	start := c.i
	switch {
	case c.bad:
	case ch == '"':
		c.str()
	case ch == '{':
		for c.open('{'); c.more('}'); {
			c.key()
			c.skip()
		}
	case ch == '[':
		for c.open('['); c.more(']'); {
			c.skip()
		}
	case ch == '-' || '0' <= ch && ch <= '9':
		c.number()
	default:
		c.word()
	}
	if c.bad {
		return nil
	}
	return c.b[start:c.i]
}

// word passes over one of the three literals.
func (c *cursor) word() {
	for _, w := range [...]string{"null", "true", "false"} {
		if bytes.HasPrefix(c.b[c.i:], []byte(w)) {
			c.i += len(w)
			return
		}
	}
	c.bad = true
}

// str passes over a string, whose quote is next, and returns it with its quotes;
// escaped says that it has escapes.
func (c *cursor) str() (raw []byte, escaped bool) {
	start := c.i
	for c.i++; c.i < len(c.b); c.i++ {
		switch ch := c.b[c.i]; {
		case ch == '"':
			c.i++
			return c.b[start:c.i], escaped
		case ch == '\\':
			escaped = true
			c.escape()
		case ch < ' ':
			c.bad = true
		}
		if c.bad {
			break
		}
	}
	c.bad = true
	return []byte(`""`), false
}

// escape passes over all but the last byte of an escape sequence.
func (c *cursor) escape() {
	c.i++
	if c.i >= len(c.b) {
		c.bad = true
		return
	}
	switch c.b[c.i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
	case 'u':
		for range 4 {
			c.i++
			if c.i >= len(c.b) || !isHex(c.b[c.i]) {
				c.bad = true
				return
			}
		}
	default:
		c.bad = true
	}
}

// number passes over a number.
func (c *cursor) number() {
	if c.b[c.i] == '-' {
		c.i++
	}
	switch lead := c.i; {
	case c.digits() == 0, c.b[lead] == '0' && c.i > lead+1:
		c.bad = true
	}
	if c.i < len(c.b) && c.b[c.i] == '.' {
		c.i++
		c.bad = c.digits() == 0 || c.bad
	}
	if c.i < len(c.b) && (c.b[c.i] == 'e' || c.b[c.i] == 'E') {
		c.i++
		if c.i < len(c.b) && (c.b[c.i] == '+' || c.b[c.i] == '-') {
			c.i++
		}
		c.bad = c.digits() == 0 || c.bad
	}
}

// digits passes over digits and returns how many there were.
func (c *cursor) digits() int {
	start := c.i
	for c.i < len(c.b) && '0' <= c.b[c.i] && c.b[c.i] <= '9' {
		c.i++
	}
	return c.i - start
}

// filled passes over a value and says whether it is a string, an array or an object
// that has something in it.
func (c *cursor) filled() bool {
	switch c.peek() {
	case '"', '[', '{':
		raw := c.skip()
		return len(raw) > 2 && (raw[0] == '"' || len(bytes.TrimSpace(raw[1:len(raw)-1])) > 0)
	}
	c.skip()
	return false
}

// length passes over a value and returns the number of elements of an array, -1 where
// it is something else.
func (c *cursor) length() int {
	if c.peek() != '[' {
		c.skip()
		return -1
	}
	n := 0
	for c.open('['); c.more(']'); n++ {
		c.skip()
	}
	return n
}

// count passes over a value and returns it as a number of tokens, or none where it is
// no whole number that could be one.
func (c *cursor) count(none int) int {
	const most = 1 << 31
	raw := c.skip()
	n := 0
	for _, ch := range raw {
		if ch < '0' || ch > '9' || n > most {
			return rareCount(string(raw), most, none)
		}
		n = 10*n + int(ch-'0')
	}
	if len(raw) == 0 || n > most {
		return none
	}
	return n
}

// rareCount reads a number of tokens in a notation that no engine was seen to use.
func rareCount(raw string, most float64, none int) int {
	n, err := strconv.ParseFloat(raw, 64)
	if err != nil || n < 0 || n > most || n != float64(int(n)) {
		return none
	}
	return int(n)
}

// text passes over a value and returns it if it is a string.
func (c *cursor) text() string {
	if raw := c.skip(); len(raw) > 0 && raw[0] == '"' {
		return unquote(raw)
	}
	return ""
}

// unquote returns the string that a good JSON string stands for.
func unquote(raw []byte) string {
	var s string
	// The cursor has passed over raw, so that it is well formed.
	_ = json.Unmarshal(raw, &s)
	return s
}

func isHex(ch byte) bool {
	return '0' <= ch && ch <= '9' || 'a' <= ch && ch <= 'f' || 'A' <= ch && ch <= 'F'
}
