// Package report shows results to people: today the closing table of a run, as text.
//
// It is deterministic: the same input gives the same bytes. It decides nothing and
// computes no metric; it only scales (seconds to milliseconds) and lays out what stands
// in package gate's types. Strings that come from an engine or a config are made
// harmless before they are printed.
package report
