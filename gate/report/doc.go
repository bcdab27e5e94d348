// Package report shows results to people and to other tools: the closing table of a run
// as text ([RunText]); a verdict as Markdown for a pull request ([Markdown]), as text for
// a terminal ([Text]), as JUnit XML ([JUnit]) and as JSON ([JSON]).
//
// It is deterministic: the same input gives the same bytes. It decides nothing and
// computes no metric; it only scales (seconds to milliseconds) and lays out what stands
// in package gate's types. Posting a report is left to others.
//
// Strings that come from an engine, a config or a pull request are hostile until a
// renderer has made them harmless: a report is first a document of spans, each of which
// knows whether its text is ours, and only then bytes.
package report
