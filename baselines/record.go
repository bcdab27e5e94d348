package baselines

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/servegate/servegate/gate"
)

// RecordSchema names the format of a record.
const RecordSchema = "servegate.baseline/v1"

// Record is one run as a store keeps it: all of run.json, histograms included, since
// they are all that is left of the distributions when the raw files have expired.
type Record struct {
	Schema string `json:"schema"`
	Recording
	Run gate.Run `json:"run"`
}

// Recording is what a record says beside its run.
type Recording struct {
	Recorded time.Time `json:"recorded"`
	Actor    string    `json:"actor"`        // who recorded it: a person or a job
	Class    string    `json:"runner_class"` // see [RunnerClass]
	// Commit is the commit under test, in full; Branch the branch that it was on. Empty
	// where there was no repository to ask.
	Commit string `json:"commit,omitempty"`
	Branch string `json:"branch,omitempty"`
	// Manifest is the digest of the run directory's manifest.json, "sha256:" and 64 hex
	// digits: what ties the record to its raw files.
	Manifest string `json:"manifest"`
	// Results is what was decided on the cells when the run was recorded, one each.
	Results []CellResult `json:"results"`
}

// CellResult is what was decided on one cell.
type CellResult struct {
	Cell   string      `json:"cell"` // its id
	Result gate.Result `json:"result"`
	// Implausible says that a row improved beyond belief: a sign of a broken measurement.
	Implausible bool `json:"implausible,omitempty"`
	// Withheld says that whoever recorded it promotes no cell with this result by itself.
	Withheld bool `json:"withheld,omitempty"`
}

// NewRecord makes the record of a complete run. The error says all that makes it unfit to
// be stored.
func NewRecord(run *gate.Run, about Recording) (*Record, error) {
	r := &Record{Schema: RecordSchema, Recording: about, Run: *run}
	r.Recorded = r.Recorded.UTC()
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("record run %.80q: %w", run.ID, err)
	}
	return r, nil
}

// Judged returns the results of the run's cells by a verdict. A cell of the run on which
// the verdict says nothing is invalid: it was not decided on. A cell with a result that is
// not in promote is withheld; nil: all are in it.
func Judged(run *gate.Run, v *gate.Verdict, promote []gate.Result) []CellResult {
	results := make([]CellResult, 0, len(run.Cells))
	for i := range run.Cells {
		result := CellResult{Cell: run.Cells[i].ID, Result: gate.Invalid}
		for j := range v.Cells {
			if c := &v.Cells[j]; c.ID == result.Cell {
				result.Result = c.Result
				result.Withheld = promote != nil && !slices.Contains(promote, c.Result)
				result.Implausible = slices.ContainsFunc(c.Rows, func(r gate.RowComparison) bool { return r.Implausible })
			}
		}
		results = append(results, result)
	}
	return results
}

// Unjudged returns the results of a run that was held against nothing: no_baseline for
// the cells that were measured, invalid for the others.
func Unjudged(run *gate.Run) []CellResult {
	results := make([]CellResult, 0, len(run.Cells))
	for i := range run.Cells {
		c := &run.Cells[i]
		result := CellResult{Cell: c.ID, Result: gate.NoBaseline}
		if c.Invalid != "" || len(validRepetitions(c)) == 0 {
			result.Result = gate.Invalid
		}
		results = append(results, result)
	}
	return results
}

// cell returns the cell of that id, or nil.
func (r *Record) cell(id string) *gate.CellRun {
	for i := range r.Run.Cells {
		if r.Run.Cells[i].ID == id {
			return &r.Run.Cells[i]
		}
	}
	return nil
}

// ref tells which run it is, for a verdict.
func (r *Record) ref() gate.RunRef {
	return gate.RunRef{ID: r.Run.ID, Started: r.Run.Started, Subject: r.Run.Subject, Class: r.Class}
}

// validRepetitions returns the repetitions of c that may be compared.
func validRepetitions(c *gate.CellRun) []gate.Repetition {
	var valid []gate.Repetition
	for i := range c.Repetitions {
		if c.Repetitions[i].Valid {
			valid = append(valid, c.Repetitions[i])
		}
	}
	return valid
}

var (
	commitText   = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)
	manifestText = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	nameText     = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$`)
)

// results are those that a cell may have.
var results = []gate.Result{
	gate.Regressed, gate.Passed, gate.Improved, gate.Inconclusive, gate.NotComparable, gate.NoBaseline, gate.Invalid,
}

func (r *Record) check() error {
	errs := []error{
		checkTime("recorded", r.Recorded),
		checkText("actor", r.Actor, true),
		checkText("runner_class", r.Class, true),
		checkText("branch", r.Branch, false),
	}
	if r.Schema != RecordSchema {
		errs = append(errs, fmt.Errorf("schema %.40q: expected %s", r.Schema, RecordSchema))
	}
	if r.Commit != "" && !commitText.MatchString(r.Commit) {
		errs = append(errs, fmt.Errorf("commit %.80q: expected the 40 or 64 hex digits of a whole commit id", r.Commit))
	}
	if !manifestText.MatchString(r.Manifest) {
		errs = append(errs, fmt.Errorf("manifest %.80q: expected sha256: and 64 hex digits", r.Manifest))
	}
	return errors.Join(append(errs, r.checkResults(), checkRun(&r.Run))...)
}

func (r *Record) checkResults() error {
	var errs []error
	seen := map[string]bool{}
	for _, c := range r.Results {
		switch {
		case r.cell(c.Cell) == nil:
			errs = append(errs, fmt.Errorf("result of cell %.80q: the run has no such cell", c.Cell))
		case seen[c.Cell]:
			errs = append(errs, fmt.Errorf("result of cell %.80q is there twice", c.Cell))
		case !slices.Contains(results, c.Result):
			errs = append(errs, fmt.Errorf("result of cell %.80q: unknown result %.40q", c.Cell, c.Result))
		}
		seen[c.Cell] = true
	}
	if len(seen) < len(r.Run.Cells) && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("%d of the %d cells have a result: expected one each", len(seen), len(r.Run.Cells)))
	}
	return errors.Join(errs...)
}

// checkTime refuses what can't stand in a name, or be written at all.
func checkTime(what string, t time.Time) error {
	if y := t.UTC().Year(); y < 2000 || y > 9999 {
		return fmt.Errorf("%s %s: expected a time after the year 2000", what, t.UTC().Format(time.RFC3339))
	}
	return nil
}

// maxText bounds a line that a person or a job wrote, in bytes.
const maxText = 1000

// checkText says whether text is one line of modest length.
func checkText(what, text string, needed bool) error {
	switch {
	case needed && strings.TrimSpace(text) == "":
		return fmt.Errorf("%s is empty: it is needed", what)
	case len(text) > maxText:
		return fmt.Errorf("%s %.40q...: longer than %d bytes", what, text, maxText)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return fmt.Errorf("%s %.80q: expected one line of UTF-8 text", what, text)
	}
	return nil
}
