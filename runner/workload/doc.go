// Package workload decides what the requests of a cell are: how long prompts and
// answers are, and what stands in the prompts. A [Generator] makes request i of a
// phase from a seed, the phase and i alone, so that base and head, and each of their
// repetitions, get the same requests in whatever order they are asked for.
//
// A prompt is a sequence of units: token ids of a [Vocabulary] where the engine takes
// ids, so that its length is exact; else words of a built-in list, whose number is
// fitted to the wanted tokens by a [Calibration]. So that no prompt is served from a
// prefix cache by accident its first units are a nonce, drawn from run, repetition,
// phase and index. The nonce is no part of the content's [Generator.Digest].
//
// When requests are sent is left to runner/load, and how to runner/openai. The package
// talks to no engine: what it must know of one (tokens of a text, whether ids are
// taken) the runner asks and passes in.
package workload
