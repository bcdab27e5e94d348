package gate

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

// Field is one condition and who told it. Value is a string, a bool, an int64 or a
// float64; it is nil where Source is Undeclared.
type Field struct {
	Value  any    `json:"value"`
	Source Source `json:"source"`
}

// Envelope says under which conditions a number holds: path to field. It has an
// entry for every path of [EnvelopeFields] that applies.
type Envelope map[string]Field
