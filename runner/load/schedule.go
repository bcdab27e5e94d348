package load

import (
	"crypto/sha256"
	"encoding/binary"
	"iter"
	"math"
	"math/rand/v2"
	"time"

	"github.com/servegate/servegate/gate"
)

// Schedule is one seeded sequence of arrivals on an absolute time line. The same
// process, rate, seed and phase give the same schedule on every platform. It is not
// safe for concurrent use.
type Schedule struct {
	process Process
	rate    float64
	random  *rand.Rand
	// elapsed is the sum of the gaps so far in 2^-32 of a mean gap. An integer sum
	// neither drifts nor loses digits, however long the schedule is.
	elapsed uint64
}

// tick is one mean gap in the unit of Schedule.elapsed.
const tick = 1 << 32

// NewSchedule starts the schedule of a phase. rate is in arrivals per second. Each
// phase has random numbers of its own, so that the measured arrivals don't depend on
// how many there were in the warm-up.
func NewSchedule(p Process, rate float64, seed uint64, phase gate.Phase) *Schedule {
	key := binary.LittleEndian.AppendUint64([]byte("servegate arrivals "+string(phase)+" "), seed)
	h := sha256.Sum256(key)
	pcg := rand.NewPCG(binary.LittleEndian.Uint64(h[:8]), binary.LittleEndian.Uint64(h[8:16]))
	return &Schedule{process: p, rate: rate, random: rand.New(pcg)}
}

// Next returns the due moment of the next arrival, as an offset from the start of the
// schedule. The first arrival comes one gap after the start.
func (s *Schedule) Next() time.Duration {
	s.elapsed += uint64(math.Round(s.process.Gap(s.random) * tick))
	return time.Duration(math.Round(float64(s.elapsed) * (float64(time.Second) / s.rate / tick)))
}

// Amount says how many requests a repetition has. Exactly one of Requests and
// Duration is set.
type Amount struct {
	Warmup   int           // requests before the measured phase, at least
	Requests int           // requests in the measured phase
	Duration time.Duration // length of the measured phase
}

// more reports whether the measured phase goes on after issued requests, of which the
// first was due at start, with one that is due at due.
func (a Amount) more(issued int, start, due time.Duration) bool {
	if a.Duration > 0 {
		return due < start+a.Duration
	}
	return issued < a.Requests
}

// Tickets yields the requests of an open loop in the order of their due moments,
// which are offsets from the first one: the warm-up, the measured phase, and then
// the drain phase without end. s and a are valid; s is no closed loop.
func Tickets(s Spec, a Amount, seed uint64) iter.Seq[Ticket] {
	return func(yield func(Ticket) bool) {
		var last, start time.Duration
		process := NewProcess(s)
		first := true
		for _, phase := range phases {
			schedule := NewSchedule(process, s.Rate, seed, phase)
			base := last
			for i := 0; phase != gate.Warmup || i < a.Warmup; i++ {
				due := base + schedule.Next()
				if first { // the load starts with its first arrival, not a gap before it
					base, due, first = base-due, 0, false
				}
				if i == 0 {
					start = due
				}
				if phase == gate.Measure && !a.more(i, start, due) {
					break
				}
				if last = due; !yield(Ticket{Phase: phase, Index: i, Due: due}) {
					return
				}
			}
		}
	}
}

// phases lists the phases in their order.
var phases = []gate.Phase{gate.Warmup, gate.Measure, gate.Drain}
