// Package load decides when requests are due and drives them through a repetition:
// the arrival processes of an open loop, the streams of a closed one, and the phases
// warm-up, measure and drain. It knows when, not what: the caller builds and sends
// each request in functions that [Drive] calls, and records what became of it.
//
// An open loop follows an absolute schedule that is drawn from a seed before anything
// is sent. It never slips and never skips: a send that comes late keeps its due
// moment, is made at once and is counted. A closed loop keeps a number of streams
// busy, each of which sends its next request when its last one has ended.
//
// The load is one stretch without a pause. When the last measured request has been
// issued the load is kept up with requests of the drain phase until every measured
// one has ended, so that the tail of a measurement sees the same engine as its middle.
//
// The package speaks no HTTP, draws no lengths and computes no metric: see
// runner/openai, runner/workload and gate.
package load
