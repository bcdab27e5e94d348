package engine

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// fakeHandle is an engine at a URL whose life the test ends.
type fakeHandle struct {
	url  string
	life *Life
}

func (h fakeHandle) URL() string              { return h.url }
func (h fakeHandle) Life() *Life              { return h.life }
func (fakeHandle) Stop(context.Context) error { return nil }

// living returns a handle on a server and the function that ends its life.
func living(t *testing.T, handler http.HandlerFunc) (fakeHandle, func(Exit)) {
	t.Helper()
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	life, end := NewLife(func(n int) []string { return last([]string{"loading", "still loading"}, n) })
	return fakeHandle{srv.URL, life}, end
}

// routes answers with fixed statuses, and 404 elsewhere.
func routes(status map[string]int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if code, ok := status[r.URL.Path]; ok {
			w.WriteHeader(code)
			return
		}
		http.NotFound(w, r)
	}
}

// quick is a probe for tests.
var quick = Probe{Interval: time.Millisecond, Timeout: time.Minute, Patience: 50 * time.Millisecond}

func TestAwaitReady(t *testing.T) {
	html := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
	}
	page := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write([]byte("\n<!DOCTYPE html><title>Welcome</title>"))
	}
	redirect := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://elsewhere/health", http.StatusMovedPermanently)
	}
	tests := []struct {
		name     string
		handler  http.HandlerFunc
		want     string // within the error; empty: ready
		wantHint string
	}{
		{name: "health", handler: routes(map[string]int{"/health": 200})},
		{name: "models instead of health", handler: routes(map[string]int{"/v1/models": 200})},
		{name: "health is no method", handler: routes(map[string]int{"/health": 405, "/v1/models": 200})},
		{name: "no known route", handler: http.NotFound, want: "get /health: status 404", wantHint: "without /v1"},
		{name: "wants a key", handler: routes(map[string]int{"/health": 401}), want: "status 401", wantHint: "api_key"},
		{name: "models want a key", handler: routes(map[string]int{"/v1/models": 403}), want: "get /v1/models: status 403", wantHint: "api_key"},
		{name: "web page", handler: html, want: "an HTML page", wantHint: "host and port"},
		{name: "web page in disguise", handler: page, want: "an HTML page", wantHint: "host and port"},
		{name: "redirect", handler: redirect, want: `status 301 Moved Permanently "to https://elsewhere/health"`, wantHint: "redirects"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, _ := living(t, tt.handler)
			err := AwaitReady(t.Context(), h, quick)
			if tt.want == "" {
				if err != nil {
					t.Fatalf("got %v, want it ready", err)
				}
				return
			}
			var e *NotReadyError
			if !errors.As(err, &e) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want a NotReadyError with %q", err, tt.want)
			}
			if !strings.Contains(e.Hint(), tt.wantHint) {
				t.Errorf("hint %q, want %q in it", e.Hint(), tt.wantHint)
			}
		})
	}
}

// Answers that a booting engine doesn't give are put up with for a while: a proxy in
// front may be up before it.
func TestAwaitReadyForgivesWrongAnswersForAWhile(t *testing.T) {
	var asked atomic.Int32
	h, _ := living(t, func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) < 4 {
			http.NotFound(w, r)
		}
	})
	p := quick
	p.Patience = time.Minute
	if err := AwaitReady(t.Context(), h, p); err != nil {
		t.Error(err)
	}
}

func TestAwaitReadySendsHeader(t *testing.T) {
	h, _ := living(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer key" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	p := quick
	p.Header = http.Header{"Authorization": {"Bearer key"}}
	if err := AwaitReady(t.Context(), h, p); err != nil {
		t.Error(err)
	}
}

func TestAwaitReadyWithNobodyThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	p := quick
	p.Timeout = 100 * time.Millisecond
	err = AwaitReady(t.Context(), fakeHandle{"http://" + address, nil}, p)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v, want a timeout with the refused connection", err)
	}
}

// The server hangs: only the engine's death can end the wait in time.
func TestDeathEndsAHangingProbe(t *testing.T) {
	release := make(chan struct{})
	h, end := living(t, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	time.AfterFunc(50*time.Millisecond, func() {
		end(Exit{Code: 3, LastLines: []string{"torch.cuda.OutOfMemoryError: CUDA out of memory"}})
	})
	p := quick
	p.Timeout = time.Hour
	err := AwaitReady(t.Context(), h, p)
	var e *NotReadyError
	if !errors.As(err, &e) || e.Exit == nil || e.Exit.Code != 3 {
		t.Fatalf("got %v, want the exit", err)
	}
	if errors.Is(err, context.Canceled) {
		t.Error("a death is taken for an interrupt")
	}
	if !strings.Contains(e.Hint(), "nvidia-smi") {
		t.Errorf("hint = %q, want the one for memory", e.Hint())
	}
}

func TestFirstToken(t *testing.T) {
	up := routes(map[string]int{"/health": 200})
	tests := []struct {
		name  string
		token func(ctx context.Context, end func(Exit)) error
		want  []string // within the error; none: ready
		died  bool
	}{
		{name: "comes", token: func(context.Context, func(Exit)) error { return nil }},
		{
			name:  "fails",
			token: func(context.Context, func(Exit)) error { return errors.New("status 500:\nno worker") },
			want:  []string{"healthy", "first request failed: status 500: no worker", "its log ends with: loading | still loading"},
		},
		{
			name: "connection breaks before the death is seen", died: true,
			token: func(_ context.Context, end func(Exit)) error {
				time.AfterFunc(50*time.Millisecond, func() { end(Exit{Code: -1, Signal: "SIGSEGV"}) })
				return errors.New("unexpected EOF")
			},
			want: []string{"healthy", "was ended by SIGSEGV on its first request"},
		},
		{
			name: "hangs until the engine dies", died: true,
			token: func(ctx context.Context, end func(Exit)) error {
				end(Exit{Code: 0})
				<-ctx.Done()
				return ctx.Err()
			},
			want: []string{"exited with code 0 on its first request"},
		},
		{
			name: "comes from an engine that is dead", died: true,
			token: func(_ context.Context, end func(Exit)) error {
				end(Exit{Code: 1})
				return nil
			},
			want: []string{"exited with code 1"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, end := living(t, up)
			p := quick
			p.FirstToken = func(ctx context.Context, url string) error {
				if url != h.url {
					t.Errorf("asked at %q, want %q", url, h.url)
				}
				return tt.token(ctx, end)
			}
			err := AwaitReady(t.Context(), h, p)
			if len(tt.want) == 0 {
				if err != nil {
					t.Fatalf("got %v, want it ready", err)
				}
				return
			}
			var e *NotReadyError
			if !errors.As(err, &e) || e.Stage != StageFirstToken || (e.Exit != nil) != tt.died {
				t.Fatalf("got %v, want a NotReadyError of the first token", err)
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("got %q, want %q in it", err, part)
				}
			}
		})
	}
}

func TestFirstTokenTimeout(t *testing.T) {
	h, _ := living(t, routes(map[string]int{"/health": 200}))
	p := quick
	p.Timeout = 100 * time.Millisecond
	p.FirstToken = func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }
	err := AwaitReady(t.Context(), h, p)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "first token had not come") {
		t.Errorf("got %v, want the timeout of the first token", err)
	}
}

func TestInterruptedFirstToken(t *testing.T) {
	h, _ := living(t, routes(map[string]int{"/health": 200}))
	ctx, cancel := context.WithCancel(t.Context())
	p := quick
	p.FirstToken = func(ctx context.Context, _ string) error { cancel(); <-ctx.Done(); return ctx.Err() }
	err := AwaitReady(ctx, h, p)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("got %v, want the interrupt", err)
	}
}

func TestHints(t *testing.T) {
	tests := []struct {
		name, line string
		exit       Exit
		want       string // within the hint; empty: no hint
	}{
		{"python port", "OSError: [Errno 98] Address already in use", Exit{Code: 1}, "holds a port"},
		{"uvicorn port", "[Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use", Exit{Code: 1}, "holds a port"},
		{"llama.cpp port", "couldn't bind to server socket: hostname=127.0.0.1 port=8080", Exit{Code: 1}, "holds a port"},
		{"vllm memory", "ValueError: Free memory on device (3.1/79.2 GiB) on startup is less than desired GPU memory utilization", Exit{Code: 1}, "nvidia-smi"},
		{"vllm cache", "ValueError: No available memory for the cache blocks.", Exit{Code: 1}, "nvidia-smi"},
		{"gated", "huggingface_hub.errors.GatedRepoError: 401 Client Error.", Exit{Code: 1}, "secrets"},
		{"flag", "vllm: error: unrecognized arguments: --disable-log-requests", Exit{Code: 2}, "doesn't know"},
		{"disk", "OSError: [Errno 28] No space left on device", Exit{Code: 1}, "disk is full"},
		{"no gpu", "RuntimeError: No CUDA GPUs are available", Exit{Code: 1}, "accelerator"},
		{"library", "llama-server: error while loading shared libraries: libcudart.so.12", Exit{Code: 127}, "library"},
		{"shell", "bash: line 1: vllm: command not found", Exit{Code: 127}, "PATH"},
		{"code 127", "", Exit{Code: 127}, "PATH"},
		{"code 126", "", Exit{Code: 126}, "mode bits"},
		{"code 0", "Application shutdown complete.", Exit{Code: 0}, "background"},
		{"killed", "loading", Exit{Code: -1, Signal: "SIGKILL"}, "dmesg"},
		{"killed by us", "loading", Exit{Code: -1, Signal: "SIGKILL", Stopped: true}, ""},
		{"crashed", "loading", Exit{Code: -1, Signal: "SIGSEGV"}, "crashed"},
		{"unknown", "KeyError: 'model'", Exit{Code: 1}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := &NotReadyError{Stage: StageBoot, Exit: &tt.exit, LastLines: []string{"INFO boot", tt.line}}
			got := e.Hint()
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("Hint() = %q, want %q in it", got, tt.want)
			}
		})
	}
}

func TestLife(t *testing.T) {
	life, end := NewLife(func(n int) []string { return last([]string{"a", "b"}, n) })
	if life.Ended() || life.Exit().Code != 0 || len(life.LastLines(1)) != 1 {
		t.Fatalf("a new life: ended %v, lines %q", life.Ended(), life.LastLines(1))
	}
	end(Exit{Code: 2, LastLines: []string{"x", "y", "z"}})
	end(Exit{Code: 5})
	<-life.Done()
	if got := life.Exit().Code; got != 2 {
		t.Errorf("Exit().Code = %d, want that of the first end", got)
	}
	if got := life.LastLines(2); len(got) != 2 || got[0] != "y" {
		t.Errorf("LastLines(2) = %q, want those of the exit", got)
	}
	for _, tt := range []struct {
		exit Exit
		want string
	}{
		{Exit{Code: 3}, "exited with code 3"},
		{Exit{Code: -1, Signal: "SIGKILL"}, "was ended by SIGKILL"},
		{Exit{Code: -1, Note: "it can't be killed"}, "ended (it can't be killed)"},
	} {
		if got := tt.exit.String(); got != tt.want {
			t.Errorf("String() = %q, want %q", got, tt.want)
		}
	}
}
