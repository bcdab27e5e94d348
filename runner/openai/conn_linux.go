package openai

import (
	"io"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// platform is what a connection needs for the kernel's receive timestamps.
type platform struct {
	rc      syscall.RawConn
	control controlMessage
	into    []byte // what recvmsg reads into; nil: a buffer of the pool
	n       int
	err     error
	onRead  func(fd uintptr) bool // made once, so that a read allocates nothing
}

// controlMessage has the layout of the one control message that a socket with
// SO_TIMESTAMPING delivers: cmsg(3) header, then struct scm_timestamping.
type controlMessage struct {
	header unix.Cmsghdr
	stamps unix.ScmTimestamping // the first is the software timestamp
}

// setUp asks for the time at which the kernel took each packet from the network, by
// Documentation/networking/timestamping.rst.
// Where the kernel refuses, stamps are taken after the read.
func (c *conn) setUp() (err error) {
	c.onRead = c.recvmsg
	if c.rc, err = c.tcp.(syscall.Conn).SyscallConn(); err != nil {
		return err
	}
	c.kernel = askForStamps(c.rc)
	return nil
}

// askForStamps switches the timestamps of a socket on, and says whether the kernel did.
func askForStamps(rc syscall.RawConn) bool {
	var refused error
	err := rc.Control(func(fd uintptr) {
		const flags = unix.SOF_TIMESTAMPING_RX_SOFTWARE | unix.SOF_TIMESTAMPING_SOFTWARE
		refused = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPING, flags)
	})
	return err == nil && refused == nil
}

// awaitStamps waits, for 100 ms at most, until packets are stamped: the kernel begins
// some time after the host's first socket has asked for it, since that patches its code.
// It sends packets to itself until one has a stamp.
func awaitStamps() {
	u, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return // then the first stamps are taken after the read, and counted as such
	}
	defer u.Close()
	rc, err := u.SyscallConn()
	if err != nil || !askForStamps(rc) || u.SetDeadline(time.Now().Add(100*time.Millisecond)) != nil {
		return
	}
	p, control := make([]byte, 1), make([]byte, unsafe.Sizeof(controlMessage{}))
	for stamped := 0; stamped == 0; time.Sleep(100 * time.Microsecond) {
		if _, err := u.WriteTo(p, u.LocalAddr()); err != nil {
			return
		}
		if _, stamped, _, _, err = u.ReadMsgUDP(p, control); err != nil {
			return
		}
	}
}

// receivePlain waits for the socket without a buffer, and takes one from the pool only
// once there is something to read.
func (c *conn) receivePlain() ([]byte, error) {
	c.into = nil
	err := c.read()
	if c.buf == nil {
		return nil, err
	}
	return c.buf[:c.n], err
}

// readStamped reads as an io.Reader does.
func (c *conn) readStamped(p []byte) (int, error) {
	c.into = p
	err := c.read()
	c.into = nil
	return c.n, err
}

func (c *conn) read() error {
	c.n, c.err = 0, nil
	if err := c.rc.Read(c.onRead); err != nil {
		return err
	}
	switch {
	case c.err != nil:
		return os.NewSyscallError("recvmsg", c.err)
	case c.n == 0:
		return io.EOF
	}
	return nil
}

// recvmsg makes one attempt to read and says whether it is over; if not, the runtime
// calls again when the socket is readable.
func (c *conn) recvmsg(fd uintptr) bool {
	p := c.into
	if p == nil {
		if c.buf == nil {
			c.buf = readBuffers.Get().(*[readSize]byte)
		}
		p = c.buf[:]
	}
	control := unsafe.Slice((*byte)(unsafe.Pointer(&c.control)), unsafe.Sizeof(c.control))
	var controlLen int
	for {
		c.n, controlLen, _, _, c.err = unix.Recvmsg(int(fd), p, control, 0)
		if c.err != unix.EINTR {
			break
		}
	}
	if c.err != nil {
		c.n = 0 // it was -1, and the wait may end with a deadline
		c.release()
		return c.err != unix.EAGAIN
	}
	c.stamp = stamp{at: time.Now()}
	c.takeStamp(controlLen)
	return true
}

// takeStamp maps the kernel's timestamp, which is of the real-time clock, to the
// monotonic one: both were read by time.Now at one moment, so that the lag between them
// holds for either unless the real-time clock was set in between. Where several packets
// are read at once the timestamp is that of the last.
func (c *conn) takeStamp(controlLen int) {
	m := &c.control
	if controlLen < int(unsafe.Sizeof(*m)) || m.header.Level != unix.SOL_SOCKET || m.header.Type != unix.SO_TIMESTAMPING {
		return
	}
	taken := time.Unix(m.stamps.Ts[0].Unix())
	if taken.Unix() == 0 {
		return
	}
	if lag := c.stamp.at.Round(0).Sub(taken); lag >= 0 {
		c.stamp.lag, c.stamp.kernel = lag, true
	}
}

// open says whether the idle connection still stands and nothing unasked came over it.
// Under TLS bytes may be waiting: session tickets come whenever a server likes.
func (c *conn) open() bool {
	alive := false
	err := c.rc.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN | unix.POLLRDHUP}}
		n, err := unix.Poll(fds, 0)
		const gone = unix.POLLRDHUP | unix.POLLHUP | unix.POLLERR | unix.POLLNVAL
		alive = err == nil && (n == 0 || c.tls != nil && fds[0].Revents&gone == 0)
	})
	return err == nil && alive
}
