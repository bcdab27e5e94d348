package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// ErrNoMetrics says that the engine has no metrics endpoint, or that it is switched off.
var ErrNoMetrics = errors.New("the engine has no metrics endpoint")

// scrapeTimeout bounds one scrape. Engines answer within milliseconds; one whose event
// loop is blocked for longer is data, and the next sample must not wait for it.
const scrapeTimeout = 5 * time.Second

// Endpoint is an engine's Prometheus endpoint.
type Endpoint struct {
	URL   string // whole, e.g. http://127.0.0.1:8000/metrics
	Token string // bearer token; empty: none. llama.cpp asks for its API key here too
}

// client keeps a connection for less than the 5 s after which uvicorn closes an idle
// one, asks no proxy, and follows no redirect: that would be someone else's metrics.
var client = &http.Client{
	Transport: &http.Transport{
		IdleConnTimeout:       4 * time.Second,
		ResponseHeaderTimeout: scrapeTimeout,
		DisableCompression:    true, // spares the engine's cores, and us a gzip bomb
	},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// Scrape reads the endpoint once, within 5 s. The error wraps [ErrNoMetrics] where the
// engine says that it has none (404, 405, 501).
func (e Endpoint) Scrape(ctx context.Context) (Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, e.URL, nil)
	if err != nil {
		return Snapshot{}, fmt.Errorf("scrape metrics: %w", err)
	}
	request.Header.Set("Accept", "text/plain;version=0.0.4,application/openmetrics-text;version=1.0.0;q=0.5")
	if e.Token != "" {
		request.Header.Set("Authorization", "Bearer "+e.Token)
	}
	response, err := client.Do(request)
	if err != nil {
		return Snapshot{}, fmt.Errorf("scrape metrics: %w", err)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return Snapshot{}, fmt.Errorf("scrape metrics: %w: %s answers %s", ErrNoMetrics, e.URL, response.Status)
	default:
		return Snapshot{}, fmt.Errorf("scrape metrics: %s answers %s", e.URL, response.Status)
	}
	s, err := read(response)
	if err != nil {
		return Snapshot{}, fmt.Errorf("scrape %s: %w", e.URL, err)
	}
	s.At = time.Now()
	return s, nil
}

func read(response *http.Response) (Snapshot, error) {
	s, err := Parse(response.Header.Get("Content-Type"), response.Body)
	if err == nil && s.start == "" {
		// llama.cpp tells it beside the metrics, by a clock of its own: good for
		// "has it changed", not for a time of day.
		s.start = response.Header.Get("Process-Start-Time-Unix")
	}
	return s, err
}
