package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// DefaultInterval is the time between two samples of a [Recorder] that sets none.
const DefaultInterval = time.Second

// lastScrape bounds the sample at the end: an engine that was killed must not hold up
// the teardown.
const lastScrape = time.Second

// Recorder writes an engine's metrics as a time series of JSON lines.
type Recorder struct {
	// Scrape takes one sample, see [Endpoint.Scrape].
	Scrape func(context.Context) (Snapshot, error)
	// Start is the moment that the times in the file count from.
	Start time.Time
	// Interval is the time between two samples; 0: [DefaultInterval]. A scrape that takes
	// longer leaves out the samples that it ran over.
	Interval time.Duration
}

// Line is one sample in the file: Metrics or Error is set.
type Line struct {
	T float64 `json:"t"` // seconds since the recorder's Start
	// Metrics holds the value of every gauge and counter and of every histogram's sum
	// and count, by name{label="value"}.
	Metrics map[string]float64 `json:"metrics,omitempty"`
	Restart string             `json:"restart,omitempty"` // why the engine is not the one of the line before
	Error   string             `json:"error,omitempty"`   // why there is no sample
}

// Recording sums up what a recorder wrote.
type Recording struct {
	Samples   int    // lines with metrics
	Errors    int    // lines with an error
	LastError string // the newest of them
	Restart   string // the first restart that was seen, see [Change.Restart]
	Absent    bool   // the engine has no metrics: the file has one line that says so
}

// Run takes a sample at once, then every Interval until ctx ends, and one at the end, so
// that the window is bracketed; it writes them to w as they come. What a scrape finds
// wrong goes into the file. The error is that of writing to w.
func (r *Recorder) Run(ctx context.Context, w io.Writer) (Recording, error) {
	tape := tape{recorder: r, out: json.NewEncoder(w)}
	tape.out.SetEscapeHTML(false)
	interval := r.Interval
	if interval <= 0 {
		interval = DefaultInterval
	}
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for ctx.Err() == nil {
		s, err := r.Scrape(ctx)
		if err != nil && ctx.Err() != nil {
			break // the end cut it short; one more is taken below
		}
		if err := tape.write(s, err); err != nil || tape.sum.Absent {
			return tape.sum, err
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastScrape)
	defer cancel()
	err := tape.write(r.Scrape(last))
	return tape.sum, err
}

// tape is the state of one recording.
type tape struct {
	recorder *Recorder
	out      *json.Encoder
	sum      Recording
	last     *Snapshot
}

func (t *tape) write(s Snapshot, err error) error {
	at := s.At
	if at.IsZero() {
		at = time.Now()
	}
	line := Line{T: math.Round(at.Sub(t.recorder.Start).Seconds()*1e6) / 1e6}
	if err != nil {
		line.Error = err.Error()
		t.sum.Errors++
		t.sum.LastError = line.Error
		t.sum.Absent = errors.Is(err, ErrNoMetrics) && t.sum.Samples == 0
	} else {
		t.see(s, &line)
	}
	if err := t.out.Encode(line); err != nil {
		return fmt.Errorf("write engine metrics: %w", err)
	}
	return nil
}

func (t *tape) see(s Snapshot, line *Line) {
	line.Metrics = s.numbers()
	if t.last != nil {
		line.Restart = Delta(*t.last, s).Restart()
	}
	if t.sum.Restart == "" {
		t.sum.Restart = line.Restart
	}
	t.last = &s
	t.sum.Samples++
}
