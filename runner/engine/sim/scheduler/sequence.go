package scheduler

// state is where a sequence stands.
type state int

const (
	waiting state = iota
	running
	finished
)

// sequence is the scheduler's side of a request.
type sequence struct {
	req   *Request
	state state

	outputs  int  // output tokens produced; preemption keeps them
	computed int  // leading tokens whose KV is in blocks
	admitted bool // was admitted before, so that its prefix lookup is counted once
	cached   int  // tokens found in the prefix cache at the first admission
	preempts int

	blocks  []int32
	hashes  []uint64 // chain hashes of the leading full blocks of known tokens
	indexed int      // leading blocks that were offered to the index

	prev, next *sequence // in the queue
}

// known is the number of tokens that are there to be computed: the prompt, and what
// was produced.
func (q *sequence) known() int { return len(q.req.Prompt) + q.outputs }

// decoding reports whether only the last produced token is left to be computed.
func (q *sequence) decoding() bool { return q.outputs > 0 && q.known()-q.computed == 1 }

// end is the number of output tokens that the request ends with.
func (q *sequence) end() int {
	if q.req.EOSAt > 0 && q.req.EOSAt < q.req.MaxTokens {
		return q.req.EOSAt
	}
	return q.req.MaxTokens
}

// finish is how it ends there.
func (q *sequence) finish() Finish {
	if q.req.EOSAt > 0 && q.req.EOSAt <= q.req.MaxTokens {
		return Stop
	}
	return Length
}

// token is the i-th known token. It must not be called for output tokens where the
// request has no Output.
func (q *sequence) token(i int) int32 {
	if p := q.req.Prompt; i < len(p) {
		return p[i]
	}
	return q.req.Output(i - len(q.req.Prompt))
}

// hashUpTo extends the chain of hashes to the blocks that lie whole in the first n
// known tokens, as far as their content is known to the scheduler.
func (q *sequence) hashUpTo(n, blockSize int) {
	if q.req.Output == nil {
		n = min(n, len(q.req.Prompt))
	}
	for full := n / blockSize; len(q.hashes) < full; {
		b := len(q.hashes)
		h := hashSeed
		if b > 0 {
			h = q.hashes[b-1]
		}
		for i := b * blockSize; i < (b+1)*blockSize; i++ {
			h = hashToken(h, q.token(i))
		}
		q.hashes = append(q.hashes, h)
	}
}

const hashSeed uint64 = 0x6a09e667f3bcc908

// hashToken chains one token into a content hash. 64 bits are enough for a simulator:
// with a million blocks the chance of any collision is one in thirty million.
func hashToken(h uint64, token int32) uint64 {
	h = (h ^ uint64(uint32(token))) * 0x9e3779b97f4a7c15
	return h ^ h>>32
}

// queue is the line of waiting sequences, linked through them so that an abort in
// the middle is cheap.
type queue struct {
	head, tail *sequence
	len        int
}

func (l *queue) pushBack(q *sequence) {
	q.prev, q.next = l.tail, nil
	if l.tail != nil {
		l.tail.next = q
	} else {
		l.head = q
	}
	l.tail = q
	l.len++
}

func (l *queue) pushFront(q *sequence) {
	q.prev, q.next = nil, l.head
	if l.head != nil {
		l.head.prev = q
	} else {
		l.tail = q
	}
	l.head = q
	l.len++
}

func (l *queue) remove(q *sequence) {
	if q.prev != nil {
		q.prev.next = q.next
	} else {
		l.head = q.next
	}
	if q.next != nil {
		q.next.prev = q.prev
	} else {
		l.tail = q.prev
	}
	q.prev, q.next = nil, nil
	l.len--
}
