package workload

import (
	"errors"
	"fmt"
)

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

// Validate says what is wrong with s, if anything: all of it at once.
func (s Spec) Validate() error {
	faults := []error{
		prefixed("input", s.Input.Validate()),
		prefixed("output", s.Output.Validate()),
		s.validateForm(),
		s.validateCache(),
	}
	if s.IDs != (IDRange{}) {
		_, err := s.IDs.vocabulary()
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

func prefixed(name string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (s Spec) validateForm() error {
	switch {
	case s.API != Completions && s.API != Chat:
		return fmt.Errorf("api is %q: must be %s or %s", s.API, Completions, Chat)
	case s.Prompt != Auto && s.Prompt != IDs && s.Prompt != Text:
		return fmt.Errorf("prompt is %q: must be %s, %s or %s", s.Prompt, Auto, IDs, Text)
	case s.Prompt == IDs && s.API == Chat:
		return fmt.Errorf("prompt is %s, and chats take text only: use %s or %s", IDs, Auto, Text)
	}
	return nil
}

func (s Spec) validateCache() error {
	switch {
	case s.Cache != Cold && s.Cache != SharedPrefix:
		return fmt.Errorf("cache is %q: must be %s or %s", s.Cache, Cold, SharedPrefix)
	case s.Cache == Cold && s.Prefix != 0:
		return fmt.Errorf("cache is %s with a shared prefix of %d tokens: use %s", Cold, s.Prefix, SharedPrefix)
	case s.Cache == SharedPrefix && (s.Prefix < 1 || s.Prefix >= s.Input.Low()):
		return fmt.Errorf("shared prefix is %d tokens: must be at least 1 and leave something of the shortest prompt of %d", s.Prefix, s.Input.Low())
	}
	return nil
}
