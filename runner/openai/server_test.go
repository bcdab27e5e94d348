package openai_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// rawServer answers requests as its handler writes them, byte by byte.
type rawServer struct {
	URL string

	mu    sync.Mutex
	seen  []seen
	conns []*rawConn
}

// seen is a request that came.
type seen struct {
	*http.Request
	body string
	conn int // number of the connection that it came over
}

// rawConn is one connection to a rawServer.
type rawConn struct {
	net.Conn
	number int // of the connection, from 0
	served int // requests before this one
}

// write writes pieces with a pause between them, so that each is a read of its own.
func (c *rawConn) write(pieces ...string) {
	for i, piece := range pieces {
		if i > 0 {
			time.Sleep(2 * time.Millisecond)
		}
		_, _ = io.WriteString(c, piece) // a client that is gone is for the test to see
	}
}

// reset ends the connection with RST.
func (c *rawConn) reset() {
	_ = c.Conn.(*net.TCPConn).SetLinger(0)
	c.Close()
}

// serve starts a server that hands each request to handle, and goes on with the
// connection if that returns true.
func serve(t testing.TB, handle func(c *rawConn) bool) *rawServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, l, handle)
}

func serveOn(t testing.TB, l net.Listener, handle func(c *rawConn) bool) *rawServer {
	s := &rawServer{URL: "http://" + l.Addr().String()}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			c := &rawConn{Conn: nc, number: len(s.conns)}
			s.conns = append(s.conns, c)
			s.mu.Unlock()
			wg.Go(func() { s.serveConn(c, handle) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		s.closeConns()
		wg.Wait()
	})
	return s
}

func (s *rawServer) serveConn(c *rawConn, handle func(c *rawConn) bool) {
	defer c.Close()
	r := bufio.NewReader(c)
	for ; ; c.served++ {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.seen = append(s.seen, seen{req, string(body), c.number})
		s.mu.Unlock()
		if !handle(c) {
			return
		}
	}
}

// requests returns those that have come so far.
func (s *rawServer) requests() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// closeConns closes all connections from the server's side.
func (s *rawServer) closeConns() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.Close()
	}
}

// opened is the number of connections so far.
func (s *rawServer) opened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

const (
	streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	lastChunk  = "0\r\n\r\n"
	done       = "e\r\ndata: [DONE]\n\n\r\n"
)

// chunk is one HTTP chunk with s.
func chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

// frame is an HTTP chunk with one frame.
func frame(json string) string { return chunk("data: " + json + "\n\n") }

// text is a frame with text.
func text(s string) string {
	return frame(fmt.Sprintf(`{"choices":[{"index":0,"text":%q,"finish_reason":null}]}`, s))
}

const closing = `{"choices":[{"index":0,"text":"","finish_reason":"length"}],"usage":{"prompt_tokens":4,"completion_tokens":3}}`

// whole is an answer of status with a body of the media type.
func whole(status int, mediaType, body string, fields ...string) string {
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n", status, http.StatusText(status), mediaType, len(body))
	for _, f := range fields {
		head += f + "\r\n"
	}
	return head + "\r\n" + body
}
