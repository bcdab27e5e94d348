package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/servegate/servegate/gate"
)

// decoder reads raw records. What it reads into memory of its own, the arrivals and
// chunk tokens, is good until reset.
type decoder struct {
	times  arena[time.Duration]
	tokens arena[int]
	names  map[string]string // finish reasons seen: few, and in every record
}

// maxNames bounds the finish reasons kept, since an engine may invent them.
const maxNames = 64

func newDecoder() *decoder { return &decoder{names: map[string]string{}} }

// reset takes back the memory of all records read so far.
func (d *decoder) reset() {
	d.times.reset()
	d.tokens.reset()
}

// decode reads one line, without its newline, into r.
func (d *decoder) decode(line []byte, r *gate.Request) error {
	c := cursor{b: line, d: d}
	if c.request(r) {
		return nil
	}
	return decodeStrict(line, r)
}

// record is the raw record as encoding/json reads it, in any spelling.
type record struct {
	Index       *whole    `json:"i"`
	Phase       *string   `json:"phase"`
	Stream      whole     `json:"stream"`
	Due         *seconds  `json:"due"`
	Sent        seconds   `json:"sent"`
	Arrivals    []seconds `json:"arrivals"`
	Done        seconds   `json:"done"`
	ChunkTokens []whole   `json:"chunk_tokens"`
	WantInput   *whole    `json:"want_in"`
	WantOutput  *whole    `json:"want_out"`
	Input       *whole    `json:"in"`
	Output      *whole    `json:"out"`
	Cached      *whole    `json:"cached"`
	Outcome     *string   `json:"outcome"`
	Status      whole     `json:"status"`
	Finish      string    `json:"finish"`
	Error       string    `json:"error"`
}

// recordKeys holds the keys of a record. encoding/json would take them in any case.
var recordKeys = func() map[string]bool {
	keys := map[string]bool{}
	for key := range strings.FieldsSeq("i phase stream due sent arrivals done chunk_tokens " +
		"want_in want_out in out cached outcome status finish error") {
		keys[key] = true
	}
	return keys
}()

// whole is a number of JSON's that is written as an integer.
type whole int

func (w *whole) UnmarshalJSON(b []byte) error {
	n, err := strconv.Atoi(string(b))
	if err != nil {
		return fmt.Errorf("%.40s: expected a whole number", b)
	}
	*w = whole(n)
	return nil
}

// seconds is a time, exact to the nanosecond.
type seconds time.Duration

func (s *seconds) UnmarshalJSON(b []byte) error {
	if c := b[0]; c != '-' && (c < '0' || c > '9') {
		return fmt.Errorf("%.40s: expected a time in seconds", b)
	}
	d, err := parseSeconds(string(b))
	*s = seconds(d)
	return err
}

// decodeStrict reads one record in any spelling of JSON. It refuses unknown keys, keys
// given twice, and records that lack a key that is never left out.
func decodeStrict(line []byte, r *gate.Request) error {
	if !utf8.Valid(line) {
		return errors.New("not valid UTF-8")
	}
	if err := checkKeys(line, recordKeys); err != nil {
		return err
	}
	var rec record
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&rec); err != nil {
		return err
	}
	for _, need := range []struct {
		key   string
		given bool
	}{
		{"i", rec.Index != nil},
		{"phase", rec.Phase != nil},
		{"due", rec.Due != nil},
		{"want_in", rec.WantInput != nil},
		{"want_out", rec.WantOutput != nil},
		{"outcome", rec.Outcome != nil},
	} {
		if !need.given {
			return fmt.Errorf("key %q is missing", need.key)
		}
	}
	*r = rec.request()
	return nil
}

func (rec *record) request() gate.Request {
	r := gate.Request{
		Index: int(*rec.Index), Phase: gate.Phase(*rec.Phase), Stream: int(rec.Stream),
		Due: time.Duration(*rec.Due), Sent: time.Duration(rec.Sent), Done: time.Duration(rec.Done),
		WantInput: int(*rec.WantInput), WantOutput: int(*rec.WantOutput),
		Input: told(rec.Input), Output: told(rec.Output), Cached: told(rec.Cached),
		Outcome: gate.Outcome(*rec.Outcome), Status: int(rec.Status),
		Finish: rec.Finish, Error: rec.Error,
	}
	at := time.Duration(0)
	for _, gap := range rec.Arrivals {
		at += time.Duration(gap)
		r.Arrivals = append(r.Arrivals, at)
	}
	for _, n := range rec.ChunkTokens {
		r.ChunkTokens = append(r.ChunkTokens, int(n))
	}
	return r
}

// told is the count, or Unknown where there is none.
func told(count *whole) int {
	if count == nil {
		return gate.Unknown
	}
	return int(*count)
}

var (
	errTooFine  = errors.New("finer than a nanosecond")
	errTooLarge = errors.New("out of range")
)

// parseSeconds reads any spelling of a JSON number as seconds. It fails where the
// number is no whole count of nanoseconds, rather than round it.
func parseSeconds(number string) (time.Duration, error) {
	d, err := parseDecimal(number)
	if err != nil {
		return 0, fmt.Errorf("time %.40q: %w", number, err)
	}
	return d, nil
}

func parseDecimal(number string) (time.Duration, error) {
	mantissa, negative := strings.CutPrefix(number, "-")
	mantissa, exponent, err := splitExponent(mantissa)
	if err != nil {
		return 0, err
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+frac, "0")
	significant := strings.TrimRight(digits, "0")
	// The number is significant x 10^shift nanoseconds.
	shift := 9 + exponent - len(frac) + len(digits) - len(significant)
	switch {
	case significant == "":
		return 0, nil
	case shift < 0:
		return 0, errTooFine
	case len(significant)+shift > 19: // more digits than an int64 has
		return 0, errTooLarge
	}
	ns, err := strconv.ParseUint(significant+strings.Repeat("0", shift), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, errTooLarge
	case err != nil:
		return 0, errors.New("not a number")
	case negative && ns <= -math.MinInt64:
		return time.Duration(-ns), nil
	case ns > math.MaxInt64:
		return 0, errTooLarge
	}
	return time.Duration(ns), nil
}

// splitExponent cuts off the exponent, 0 if there is none. One of more than six digits
// is refused whatever stands before it, a zero too.
func splitExponent(number string) (mantissa string, exponent int, err error) {
	i := strings.IndexAny(number, "eE")
	if i < 0 {
		return number, 0, nil
	}
	if len(number)-i > 8 {
		return "", 0, errTooLarge
	}
	exponent, err = strconv.Atoi(number[i+1:])
	if err != nil {
		return "", 0, errors.New("not a number")
	}
	return number[:i], exponent, nil
}
