// Package engine says what an engine is to the runner: something that a [Launcher]
// starts or finds, that lives until its [Life] ends, and that is ready once it has
// answered a real request ([AwaitReady]).
//
// How an engine is started stands in the sub-packages, one a launcher (process,
// attach; docker later). What differs between vLLM, SGLang, llama.cpp and others
// (routes, metric names, self-description) is left to profiles. The package knows
// no OpenAI API: the first real token is asked for by a function that it is given.
package engine

import "context"

// Launcher starts an engine, or finds one that runs already.
type Launcher interface {
	// Launch returns as soon as the engine has been started; it does not wait for it
	// to be ready. ctx bounds the start only: the engine outlives it and is ended by
	// Stop.
	Launch(ctx context.Context) (Handle, error)
}

// Handle is one started (or found) engine.
type Handle interface {
	// URL is the base of the engine's API, without a trailing slash and without /v1.
	URL() string
	// Life tells whether the engine still runs and, if not, how it ended.
	Life() *Life
	// Stop ends the engine and everything that it started, and returns when all of it
	// is gone. It asks first and kills after a grace period, or at once when ctx ends.
	// On an engine that was only found it does nothing. It may be called twice.
	Stop(ctx context.Context) error
}
