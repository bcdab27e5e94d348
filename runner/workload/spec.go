package workload

// Spec says what the requests of a cell are.
type Spec struct {
	Name   string
	Input  Lengths // prompt tokens, the shared prefix included
	Output Lengths // output tokens asked for (max_tokens)
	API    API
	Stream bool
	Prompt Prompt
	IDs    IDRange // range that token ids are drawn from; zero: chosen by the runner
	// Prefix is the number of tokens at the front of every prompt that all requests of
	// the cell share; 0 with Cache Cold.
	Prefix    int
	Cache     Cache
	IgnoreEOS bool // ask for it; whether the engine honours it is probed
}

// API is the route of the OpenAI API that the requests go to.
type API string

// The routes: /v1/completions and /v1/chat/completions.
const (
	Completions API = "completions"
	Chat        API = "chat"
)

// Prompt is the form that a prompt is sent in.
type Prompt string

// The forms. Auto sends token ids of exact length where the engine takes them, else
// text; Chat always sends text.
const (
	Auto Prompt = "auto"
	IDs  Prompt = "ids"
	Text Prompt = "text"
)

// Cache is the condition of the engine's prefix cache that a workload asks for.
type Cache string

// The conditions. Cold puts a nonce, drawn from run id and repetition, in front of
// every prompt, so that no prefix was seen before. SharedPrefix has the same Prefix
// tokens in front of every request, warmed before the window, and a cold rest.
const (
	Cold         Cache = "cold"
	SharedPrefix Cache = "shared_prefix"
)

// IDRange is an inclusive range of token ids.
type IDRange struct{ Low, High int }

// Lengths is a distribution of lengths in tokens.
type Lengths struct {
	Distribution Distribution
	Mean         float64 // fixed: the length; normal, lognormal: the mean of the drawn lengths before truncation
	SD           float64 // normal, lognormal
	Min, Max     int     // uniform: both ends, inclusive; normal, lognormal: truncation (Max 0: none)
}

// Distribution is the kind of a length distribution.
type Distribution string

// The distributions.
const (
	Fixed     Distribution = "fixed"
	Uniform   Distribution = "uniform"
	Normal    Distribution = "normal"
	Lognormal Distribution = "lognormal"
)
