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
func value(v float64, u gate.Unit) string {
	switch u {
	case gate.Seconds:
		return seconds(v)
	case gate.Ratio:
		return significant(v*100, 3) + " %"
	default:
		return significant(v, 4) + " " + string(u)
	}
}

// seconds prints a time in us, ms or s.
func seconds(v float64) string {
	switch a := math.Abs(v); {
	case a == 0:
		return "0 ms"
	case a < 0.001:
		return significant(v*1e6, 3) + " us"
	case a < 10:
		return significant(v*1e3, 3) + " ms"
	default:
		return significant(v, 4) + " s"
	}
}

// significant prints v with n significant digits and without an exponent; digits
// before the point are never rounded away.
func significant(v float64, n int) string {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	whole := int(math.Floor(math.Log10(math.Abs(v)))) + 1
	return strconv.FormatFloat(v, 'f', max(0, n-whole), 64)
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
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
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
