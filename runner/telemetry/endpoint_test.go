package telemetry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func serve(t *testing.T, handler http.HandlerFunc) Endpoint {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return Endpoint{URL: server.URL + "/metrics"}
}

func TestScrape(t *testing.T) {
	endpoint := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer secret" {
			t.Errorf("Authorization is %q, want the token", got)
		}
		if got := r.Header.Get("Accept"); !strings.HasPrefix(got, "text/plain;version=0.0.4,") {
			t.Errorf("Accept is %q, want the text format first", got)
		}
		w.Header().Set("Content-Type", textType)
		w.Header().Set("Process-Start-Time-Unix", "902247708")
		io.WriteString(w, "up 1\n")
	})
	endpoint.Token = "secret"
	before := time.Now()
	s, err := endpoint.Scrape(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := s.Value("up"); v != 1 || !ok {
		t.Errorf("up is %v, %t, want 1", v, ok)
	}
	if s.At.Before(before) || s.At.After(time.Now()) {
		t.Errorf("At is %s, want between %s and now", s.At, before)
	}
	if s.start != "902247708" {
		t.Errorf("start is %q, want that of the header", s.start)
	}
}

func TestScrapeReadsOpenMetrics(t *testing.T) {
	endpoint := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", openMetricsType)
		io.WriteString(w, openMetrics)
	})
	s, err := endpoint.Scrape(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if v, _ := s.Value("vllm:prompt_tokens"); v != 20 {
		t.Errorf("prompt tokens are %v, want 20", v)
	}
}

func TestScrapeRefuses(t *testing.T) {
	answer := func(status int, contentType, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	tests := []struct {
		name       string
		handler    http.HandlerFunc
		want       string
		wantAbsent bool
	}{
		{"no route", answer(404, textType, "up 1"), "answers 404 Not Found", true},
		{"no such method", answer(405, textType, "up 1"), "answers 405 Method Not Allowed", true},
		{"llama.cpp without --metrics", answer(501, "application/json", "{}"), "answers 501 Not Implemented", true},
		{"no token", answer(401, textType, "up 1"), "answers 401 Unauthorized", false},
		{"starting", answer(503, textType, "up 1"), "answers 503 Service Unavailable", false},
		{"redirect", answer(302, textType, "up 1"), "answers 302 Found", false},
		{"TensorRT-LLM's JSON", answer(200, "application/json", "[]"), "content type is application/json", false},
		{"rubbish", answer(200, textType, "rubbish"), "parse metrics: line 1: no value", false},
		{"cut off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", textType)
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "up 1\n")
		}, "unexpected EOF", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := serve(t, tt.handler).Scrape(t.Context())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want one with %q", err, tt.want)
			}
			if got := errors.Is(err, ErrNoMetrics); got != tt.wantAbsent {
				t.Errorf("error is ErrNoMetrics: %t, want %t", got, tt.wantAbsent)
			}
		})
	}
}

func TestScrapeEndsWithItsContext(t *testing.T) {
	asked := make(chan struct{})
	endpoint := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if _, err := endpoint.Scrape(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want context.Canceled", err)
	}
}

func TestScrapeOfNothing(t *testing.T) {
	endpoint := serve(t, nil)
	server := httptest.NewServer(nil)
	endpoint.URL = server.URL
	server.Close()
	if _, err := endpoint.Scrape(t.Context()); err == nil || errors.Is(err, ErrNoMetrics) {
		t.Errorf("got error %v, want a refused connection", err)
	}
	if _, err := (Endpoint{URL: "http://bad host/"}).Scrape(t.Context()); err == nil {
		t.Error("got no error for a URL that is none")
	}
}
