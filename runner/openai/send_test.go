package openai

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/servegate/servegate/gate"
)

// A kernel timestamp is believed as far as it can be true.
func TestArrival(t *testing.T) {
	origin := time.Now()
	const floor, read = 100 * time.Millisecond, 150 * time.Millisecond
	cases := []struct {
		name string
		lag  time.Duration
		want time.Duration
	}{
		{"no lag", 0, read},
		{"lag", 20 * time.Millisecond, read - 20*time.Millisecond},
		{"lag back to the floor", 50 * time.Millisecond, floor},
		{"a little beyond it, as clocks are read", 50*time.Millisecond + time.Microsecond, floor},
		{"far beyond it: a clock was set", time.Hour, read},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			x := &exchange{origin: origin, floor: floor}
			if got := x.arrival(stamp{at: origin.Add(read), lag: c.lag, kernel: true}); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if got := x.arrival(stamp{at: origin.Add(read), lag: 30 * time.Millisecond}); got < c.want {
				t.Errorf("got %v for a later read, want no less than %v", got, c.want)
			}
		})
	}
}

// A request of which not a byte was written was never sent, whatever was over the same
// connection before.
func TestTLSRefusesToWrite(t *testing.T) {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	client, err := New(Options{BaseURL: s.URL, RootCAs: roots})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	d := dialer{addr: s.Listener.Addr().String(), tls: &tls.Config{RootCAs: roots, ServerName: "example.com"}}
	c, err := d.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.setDeadline(time.Now().Add(20 * time.Second))
	if sent, err := c.send([]byte("GET / HTTP/1.1\r\n")); sent.IsZero() || err != nil {
		t.Fatalf("got sent %v, %v, want it sent", sent, err)
	}
	if err := c.tls.CloseWrite(); err != nil { // from here on TLS refuses
		t.Fatal(err)
	}
	call := Call{Params: Params{MaxTokens: 1}}
	x := &exchange{ctx: context.Background(), client: client, origin: time.Now(), answer: newAnswer(&call.Params, limitsOf(1, 0, 0))}
	x.run(c, []byte("GET / HTTP/1.1\r\n"))
	r := x.record(&call)
	if r.Sent != 0 || r.Outcome != gate.Connect || !strings.HasPrefix(r.Error, "write request: ") {
		t.Errorf("got sent %v, %s (%s), want a request that was never sent", r.Sent, r.Outcome, r.Error)
	}
}
