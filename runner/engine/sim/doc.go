// Package sim is the built-in simulated engine: an OpenAI-compatible server in front of
// a continuous-batching scheduler that really schedules, on a clock that it keeps. It
// serves demos and first tries on machines without a GPU, and is the double in tests of
// everything that talks to an engine. Its API, its metric names and its log are those
// of vLLM 0.32; behaviour that a gate has to see can be planted (see [Faults]).
//
// [Serve] runs an engine, [Options.Flags] makes flags of its options. What is scheduled
// is decided by the sub-package scheduler, a pure state machine; what a step costs by
// timing; bytes on the wire by wire and tokenizer; random numbers by draw; punctual
// waking by pacer. This package joins them: sockets, boot, one loop that drives the
// scheduler in real time, metrics, faults. Nothing is computed: text is made up from
// seeds. Prefill and decode roles with a transfer of KV between them are not here yet.
//
// # Timing model
//
// The engine works in steps. A step is planned when it begins: which requests decode,
// which compute a piece of their prompt, whom the queue admits (see package scheduler).
// All its tokens are sent when it ends, one frame for each request that got any. It
// takes, with the option names of the flags,
//
//	T = boot * throttle * noise * ( D * (base + decode*d + kv*k) + slow-prefill * prefill*p )
//
//	d  requests that decode in the step
//	p  prompt tokens computed in it; those found in the prefix cache are not
//	k  tokens of context, summed over the requests in the step, as they are at its end
//	D  slow-decode if d > 0, else 1
//
// The defaults are base 4.8 ms, decode 20 us, kv 20 ns, prefill 6 us: a step of about
// 5 ms, and 1.5 ms for a prompt of 256 tokens. boot, noise and throttle are 1 unless
// set. With noise, each count in d, p and k is weighted with its request's own factor.
//
// The next step begins when the last one should have ended, not when that was noticed,
// so late wake-ups don't add up (the metric sim:step_lateness_seconds shows them). A
// request that comes while a step runs waits for its end; on an idle engine a step
// begins at once, or after batch-delay.
//
// So a lone request with P prompt tokens, H of them found in the cache, whose rest fits
// into one step, sees
//
//	TTFT  = queue-delay + batch-delay + base + slow-prefill*prefill*(P-H) + kv*P
//	ITL_j = slow-decode * (base + decode + kv*(P+j))     for the gap after the j-th token
//
// A longer prompt is computed in chunks of max-num-batched-tokens, each a step of its
// own with its own base. A prefix hit saves prefill*H, and a base for each chunk that
// it makes superfluous; H is a multiple of block-size and at most P-1.
//
// n equal requests that arrive together at an idle engine (within batch-delay), and fit
// into one step together, all see
//
//	TTFT  = queue-delay + batch-delay + base + n*(slow-prefill*prefill*(P-H) + kv*P)
//	ITL_j = slow-decode * (base + n*(decode + kv*(P+j)))
//
// [Options.Predict] computes both. A request whose prompt is computed while b others
// decode lengthens the gap of each of them by its prefill*(P-H) + kv*P.
//
// With draft tokens a decoding step yields between one and 1 + num-speculative-tokens
// tokens in one frame, acceptance-length on average: each draft is accepted with the
// same probability, given that those before it were. The gaps stay what they are.
//
// What the model leaves out: the network, and the time that the server takes to parse a
// request and write a frame, some 10 us each, which are there in what a client sees.
//
// # Randomness
//
// Content, and where a text ends by itself, follow from the seed and the prompt: the
// same request gets the same answer. Noise and faults follow from the seed, the boot
// number and a counter: of steps, or of valid requests in the order in which they come.
// Two boots with the same seed and boot number draw alike; without a boot number the
// clock gives one, so that boots differ as real ones do.
package sim
