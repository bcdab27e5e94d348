// Package attach finds an engine that runs already: it checks the URL, and neither
// starts nor ends anything. Whether somebody answers there is asked by
// [engine.AwaitReady].
package attach

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/servegate/servegate/runner/engine"
)

// Launcher finds the engine at a URL.
type Launcher struct {
	URL string // base of its API; a slash or /v1 at its end is dropped
}

var _ engine.Launcher = Launcher{}

// Launch checks the URL. It opens no connection.
func (l Launcher) Launch(context.Context) (engine.Handle, error) {
	base, err := BaseURL(l.URL)
	if err != nil {
		return nil, err
	}
	return handle(base), nil
}

// BaseURL returns the base of an OpenAI-compatible API, without a trailing slash and
// without /v1, from a URL as people write it. It refuses one with credentials in it,
// which would end up in every report; no error repeats them.
func BaseURL(raw string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(raw))
	switch {
	case err != nil && strings.Contains(raw, "@"):
		// The parser's own message would quote the part that it trips over.
		return "", refuse("a URL is http://host:port", "it is no URL")
	case err != nil:
		return "", refuse("a URL is http://host:port", "%q is no URL: %w", raw, cause(err))
	case u.User != nil:
		return "", refuse("put the key into a variable and name it under engine.api_key", "the URL has credentials in it")
	case u.Scheme != "http" && u.Scheme != "https":
		return "", refuse("write it as http://host:port", "%q begins with neither http:// nor https://", redact(raw))
	case u.Hostname() == "":
		return "", refuse("write it as http://host:port", "%q has no host", redact(raw))
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", refuse("give the base of the API only", "a URL with a query or fragment has no paths below it")
	}
	path := strings.TrimRight(u.EscapedPath(), "/")
	path = strings.TrimRight(strings.TrimSuffix(path, "/v1"), "/")
	return strings.ToLower(u.Scheme) + "://" + strings.ToLower(u.Host) + path, nil
}

// redact hides what stands in front of an @: without a scheme the parser doesn't tell
// credentials from anything else.
func redact(raw string) string {
	if i := strings.LastIndex(raw, "@"); i >= 0 {
		return "***" + raw[i:]
	}
	return raw
}

func refuse(remedy, format string, args ...any) error {
	return &engine.LaunchError{Err: fmt.Errorf("attach to URL: "+format, args...), Remedy: remedy}
}

// cause strips what a URL error repeats of the URL.
func cause(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// handle is an engine that somebody else runs.
type handle string

func (h handle) URL() string { return string(h) }

// Life never ends: nobody here would see it.
func (handle) Life() *engine.Life { return nil }

// Stop does nothing: the engine isn't ours.
func (handle) Stop(context.Context) error { return nil }
