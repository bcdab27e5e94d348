package rundir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/servegate/servegate/gate"
)

// RepetitionWriter writes the raw records and telemetry of one repetition.
type RepetitionWriter struct {
	w        *Writer
	ref      Ref
	requests *stream
	records  int // these two under the lock of requests
	arrivals int // with token counts, as both take memory to read

	mu        sync.Mutex
	telemetry []*stream
	closed    bool
}

// Repetition begins a repetition: its folder must not exist yet. It must be closed.
func (w *Writer) Repetition(cellID string, index int) (*RepetitionWriter, error) {
	ref := Ref{Cell: cellID, Index: index}
	if err := ref.check(); err != nil {
		return nil, fmt.Errorf("begin repetition: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.finished {
		return nil, fmt.Errorf("begin repetition %s: the run is finished", ref)
	}
	folder := filepath.Join(w.dir, filepath.FromSlash(ref.folder()))
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return nil, fmt.Errorf("begin repetition %s: %w", ref, err)
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		return nil, fmt.Errorf("begin repetition %s: %w", ref, err)
	}
	requests, err := createStream(w.path(ref, requestsName))
	if err != nil {
		return nil, fmt.Errorf("begin repetition %s: %w", ref, err)
	}
	w.open[ref] = true
	return &RepetitionWriter{w: w, ref: ref, requests: requests}, nil
}

// path is the path of one of a repetition's files of lines.
func (w *Writer) path(ref Ref, name string) string {
	return filepath.Join(w.dir, filepath.FromSlash(ref.file(name)))
}

// Add writes the record of one request. It may be called from several goroutines. It
// encodes and returns: a goroutine compresses and writes, so that a slow disk never
// holds up who measures. An error is that of any earlier write, and stays.
func (r *RepetitionWriter) Add(req *gate.Request) error {
	block := r.requests.begin()
	before := len(block)
	block = appendRequest(block, req)
	r.records++
	r.arrivals += len(req.Arrivals) + len(req.ChunkTokens)
	if fault := defaultLimits.exceeded(r.records, r.arrivals, len(block)-before); fault != "" {
		return r.requests.fail(fmt.Errorf("write %s: %s", r.requests.file.Name(), fault))
	}
	return r.requests.commit(block)
}

// Err returns the first error that any write of raw records had so far.
func (r *RepetitionWriter) Err() error { return r.requests.failed() }

// Telemetry opens the time series <name>.jsonl.zst of the repetition. Each Write takes
// whole lines and returns before they are compressed. It is closed with the repetition,
// if not before.
func (r *RepetitionWriter) Telemetry(name string) (io.WriteCloser, error) {
	if err := checkName("telemetry", name); err != nil {
		return nil, fmt.Errorf("begin telemetry of %s: %w", r.ref, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, fmt.Errorf("begin telemetry of %s: %w", r.ref, errClosed)
	}
	s, err := createStream(r.w.path(r.ref, name))
	if err != nil {
		return nil, fmt.Errorf("begin telemetry of %s: %w", r.ref, err)
	}
	r.telemetry = append(r.telemetry, s)
	return lineWriter{s}, nil
}

// Close brings the records and the telemetry to the disk and returns the first error
// that any of them had. It may be called again.
func (r *RepetitionWriter) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	errs := []error{r.requests.close()}
	for _, s := range r.telemetry {
		errs = append(errs, s.close())
	}
	errs = append(errs, syncDir(filepath.Dir(r.requests.file.Name())))
	r.w.mu.Lock()
	delete(r.w.open, r.ref)
	r.w.mu.Unlock()
	return errors.Join(errs...)
}

// lineWriter is a stream as an io.WriteCloser.
type lineWriter struct{ s *stream }

func (l lineWriter) Write(p []byte) (int, error) {
	if err := l.s.commit(append(l.s.begin(), p...)); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (l lineWriter) Close() error { return l.s.close() }
