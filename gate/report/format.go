package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/servegate/servegate/gate"
)

// withheld stands where a statistic has too few samples to be given.
const withheld = "-"

// value prints v, stored in unit u, in the scale that suits it: times and ratios with
// three significant digits, rates with four.
func value(v float64, u gate.Unit) string { return scaleOf(v, u).with(v) }

// scale is how values of a unit are printed.
type scale struct {
	factor float64
	unit   string
	digits int
}

// scaleOf is the scale that suits v.
func scaleOf(v float64, u gate.Unit) scale {
	switch a := math.Abs(v); {
	case u == gate.Ratio:
		return scale{100, "%", 3}
	case u != gate.Seconds:
		return scale{1, string(u), 4}
	case a != 0 && a < 0.001:
		return scale{1e6, "us", 3}
	case a < 10:
		return scale{1e3, "ms", 3}
	default:
		return scale{1, "s", 4}
	}
}

// number prints v in s without its unit.
func (s scale) number(v float64) string { return significant(v*s.factor, s.digits) }

// with prints v in s.
func (s scale) with(v float64) string { return s.number(v) + " " + s.unit }

// significant prints v with n significant digits; digits before the point are never
// rounded away. An exponent stands only where there would be a dozen zeros.
func significant(v float64, n int) string {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	if a := math.Abs(v); a >= 1e12 || a < 1e-9 {
		return strconv.FormatFloat(v, 'e', n-1, 64)
	}
	whole := int(math.Floor(math.Log10(math.Abs(v)))) + 1
	return strconv.FormatFloat(v, 'f', max(0, n-whole), 64)
}

// change prints a ratio as a signed percentage, to a tenth below 100 %.
func change(v float64) string {
	p := v * 100
	switch a := math.Abs(p); {
	case a < .05:
		return "0.0 %"
	case a < 99.95:
		return fmt.Sprintf("%+.1f %%", p)
	case a < 1e12:
		return fmt.Sprintf("%+.0f %%", p)
	default:
		return fmt.Sprintf("%+.2e %%", p)
	}
}

// percent prints a ratio that someone chose, without needless zeros.
func percent(v float64) string {
	return strconv.FormatFloat(v*100, 'g', 3, 64) + " %"
}

// chosen prints a value that someone chose, without needless zeros.
func chosen(v float64, u gate.Unit) string {
	s := scaleOf(v, u)
	return strconv.FormatFloat(v*s.factor, 'g', 3, 64) + " " + s.unit
}

// plain makes a string from outside safe for a terminal: one line, no control or
// format characters, at most limit runes.
func plain(s string, limit int) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n == limit {
			b.WriteString("...")
			break
		}
		if r >= ' ' && r < 0x7f {
			b.WriteRune(r)
			n++
			continue
		}
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || r == unicode.ReplacementChar {
			r = ' '
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

// plural prints a count with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
