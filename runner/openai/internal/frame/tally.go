package frame

import (
	"time"

	"github.com/servegate/servegate/gate"
)

// Tally tells output from other frames over a stream, and keeps when output arrived
// and how many tokens each arrival brought. It is made by [NewTally].
type Tally struct {
	Arrivals   []time.Duration // one for each frame with output, ascending as the frames were
	Coalesced  int             // arrivals that shared their read with an earlier one
	Usage      Usage           // the latest that was told
	SawIDs     bool            // frames had token ids
	SawRunning bool            // frames had a running usage count

	tokens   chunkTokens
	lastRead int // read that brought the latest arrival
	// total says that frames went by without a count before the first one that had it:
	// then a count is a total of the answer, and its growth shows nothing.
	total bool
	// held is a first frame that shows nothing but a count. Whether that is the running
	// count of its token, or a total that closes a stream, the next count tells.
	held   bool
	heldAt Arrival
}

// NewTally makes a Tally for a stream of about n arrivals.
func NewTally(n int) Tally {
	return Tally{Arrivals: make([]time.Duration, 0, max(n, 0)), Usage: NoUsage}
}

// Arrival is a moment and the number of the read that it belongs to.
type Arrival struct {
	At   time.Duration
	Read int
}

// Add takes the next frame of a stream.
func (t *Tally) Add(f *Frame, at Arrival) {
	before, count := t.Usage.Completion, f.Usage.Completion
	t.Usage.add(f.Usage)
	t.SawIDs = t.SawIDs || f.ids > 0
	if t.held && (count != gate.Unknown || f.CarriesOutput()) {
		t.settle(count != gate.Unknown, before)
	}
	if f.Choices == 0 {
		return // usage alone: whatever it says, it is no token
	}
	grew := count > before && before != gate.Unknown && !t.total
	t.SawRunning = t.SawRunning || grew
	switch {
	case f.CarriesOutput() || grew:
		t.arrive(at, tokensOf(f, before, t.total))
	case count > 0 && before == gate.Unknown && !t.total:
		t.held, t.heldAt = true, at
	}
	if count == gate.Unknown && before == gate.Unknown && (f.CarriesOutput() || !f.role) {
		t.total = true
	}
}

// settle decides on the held frame: a count on a later frame too makes it a running one.
func (t *Tally) settle(running bool, count int) {
	t.held = false
	if !running {
		t.total = true
		return
	}
	t.SawRunning = true
	t.arrive(t.heldAt, count)
}

func (t *Tally) arrive(a Arrival, tokens int) {
	if len(t.Arrivals) > 0 && a.Read == t.lastRead {
		t.Coalesced++
	}
	t.lastRead = a.Read
	t.Arrivals = append(t.Arrivals, a.At)
	t.tokens.add(tokens)
}

// ChunkTokens is the number of tokens of each arrival; nil where it isn't known of all
// of them, or is one for each.
func (t *Tally) ChunkTokens() []int { return t.tokens.list }

// tokensOf is the number of tokens that f brought: by its token ids, else by how far
// the running count went on. Without either it is gate.Unknown.
func tokensOf(f *Frame, before int, total bool) int {
	switch count := f.Usage.Completion; {
	case f.ids >= 0:
		return f.ids
	case total || count == gate.Unknown || count < before:
		return gate.Unknown
	default:
		return count - max(before, 0)
	}
}

// chunkTokens is the tokens of each arrival. As long as each brought one, which is the
// common case, only their number is kept.
type chunkTokens struct {
	ones    int
	list    []int
	unknown bool // an arrival's tokens were not told: nothing is known of the stream
}

func (c *chunkTokens) add(n int) {
	switch {
	case c.unknown:
	case n == gate.Unknown:
		c.unknown, c.list = true, nil
	case c.list == nil && n == 1:
		c.ones++
	case c.list == nil:
		c.list = make([]int, c.ones, 2*c.ones+8)
		for i := range c.list {
			c.list[i] = 1
		}
		c.list = append(c.list, n)
	default:
		c.list = append(c.list, n)
	}
}
