package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// newProbeClient returns a client for polls. It opens a connection for each, so that
// none is taken from the engine's limit while it is measured, goes through no proxy and
// follows no redirect: an answer counts only if it comes from where the requests go.
func newProbeClient() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       attemptTimeout,
	}
}

// poll asks the engine once whether it is up.
func (w *wait) poll(ctx context.Context) error {
	var first *answerError
	for _, path := range append([]string{w.probe.Path}, w.probe.Alternatives...) {
		err := w.get(ctx, path)
		var answer *answerError
		if err == nil || !errors.As(err, &answer) || !answer.absent() {
			return err
		}
		if first == nil {
			first = answer
		}
	}
	first.wrong = true
	return first
}

// get asks for one path. It returns nil for a 200 that an engine might give.
func (w *wait) get(ctx context.Context, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.handle.URL()+path, nil)
	if err != nil {
		return fmt.Errorf("get %s: %w", path, err)
	}
	for name, values := range w.probe.Header {
		req.Header[name] = values
	}
	res, err := w.client.Do(req)
	if err != nil {
		// The client's error repeats method and address, which the reader knows.
		var outer *url.Error
		if errors.As(err, &outer) {
			err = outer.Err
		}
		if strings.Contains(err.Error(), "readLoopPeekFail") { // net/http's own word, and no sentence
			err = errors.New("the server spoke before it was asked")
		}
		return fmt.Errorf("get %s: %w", path, err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10)) // an excerpt for the message
	return judge(path, res, body)
}

// judge returns nil for an answer that means "up".
func judge(path string, res *http.Response, body []byte) error {
	html := strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") ||
		bytes.HasPrefix(bytes.ToLower(bytes.TrimSpace(body)), []byte("<!doctype html"))
	e := &answerError{path: path, status: res.StatusCode, html: html}
	switch code := res.StatusCode; {
	case code == http.StatusOK && !html:
		return nil
	case code == http.StatusOK, code == http.StatusUnauthorized, code == http.StatusForbidden:
		e.wrong = true
	case code >= 300 && code < 400:
		e.wrong, e.excerpt = true, "to "+clean(res.Header.Get("Location"))
	}
	if !html && e.excerpt == "" {
		if lines := printable(body, 1); len(lines) > 0 {
			e.excerpt = lines[0]
		}
	}
	return e
}

// answerError is an answer that doesn't mean "up".
type answerError struct {
	path    string
	status  int
	html    bool
	excerpt string // of the body
	wrong   bool   // no booting engine answers so
}

// absent tells whether the server has no such route.
func (e *answerError) absent() bool {
	return e.status == http.StatusNotFound || e.status == http.StatusMethodNotAllowed
}

func (e *answerError) Error() string {
	s := fmt.Sprintf("get %s: status %d %s", e.path, e.status, http.StatusText(e.status))
	switch {
	case e.excerpt != "":
		s += fmt.Sprintf(" %.200q", e.excerpt)
	case e.html:
		s += ", an HTML page"
	}
	return s
}
