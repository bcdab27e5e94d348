package runner_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/servegate/servegate/gate/rundir"
	"github.com/servegate/servegate/runner"
	"github.com/servegate/servegate/runner/workload"
)

// An interrupt in a repetition that repeats another is an interrupt: not a second invalid
// repetition, with which the run would be complete.
func TestInterruptDuringARepeat(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := plan(serve(t, nil), func(p *runner.Plan) {
		w := &p.Cells[0].Workload
		// No chat is as short as that: the first repetition is invalid.
		w.API, w.Prompt, w.Input = workload.Chat, workload.Text, workload.Lengths{Distribution: workload.Fixed, Mean: 1}
		p.Measure.Repetitions = 1
	})
	run, _, err := execute(t, ctx, p, func(e runner.Event) {
		if e.Kind == runner.Measuring && e.Index == 2 {
			time.AfterFunc(50*time.Millisecond, cancel)
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if run.Complete || run.Incomplete != "interrupted" || run.Cells[0].Invalid != "" {
		t.Errorf("got complete %v (%q), cell invalid %q, want an interrupted run and no word on the cell", run.Complete, run.Incomplete, run.Cells[0].Invalid)
	}
}

// What stands in front of an engine may answer in its place once it has died.
func TestAnswersInPlaceOfADeadEngine(t *testing.T) {
	engine := serve(t, nil)
	for name, answer := range map[string]http.HandlerFunc{
		"not found": http.NotFound,
		"a page": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("<!doctype html><title>Down for maintenance</title>"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			run, _, err := execute(t, t.Context(), plan(inFrontOf(t, engine, after40(answer)), nil), nil)
			var failed *runner.MeasureError
			if !errors.As(err, &failed) || !strings.Contains(run.Cells[0].Invalid, "gives no token") {
				t.Errorf("got %v, cell invalid %q, want a lost engine", err, run.Cells[0].Invalid)
			}
		})
	}
}

// An engine that gives no output is silent, however often we give up on its requests,
// and whatever the server in front of it sends meanwhile.
func TestSilentEngineHangs(t *testing.T) {
	engine := serve(t, nil)
	drip := func(head, drop string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, head)
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, drop)
				_ = http.NewResponseController(w).Flush()
				time.Sleep(20 * time.Millisecond)
			}
		}
	}
	tests := []struct {
		name           string
		answer         http.HandlerFunc
		request, hangs time.Duration // timeouts
	}{
		{"no answer", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, time.Second, 2500 * time.Millisecond},
		{"pings", drip("", ": ping\n\n"), 20 * time.Second, time.Second},
		{"one byte at a time", drip(`data: {"choices":[{"text":"`, "x"), 20 * time.Second, time.Second},
		{"frames without output", drip("", `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`+"\n\n"), 20 * time.Second, time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			run, _, err := execute(t, t.Context(), plan(inFrontOf(t, engine, after40(tt.answer)), func(p *runner.Plan) {
				p.Measure.RequestTimeout, p.Measure.HangTimeout = tt.request, tt.hangs
				p.Measure.Requests = 400
			}), nil)
			if got := run.Cells[0].Invalid; !strings.Contains(got, "hung") {
				t.Errorf("got %v, cell invalid %q, want an engine that hung", err, got)
			}
		})
	}
}

// An engine may go on with whole answers when its streaming has died.
func TestDeadStreaming(t *testing.T) {
	var asked atomic.Int64
	front := inFrontOf(t, serve(t, nil), func(_ *http.Request, body []byte) http.Handler {
		if !bytes.Contains(body, []byte(`"stream":true`)) || asked.Add(1) <= 40 {
			return nil
		}
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {\"choices\":[{\"text\":\"\"}]}\n\n")
		})
	})
	run, _, _ := execute(t, t.Context(), plan(front, nil), nil)
	if got := run.Cells[0].Invalid; !strings.Contains(got, "gives no token") {
		t.Errorf("got cell invalid %q, want a lost engine", got)
	}
}

// The client learns how an engine treats its connections by one small request in the form
// of the load: before it, in no record, and not among what the engine counted over it.
func TestLearningComesBeforeTheLoad(t *testing.T) {
	var learning, sent atomic.Int64
	front := inFrontOf(t, serve(t, nil), func(_ *http.Request, body []byte) http.Handler {
		switch {
		case !bytes.Contains(body, []byte(`"stream":true`)):
		case bytes.Contains(body, []byte(`"max_tokens":4,`)):
			sent.Add(1)
		case bytes.Contains(body, []byte(`"max_tokens":1,`)):
			if learning.Add(1) == 1 && sent.Load() > 0 {
				t.Error("got the request to learn by behind one of the load")
			}
		}
		return nil
	})
	run, dir, err := execute(t, t.Context(), plan(front, nil), nil)
	if len(run.Cells[0].Repetitions) == 0 {
		t.Fatal(err)
	}
	d, err := rundir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var records, counted int64
	for _, rep := range run.Cells[0].Repetitions {
		var buf rundir.Buffer
		reqs, err := d.ReadRequests("w@l", rep.Index, &buf)
		if err != nil || rep.Engine.Requests == nil {
			t.Fatalf("got %v, engine counts %v, want both", err, rep.Engine.Requests)
		}
		records, counted = records+int64(len(reqs)), counted+*rep.Engine.Requests
	}
	if int(learning.Load()) != len(run.Cells[0].Repetitions) || records != sent.Load() || counted != sent.Load() {
		t.Errorf("got %d to learn by, %d of the load, %d recorded, %d counted, want one a repetition and the others alike", learning.Load(), sent.Load(), records, counted)
	}
}

// after40 answers all requests for tokens but the first 40.
func after40(answer http.HandlerFunc) func(*http.Request, []byte) http.Handler {
	var asked atomic.Int64
	return func(r *http.Request, _ []byte) http.Handler {
		if strings.HasSuffix(r.URL.Path, "/completions") && asked.Add(1) > 40 {
			return answer
		}
		return nil
	}
}

// inFrontOf serves what the engine at url serves, but for the requests that instead has a
// handler for; it gets their bodies too. It returns its own URL.
func inFrontOf(t *testing.T, engine string, instead func(r *http.Request, body []byte) http.Handler) string {
	t.Helper()
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // or the end of the connection goes unseen
		r.Body = io.NopCloser(bytes.NewReader(body))
		if h := instead(r, body); h != nil {
			h.ServeHTTP(w, r)
			return
		}
		proxyTo(t, engine).ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	return front.URL
}

// proxyTo hands requests on to the engine.
func proxyTo(t *testing.T, engine string) http.Handler {
	to, err := url.Parse(engine)
	if err != nil {
		t.Error(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1
	return proxy
}
