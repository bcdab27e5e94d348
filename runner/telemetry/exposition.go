package telemetry

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"mime"
	"strconv"
	"strings"
)

const (
	// maxBody bounds an answer. vLLM's is some 60 kB for each data-parallel rank.
	maxBody = 16 << 20
	// maxLine bounds a line of it: vllm:cache_config_info alone has 2 kB of labels.
	maxLine = 1 << 20
)

// Parse reads an answer in the Prometheus text format or in OpenMetrics, as its
// Content-Type says. Any other type is an error, and so is a body of more than 16 MiB.
//
// Only what both formats share is read: a series and its value. Names are kept as they
// stand on their lines (x_total, x_sum, x_count, x_bucket), whatever a TYPE line says:
// OpenMetrics drops _total there, and vLLM's Rust front end answers OpenMetrics to a
// client that asked for text. Prometheus's own parser for the text format takes such
// counters for untyped and stops at the exemplars and the info type of OpenMetrics.
func Parse(contentType string, body io.Reader) (Snapshot, error) {
	if err := checkType(contentType); err != nil {
		return Snapshot{}, err
	}
	limited := &io.LimitedReader{R: body, N: maxBody + 1}
	lines := bufio.NewScanner(limited)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	s := Snapshot{families: map[string][]sample{}, gauges: map[string]bool{}}
	number := 0
	for lines.Scan() {
		number++
		err := s.addLine(strings.Trim(lines.Text(), " \t\r"))
		if limited.N <= 0 { // the line is cut off as well
			return Snapshot{}, errors.New("read metrics: the answer is larger than 16 MiB")
		}
		if err != nil {
			return Snapshot{}, fmt.Errorf("parse metrics: line %d: %w", number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return Snapshot{}, fmt.Errorf("read metrics: line %d: %w", number+1, err)
	}
	s.start = s.processStart()
	return s, nil
}

func checkType(contentType string) error {
	mediaType, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return fmt.Errorf("read metrics: content type %q: %w", contentType, err)
	}
	switch mediaType {
	case "text/plain", "application/openmetrics-text":
		return nil
	}
	return fmt.Errorf("read metrics: content type is %s, expected text/plain or application/openmetrics-text", mediaType)
}

func (s *Snapshot) addLine(line string) error {
	if line == "" {
		return nil
	}
	if line[0] == '#' {
		if fields := strings.Fields(line); len(fields) == 4 && fields[1] == "TYPE" && fields[3] == "gauge" {
			s.gauges[fields[2]] = true
		}
		return nil
	}
	name, one, err := parseSeries(line)
	if err != nil {
		return err
	}
	s.families[name] = append(s.families[name], one)
	return nil
}

// parseSeries reads name{label="value",...} value. What may follow is of no use here: a
// timestamp, in milliseconds or in seconds depending on the format, and an exemplar.
func parseSeries(line string) (name string, one sample, err error) {
	end := strings.IndexAny(line, "{ \t")
	if end < 0 {
		return "", sample{}, fmt.Errorf("no value: %q", cut(line))
	}
	name, rest := line[:end], trimBlanks(line[end:])
	if !isName(name) {
		return "", sample{}, fmt.Errorf("not a metric name: %q", cut(name))
	}
	if strings.HasPrefix(rest, "{") {
		if one.labels, rest, err = parseLabels(rest[1:]); err != nil {
			return "", sample{}, fmt.Errorf("%s: %w", name, err)
		}
		rest = trimBlanks(rest)
	}
	value, _, _ := strings.Cut(strings.ReplaceAll(rest, "\t", " "), " ")
	if one.value, err = strconv.ParseFloat(value, 64); err != nil || strings.ContainsAny(value, "_xX") {
		return "", sample{}, fmt.Errorf("%s: not a number: %q", name, cut(value))
	}
	return name, one, nil
}

// parseLabels reads label="value",...} and returns what follows the brace.
func parseLabels(s string) ([]label, string, error) {
	var labels []label
	for {
		s = trimBlanks(s)
		if rest, closed := strings.CutPrefix(s, "}"); closed {
			return labels, rest, nil
		}
		name, rest, ok := strings.Cut(s, "=")
		name = strings.TrimRight(name, " \t")
		if !ok || !isName(name) {
			return nil, "", fmt.Errorf("not a label name: %q", cut(name))
		}
		value, rest, err := parseQuoted(trimBlanks(rest))
		if err != nil {
			return nil, "", fmt.Errorf("label %s: %w", name, err)
		}
		labels = append(labels, label{name, value})
		s = trimBlanks(rest)
		if next, more := strings.CutPrefix(s, ","); more {
			s = next
		} else if !strings.HasPrefix(s, "}") {
			return nil, "", fmt.Errorf("label %s: followed by %q, expected a comma or a brace", name, cut(s))
		}
	}
}

// parseQuoted reads a label value, in which a backslash escapes itself, the quote and n
// for a line feed, and stands for itself before anything else.
func parseQuoted(s string) (value, rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		return "", "", fmt.Errorf("value is not quoted: %q", cut(s))
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), s[i+1:], nil
		case c == '\\' && i+1 < len(s) && strings.IndexByte(`\"n`, s[i+1]) >= 0:
			i++
			if c = s[i]; c == 'n' {
				c = '\n'
			}
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return "", "", fmt.Errorf("value does not end: %q", cut(s))
}

// isName reports whether s is a metric or label name of the classic alphabet; UTF-8
// names are sent to clients that ask for them only.
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || c == ':' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

func trimBlanks(s string) string { return strings.TrimLeft(s, " \t") }

// cut keeps an error to one short line, whatever the engine sent.
func cut(s string) string {
	if len(s) > 60 {
		return s[:60] + "..."
	}
	return s
}
