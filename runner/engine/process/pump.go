package process

import (
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/servegate/servegate/runner/engine"
)

// pump carries the engine's output from its pipe to its log. It reads as fast as the
// engine writes: an engine that waits for us to take its log lines would be measured
// slower than it is. What the log can't take in time is lost, the oldest first, and the
// log says how much.
type pump struct {
	r   *os.File
	log *engine.Log

	mu      sync.Mutex
	more    sync.Cond
	buf     []byte // read and not yet on its way to the log
	lost    int64  // bytes dropped in front of buf
	arrived int64  // bytes read
	written int64  // of these, how many the log has, or were lost
	eof     bool

	caught chan struct{} // an answer to catchUp
	done   chan struct{} // closed when all is written
}

const (
	maxBuffered = 4 << 20 // bytes; as many again are on their way to the log
	readSize    = 64 << 10
	maxCatchUp  = 1 << 20 // the largest pipe that an unprivileged process can make
	// closeLimit bounds the wait for a pipe that a stranger still holds, and for a disk.
	closeLimit = 500 * time.Millisecond
)

func startPump(r *os.File, log *engine.Log) *pump {
	p := &pump{r: r, log: log, caught: make(chan struct{}, 1), done: make(chan struct{})}
	p.more.L = &p.mu
	go p.read()
	go p.write()
	return p
}

func (p *pump) read() {
	buf := make([]byte, readSize)
	for {
		n, err := p.r.Read(buf)
		p.push(buf[:n])
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			p.drain(buf)
			p.caught <- struct{}{}
		case err != nil:
			p.mu.Lock()
			p.eof = true
			p.mu.Unlock()
			p.more.Signal()
			return
		}
	}
}

func (p *pump) push(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.buf)+len(b) > maxBuffered {
		p.lost += int64(len(p.buf))
		p.buf = p.buf[:0]
	}
	p.buf = append(p.buf, b...)
	p.arrived += int64(len(b))
	p.more.Signal()
}

// drain reads what stands in the pipe at this moment, without waiting for more.
func (p *pump) drain(buf []byte) {
	_ = p.r.SetReadDeadline(time.Time{}) // with one, nothing can be read at all
	raw, err := p.r.SyscallConn()
	if err != nil {
		return
	}
	for total := 0; total < maxCatchUp; {
		n := 0
		err = raw.Read(func(fd uintptr) bool {
			n, err = unix.Read(int(fd), buf)
			return true
		})
		if err != nil || n <= 0 {
			return
		}
		p.push(buf[:n])
		total += n
	}
}

func (p *pump) write() {
	defer close(p.done)
	var spare []byte
	for {
		p.mu.Lock()
		for len(p.buf) == 0 && !p.eof {
			p.more.Wait()
		}
		if len(p.buf) == 0 {
			p.mu.Unlock()
			return
		}
		taken, lost := p.buf, p.lost
		p.buf, p.lost = spare[:0], 0
		p.mu.Unlock()
		if lost > 0 {
			p.log.Gap(lost)
		}
		_, _ = p.log.Write(taken) // it never fails
		spare = taken
		p.mu.Lock()
		p.written += lost + int64(len(taken))
		p.mu.Unlock()
	}
}

// catchUp returns when all that was written to the pipe before the call is in the log.
// It doesn't wait for the pipe to close: the engine's children may hold it open.
func (p *pump) catchUp() {
	limit := time.Now().Add(2 * closeLimit)
	if p.r.SetReadDeadline(time.Unix(1, 0)) == nil {
		select {
		case <-p.caught:
		case <-p.done:
			return
		case <-time.After(closeLimit):
		}
	}
	p.mu.Lock()
	target := p.arrived
	p.mu.Unlock()
	for time.Now().Before(limit) {
		p.mu.Lock()
		reached := p.written >= target
		p.mu.Unlock()
		if reached {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// close waits until all is written, within limits.
func (p *pump) close() {
	select {
	case <-p.done:
	case <-time.After(closeLimit):
		_ = p.r.Close() // ends the reader
		select {
		case <-p.done:
		case <-time.After(closeLimit):
		}
	}
}
