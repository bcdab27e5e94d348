// Package gate is the domain of servegate: what a measurement is, what is
// computed from it, under which conditions two of them may be compared, and what
// comes of the comparison.
//
// It holds the raw record of one request ([Request]), the cell that the request
// belongs to ([Cell]), the summary of one repetition ([Repetition], made by
// [Derive] from raw records and nothing else), the run ([Run]) and the conditions
// that a number holds under ([Envelope]). Every metric formula of servegate stands
// here once; the registry [Metrics] says each metric's unit, direction, definition
// and sample floor.
//
// [Decide] holds the cells of a run against their bases under a [Policy], and [Judge]
// makes a [Verdict] of it. Which stored runs a base is made of is left to baselines, and
// what a verdict looks like to gate/report.
//
// The package reads no file, opens no socket and asks no clock: the runner fills
// the records, gate/rundir stores them, gate/report shows them. It imports the
// standard library, the histogram library and gate/stats.
//
// # Glossary
//
// A cell is one point of the benchmark matrix: workload x load x serving form. A
// repetition is one complete, warmed measurement of one cell, fresh if the engine
// was booted for it. A run is all cells x repetitions of one subject in one
// environment; the subject (engine build, image, flags) is the one thing that may
// differ between two runs. A baseline is a stored, promoted run.
//
// All times of a request come from one monotonic clock and are offsets from the
// start of its repetition:
//
//	due       its place in the arrival schedule (closed loop: when its stream became free)
//	sent      first byte handed to the kernel, on a connection that was already open
//	arrivals  arrival of each frame that carries output; the first of them is
//	          "first", the last of them "last"
//	done      end of the stream, or of the body where nothing was streamed
//
// Arrival is when the bytes reached this host (the kernel's receive timestamp where
// the socket offers one), not when our code came round to reading them. A frame
// carries output if it has text, reasoning or tool-call text, token ids or token
// log-probabilities, or if a running usage count grew with it.
//
//	TTFT                first - sent, streaming only
//	ITL                 each gap between consecutive arrivals, pooled over the ok requests
//	                    of a repetition; the sampling unit is the chunk, not the token
//	TPOT                (last - first) / (N - 1), N output tokens by the server's usage,
//	                    N >= 2; none where all of them arrived at one moment
//	E2E                 last - sent (not streamed: done - sent)
//	normalized latency  E2E / N
//	send lag            sent - due; in an open loop TTFT and E2E from due are series too
//	outcome             what became of a request, exactly one of [Outcomes]
//	error rate          (issued - ok) / issued
//	good                ok and within every limit of the [SLO] that applies; without an
//	                    SLO every ok request is
//	goodput             good requests per second of the window; good ratio = good / issued;
//	                    token goodput = their output tokens per second
//	throughput          per second of the window, and always named whole: request,
//	                    output-token or total-token throughput
//	window              the stretch of time that is measured, see [WindowOf]
//	row                 a cell and one statistic of one metric: what is compared
//	tolerance           a regression up to this is let through
//	must_catch          a regression of this size never passes
//	verdict             regressed, passed, improved, inconclusive, not_comparable,
//	                    no_baseline or invalid
//	percentile          over the ok requests of the window, type 7; withheld below its
//	                    sample floor, see [Definition.Floor]
package gate
