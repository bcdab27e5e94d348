package openai_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/runner/openai"
)

// answerText is a whole stream of one frame.
func answerText(c *rawConn) bool {
	c.write(streamHead + text("a") + done + lastChunk)
	return true
}

// eventually waits until ok holds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// Once the first connection has stayed open after its answer, the others do with what
// there is.
func TestConnectionIsReused(t *testing.T) {
	s := serve(t, func(c *rawConn) bool {
		c.write(streamHead, text("a"), done+lastChunk)
		return true
	})
	c := connect(t, openai.Options{BaseURL: s.URL}, 1)
	send := func() {
		if r := send(t, c, streaming()); r.Outcome != gate.OK {
			t.Fatalf("got %s (%s), want ok", r.Outcome, r.Error)
		}
	}
	eventually(t, "a connection was reused", func() bool {
		send()
		all := s.requests()
		return len(all) > 1 && all[len(all)-1].conn == all[len(all)-2].conn
	})
	late, requests := c.Stats().Late, len(s.requests())
	for range 5 {
		send()
	}
	all := s.requests()[requests-1:]
	for _, r := range all {
		if r.conn != all[0].conn {
			t.Errorf("got a request on connection %d, want %d again", r.conn, all[0].conn)
		}
	}
	if got := c.Stats(); got.Late != late || got.Frames != int64(requests+5) {
		t.Errorf("got stats %+v, want %d late and %d frames", got, late, requests+5)
	}
}

// A server that closes each connection behind its answer, without a word, as llama.cpp
// does after a stream: no request may be sent into that.
func TestUnannouncedCloseLosesNoRequest(t *testing.T) {
	s := serve(t, func(c *rawConn) bool {
		c.write(streamHead, text("a"), done+lastChunk)
		time.Sleep(time.Millisecond) // here a request on the same connection would be lost
		return false
	})
	c := connect(t, openai.Options{BaseURL: s.URL}, 4)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				if r := send(t, c, streaming()); r.Outcome != gate.OK {
					t.Errorf("got %s (%s), want ok", r.Outcome, r.Error)
				}
			}
		})
	}
	wg.Wait()
}

// Once it was learnt what a server does with its connections, no request is late, be it
// that all are sent together.
func TestLearn(t *testing.T) {
	for name, goesOn := range map[string]bool{"keeps connections": true, "closes them": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(c *rawConn) bool {
				c.write(streamHead, text("a"), done+lastChunk)
				time.Sleep(time.Millisecond)
				return goesOn
			})
			const streams = 8
			c := connect(t, openai.Options{BaseURL: s.URL}, streams)
			c.Learn(t.Context(), streaming())
			for range 2 {
				var wg sync.WaitGroup
				for range streams {
					wg.Go(func() {
						if r := send(t, c, streaming()); r.Outcome != gate.OK {
							t.Errorf("got %s (%s), want ok", r.Outcome, r.Error)
						}
					})
				}
				wg.Wait()
				eventually(t, "connections for the next round", func() bool { return goesOn || s.opened() >= len(s.requests())+streams })
			}
			if got := c.Stats(); got.Late != 0 {
				t.Errorf("got stats %+v, want no request late", got)
			}
			if n := s.opened(); goesOn && n > streams+1 {
				t.Errorf("got %d connections, want at most one beside the %d", n, streams)
			}
		})
	}
}

// Learning ends where there is nothing to learn.
func TestLearnOfNoAnswer(t *testing.T) {
	s := serve(t, func(*rawConn) bool { return false })
	c := connect(t, openai.Options{BaseURL: s.URL}, 2)
	start := time.Now()
	c.Learn(t.Context(), openai.Call{}) // can't be sent
	c.Learn(t.Context(), streaming())
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestConnectionIsNotReused(t *testing.T) {
	cases := map[string]func(c *rawConn) bool{
		"connection close": func(c *rawConn) bool {
			c.write(whole(500, "text/plain", "x", "Connection: close"))
			return true
		},
		"HTTP/1.0": func(c *rawConn) bool {
			c.write("HTTP/1.0 500 x\r\nContent-Length: 1\r\n\r\nx")
			return true
		},
		"bytes behind the answer": func(c *rawConn) bool {
			c.write(whole(500, "text/plain", "x") + "HTTP/1.1 200 OK\r\n")
			return true
		},
		"broken framing": func(c *rawConn) bool {
			c.write(streamHead + text("a") + "zz\r\n")
			return true
		},
		"the body goes on": func(c *rawConn) bool {
			c.write(streamHead + text("a") + done + text("b"))
			return true
		},
	}
	for name, answer := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, answer)
			c := connect(t, openai.Options{BaseURL: s.URL}, 1)
			send(t, c, streaming())
			send(t, c, streaming())
			if got := s.requests(); len(got) != 2 || got[0].conn == got[1].conn {
				t.Errorf("got %d requests, perhaps on one connection, want two on different ones", len(got))
			}
		})
	}
}

// A server that closes after each answer has its connections replaced beforehand.
func TestClosingServerIsKeptSupplied(t *testing.T) {
	s := serve(t, func(c *rawConn) bool {
		c.write("HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: [DONE]\n\n")
		return false
	})
	c := connect(t, openai.Options{BaseURL: s.URL}, 2)
	for round := range 4 {
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if r := send(t, c, streaming()); r.Outcome != gate.OK {
					t.Errorf("got %s (%s), want ok", r.Outcome, r.Error)
				}
			})
		}
		wg.Wait()
		eventually(t, "both connections were replaced", func() bool { return s.opened() >= 2*(round+2) })
	}
	if got := c.Stats(); got.Late > 3 { // a connection is open a moment before it can be taken
		t.Errorf("got %d of 8 requests without an open connection, want next to none: %+v", got.Late, got)
	}
}

// Beside requests in flight it has as many connections ready again: each is needed the
// moment that a request ends.
func TestClosingServerHasSpares(t *testing.T) {
	hold := make(chan struct{})
	s := serve(t, func(c *rawConn) bool {
		if c.number > 0 {
			<-hold
		}
		c.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n" + text("a") + done + lastChunk)
		return false
	})
	c := connect(t, openai.Options{BaseURL: s.URL}, 1)
	send(t, c, streaming())
	var wg sync.WaitGroup
	wg.Go(func() { send(t, c, streaming()) })
	eventually(t, "there is a spare beside the one in flight", func() bool { return s.opened() >= 3 })
	close(hold)
	wg.Wait()
}

// An idle connection that the server has closed is found before it is used.
func TestStaleConnectionIsReplaced(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows a closed connection before it is used")
	}
	s := serve(t, answerText)
	c := connect(t, openai.Options{BaseURL: s.URL}, 3)
	send(t, c, streaming())
	s.closeConns()
	if r := send(t, c, streaming()); r.Outcome != gate.OK {
		t.Errorf("got %s (%s), want ok on a new connection", r.Outcome, r.Error)
	}
	eventually(t, "those that were idle were replaced", func() bool { return s.opened() >= 5 && c.Stats().Stale >= 2 })
}

// A reused connection that breaks before the answer costs the request: sending it again
// would hide from the record what the engine did, and may run it twice.
func TestBrokenReuseIsNotRepeated(t *testing.T) {
	s := serve(t, func(c *rawConn) bool {
		if c.served == 0 {
			return answerText(c)
		}
		c.reset()
		return false
	})
	c := connect(t, openai.Options{BaseURL: s.URL}, 1)
	var r gate.Request
	sent := 0
	eventually(t, "a connection was reused", func() bool {
		r = send(t, c, streaming())
		sent++
		return r.Outcome != gate.OK
	})
	if r.Outcome != gate.Connect || r.Sent == 0 || !strings.Contains(r.Error, "on its reuse after") {
		t.Errorf("got %s (%s), want connect, with word of the reuse", r.Outcome, r.Error)
	}
	if got := len(s.requests()); got != sent {
		t.Errorf("got %d requests at the server, want %d", got, sent)
	}
}

func TestIdleConnectionsAreReplacedInTime(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for connections to grow old")
	}
	t.Parallel()
	s := serve(t, answerText)
	c := connect(t, openai.Options{BaseURL: s.URL}, 2)
	eventually(t, "both were replaced", func() bool { return c.Stats().Stale >= 2 && s.opened() >= 4 })
	if r := send(t, c, streaming()); r.Outcome != gate.OK || c.Stats().Late > 0 {
		t.Errorf("got %s (%s), stats %+v, want ok on an open connection", r.Outcome, r.Error, c.Stats())
	}
}

func TestSparesAreKept(t *testing.T) {
	release := make(chan struct{})
	s := serve(t, func(c *rawConn) bool {
		<-release
		return answerText(c)
	})
	c, err := openai.New(openai.Options{BaseURL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Open(context.Background(), 2, 2); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() { send(t, c, streaming()) })
		before := s.opened()
		eventually(t, "a spare was opened", func() bool { return s.opened() > before || s.opened() >= 7 })
	}
	close(release)
	wg.Wait()
	if got := c.Stats(); got.Late != 0 || got.Dialled < 7 {
		t.Errorf("got stats %+v, want no request late and two spares beside five", got)
	}
}

// After [DONE] a server may keep the body open: the request doesn't wait for it.
func TestSlowEndOfBody(t *testing.T) {
	t.Parallel()
	s := serve(t, func(c *rawConn) bool {
		c.write(streamHead + text("a") + done)
		time.Sleep(700 * time.Millisecond)
		c.write(lastChunk)
		return true
	})
	c := connect(t, openai.Options{BaseURL: s.URL}, 1)
	begin := time.Now()
	r := send(t, c, streaming())
	if took := time.Since(begin); r.Outcome != gate.OK || took > 600*time.Millisecond {
		t.Errorf("got %s after %v (%s), want ok without waiting for the body", r.Outcome, took, r.Error)
	}
	eventually(t, "the connection is back", func() bool {
		before := c.Stats().Late
		return send(t, c, streaming()).Outcome == gate.OK && c.Stats().Late == before
	})
}

func TestCloseWithRequestInFlight(t *testing.T) {
	release := make(chan struct{})
	s := serve(t, func(c *rawConn) bool {
		<-release
		return answerText(c)
	})
	c := connect(t, openai.Options{BaseURL: s.URL}, 1)
	result := make(chan gate.Request)
	go func() { result <- send(t, c, streaming()) }()
	eventually(t, "the request is there", func() bool { return len(s.requests()) == 1 })
	c.Close()
	close(release)
	if r := <-result; r.Outcome != gate.OK {
		t.Errorf("got %s (%s), want ok", r.Outcome, r.Error)
	}
}

// Arrivals are when the bytes reached the host, also where nobody read them for a while.
func TestArrivalsComeFromTheKernel(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("kernel timestamps are read on Linux only")
	}
	writes := make(chan time.Time, 1)
	s := serve(t, func(c *rawConn) bool {
		c.write(streamHead + text("a"))
		time.Sleep(30 * time.Millisecond)
		writes <- time.Now()
		c.write(text("b") + done + lastChunk)
		return true
	})
	origin := time.Now()
	c := connect(t, openai.Options{BaseURL: s.URL, Origin: origin}, 1)
	r := send(t, c, streaming())
	if r.Outcome != gate.OK || len(r.Arrivals) != 2 || c.Stamps() != gate.KernelStamps {
		t.Fatalf("got %s with %d frames by %s stamps (%s), want ok with 2 by kernel stamps", r.Outcome, len(r.Arrivals), c.Stamps(), r.Error)
	}
	// The write is over right after the packet was stamped; both may be delayed by others.
	if d := r.Arrivals[1] - (<-writes).Sub(origin); d < -time.Millisecond || d > 500*time.Millisecond {
		t.Errorf("got the second frame %v after its write began, want right after it", d)
	}
	if gap := r.Arrivals[1] - r.Arrivals[0]; gap < 29*time.Millisecond && c.Stats().Coalesced == 0 {
		t.Errorf("got a gap of %v, want the 30ms between the writes", gap)
	}
}

func TestCoalescedFramesAreCounted(t *testing.T) {
	s := serve(t, func(c *rawConn) bool {
		c.write(streamHead+text("a")+text("b")+text("c"), text("d"), done+lastChunk)
		return true
	})
	c := connect(t, openai.Options{BaseURL: s.URL}, 1)
	r := send(t, c, streaming())
	if got := c.Stats(); got.Frames != 4 || got.Coalesced < 2 {
		t.Errorf("got stats %+v, want 4 frames, 2 of them in the read of an earlier one", got)
	}
	if r.Arrivals[0] != r.Arrivals[1] || r.Arrivals[1] != r.Arrivals[2] {
		t.Errorf("got arrivals %v, want the first three at once", r.Arrivals)
	}
}

// Frames count while their request goes on; a ping, a role and half a frame are none.
func TestFramesCountAsTheyCome(t *testing.T) {
	next := make(chan struct{})
	s := serve(t, func(c *rawConn) bool {
		c.write(streamHead, chunk(": ping\n\n"), frame(`{"choices":[{"delta":{"role":"assistant","content":""}}]}`), chunk(`data: {"choices":[{"te`))
		<-next
		c.write(chunk("xt\":\"a\"}]}\n\n"), text("b"))
		<-next
		c.write(done + lastChunk)
		return true
	})
	c := connect(t, openai.Options{BaseURL: s.URL}, 1)
	ended := make(chan gate.Request)
	go func() { ended <- send(t, c, streaming()) }()
	next <- struct{}{}
	eventually(t, "two frames", func() bool { return c.Stats().Frames == 2 })
	next <- struct{}{}
	if r := <-ended; r.Outcome != gate.OK || c.Stats().Frames != 2 {
		t.Errorf("got %s (%s) and %d frames, want ok with 2", r.Outcome, r.Error, c.Stats().Frames)
	}
}

func TestOriginMayMove(t *testing.T) {
	s := serve(t, answerText)
	c := connect(t, openai.Options{BaseURL: s.URL, Origin: time.Now().Add(-time.Hour)}, 1)
	if r := send(t, c, streaming()); r.Sent < time.Hour || r.First() < time.Hour || r.Done < time.Hour {
		t.Errorf("got sent %v, first %v, done %v, want them after an hour", r.Sent, r.First(), r.Done)
	}
	c.SetOrigin(time.Now())
	if r := send(t, c, streaming()); r.Sent > time.Minute || r.Done > time.Minute {
		t.Errorf("got sent %v, done %v, want them right after the new origin", r.Sent, r.Done)
	}
}

func TestTLS(t *testing.T) {
	certs := httptest.NewTLSServer(nil) // only for its certificate
	defer certs.Close()
	roots := x509.NewCertPool()
	roots.AddCert(certs.Certificate())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := serveOn(t, tls.NewListener(l, &tls.Config{Certificates: certs.TLS.Certificates, NextProtos: []string{"h2", "http/1.1"}}), func(c *rawConn) bool {
		c.write(streamHead, text("a"), text(strings.Repeat("b", 100_000)), text("c"), done, lastChunk)
		return true
	})
	url := "https" + strings.TrimPrefix(s.URL, "http")
	c := connect(t, openai.Options{BaseURL: url, RootCAs: roots}, 1)
	for range 3 {
		if r := send(t, c, streaming()); r.Outcome != gate.OK || len(r.Arrivals) != 3 || r.First() <= r.Sent {
			t.Errorf("got %s with %d frames (%s), want ok with 3", r.Outcome, len(r.Arrivals), r.Error)
		}
	}
	if got := c.Stats(); runtime.GOOS == "linux" && (got.Unstamped > 0 || c.Stamps() != gate.KernelStamps) {
		t.Errorf("got stats %+v, %s stamps, want kernel stamps", got, c.Stamps())
	}
	strangers, err := openai.New(openai.Options{BaseURL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer strangers.Close()
	if r := send(t, strangers, streaming()); r.Outcome != gate.Connect || !strings.Contains(r.Error, "certificate") {
		t.Errorf("got %s (%s), want connect, about the certificate", r.Outcome, r.Error)
	}
}

func TestTLSTimeout(t *testing.T) {
	certs := httptest.NewTLSServer(nil)
	defer certs.Close()
	roots := x509.NewCertPool()
	roots.AddCert(certs.Certificate())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := serveOn(t, tls.NewListener(l, &tls.Config{Certificates: certs.TLS.Certificates}), func(c *rawConn) bool {
		c.write(streamHead, text("a"))
		_, _ = c.Read(make([]byte, 1))
		return false
	})
	c := connect(t, openai.Options{BaseURL: "https" + strings.TrimPrefix(s.URL, "http"), RootCAs: roots, RequestTimeout: time.Second}, 1)
	if r := send(t, c, streaming()); r.Outcome != gate.Timeout || len(r.Arrivals) != 1 {
		t.Errorf("got %s with %d frames (%s), want timeout with 1", r.Outcome, len(r.Arrivals), r.Error)
	}
}

func TestTLSAgainstPlainServer(t *testing.T) {
	s := httptest.NewServer(nil)
	defer s.Close()
	c, err := openai.New(openai.Options{BaseURL: "https" + strings.TrimPrefix(s.URL, "http")})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if r := send(t, c, streaming()); r.Outcome != gate.Connect || !strings.HasSuffix(r.Error, "the server doesn't speak TLS (use http:// in the URL)") {
		t.Errorf("got %s (%s), want connect with a hint at http://", r.Outcome, r.Error)
	}
}
