// Package rundir is the run directory: everything that one run leaves behind, written
// so that a crash loses at most a second, and read as if a stranger had made it.
//
//	run.json            the run: gate.Run, replaced as a whole after every repetition
//	config.yaml         the resolved configuration
//	cells/<cell>/<repetition>/requests.jsonl.zst   raw records, a line a request
//	cells/<cell>/<repetition>/<name>.jsonl.zst     telemetry: engine, gpu
//	logs/<role>.log     engine logs
//	manifest.json       sha256 and size of every file above
//	verdict.json, report.md, report.html, base/    written later, by gate
//
// A [Writer] makes it, a [Dir] reads it. manifest.json comes last: a directory that
// lacks it, or whose run.json lacks "complete", was cut short. Every number in run.json
// can be derived again from the raw records, byte for byte; [Dir.Verify] does.
//
// The package computes no metric (gate does) and decides nothing. It masks no secret:
// what it is given is what it writes.
//
// # Raw records
//
// A raw record is a JSON object on a line of its own. Its canonical form has no white
// space and these keys, in this order:
//
//	i             place in its phase's sequence
//	phase         warmup, measure or drain
//	stream        closed loop: the stream that issued it; left out if 0
//	due           place in the arrival schedule
//	sent          first byte handed to the kernel; left out if that never came
//	arrivals      arrival of each frame that carried output: the first as it is, then
//	              the gap to the one before; left out if none came
//	done          end of the stream; left out if that never came
//	chunk_tokens  tokens of each arrival; left out if not known, or all one
//	want_in       prompt tokens asked for
//	want_out      output tokens asked for
//	in            prompt tokens by the server's usage; left out if not told
//	out           output tokens by the server's usage; left out if not told
//	cached        prompt tokens from the prefix cache; left out if not told
//	outcome       what became of it, see gate.Outcomes
//	status        HTTP status; left out if none came
//	finish        finish reason; left out if none came
//	error         what went wrong; left out if nothing did
//
// Times are seconds from the start of the repetition, in plain decimals with as many
// digits as they need and at most nine, so that a nanosecond is kept in both directions.
// The format holds whatever a gate.Request can hold (text that is no UTF-8 is mended);
// what makes sense is judged by gate.Derive. Other spellings of the same JSON (keys in
// another order, white space, exponents) are read too.
//
// A file is one zstd frame, flushed every half second. That it is one frame makes a cut
// at any byte show.
package rundir
