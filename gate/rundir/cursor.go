package rundir

import (
	"time"
	"unicode/utf8"

	"github.com/servegate/servegate/gate"
)

// cursor reads the canonical form, and nothing but: a method that finds anything else
// returns false, and the line is left to decodeStrict. It takes a fiftieth of that
// one's time (BenchmarkDecode), which is what a million records need.
type cursor struct {
	b  []byte
	at int
	d  *decoder
}

func (c *cursor) request(r *gate.Request) bool {
	*r = gate.Request{}
	return c.literal(`{"i":`) && c.natural(&r.Index) &&
		c.literal(`,"phase":"`) && c.phase(&r.Phase) &&
		c.optional(`,"stream":`, &r.Stream, 0) &&
		c.literal(`,"due":`) && c.seconds(&r.Due) &&
		c.optionalSeconds(`,"sent":`, &r.Sent) &&
		c.arrivals(&r.Arrivals) &&
		c.optionalSeconds(`,"done":`, &r.Done) &&
		c.chunkTokens(&r.ChunkTokens) &&
		c.literal(`,"want_in":`) && c.natural(&r.WantInput) &&
		c.literal(`,"want_out":`) && c.natural(&r.WantOutput) &&
		c.optional(`,"in":`, &r.Input, gate.Unknown) &&
		c.optional(`,"out":`, &r.Output, gate.Unknown) &&
		c.optional(`,"cached":`, &r.Cached, gate.Unknown) &&
		c.literal(`,"outcome":"`) && c.outcome(&r.Outcome) &&
		c.optional(`,"status":`, &r.Status, 0) &&
		c.finish(&r.Finish) && c.error(&r.Error) &&
		c.literal(`}`) && c.at == len(c.b)
}

func (c *cursor) literal(s string) bool {
	if len(c.b)-c.at < len(s) || string(c.b[c.at:c.at+len(s)]) != s {
		return false
	}
	c.at += len(s)
	return true
}

// digits reads up to limit digits, with no zero in front of another.
func (c *cursor) digits(limit int) (v int64, ok bool) {
	b, start := c.b, c.at
	i := start
	for i < len(b) && i-start < limit && b[i]-'0' <= 9 {
		v = v*10 + int64(b[i]-'0')
		i++
	}
	c.at = i
	return v, i > start && (i == start+1 || b[start] != '0')
}

func (c *cursor) natural(v *int) bool {
	n, ok := c.digits(18) // can't overflow
	*v = int(n)
	return ok
}

// optional reads key and a number, or sets v to what the key's absence means.
func (c *cursor) optional(key string, v *int, absent int) bool {
	if !c.literal(key) {
		*v = absent
		return true
	}
	return c.natural(v) && *v != absent
}

func (c *cursor) optionalSeconds(key string, v *time.Duration) bool {
	return !c.literal(key) || c.seconds(v) && *v != 0
}

func (c *cursor) seconds(v *time.Duration) bool {
	negative := c.literal("-")
	whole, ok := c.digits(9) // with nine more behind the point, can't overflow
	if !ok {
		return false
	}
	ns := whole * 1e9
	if c.at < len(c.b) && c.b[c.at] == '.' {
		frac, ok := c.fraction()
		if !ok {
			return false
		}
		ns += frac
	}
	if negative {
		ns = -ns
	}
	*v = time.Duration(ns)
	return !negative || ns != 0
}

// pow10 holds the powers of ten up to a second's nanoseconds.
var pow10 = [...]int64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

// fraction reads the point and up to nine digits, the last of them no zero, as
// nanoseconds.
func (c *cursor) fraction() (ns int64, ok bool) {
	b := c.b
	start := c.at + 1
	i := start
	for i < len(b) && i-start < 9 && b[i]-'0' <= 9 {
		ns = ns*10 + int64(b[i]-'0')
		i++
	}
	c.at = i
	return ns * pow10[9-(i-start)], i > start && b[i-1] != '0'
}

func (c *cursor) arrivals(v *[]time.Duration) bool {
	if !c.literal(`,"arrivals":[`) {
		return true
	}
	times := &c.d.times
	times.begin()
	at := time.Duration(0)
	for {
		var gap time.Duration
		if !c.seconds(&gap) {
			return false
		}
		at += gap
		times.add(at)
		if !c.literal(`,`) {
			*v = times.end()
			return c.literal(`]`)
		}
	}
}

func (c *cursor) chunkTokens(v *[]int) bool {
	if !c.literal(`,"chunk_tokens":[`) {
		return true
	}
	tokens := &c.d.tokens
	tokens.begin()
	for {
		var n int
		if !c.natural(&n) {
			return false
		}
		tokens.add(n)
		if !c.literal(`,`) {
			*v = tokens.end()
			return c.literal(`]`)
		}
	}
}

// text reads a string without escapes, after its opening quote.
func (c *cursor) text() (s []byte, ok bool) {
	ascii := true
	for i := c.at; i < len(c.b); i++ {
		switch b := c.b[i]; {
		case b == '"':
			s = c.b[c.at:i]
			c.at = i + 1
			return s, ascii || utf8.Valid(s)
		case b == '\\' || b < 0x20:
			return nil, false
		case b >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, false
}

func (c *cursor) phase(v *gate.Phase) bool {
	s, ok := c.text()
	switch gate.Phase(s) {
	case gate.Measure:
		*v = gate.Measure
	case gate.Warmup:
		*v = gate.Warmup
	case gate.Drain:
		*v = gate.Drain
	default:
		return false
	}
	return ok
}

func (c *cursor) outcome(v *gate.Outcome) bool {
	s, ok := c.text()
	for _, o := range gate.Outcomes {
		if string(s) == string(o) {
			*v = o
			return ok
		}
	}
	return false
}

func (c *cursor) finish(v *string) bool {
	if !c.literal(`,"finish":"`) {
		return true
	}
	s, ok := c.text()
	if !ok || len(s) == 0 {
		return false
	}
	name, seen := c.d.names[string(s)]
	if !seen {
		name = string(s)
		if len(c.d.names) < maxNames {
			c.d.names[name] = name
		}
	}
	*v = name
	return true
}

func (c *cursor) error(v *string) bool {
	if !c.literal(`,"error":"`) {
		return true
	}
	s, ok := c.text()
	*v = string(s)
	return ok && len(s) > 0
}
