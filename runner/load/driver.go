package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/servegate/servegate/gate"
)

// Ticket is one request to be sent: which, by whom, and when.
type Ticket struct {
	Phase  gate.Phase
	Index  int // place in the sequence of its phase, from 0
	Stream int // closed loop: the stream that sends it, from 0; open loop: 0
	// Due is when the request is due, as an offset from [Options].Origin. Open loop:
	// its place in the schedule, whatever happened before. Closed loop: when its
	// stream became free, or was to start.
	Due time.Duration
}

// Prepare builds request index of a phase before it is due and returns the function
// that sends it. Each phase is prepared in the order of its indices, by a goroutine
// of its own. Not everything that was prepared is sent.
type Prepare func(phase gate.Phase, index int) Send

// Send sends a prepared request and returns when it has ended. It must return soon
// after ctx has ended, and should have a time limit of its own: the load is kept up
// until the last measured request has ended.
type Send func(ctx context.Context, t Ticket)

// WaitFunc returns at until, or earlier with ctx's error when ctx ends. [Drive] calls
// it from one goroutine at a time.
type WaitFunc func(ctx context.Context, until time.Time) error

// DefaultMaxInFlight is the safety cap of [Options].MaxInFlight unless it is set.
const DefaultMaxInFlight = 16384

// LateAfter is how long after its due moment a send has begun to be late. It is the
// share of send lag that a valid repetition may always have.
const LateAfter = time.Millisecond

// Options says what [Drive] drives.
type Options struct {
	Spec   Spec
	Amount Amount
	Seed   uint64 // of the arrivals
	// Origin is the moment that all offsets count from; zero: when Drive is called.
	Origin time.Time
	// DrainTimeout is how long requests may be in flight after the last measured one
	// has ended, before they are cancelled.
	DrainTimeout time.Duration
	// Pace is the duration of one request that a closed loop spreads its starts over;
	// zero: that of a first warm-up request, sent alone.
	Pace time.Duration
	// MaxInFlight is the number of requests in flight at which an open loop gives up;
	// zero: DefaultMaxInFlight. An open loop that gets there has lost its engine.
	MaxInFlight int
	Wait        WaitFunc // nil: [WaitTimer]
}

// ErrOverload is returned by [Drive] when an open loop has reached MaxInFlight.
var ErrOverload = errors.New("too many requests in flight")

// ErrDrainTimeout is the cause of the cancellation of requests that are in flight when
// the DrainTimeout has passed.
var ErrDrainTimeout = errors.New("still in flight at the end of the drain timeout")

// Result is what a drive did. All times are offsets from the origin.
type Result struct {
	Warmup, Measure, Drain int // requests sent in each phase

	Late       int           // sends that began more than LateAfter past their due moment
	MaxLag     time.Duration // largest such delay of any send
	Unprepared int           // sends that had to wait for their request to be built
	Peak       int           // largest number of requests in flight
	Cancelled  int           // requests that were in flight when we cancelled
	// Interrupted says that the drive was ended by its context or by MaxInFlight
	// before the last measured request had ended.
	Interrupted bool
	Pace        time.Duration // the one that a closed loop spread its starts over, 0 if none

	Start        time.Duration // the first request was due; 0 if none was sent
	MeasureStart time.Duration // the first measured request was due; 0 if none was sent
	MeasureLast  time.Duration // the last measured request was due; 0 if none was sent
	MeasureEnd   time.Duration // the last measured request had ended, and issuing stopped; of no meaning if Interrupted
	End          time.Duration // every request had ended
}

// Drive issues the requests of one repetition: the warm-up, the measured phase, and
// the drain phase for as long as a measured request is in flight. It then issues no
// more, cancels what is left after the DrainTimeout, and returns when every request
// has ended. No goroutine outlives it.
//
// The measured phase of a closed loop begins when the warm-up has its requests and
// every stream has started; until then its requests are warm-up, even beyond
// Amount.Warmup.
//
// When ctx ends the requests in flight are cancelled at once and the error wraps the
// context's cause; on overload it wraps [ErrOverload]. The result is valid in either
// case.
func Drive(ctx context.Context, o Options, prepare Prepare) (Result, error) {
	o, err := o.withDefaults()
	if err != nil {
		return Result{}, fmt.Errorf("drive load %s: %w", o.Spec, err)
	}
	d := newDrive(ctx, o)
	defer context.AfterFunc(ctx, func() { d.abandon(context.Cause(ctx)) })()
	if ctx.Err() != nil { // AfterFunc runs in a goroutine, which may come after the first send
		d.abandon(context.Cause(ctx))
	}
	defer d.cancel(nil)
	finish := d.build(prepare)
	defer finish()
	issue := d.open
	if d.Spec.Closed() {
		issue = d.closed
	}
	if err = d.settle(issue()); err != nil {
		err = fmt.Errorf("drive load %s: %w", o.Spec, err)
	}
	return d.ledger.report(d.now(), d.pace), err
}

func (o Options) withDefaults() (Options, error) {
	if o.Origin.IsZero() {
		o.Origin = time.Now()
	}
	if o.MaxInFlight == 0 {
		o.MaxInFlight = DefaultMaxInFlight
	}
	if o.Wait == nil {
		o.Wait = WaitTimer
	}
	return o, o.validate()
}

func (o Options) validate() error {
	a := o.Amount
	switch {
	case a.Warmup < 0 || a.Requests < 0 || a.Duration < 0 || o.DrainTimeout < 0 || o.Pace < 0 || o.MaxInFlight < 0:
		return errors.New("check options: none may be negative")
	case (a.Requests == 0) == (a.Duration == 0):
		return fmt.Errorf("check options: %d requests and a duration of %v: set exactly one of them", a.Requests, a.Duration)
	case o.Spec.Concurrency > o.MaxInFlight:
		return fmt.Errorf("check options: %d streams are over the limit of %d requests in flight", o.Spec.Concurrency, o.MaxInFlight)
	}
	return o.Spec.Validate()
}

// drive is one call of Drive.
type drive struct {
	Options
	ledger   *ledger
	queues   map[gate.Phase]*queue
	requests context.Context         // of every request; ended by abandon only
	cancel   context.CancelCauseFunc // of requests
	load     context.Context         // ends when no more requests are to be issued
	sending  sync.WaitGroup          // the goroutines that send
	pace     time.Duration           // that the starts of a closed loop are spread over
}

// newDrive makes a drive whose requests have the values of ctx, but don't end with it:
// what is in flight must be counted before it is cancelled, see abandon.
func newDrive(ctx context.Context, o Options) *drive {
	d := &drive{Options: o}
	d.requests, d.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	var stop func()
	d.load, stop = context.WithCancel(d.requests)
	d.ledger = newLedger(o.Amount, o.Spec, stop)
	return d
}

// abandon cancels all requests and ends the load.
func (d *drive) abandon(cause error) {
	d.ledger.abandon()
	d.cancel(cause)
}

// now is the present as an offset from the origin.
func (d *drive) now() time.Duration { return time.Since(d.Origin) }

// wait waits until due. It reports false when ctx has ended; the error says that
// waiting itself failed.
func (d *drive) wait(ctx context.Context, due time.Duration) (bool, error) {
	err := d.Wait(ctx, d.Origin.Add(due))
	if ctx.Err() != nil {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("wait until a request is due: %w", err)
	}
	return true, nil
}

// build starts to prepare the requests of all phases and returns when as many as may
// fall due together are ready, so that the first ones aren't late for want of a body.
// finish ends the preparing and waits for it.
func (d *drive) build(prepare Prepare) (finish func()) {
	ctx, cancel := context.WithCancel(d.requests)
	var builders sync.WaitGroup
	d.queues = map[gate.Phase]*queue{}
	for _, phase := range phases {
		q := newQueue(d.ledger.most(phase), d.Spec.ahead())
		d.queues[phase] = q
		builders.Go(func() { q.fill(ctx, phase, prepare) })
	}
	for _, q := range d.queues {
		select {
		case <-q.primed:
		case <-ctx.Done():
		}
	}
	return func() {
		cancel()
		builders.Wait()
	}
}

// send sends a request whose sending was noted, and returns when it has ended.
func (d *drive) send(t Ticket, send Send) {
	send(d.requests, t)
	d.ledger.end(t.Phase, d.now())
}

// settle waits for what is in flight when issuing has ended: as long as the drain
// timeout lets it, or not at all where issuing failed. It cancels the rest and returns
// when all of it has ended, with the reason for which the drive was cut short.
func (d *drive) settle(issuing error) error {
	ended := make(chan struct{})
	go func() {
		d.sending.Wait()
		close(ended)
	}()
	err := issuing
	if err == nil {
		grace := time.NewTimer(d.DrainTimeout)
		defer grace.Stop()
		select {
		case <-ended:
		case <-grace.C:
			d.abandon(ErrDrainTimeout)
		case <-d.requests.Done():
			err = context.Cause(d.requests)
		}
	}
	if err != nil {
		d.abandon(err)
	}
	<-ended
	return err
}
