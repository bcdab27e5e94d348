package gate

// Row names what is compared: one statistic of one metric.
type Row struct {
	Metric    Metric    `json:"metric"`
	Statistic Statistic `json:"statistic"`
}

// Statistic is the statistic of a row: Value for a metric that is one value a
// repetition.
type Statistic string

// The statistics.
const (
	Value Statistic = "value"
	Mean  Statistic = "mean"
	P50   Statistic = "p50"
	P90   Statistic = "p90"
	P95   Statistic = "p95"
	P99   Statistic = "p99"
	Max   Statistic = "max"
)

// Policy is what a verdict is made by. Everything in it stands in the verdict.
type Policy struct {
	// Rows gate; all others are advisory.
	Rows []RowPolicy `json:"rows"`
	// Level is the one-sided level of an interval at the one look that there is.
	Level float64 `json:"level"`
	// FamilyLevel is the chance that an unchanged build regresses in any row of the
	// run, under the t model: Holm's procedure shares it over the gating rows.
	FamilyLevel float64 `json:"family_level"`
	// ErrorRate is the rule of the error rate, which gates beside the rows.
	ErrorRate ErrorRatePolicy `json:"error_rate"`
	// ExpectChanged holds envelope paths, and subject paths ("subject.version"), that
	// are meant to change.
	ExpectChanged []string `json:"expect_changed,omitempty"`
	// StrictEnvelope refuses undeclared envelope fields, and cells whose baseline has
	// fewer than two boots; StrictSubject refuses undeclared differences of the subject.
	StrictEnvelope bool `json:"strict_envelope"`
	StrictSubject  bool `json:"strict_subject"`
	// Context says what a difference of the context leads to, by path; "default" is
	// for all others.
	Context map[string]ContextRule `json:"context,omitempty"`
	// FailOn holds the outcomes that fail the gate; all others pass, some with a word.
	FailOn []Result `json:"fail_on"`
}

// RowPolicy is one gating row with its limits.
type RowPolicy struct {
	Row
	Tolerance float64 `json:"tolerance"`  // a regression up to this ratio is let through
	MustCatch float64 `json:"must_catch"` // a regression of this ratio must never pass
	Floor     float64 `json:"floor"`      // changes below it never count, in the metric's unit
}

// ErrorRatePolicy is the rule by which the error rate regresses.
type ErrorRatePolicy struct {
	Rise float64 `json:"rise"` // its mean rises by more than this (a ratio: 0.01 is a percentage point)
	P    float64 `json:"p"`    // and Fisher's exact test on the pooled counts is below this
}

// ContextRule says what a difference of the context leads to.
type ContextRule string

// The context rules.
const (
	ContextStrict ContextRule = "strict" // not comparable
	ContextWarn   ContextRule = "warn"   // compared, and listed
	ContextIgnore ContextRule = "ignore" // compared
)
