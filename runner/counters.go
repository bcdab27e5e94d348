package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/gate/rundir"
	"github.com/servegate/servegate/runner/telemetry"
)

const (
	// sampleEvery is the time between two samples of the engine's metrics. An engine
	// that renders them in the process that streams tokens is held up by it each time.
	sampleEvery = 5 * time.Second
	// settleTime is how long an engine's counters may take to show what its clients
	// have seen already.
	settleTime = 2 * time.Second
)

// observer keeps the engine's metrics over one repetition.
type observer struct {
	endpoint telemetry.Endpoint
	start    time.Time // of the repetition: the times of its metrics and of its requests count from it
	before   telemetry.Snapshot
	fault    error // why there are no metrics; nil: there are
	stop     context.CancelFunc
	running  sync.WaitGroup
	recorded telemetry.Recording
}

// observe takes a first look at the engine's metrics, begins the repetition, and records
// them from then on. The error is that of opening the file that they go to; those of
// writing it are told when out is closed.
func observe(ctx context.Context, s *session, out *rundir.RepetitionWriter) (*observer, error) {
	o := &observer{endpoint: telemetry.Endpoint{URL: s.engine.handle.URL() + "/metrics", Token: s.apiKey()}}
	ctx, o.stop = context.WithCancel(ctx)
	o.before, o.fault = o.endpoint.Scrape(ctx)
	o.start = time.Now()
	if o.fault != nil {
		if !errors.Is(o.fault, telemetry.ErrNoMetrics) {
			s.warn("engine metrics can't be read, its own counts are unknown: %v", o.fault)
		}
		return o, nil
	}
	file, err := out.Telemetry("engine")
	if err != nil {
		o.stop()
		return nil, err
	}
	recorder := telemetry.Recorder{Scrape: o.endpoint.Scrape, Start: o.start, Interval: sampleEvery}
	o.running.Go(func() {
		o.recorded, _ = recorder.Run(ctx, file)
		_ = file.Close()
	})
	return o, nil
}

// clientCounts is what the client saw end.
type clientCounts struct {
	ok     int64 // with success
	unsure int64 // otherwise, after they had reached the engine
}

// findings is what the metrics say of a repetition.
type findings struct {
	engine  gate.EngineFacts
	reasons []string   // of invalidity
	lost    *lostError // the engine restarted
}

// finish takes a last look and holds the engine's counts against the client's. Where
// the engine is gone there is nothing to look at.
func (o *observer) finish(ctx context.Context, seen clientCounts, alive bool) findings {
	o.stop()
	o.running.Wait()
	if o.fault != nil || !alive || ctx.Err() != nil {
		return findings{}
	}
	change, err := o.settled(ctx, seen)
	if err != nil {
		return findings{reasons: []string{fmt.Sprintf("engine metrics could be read before the load and not after it: %v", err)}}
	}
	if why := cmp.Or(change.Restart(), o.recorded.Restart); why != "" {
		return findings{lost: &lostError{"engine restarted: " + why}}
	}
	f := findings{engine: change.Facts()}
	if n := f.engine.Requests; n != nil && !seen.agree(*n) {
		f.reasons = append(f.reasons, fmt.Sprintf("the engine counted %d requests, the client had %d (and %d that may have been counted): somebody else used the engine, or answers were lost", *n, seen.ok, seen.unsure))
	}
	return f
}

// settled waits until the engine's count agrees with the client's, or has had its time.
func (o *observer) settled(ctx context.Context, seen clientCounts) (telemetry.Change, error) {
	for start := time.Now(); ; {
		after, err := o.endpoint.Scrape(ctx)
		if err != nil {
			return telemetry.Change{}, err
		}
		change := telemetry.Delta(o.before, after)
		n := change.Facts().Requests
		if n == nil || seen.agree(*n) || time.Since(start) > settleTime {
			return change, nil
		}
		select {
		case <-ctx.Done():
			return change, nil
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// agree reports whether an engine that counted n successes has served this client and
// nobody else.
func (c clientCounts) agree(n int64) bool { return n >= c.ok && n <= c.ok+c.unsure }
