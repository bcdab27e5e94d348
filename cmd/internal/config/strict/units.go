package strict

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The grammar of values with a unit. A number without one is refused: 500 may be
// milliseconds or seconds, 0.05 five percent or a slip.
var (
	durationText = regexp.MustCompile(`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h|d))+$`)
	durationPart = regexp.MustCompile(`([0-9.]+)(ns|us|µs|ms|s|m|h|d)`)
	rateText     = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)/(s|min|h)$`)
	sizeText     = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)(B|[KMGT]i?B)$`)
	ratioText    = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)%$`)
)

const day = 24 * time.Hour

// Duration is a time from low to high, such as 500ms, 2s, 1m30s or 30d.
func Duration(v *time.Duration, low, high time.Duration) Scalar {
	example := "500ms"
	if *v != 0 {
		example = formatDuration(*v)
	} else if low > 500*time.Millisecond {
		example = formatDuration(2 * low)
	}
	return Scalar{
		Expected: fmt.Sprintf("a duration with a unit, from %s to %s", formatDuration(low), formatDuration(high)), Example: example,
		Set: func(text string) *Problem {
			d, p := parseDuration(text)
			if p != nil {
				return p
			}
			if d < low || d > high {
				return &Problem{}
			}
			*v = d
			return nil
		},
		Text:  func() (string, bool) { return formatDuration(*v), *v != 0 || low == 0 },
		Rules: Schema{"type": "string", "pattern": durationText.String()},
	}
}

func parseDuration(text string) (time.Duration, *Problem) {
	if p := unitless(text, "ms", "s"); p != nil {
		return 0, p
	}
	if !durationText.MatchString(text) {
		return 0, &Problem{What: "the text " + quote(text), Hint: "units: ns, us, ms, s, m (minutes), h, d; for example 500ms, 2s or 1m30s"}
	}
	var sum float64
	var exact time.Duration
	for _, part := range durationPart.FindAllStringSubmatch(text, -1) {
		number, unit := part[1], part[2]
		scale := time.Duration(1)
		if unit == "d" {
			unit, scale = "h", 24
		}
		d, err := time.ParseDuration(number + unit)
		sum += float64(d) * float64(scale)
		if err != nil || sum > math.MaxInt64/2 {
			return 0, &Problem{What: "a duration of centuries"}
		}
		exact += d * scale
	}
	return exact, nil
}

// formatDuration writes d in whole units: days to seconds together, else one unit.
func formatDuration(d time.Duration) string {
	switch {
	case d%time.Microsecond != 0:
		return fmt.Sprintf("%dns", d)
	case d%time.Millisecond != 0:
		return fmt.Sprintf("%dus", d/time.Microsecond)
	case d%time.Second != 0:
		return fmt.Sprintf("%dms", d/time.Millisecond)
	case d == 0:
		return "0s"
	}
	var b strings.Builder
	for _, u := range []struct {
		size time.Duration
		name string
	}{{day, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if n := d / u.size; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.name)
			d -= n * u.size
		}
	}
	return b.String()
}

var perSecond = []struct {
	unit    string
	seconds float64
}{{"s", 1}, {"min", 60}, {"h", 3600}}

// Rate is a number of requests a second from low to high, such as 6/s or 30/min.
func Rate(v *float64, low, high float64) Scalar {
	return Scalar{
		Expected: fmt.Sprintf("a rate with a unit, from %s to %s", formatRate(low), formatRate(high)), Example: "6/s",
		Set: func(text string) *Problem {
			if p := unitless(text, "/s", "/min"); p != nil {
				return p
			}
			rate, ok := parseRate(text)
			if !ok {
				return &Problem{Hint: "requests a second, a minute or an hour: 6/s, 30/min or 100/h"}
			}
			if rate < low || rate > high {
				return &Problem{}
			}
			*v = rate
			return nil
		},
		Text:  func() (string, bool) { return formatRate(*v), *v != 0 },
		Rules: Schema{"type": "string", "pattern": rateText.String()},
	}
}

func parseRate(text string) (float64, bool) {
	m := rateText.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	f, err := strconv.ParseFloat(m[1], 64)
	for _, u := range perSecond {
		if u.unit == m[2] {
			f /= u.seconds
		}
	}
	return f, err == nil
}

// formatRate chooses the unit in which the rate is shortest: 7/min isn't written as
// 0.11666666666666667/s.
func formatRate(rate float64) string {
	best := ""
	for _, u := range perSecond {
		text := strconv.FormatFloat(rate*u.seconds, 'f', -1, 64) + "/" + u.unit
		if back, ok := parseRate(text); ok && back == rate && (best == "" || len(text) < len(best)-len(u.unit)) {
			best = text
		}
	}
	return best
}

var sizeUnits = []struct {
	unit  string
	bytes float64
}{
	{"TiB", 1 << 40},
	{"GiB", 1 << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
	{"TB", 1e12},
	{"GB", 1e9},
	{"MB", 1e6},
	{"KB", 1e3},
	{"B", 1},
}

// Size is a number of bytes, such as 8GiB or 80GB.
func Size(v *int64) Scalar {
	return Scalar{
		Expected: "a size with a unit, up to 1024TiB", Example: "8GiB",
		Set: func(text string) *Problem {
			if p := unitless(text, "GiB", "GB"); p != nil {
				return p
			}
			n, ok := parseSize(text)
			if !ok {
				return &Problem{Hint: "units: B, KiB, MiB, GiB, TiB (powers of 1024), KB, MB, GB, TB (powers of 1000)"}
			}
			*v = n
			return nil
		},
		Text:  func() (string, bool) { return formatSize(*v), *v != 0 },
		Rules: Schema{"type": "string", "pattern": sizeText.String()},
	}
}

func parseSize(text string) (int64, bool) {
	m := sizeText.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	f, err := strconv.ParseFloat(m[1], 64)
	for _, u := range sizeUnits {
		if u.unit == m[2] {
			f *= u.bytes
		}
	}
	f = math.Round(f)
	return int64(f), err == nil && f >= 1 && f <= 1<<50
}

// formatSize chooses the unit in which n is a whole number and shortest.
func formatSize(n int64) string {
	best := ""
	for _, u := range sizeUnits {
		size := int64(u.bytes)
		text := strconv.FormatInt(n/size, 10) + u.unit
		if n%size == 0 && (best == "" || len(strings.TrimSuffix(text, u.unit)) < len(strings.TrimRight(best, "BKMGTi"))) {
			best = text
		}
	}
	return best
}

// Ratio is a share from low to high percent, such as 5%; the variable holds 0.05.
func Ratio(v *float64, low, high float64) Scalar {
	return Scalar{
		Expected: fmt.Sprintf("a ratio in percent, from %s to %s", formatRatio(low), formatRatio(high)), Example: "5%",
		Set: func(text string) *Problem {
			if p := unitless(text, "%", "%"); p != nil {
				if p.Hint = "write it in percent: 5%"; text == "0" {
					p.Hint = "write it in percent: 0%"
				}
				return p
			}
			m := ratioText.FindStringSubmatch(text)
			if m == nil {
				return &Problem{}
			}
			// Dividing by 100 would round twice, and 7% would not be 0.07.
			f, err := strconv.ParseFloat(m[1]+"e-2", 64)
			if err != nil || f < low || f > high {
				return &Problem{}
			}
			*v = f
			return nil
		},
		Text:  func() (string, bool) { return formatRatio(*v), true },
		Rules: Schema{"type": "string", "pattern": ratioText.String()},
	}
}

// formatRatio moves the decimal point in the text, so that it reads back exactly.
func formatRatio(f float64) string {
	whole, part, _ := strings.Cut(strconv.FormatFloat(f, 'f', -1, 64), ".")
	part += strings.Repeat("0", max(0, 2-len(part)))
	text := strings.TrimLeft(whole+part[:2], "0")
	if text == "" {
		text = "0"
	}
	if rest := part[2:]; rest != "" {
		text += "." + rest
	}
	return text + "%"
}

var number = regexp.MustCompile(`^[0-9]*\.?[0-9]+$`)

// unitless reports a number that lacks its unit, or is below zero.
func unitless(text string, units ...string) *Problem {
	switch {
	case strings.HasPrefix(text, "-"):
		return &Problem{What: "the negative value " + quote(text), Hint: "write it without the minus"}
	case !number.MatchString(text):
		return nil
	case text == "0":
		return &Problem{What: "the number 0"}
	}
	return &Problem{
		What: "the number " + cut(text) + " without a unit",
		Hint: "write " + cut(text) + units[0] + " or " + cut(text) + units[1],
	}
}
