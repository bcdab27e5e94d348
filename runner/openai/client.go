// Package openai makes one request against an OpenAI-compatible API and returns its
// record: when it was sent, when each frame with output arrived, how many tokens the
// server told of, and what became of it.
//
// A [Client] opens its connections beforehand ([Client.Open]). A request is prepared
// before it is due ([Client.Prepare]) and sent when it is ([Prepared.Send]), with next
// to nothing left to do then. The package has an HTTP/1.1 client of its own, since what
// matters here is which read delivered which byte, and that is what general clients
// hide: "sent" is taken right before the first write on a connection that is open
// already, and a frame arrived when the kernel received the packet with its last byte
// (SO_TIMESTAMPING; where there is none, right after the read, and [Client.Stamps] says
// so). It asks for no compression, follows no redirect, uses no proxy and never sends a
// request twice.
//
// When requests are due is decided by runner/load, what they ask for by
// runner/workload, which optional fields an engine understands by its profile or by
// [Client.Probe]. What is computed from the records stands in gate.
//
// The calls off the measured path ([Client.Models], [Client.Tokenize],
// [Client.Version]) use net/http.
package openai

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/servegate/servegate/gate"
)

// Options says which server a [Client] talks to, and how.
type Options struct {
	// BaseURL is the base of the API, with or without /v1: http://host:8000,
	// https://host/prefix/v1/.
	BaseURL string
	// APIKey is sent as a bearer token; empty: none. It stands in no error and no record.
	APIKey string
	// Origin is the start of the repetition, the zero of all offsets, as time.Now
	// returned it; zero: the moment of [New]. See [Client.SetOrigin].
	Origin time.Time
	// RequestTimeout is how long a request may take from sent to its end; 0: no limit.
	RequestTimeout time.Duration
	// RootCAs are the authorities that the certificate of an https server is held
	// against; nil: those of the host.
	RootCAs *x509.CertPool
	// MaxFrame is the most bytes that a frame, or an answer that isn't streamed, may
	// have; 0: 64 KiB and 1 KiB for each output token asked for, from 1 to 16 MiB, and
	// twice the size of the request, which a server may repeat. A larger one is malformed.
	// So is a stream of over 16 MiB and 16 KiB for each token, or with more frames with
	// output than 1024 and 4 for each token.
	MaxFrame int
}

// Client talks to one server. Its methods may be called from any number of goroutines.
type Client struct {
	base     *url.URL // without /v1, with a slash at its end
	key      string
	timeout  time.Duration
	maxFrame int
	origin   atomic.Pointer[time.Time]
	pool     *pool
	plain    *http.Client // off the measured path
	counters counters
}

// counters are summed over the requests that have ended; frames as they come.
type counters struct {
	frames, coalesced, reads, unstamped atomic.Int64
}

// Stats is what the client itself did. All counts are since [New].
type Stats struct {
	Dialled int64 // connections opened
	Late    int64 // requests that found no open connection: they waited for one, and their send lag shows it
	Stale   int64 // idle connections that the server had closed or that grew too old, replaced
	// Frames counts frames that carried output, as they come. What carries none (a head,
	// a ping, the front of a frame) is no sign that the engine behind a server is alive.
	Frames int64
	// Coalesced counts frames with output that shared one read with an earlier one, so
	// that there is no gap between them. The server packed them together, or the client
	// was late by more than a gap.
	Coalesced int64
	Reads     int64 // reads that brought bytes of an answer
	Unstamped int64 // of them, those without a kernel timestamp
}

// New makes a client. It opens no connection. An error says what is wrong with o.
func New(o Options) (*Client, error) {
	base, err := parseBase(o.BaseURL)
	if err != nil {
		return nil, err
	}
	if strings.ContainsFunc(o.APIKey, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, hinted(errors.New("check API key: it has a character that no HTTP header may hold"), "does it end with a line break?")
	}
	c := &Client{base: base, key: o.APIKey, timeout: o.RequestTimeout, maxFrame: o.MaxFrame}
	if o.Origin.IsZero() {
		o.Origin = time.Now()
	}
	c.SetOrigin(o.Origin)
	d := dialer{addr: hostPort(base)}
	if base.Scheme == "https" {
		d.tls = &tls.Config{ServerName: base.Hostname(), RootCAs: o.RootCAs, NextProtos: []string{"http/1.1"}}
	}
	c.pool = newPool(d)
	c.plain = &http.Client{
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: o.RootCAs},
			DisableKeepAlives: true, // an idle connection can occupy a server's thread
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// parseBase normalises a base URL: scheme, host and what stands before /v1.
func parseBase(raw string) (*url.URL, error) {
	raw = strings.TrimSpace(raw)
	quoted := strconv.Quote(raw)
	if strings.Contains(raw, "@") {
		quoted = "it" // it may hold a password
	}
	if scheme, _, _ := strings.Cut(strings.ToLower(raw), "://"); scheme != "http" && scheme != "https" {
		return nil, hinted(fmt.Errorf("parse base URL: %s is no http or https URL", quoted), "write it as http://host:port")
	}
	u, err := url.Parse(raw)
	var parse *url.Error
	switch {
	case errors.As(err, &parse): // its own text repeats the URL
		return nil, fmt.Errorf("parse base URL: %w", parse.Err)
	case u.User != nil:
		return nil, hinted(errors.New("parse base URL: it holds a user name"), "give the API key by its own setting")
	case u.Hostname() == "":
		return nil, hinted(fmt.Errorf("parse base URL: %s has no host", quoted), "write it as http://host:port")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("parse base URL: it has a query or a fragment")
	}
	path := strings.TrimRight(u.EscapedPath(), "/")
	path = strings.TrimRight(strings.TrimSuffix(path, "/v1"), "/")
	return u.Parse(u.Scheme + "://" + u.Host + path + "/")
}

// hostPort is the address to connect to.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// SetOrigin makes t, as time.Now returned it, the start of the repetition for all
// requests that are sent from now on.
func (c *Client) SetOrigin(t time.Time) { c.origin.Store(&t) }

// Open opens n connections and, from then on, keeps n of them: those that break are
// replaced in the background, and so are those that have been idle for 3 s, since
// servers close them after 5. Beside those in use, spare idle ones are kept. A closed
// loop of n streams needs no spares, and more connections than it needs are no gift to a
// server with a thread for each; an open loop doesn't know its concurrency and does.
// Whether a connection may serve again is learnt from the first answers, within 0.1 s of
// them (see [Client.Learn]; some servers close each one, and don't say so); until then, and where it may not,
// each request takes a new one.
// The error wraps the cause of the first connection that couldn't be opened.
func (c *Client) Open(ctx context.Context, n, spare int) error { return c.pool.open(ctx, n, spare) }

// Learn makes the call for nothing but what its answer shows of the server's connections,
// and returns once that is known and as many are open as are needed then: about 0.1 s
// after the answer, 0.5 s at most. So the first requests of a load find theirs. It should
// ask in the way that the load asks, since servers treat streams and whole answers
// differently, but for little. What becomes of the call doesn't matter.
func (c *Client) Learn(ctx context.Context, call Call) {
	p, err := c.Prepare(call)
	if err != nil {
		return
	}
	p.Send(ctx)
	c.pool.settle(ctx)
}

// Close closes all connections that are not in use, and each other one when its request
// ends. No request can be sent afterwards.
func (c *Client) Close() { c.pool.close() }

// Stamps says where the arrival times come from: the kernel, unless it refused on some
// connection or more than one read in a hundred came without its stamp.
func (c *Client) Stamps() gate.StampSource {
	s := c.Stats()
	if c.pool.unstampable.Load() > 0 || s.Dialled == 0 || s.Unstamped*100 > s.Reads {
		return gate.ReadStamps
	}
	return gate.KernelStamps
}

// Stats returns the counts so far. Coalesced, Reads and Unstamped are those of the
// requests that have ended.
func (c *Client) Stats() Stats {
	return Stats{
		Dialled:   c.pool.dialled.Load(),
		Late:      c.pool.late.Load(),
		Stale:     c.pool.stale.Load(),
		Frames:    c.counters.frames.Load(),
		Coalesced: c.counters.coalesced.Load(),
		Reads:     c.counters.reads.Load(),
		Unstamped: c.counters.unstamped.Load(),
	}
}

// redact takes the API key out of what a server said.
func (c *Client) redact(s string) string {
	if c.key == "" {
		return s
	}
	return strings.ReplaceAll(s, c.key, "***")
}

// add adds what an exchange that has ended counted.
func (n *counters) add(x *exchange) {
	n.reads.Add(x.reads)
	n.unstamped.Add(x.unstamped)
	n.coalesced.Add(int64(x.answer.tally.Coalesced))
}
