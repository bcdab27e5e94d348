package runner

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/servegate/servegate/runner/engine"
)

// watchEvery is how often a repetition is looked after: progress is told, and a hang
// is looked for.
const watchEvery = 250 * time.Millisecond

// lostError says that the engine was lost during a repetition: it died, hung, or
// restarted. Nothing is repeated then, for that is what the gate is there to see.
type lostError struct{ what string }

func (e *lostError) Error() string { return e.what }

// watch looks after a repetition until ctx ends. It calls give with the reason when
// the engine has ended, or has sent nothing for longer than patience while requests
// were in flight. heard counts what has come from the engine so far, flying the requests
// in flight; tick is called each time round. No patience is never a hang.
type watch struct {
	life     *engine.Life
	patience time.Duration
	heard    func() int64
	flying   func() int
	tick     func()
	give     func(*lostError)
}

func (w watch) run(ctx context.Context) {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	last, since := w.heard(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.life.Done():
			w.give(died(w.life))
			return
		case <-ticker.C:
		}
		w.tick()
		if now := w.heard(); now != last || w.flying() == 0 {
			last, since = now, time.Now()
		}
		if silent := time.Since(since); w.patience > 0 && silent > w.patience {
			w.give(&lostError{fmt.Sprintf("engine hung: no output came for %.0f s with %d requests in flight", silent.Seconds(), w.flying())})
			return
		}
	}
}

// watch looks after the repetition until the returned function is called.
func (m *measurement) watch(ctx context.Context, cancel context.CancelCauseFunc) (stop func()) {
	watching, end := context.WithCancel(ctx)
	w := watch{
		life:     m.session.engine.handle.Life(),
		patience: m.patience(),
		heard:    m.heard,
		flying:   func() int { return int(m.flying.Load()) },
		tick: func() {
			m.tell()
			if err := m.out.Err(); err != nil {
				cancel(err)
			}
			if m.pulse.gone() {
				if lost := m.session.autopsy(watching, m.cell); lost != nil {
					cancel(lost)
				}
			}
		},
		give: func(lost *lostError) { cancel(lost) },
	}
	var running sync.WaitGroup
	running.Go(func() { w.run(watching) })
	return func() {
		end()
		running.Wait()
	}
}

// heard counts what only an engine that is alive sends: frames with output and whole
// answers. Heads and pings come from the server in front of it. Nor is it how many
// requests have ended: a silent engine's end too, by their timeout.
func (m *measurement) heard() int64 { return m.client.Stats().Frames + m.answered.Load() }

// patience is how long nothing may be heard. Of an answer that isn't streamed nothing is
// before its end, which may be as far away as the time limit of a request.
func (m *measurement) patience() time.Duration {
	most := m.session.plan.Measure
	if most.HangTimeout > 0 && !m.cell.Workload.Stream {
		return max(most.HangTimeout, most.RequestTimeout)
	}
	return most.HangTimeout
}

// died says how an engine ended, with its last words.
func died(life *engine.Life) *lostError {
	text := "engine died: it " + life.Exit().String()
	if lines := life.LastLines(3); len(lines) > 0 {
		text += fmt.Sprintf("; its log ends with %q", lines)
	}
	return &lostError{text}
}
