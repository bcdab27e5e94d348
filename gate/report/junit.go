package report

import (
	"encoding/xml"
	"fmt"
	"slices"
	"time"

	"github.com/servegate/servegate/gate"
)

type junitSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	Name    string   `xml:"name,attr"`
	junitCounts
	Suites []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name      string `xml:"name,attr"`
	Timestamp string `xml:"timestamp,attr,omitempty"`
	junitCounts
	Cases []junitCase `xml:"testcase"`
}

type junitCounts struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
}

func (n *junitCounts) add(other junitCounts) {
	n.Tests += other.Tests
	n.Failures += other.Failures
	n.Errors += other.Errors
	n.Skipped += other.Skipped
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Failure *junitMessage `xml:"failure"`
	Error   *junitMessage `xml:"error"`
	Skipped *junitMessage `xml:"skipped"`
	Output  string        `xml:"system-out,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
}

// JUnit returns v as JUnit XML: a test suite a cell, a test case a gating row, or one for
// the cell where it has none. Regressed is a failure, invalid an error; what proves
// nothing is skipped, or an error where the policy fails on it, so that a dashboard is
// never greener than the exit code.
func JUnit(v *gate.Verdict) ([]byte, error) {
	out := junitSuites{Name: "servegate"}
	for i := range v.Cells {
		s := suite(v, &v.Cells[i])
		out.add(s.junitCounts)
		out.Suites = append(out.Suites, s)
	}
	if len(v.Cells) == 0 {
		s := junitSuite{Name: "run"}
		s.judge(v, junitCase{Name: "run", Class: "servegate"}, v.Result, "the run has no cell", "")
		out.add(s.junitCounts)
		out.Suites = append(out.Suites, s)
	}
	data, err := xml.MarshalIndent(out, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode verdict as JUnit: %w", err)
	}
	return append([]byte(xml.Header), append(data, '\n')...), nil
}

func suite(v *gate.Verdict, c *gate.CellComparison) junitSuite {
	s := junitSuite{Name: plain(c.ID, literalLimit)}
	if !v.At.IsZero() {
		s.Timestamp = v.At.UTC().Format(time.DateOnly + "T" + time.TimeOnly)
	}
	worst := false // a row has the cell's own result
	for _, r := range gatingRows(&gate.Verdict{Cells: []gate.CellComparison{*c}, Policy: v.Policy}) {
		worst = worst || r.result == c.Result
		message := spoken(r.result)
		for _, s := range r.remark() {
			message += ": " + s.text
		}
		numbers := fmt.Sprintf("%s -> %s, change %s (%s), tolerance %s, must catch %s, n %s, smallest detectable %s",
			r.base, r.head, r.change, r.interval, r.tolerance, r.mustCatch, r.n, r.smallest)
		s.judge(v, junitCase{Name: plain(r.metric, literalLimit), Class: "servegate." + s.Name}, r.result, message+": "+numbers, numbers)
	}
	if !worst {
		message := spoken(c.Result)
		if c.Reason != "" {
			message += ": " + c.Reason
		}
		for _, reason := range c.Invalid {
			message += "; " + reason
		}
		for _, d := range c.Differs {
			message += fmt.Sprintf("; %s: %s instead of %s", d.Path, d.B, d.A)
		}
		s.judge(v, junitCase{Name: "cell", Class: "servegate." + s.Name}, c.Result, message, "")
	}
	return s
}

// judge adds a case with its outcome.
func (s *junitSuite) judge(v *gate.Verdict, c junitCase, result gate.Result, message, output string) {
	m := &junitMessage{Message: plain(message, 2*lineLimit), Type: plain(string(result), literalLimit)}
	n := junitCounts{Tests: 1}
	switch result {
	case gate.Passed, gate.Improved:
		c.Output = plain(output, 2*lineLimit)
	case gate.Regressed:
		c.Failure, n.Failures = m, 1
	case gate.Inconclusive, gate.NoBaseline, gate.NotComparable:
		if !slices.Contains(v.Policy.FailOn, result) {
			m.Type = ""
			c.Skipped, n.Skipped = m, 1
			break
		}
		c.Error, n.Errors = m, 1
	default:
		c.Error, n.Errors = m, 1
	}
	s.add(n)
	s.Cases = append(s.Cases, c)
}
