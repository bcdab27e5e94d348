package runner_test

import (
	"bytes"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/servegate/servegate/runner"
	"github.com/servegate/servegate/runner/workload"
)

// slowWriter waits before each frame of an answer.
type slowWriter struct {
	http.ResponseWriter
	pause time.Duration
}

func (w slowWriter) Write(p []byte) (int, error) {
	for _, frame := range bytes.SplitAfter(p, []byte("\n\n")) {
		time.Sleep(w.pause)
		if _, err := w.ResponseWriter.Write(frame); err != nil {
			return 0, err
		}
		_ = http.NewResponseController(w.ResponseWriter).Flush()
	}
	return len(p), nil
}

func (w slowWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// slowOnce waits pause before each frame of the second answer to a request whose body
// holds mark.
func slowOnce(t *testing.T, engine, mark string, pause time.Duration) string {
	t.Helper()
	var seen atomic.Int64
	return inFrontOf(t, engine, func(_ *http.Request, body []byte) http.Handler {
		if !bytes.Contains(body, []byte(mark)) || seen.Add(1) != 2 {
			return nil
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			proxyTo(t, engine).ServeHTTP(slowWriter{w, pause}, r)
		})
	})
}

// An answer that takes longer than the hang timeout is no hang: while its tokens come, or
// where it isn't streamed, so that nothing comes before its end.
func TestLongAnswersAreNoHang(t *testing.T) {
	tests := []struct {
		name   string
		stream bool
		pause  time.Duration // before each frame of the answer
	}{
		{"streamed", true, 25 * time.Millisecond},
		{"whole", false, time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := plan(slowOnce(t, serve(t, nil), `"max_tokens":40,`, tt.pause), func(p *runner.Plan) {
				c := &p.Cells[0]
				c.Concurrency, c.Load.Concurrency = 1, 1
				c.Streaming, c.Workload.Stream = tt.stream, tt.stream
				c.Workload.Output = workload.Lengths{Distribution: workload.Fixed, Mean: 40}
				p.Measure.Requests, p.Measure.Warmup, p.Measure.HangTimeout = 2, 1, 450*time.Millisecond
			})
			run, _, err := execute(t, t.Context(), p, nil)
			if run.Cells[0].Invalid != "" {
				t.Errorf("got %v: %s", err, run.Cells[0].Invalid)
			}
		})
	}
}
