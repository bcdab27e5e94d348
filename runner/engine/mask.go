package engine

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// masked stands where a secret stood.
const masked = "***"

const (
	// minEncoded is the length from which an encoded secret is looked for, and minLine
	// that of one line out of a secret of several. Shorter ones would hit text that has
	// nothing to do with the secret, such as the braces of a key file in JSON.
	minEncoded = 8
	minLine    = 4
)

// Mask replaces secrets in text by ***: the values themselves, the lines of a value
// that has several, and what they become in a URL, in JSON and in base64, there also
// in the middle of something longer. A nil *Mask masks nothing.
//
// A secret is replaced however short it is; empty ones are ignored.
type Mask struct {
	patterns [][]byte
	longest  int // length of the longest pattern in bytes
}

// NewMask returns a mask for the values.
func NewMask(secrets ...string) *Mask {
	seen := map[string]bool{}
	for _, s := range secrets {
		if s == "" {
			continue
		}
		seen[s] = true
		for _, enc := range encodings(s) {
			if len(enc) >= minEncoded {
				seen[enc] = true
			}
		}
		for _, line := range strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }) {
			if len(line) >= minLine {
				seen[line] = true
			}
		}
	}
	m := &Mask{}
	for s := range seen {
		m.patterns = append(m.patterns, []byte(s))
		m.longest = max(m.longest, len(s))
	}
	slices.SortFunc(m.patterns, bytes.Compare)
	return m
}

// encodings returns what s becomes on its way into a URL, a JSON string or base64.
func encodings(s string) []string {
	quoted, _ := json.Marshal(s) // a string can always be marshaled
	out := []string{
		url.QueryEscape(s), url.PathEscape(s),
		string(quoted[1 : len(quoted)-1]),
	}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			out = append(out, base64Core(enc, s, before))
		}
	}
	return out
}

// base64Core returns the characters that s becomes in the base64 of a longer text with
// `before` bytes (mod 3) in front of it. The first and last character may hold bits of
// the neighbours too; they are left out. So "user:key" of a basic authorization header
// is found by its key alone.
func base64Core(enc *base64.Encoding, s string, before int) string {
	text := enc.EncodeToString(append(make([]byte, before), s...))
	text = text[(before*8+5)/6:]
	if (before+len(s))*8%6 != 0 {
		text = text[:len(text)-1]
	}
	return text
}

// String returns s with its secrets replaced.
func (m *Mask) String(s string) string {
	if m == nil {
		return s
	}
	return string(m.append(nil, []byte(s), len(s)))
}

// append appends src[:limit] to dst with its secrets replaced. A secret that begins
// before limit and ends behind it is replaced as a whole.
func (m *Mask) append(dst, src []byte, limit int) []byte {
	at := 0
	for _, s := range m.find(src) {
		if s.from >= limit {
			break
		}
		dst = append(dst, src[at:s.from]...)
		dst = append(dst, masked...)
		at = s.to
	}
	if at < limit {
		dst = append(dst, src[at:limit]...)
	}
	return dst
}

// span is a stretch of bytes: from <= i < to.
type span struct{ from, to int }

// find returns where secrets stand in src, in order. Matches that overlap become one
// span: replacing one secret must not leave half of another behind.
func (m *Mask) find(src []byte) []span {
	if m == nil {
		return nil
	}
	var found []span
	for _, p := range m.patterns {
		for from := 0; ; {
			i := bytes.Index(src[from:], p)
			if i < 0 {
				break
			}
			found = append(found, span{from + i, from + i + len(p)})
			from += i + 1
		}
	}
	slices.SortFunc(found, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	joined := found[:0]
	for _, s := range found {
		if n := len(joined); n > 0 && s.from < joined[n-1].to {
			joined[n-1].to = max(joined[n-1].to, s.to)
			continue
		}
		joined = append(joined, s)
	}
	return joined
}
