package openai

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// readSize is how much is read at a time. A longer frame takes several reads.
const readSize = 32 << 10

// readBuffers holds the buffers that are read into. One is held only while there is
// something in it, so that thousands of requests that wait share a few.
var readBuffers = sync.Pool{New: func() any { return new([readSize]byte) }}

// stamp is when the bytes of a read arrived: lag before at by the kernel's receive
// timestamp, where there was one.
type stamp struct {
	at     time.Time // by the client's clock, right after the read
	lag    time.Duration
	kernel bool
}

// conn is one connection. It belongs to one request at a time.
type conn struct {
	tcp    net.Conn
	tls    *tls.Conn // nil: plain HTTP
	kernel bool      // receive timestamps are switched on

	stamp stamp     // of the latest read
	armed bool      // the next write is the first one of a request
	wrote time.Time // when it began

	used      int       // requests that it has carried
	idleSince time.Time // when it was put into the pool

	buf    *[readSize]byte // what receive returned a part of
	tlsBuf []byte
	platform
}

// dialer opens connections to one server.
type dialer struct {
	addr string
	tls  *tls.Config // nil: plain HTTP
}

// dialTimeout bounds opening a connection, TLS handshake included.
const dialTimeout = 10 * time.Second

func (d *dialer) dial(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	var nd net.Dialer
	tcp, err := nd.DialContext(ctx, "tcp", d.addr)
	if err != nil {
		return nil, dialError(d.addr, err)
	}
	c := &conn{tcp: tcp}
	if err := c.setUp(); err != nil {
		c.close()
		return nil, dialError(d.addr, err)
	}
	if d.tls == nil {
		return c, nil
	}
	c.tls = tls.Client(tlsTransport{c}, d.tls)
	if err := c.tls.HandshakeContext(ctx); err != nil {
		c.close()
		return nil, dialError(d.addr, fmt.Errorf("TLS handshake: %w", err))
	}
	return c, nil
}

// dialError says in one line why there is no connection, with what to look at.
func dialError(addr string, err error) error {
	var record tls.RecordHeaderError
	var dns *net.DNSError
	err = fmt.Errorf("connect to %s: %w", addr, cause(err))
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return hinted(err, "is the engine running, and is that its port?")
	case errors.Is(err, syscall.EMFILE):
		return hinted(err, "raise the limit of open files (ulimit -n)")
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return hinted(err, "no local port is free; the server may be closing its connections after each request")
	case errors.As(err, &record):
		return hinted(fmt.Errorf("connect to %s: the server doesn't speak TLS", addr), "use http:// in the URL")
	case errors.Is(err, io.EOF):
		return hinted(err, "does the server speak TLS? else use http:// in the URL")
	case errors.As(err, &dns):
		return hinted(err, "is the host name right?")
	}
	return err
}

// cause is err without what is said already: the operation and its addresses.
func cause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	var call *os.SyscallError
	if errors.As(err, &call) {
		err = call.Err
	}
	return err
}

// send writes a whole request and returns when its first byte was handed to the kernel;
// the zero time where none was. The request's deadline must be set.
func (c *conn) send(request []byte) (time.Time, error) {
	c.used++
	c.armed = true
	c.wrote = time.Time{} // TLS may fail before it writes a byte
	var err error
	if c.tls != nil {
		_, err = c.tls.Write(request)
	} else {
		_, err = c.write(request)
	}
	return c.wrote, err
}

// write is where all bytes to the server pass, under TLS too.
func (c *conn) write(p []byte) (int, error) {
	if c.armed {
		c.armed = false
		c.wrote = time.Now()
	}
	return c.tcp.Write(p)
}

// receive waits for bytes from the server and returns some, with their stamp in
// c.stamp. They are valid until release, which must follow.
func (c *conn) receive() ([]byte, error) {
	if c.tls == nil {
		return c.receivePlain()
	}
	// TLS may hold back bytes that it has read, so that waiting for the socket first,
	// without a buffer, isn't possible: each request has a small one of its own. The
	// stamp is that of the socket's read that completed the record.
	if c.tlsBuf == nil {
		c.tlsBuf = make([]byte, 4<<10)
	}
	n, err := c.tls.Read(c.tlsBuf)
	return c.tlsBuf[:n], err
}

// release gives back the buffer of the latest receive.
func (c *conn) release() {
	if c.buf != nil {
		readBuffers.Put(c.buf)
		c.buf = nil
	}
}

// interrupt makes whatever waits on c return at once. It may be called from any
// goroutine while c belongs to a request.
func (c *conn) interrupt() { c.setDeadline(time.Unix(1, 0)) }

// setDeadline bounds all reads and writes; zero: no bound.
func (c *conn) setDeadline(t time.Time) {
	// It fails only on a connection that is closed already, and then so does what follows.
	_ = c.tcp.SetDeadline(t)
}

func (c *conn) close() { _ = c.tcp.Close() }

// tlsTransport is what TLS runs over: reads that are stamped and writes whose begin is
// noted.
type tlsTransport struct{ *conn }

func (t tlsTransport) Read(p []byte) (int, error)         { return t.readStamped(p) }
func (t tlsTransport) Write(p []byte) (int, error)        { return t.write(p) }
func (t tlsTransport) Close() error                       { return t.tcp.Close() }
func (t tlsTransport) LocalAddr() net.Addr                { return t.tcp.LocalAddr() }
func (t tlsTransport) RemoteAddr() net.Addr               { return t.tcp.RemoteAddr() }
func (t tlsTransport) SetDeadline(d time.Time) error      { return t.tcp.SetDeadline(d) }
func (t tlsTransport) SetReadDeadline(d time.Time) error  { return t.tcp.SetReadDeadline(d) }
func (t tlsTransport) SetWriteDeadline(d time.Time) error { return t.tcp.SetWriteDeadline(d) }
