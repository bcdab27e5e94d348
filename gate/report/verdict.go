package report

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/servegate/servegate/gate"
)

// DefaultSize is the number of bytes that a report as Markdown may take, so that it fits
// into a comment (GitHub refuses one of over 65,536 characters) with room for a marker.
const DefaultSize = 60_000

// Options says how a verdict is laid out as Markdown.
type Options struct {
	// Size is the most bytes that the report may take: 0 is [DefaultSize], a negative
	// one no limit. Below some 10,000 bytes it may not be kept.
	Size int
}

// TextOptions says how a verdict is laid out for a terminal.
type TextOptions struct {
	Color bool // tell verdicts by colour too
	Width int  // columns of the terminal; 0 breaks no line
}

// Markdown lays v out as it stands in a pull request. Where it is longer than o.Size,
// advisory rows are left out first, then all but a few passed ones, then the config;
// what fails is left out last, and what is left out is said.
func Markdown(v *gate.Verdict, o Options) []byte {
	size := o.Size
	if size == 0 {
		size = DefaultSize
	}
	var page string
	for _, l := range economies {
		if page = layOut(v, l); size < 0 || len(page) <= size {
			break
		}
	}
	return []byte(page)
}

func layOut(v *gate.Verdict, l limits) string {
	p := &page{limit: lineLimit}
	if l.runes > 0 {
		p.limit = l.runes
	}
	p.document(compose(v, l))
	return p.String()
}

// Text lays v out for a terminal, in full but for the head's config.
func Text(v *gate.Verdict, o TextOptions) []byte {
	t := &terminal{color: o.Color, width: o.Width}
	t.document(compose(v, unlimited))
	return []byte(t.String())
}

// JSON returns v as verdict.json, indented. It fails where v holds what JSON has no word
// for: a number that isn't finite, outcomes that don't add up.
func JSON(v *gate.Verdict) ([]byte, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode verdict: %w", err)
	}
	return append(data, '\n'), nil
}

// limits says what of a verdict is shown.
type limits struct {
	advisory bool
	config   bool
	passed   int // rows that passed or improved
	items    int // of each other list: changes, fields, reasons, notes, cells
	failing  int // all other gating rows
	runes    int // of a string from outside; 0: as many as ever
}

var unlimited = limits{advisory: true, config: true, passed: math.MaxInt, items: math.MaxInt, failing: math.MaxInt}

// economies are the ways to make a report shorter, one after another.
var economies = []limits{
	unlimited,
	{config: true, passed: math.MaxInt, items: math.MaxInt, failing: math.MaxInt},
	{config: true, passed: 20, items: math.MaxInt, failing: math.MaxInt},
	{passed: 20, items: math.MaxInt, failing: math.MaxInt},
	{items: math.MaxInt, failing: math.MaxInt},
	{items: 50, failing: math.MaxInt},
	{items: 10, failing: math.MaxInt, runes: 100},
	{items: 3, failing: math.MaxInt, runes: 50},
	{items: 3, failing: 200, runes: 30},
	{items: 3, failing: 100, runes: 30},
	{items: 3, failing: 50, runes: 30},
	{items: 2, failing: 10, runes: 20},
	{items: 1, failing: 3, runes: 10},
}
