package gate

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Source says who told a field of the envelope. The engine is trusted before the
// host, the host before the config.
type Source string

// The sources, in order of trust.
const (
	FromEngine Source = "engine"
	FromHost   Source = "host"
	FromConfig Source = "config"
	Undeclared Source = "undeclared" // nobody told; matches undeclared only
)

// trust orders the sources; 0 is no source at all.
func (s Source) trust() int {
	switch s {
	case FromEngine:
		return 4
	case FromHost:
		return 3
	case FromConfig:
		return 2
	case Undeclared:
		return 1
	}
	return 0
}

// Field is one condition and who told it. Value is a string, a bool, an int64 or a
// float64; it is nil where Source is Undeclared.
type Field struct {
	Value  any    `json:"value"`
	Source Source `json:"source"`
}

// same reports whether a and b tell the same, whoever told it.
func (f Field) same(other Field) bool {
	return (f.Source == "") == (other.Source == "") && normal(f.Value) == normal(other.Value)
}

// String is the value and who told it, for messages: "1 (engine)".
func (f Field) String() string {
	switch f.Source {
	case "":
		return "absent"
	case Undeclared:
		return string(Undeclared)
	}
	return fmt.Sprintf("%v (%s)", f.Value, f.Source)
}

// Envelope says under which conditions a number holds: path to field. It has an
// entry for every path of [EnvelopeFields] that applies, see [Envelope.FillUndeclared];
// a path that doesn't apply is absent. Absent and undeclared differ: no limit on TTFT
// is not the same as a limit that nobody told.
type Envelope map[string]Field

// Contradiction says that two sources tell different values of one field.
type Contradiction struct {
	Path    string
	Kept    Field // what the envelope holds: the more trusted, or the first of equals
	Dropped Field
}

// Error names the field, both values and both sources.
func (c *Contradiction) Error() string {
	return fmt.Sprintf("envelope %s: %s says %v, %s says %v", c.Path,
		c.Kept.Source, c.Kept.Value, c.Dropped.Source, c.Dropped.Value)
}

// Set writes the field at path, unless a more trusted source has told it already. A
// number may be an int or uint of 32, 64 or machine size or a float, but no
// time.Duration; the value is nil with [Undeclared]. The error
// is a [*Contradiction] where two sources differ (the envelope then holds the more
// trusted value), else it says why the value was refused and the envelope is as it was.
func (e Envelope) Set(path string, value any, source Source) error {
	f := Field{Value: normal(value), Source: source}
	if err := checkField(path, f); err != nil {
		return err
	}
	old, told := e[path]
	switch {
	case !told || old.Source == Undeclared:
		e[path] = f
		return nil
	case source == Undeclared:
		return nil
	}
	kept, dropped := old, f
	if source.trust() > old.Source.trust() {
		kept, dropped = f, old
	}
	e[path] = kept
	if !kept.same(dropped) {
		return &Contradiction{Path: path, Kept: kept, Dropped: dropped}
	}
	return nil
}

// FillUndeclared marks every field that applies and that nobody told as [Undeclared],
// and removes such marks from fields that don't apply. What applies is decided by the
// fields that stand in e: it comes last, or again when more is known.
func (e Envelope) FillUndeclared() {
	for _, f := range EnvelopeFields {
		switch old, there := e[f.Path]; {
		case !there && f.applies(e):
			e[f.Path] = Field{Source: Undeclared}
		case old.Source == Undeclared && !f.applies(e):
			delete(e, f.Path)
		}
	}
}

// UndeclaredPaths returns the paths that nobody told, in the order of [EnvelopeFields].
func (e Envelope) UndeclaredPaths() []string {
	var paths []string
	for _, f := range EnvelopeFields {
		if e[f.Path].Source == Undeclared {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// Difference is a path at which two envelopes differ. The Source of a side that has
// no such field is empty. In a verdict A is the base, B the head.
type Difference struct {
	Path string `json:"path"`
	A    Field  `json:"base"`
	B    Field  `json:"head"`
}

// Diff returns the paths at which a and b differ, in the order of [EnvelopeFields].
// Who told a value makes no difference.
func Diff(a, b Envelope) []Difference {
	var diffs []Difference
	for _, path := range unionPaths(a, b) {
		if fa, fb := a[path], b[path]; !fa.same(fb) {
			diffs = append(diffs, Difference{Path: path, A: fa, B: fb})
		}
	}
	return diffs
}

// unionPaths returns the paths of both, those of the registry first.
func unionPaths(a, b Envelope) []string {
	all := maps.Clone(a)
	if all == nil {
		all = Envelope{}
	}
	maps.Copy(all, b)
	return slices.SortedFunc(maps.Keys(all), func(x, y string) int {
		if d := fieldOrder(x) - fieldOrder(y); d != 0 {
			return d
		}
		return strings.Compare(x, y)
	})
}

// Mask returns a copy of e without the given paths. A path also stands for all paths
// below it: "parallel" masks parallel.tp and its like.
func (e Envelope) Mask(paths ...string) Envelope {
	masked := maps.Clone(e)
	maps.DeleteFunc(masked, func(path string, _ Field) bool {
		return slices.ContainsFunc(paths, func(mask string) bool {
			return path == mask || strings.HasPrefix(path, mask+".")
		})
	})
	return masked
}

// Validate returns what is wrong with e, all of it at once: unknown paths, values of a
// wrong kind, sources that don't exist. An envelope made by Set or read from JSON has
// nothing wrong with it.
func (e Envelope) Validate() error {
	var errs []error
	for _, path := range unionPaths(e, nil) {
		if err := checkField(path, e[path]); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// checkField says whether f may stand at path.
func checkField(path string, f Field) error {
	def, ok := DefineField(path)
	switch {
	case !ok:
		return fmt.Errorf("envelope %q: no such field", path)
	case f.Source.trust() == 0:
		return fmt.Errorf("envelope %s: unknown source %q (known: engine, host, config, undeclared)", path, f.Source)
	case f.Source == Undeclared && f.Value != nil:
		return fmt.Errorf("envelope %s: undeclared, and yet %v", path, f.Value)
	case f.Source == Undeclared:
		return nil
	case f.Value == nil:
		return fmt.Errorf("envelope %s: no value from the %s (leave it undeclared)", path, f.Source)
	}
	if err := def.check(normal(f.Value)); err != nil {
		return fmt.Errorf("envelope %s: %w", path, err)
	}
	return nil
}

// check says whether v, normalised, is a value of d.
func (d EnvelopeField) check(v any) error {
	switch v := v.(type) {
	case string:
		return d.checkString(v)
	case bool:
		if d.Kind == BoolField {
			return nil
		}
	case uint64:
		return errInexact(v)
	case int64:
		if v < -maxSafeInteger || v > maxSafeInteger {
			return errInexact(v)
		}
		if d.Kind == IntField || d.Kind == NumberField {
			return nil
		}
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%v is not a finite number", v)
		}
		if d.Kind == NumberField {
			return nil
		}
	}
	return fmt.Errorf("%v is a %T, expected %s", v, v, d.Kind)
}

func (d EnvelopeField) checkString(v string) error {
	switch {
	case d.Kind != StringField:
		return fmt.Errorf("%q is a string, expected %s", v, d.Kind)
	case v == "":
		return errors.New("empty value (leave it undeclared)")
	case !utf8.ValidString(v):
		return fmt.Errorf("%q is not valid UTF-8", v)
	case d.Values != nil && !slices.Contains(d.Values, v):
		return fmt.Errorf("%q is not one of %s", v, strings.Join(d.Values, ", "))
	}
	return nil
}

func errInexact(v any) error {
	return fmt.Errorf("%d lies beyond 2^53 - 1, where JSON numbers are no longer exact", v)
}

// maxSafeInteger is the largest integer that a JSON number holds exactly everywhere.
const maxSafeInteger = 1<<53 - 1

// normal brings numbers to one form, so that 1, 1.0 and int32(1) are one value:
// an int64 where it is whole and exact, else a float64.
func normal(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case int32:
		return int64(v)
	case uint32:
		return int64(v)
	case uint:
		return normalUnsigned(uint64(v))
	case uint64:
		return normalUnsigned(v)
	case float32:
		return normal(float64(v))
	case float64:
		if v == math.Trunc(v) && math.Abs(v) <= maxSafeInteger {
			return int64(v)
		}
	}
	return v
}

func normalUnsigned(v uint64) any {
	if v > math.MaxInt64 {
		return v // refused by check
	}
	return int64(v)
}
