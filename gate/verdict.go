package gate

import (
	"bytes"
	_ "embed" // for the schema
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// VerdictSchema names the format of verdict.json that this package writes and reads.
const VerdictSchema = "servegate.verdict/v1"

// Result is the outcome of a row, a cell or a run.
type Result string

// The results. A row that doesn't gate has none. A cell that was planned and not measured
// is Invalid, with the reason [Absent].
const (
	Regressed     Result = "regressed"
	Passed        Result = "passed"
	Improved      Result = "improved"
	Inconclusive  Result = "inconclusive"
	NotComparable Result = "not_comparable"
	NoBaseline    Result = "no_baseline"
	Invalid       Result = "invalid"
)

// Results lists every result, the one that decides over a run before those that it
// outweighs.
var Results = []Result{Regressed, Invalid, NotComparable, NoBaseline, Inconclusive, Improved, Passed}

// Absent is the reason of a cell that was planned and that the run lacks.
const Absent = "absent"

// Verdict is what a comparison came to: verdict.json. It holds everything that a
// report shows, and what is needed to compute it again.
type Verdict struct {
	Schema string    `json:"schema"`
	Tool   Tool      `json:"tool"`
	At     time.Time `json:"at"`
	Result Result    `json:"result"`
	// Failed says that the policy fails the gate, see [Verdict.Failing].
	Failed bool   `json:"failed"`
	Policy Policy `json:"policy"`
	// Head is the run under test; Base tells of the runs it was held against.
	Head RunRef   `json:"head"`
	Base []RunRef `json:"base"`
	// Subject and Context list what differs between base and head.
	Subject []Change         `json:"subject,omitempty"`
	Context []Change         `json:"context,omitempty"`
	Cells   []CellComparison `json:"cells"`
	// ComparedAcross holds the expected changes that were met.
	ComparedAcross []Difference `json:"compared_across,omitempty"`
	Warnings       []string     `json:"warnings,omitempty"`
	Config         string       `json:"config,omitempty"` // the head's resolved config, as YAML
	Reproduce      []string     `json:"reproduce,omitempty"`
	Artifacts      string       `json:"artifacts,omitempty"` // where the head's run directory is
}

// RunRef tells which run it is.
type RunRef struct {
	ID      string    `json:"id"`
	Started time.Time `json:"started"`
	Subject Subject   `json:"subject"`
	Class   string    `json:"runner_class,omitempty"`
}

// Change is one thing that differs between base and head.
type Change struct {
	Path     string `json:"path"`
	Base     string `json:"base"`
	Head     string `json:"head"`
	Expected bool   `json:"expected,omitempty"`
}

// CellComparison is one cell of a verdict.
type CellComparison struct {
	Cell
	Result Result `json:"result"`
	// Reason says why, where the rows don't.
	Reason string `json:"reason,omitempty"`
	// Reading is where a regression lies: [ReadingPrefill], [ReadingDecode],
	// [ReadingQueueing], or empty where the rows don't tell.
	Reading  string           `json:"reading,omitempty"`
	Envelope Envelope         `json:"envelope"`
	Differs  []Difference     `json:"differs,omitempty"` // not comparable: from the base that differs least
	Rows     []RowComparison  `json:"rows,omitempty"`
	Errors   *ErrorComparison `json:"errors,omitempty"`
	// Base and Head count the repetitions that were compared, and their boots.
	Base SideCount `json:"base"`
	Head SideCount `json:"head"`
	// Outcomes counts the head's requests, of valid and invalid repetitions.
	Outcomes Counts   `json:"outcomes"`
	Invalid  []string `json:"invalid,omitempty"` // why repetitions of the head are invalid
	Notes    []string `json:"notes,omitempty"`
}

// SideCount counts what a side brought.
type SideCount struct {
	Repetitions int `json:"repetitions"`
	Boots       int `json:"boots"`
	Samples     int `json:"samples,omitempty"` // requests of the windows
}

// RowComparison is one row of a cell.
type RowComparison struct {
	Row
	Gating bool   `json:"gating"`
	Result Result `json:"result,omitempty"` // of a gating row
	Why    string `json:"why,omitempty"`    // why it doesn't gate though it should, or can't be told
	// Base and Head are geometric means over the repetitions, in the metric's unit.
	Base *float64 `json:"base"`
	Head *float64 `json:"head"`
	// Change is head / base - 1; Low and High bound it at the policy's level, one-sided
	// each.
	Change *float64 `json:"change"`
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
	// D is the regression in logs, positive is worse; SE its standard error and DF the
	// degrees of freedom that the t quantiles have; Welch says that the sides' variances
	// weren't pooled.
	D     *float64 `json:"d"`
	SE    *float64 `json:"se"`
	DF    *float64 `json:"df"`
	Welch bool     `json:"welch,omitempty"`
	// P is that of "no regression at all", PHolm the same adjusted over the run.
	P     *float64 `json:"p"`
	PHolm *float64 `json:"p_holm"`
	// BaseN and HeadN are the repetitions that the row has a value of.
	BaseN     int     `json:"base_n"`
	HeadN     int     `json:"head_n"`
	Tolerance float64 `json:"tolerance,omitempty"`
	MustCatch float64 `json:"must_catch,omitempty"`
	Floor     float64 `json:"floor,omitempty"`
	// Detectable is the smallest regression that would have been found in four of five
	// cases, as a ratio (of a drop where higher is better).
	Detectable  *float64 `json:"detectable"`
	Implausible bool     `json:"implausible,omitempty"` // improved by over 30 %
	// BaseValues and HeadValues are the repetitions' values.
	BaseValues []float64 `json:"base_values"`
	HeadValues []float64 `json:"head_values"`
}

// ErrorComparison holds the error rates of both sides against each other.
type ErrorComparison struct {
	Base       float64 `json:"base"` // mean over repetitions
	Head       float64 `json:"head"`
	BaseFailed int     `json:"base_failed"`
	BaseIssued int     `json:"base_issued"`
	HeadFailed int     `json:"head_failed"`
	HeadIssued int     `json:"head_issued"`
	P          float64 `json:"p"` // Fisher's exact test, one-sided
	Result     Result  `json:"result"`
}

// Base is what a cell of the head is held against: the repetitions of the runs that
// match, or why there are none.
type Base struct {
	// Repetitions are valid ones; Boots is the number of boots behind them.
	Repetitions []Repetition
	Boots       int
	Runs        []RunRef
	Context     []Context
	// Missing is NoBaseline or NotComparable where there is nothing to compare with,
	// and Differs then says in what the base that differs least differs.
	Missing Result
	Reason  string
	Differs []Difference
	// Across holds the expected changes between base and head that were met.
	Across []Difference
	Notes  []string
}

//go:embed verdict.schema.json
var verdictSchema []byte

// VerdictJSONSchema returns the JSON Schema (draft 2020-12) of verdict.json.
func VerdictJSONSchema() []byte { return slices.Clone(verdictSchema) }

// ReadVerdict reads a verdict.json. It refuses other schemas, unknown keys and keys given
// twice, text after the verdict, and what contradicts itself: a result that is better than
// that of a cell, or that fails and shouldn't.
func ReadVerdict(data []byte) (*Verdict, error) {
	v, err := readVerdict(data)
	if err != nil {
		return nil, fmt.Errorf("read verdict: %w", err)
	}
	return v, nil
}

func readVerdict(data []byte) (*Verdict, error) {
	var head struct{ Schema string }
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, err
	}
	if head.Schema != VerdictSchema {
		return nil, fmt.Errorf("its schema is %.80q, and this servegate reads %s only", head.Schema, VerdictSchema)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := checkKeys(dec, 0); err != nil {
		return nil, err
	}
	var v Verdict
	dec = json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("unexpected text after the verdict")
	}
	return &v, v.check()
}

// checkKeys reads one JSON value and refuses keys that are given twice, also in another
// case: encoding/json takes them for one another and keeps the last.
func checkKeys(dec *json.Decoder, depth int) error {
	token, err := dec.Token()
	opening, nested := token.(json.Delim)
	switch {
	case err != nil:
		return err
	case !nested:
		return nil
	case depth > 32:
		return errors.New("it is nested more than 32 deep")
	}
	seen := map[string]bool{}
	for dec.More() {
		if opening == '{' {
			token, err := dec.Token()
			if err != nil {
				return err
			}
			key, _ := token.(string)
			if key = strings.ToLower(key); seen[key] {
				return fmt.Errorf("key %.80q is given twice", key)
			}
			seen[key] = true
		}
		if err := checkKeys(dec, depth+1); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err
}

// check says what in v contradicts itself, or is nothing that this package writes.
func (v *Verdict) check() error {
	if !slices.Contains(Results, v.Result) {
		return fmt.Errorf("unknown result %.40q", v.Result)
	}
	for i := range v.Cells {
		if err := v.Cells[i].check(); err != nil {
			return fmt.Errorf("cell %.80q: %w", v.Cells[i].ID, err)
		}
	}
	if worst := resultOf(v.Cells); slices.Index(Results, v.Result) > slices.Index(Results, worst) {
		return fmt.Errorf("its result is %s, and that of its cells is %s: was it edited?", v.Result, worst)
	}
	if want := v.Failing() != ""; v.Failed != want {
		return fmt.Errorf("failed is %t, and by its policy its results make it %t: was it edited?", v.Failed, want)
	}
	return v.recompute()
}

func (c *CellComparison) check() error {
	if !slices.Contains(Results, c.Result) {
		return fmt.Errorf("unknown result %.40q", c.Result)
	}
	regressed := c.Errors != nil && c.Errors.Result == Regressed
	for i := range c.Rows {
		rc := &c.Rows[i]
		switch {
		case !rc.known():
			return fmt.Errorf("unknown row %.80q", rc.Row)
		case rc.Result != "" && !slices.Contains(Results, rc.Result):
			return fmt.Errorf("row %s: unknown result %.40q", rc.Row, rc.Result)
		case rc.Gating != (rc.Result != ""):
			return fmt.Errorf("row %s: a gating row has a result, and no other", rc.Row)
		}
		regressed = regressed || rc.Result == Regressed
	}
	if regressed != (c.Result == Regressed) {
		return fmt.Errorf("its result is %s, and its rows say otherwise: was it edited?", c.Result)
	}
	return nil
}

// known reports whether the metric and the statistic of r exist.
func (r Row) known() bool {
	_, ok := Define(r.Metric)
	return ok && slices.Contains(Statistics, r.Statistic)
}

// recompute makes the decision again, by the policy and the repetitions' values that stand
// in v, and says where v tells another one. What is decided by neither (a row that was
// demoted, a cell without rows) it takes as it stands.
func (v *Verdict) recompute() error {
	again := slices.Clone(v.Cells)
	for i := range again {
		c := &again[i]
		c.Rows = slices.Clone(c.Rows)
		for k := range c.Rows {
			if err := c.Rows[k].estimateAgain(v.Policy.Level); err != nil {
				return fmt.Errorf("cell %.80q, row %s: %w", c.ID, c.Rows[k].Row, err)
			}
		}
	}
	v.Policy.decideRows(again)
	for i := range again {
		c, told := &again[i], &v.Cells[i]
		for k := range c.Rows {
			if got, want := told.Rows[k].Result, c.Rows[k].Result; got != want {
				return fmt.Errorf("cell %.80q, row %s: it is %s, and its values make it %s: was it edited?", c.ID, c.Rows[k].Row, got, want)
			}
		}
		if len(c.Rows) == 0 {
			continue // it wasn't looked into
		}
		if v.Policy.conclude(c); c.Result != told.Result {
			return fmt.Errorf("cell %.80q: it is %s, and its rows make it %s: was it edited?", c.ID, told.Result, c.Result)
		}
	}
	return nil
}

// estimateAgain fills in the estimate of a gating row from its values, and says where it
// isn't what stands there.
func (rc *RowComparison) estimateAgain(level float64) error {
	told := *rc
	if _, estimated := told.difference(); !estimated || !rc.Gating {
		return nil
	}
	d, _ := Define(rc.Metric)
	rc.estimate(d, level)
	for _, x := range []struct {
		name      string
		got, want *float64
	}{
		{"base", told.Base, rc.Base},
		{"head", told.Head, rc.Head},
		{"change", told.Change, rc.Change},
		{"low", told.Low, rc.Low},
		{"high", told.High, rc.High},
		{"d", told.D, rc.D},
		{"se", told.SE, rc.SE},
		{"df", told.DF, rc.DF},
		{"p", told.P, rc.P},
	} {
		if !alike(x.got, x.want) {
			return fmt.Errorf("its %s is not what its values give: was it edited?", x.name)
		}
	}
	return nil
}

// alike reports whether two numbers are one, but for how processors round.
func alike(a, b *float64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return math.Abs(*a-*b) <= 1e-9*max(math.Abs(*a), math.Abs(*b), 1e-3)
}
