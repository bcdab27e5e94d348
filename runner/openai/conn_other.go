//go:build !linux

package openai

import "time"

// platform is empty: stamps are taken after the read.
type platform struct{}

func (c *conn) setUp() error { return nil }

func awaitStamps() {}

// receivePlain holds its buffer while it waits.
func (c *conn) receivePlain() ([]byte, error) {
	c.buf = readBuffers.Get().(*[readSize]byte)
	n, err := c.readStamped(c.buf[:])
	return c.buf[:n], err
}

func (c *conn) readStamped(p []byte) (int, error) {
	n, err := c.tcp.Read(p)
	c.stamp = stamp{at: time.Now()}
	return n, err
}

// open can't tell: a connection that the server has closed shows itself at its use.
func (c *conn) open() bool { return true }
