package rundir

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
)

const (
	// flushEvery bounds what a kill can lose, with a second as the promise.
	flushEvery = 500 * time.Millisecond
	// blockSize is how much is gathered before it is handed to the goroutine.
	blockSize = 128 << 10
	// maxWaiting bounds what waits for a disk that doesn't keep up: three minutes of a
	// thousand requests a second.
	maxWaiting = 64 << 20
	// windowSize of the compression: what a reader must hold, and we while writing.
	windowSize = 1 << 20
)

// errClosed is the error of writing to a file that was closed.
var errClosed = errors.New("already closed")

// stream is a zstd file of lines that is compressed and written by a goroutine of its
// own, so that whoever has a line waits for neither. Its first error stays.
type stream struct {
	file       *os.File
	maxWaiting int

	mu      sync.Mutex
	block   []byte   // being filled
	full    [][]byte // waiting for the goroutine
	free    [][]byte // written, to be filled again
	waiting int      // bytes in full
	err     error
	closed  bool

	wake chan struct{} // full has something, or closed was set
	done chan struct{} // the goroutine has ended
}

// createStream creates the file, which must not exist yet, and starts its goroutine.
func createStream(path string) (*stream, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	return newStream(file, maxWaiting)
}

// newStream writes to file, which it closes.
func newStream(file *os.File, maxWaiting int) (*stream, error) {
	enc, err := zstd.NewWriter(file, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(windowSize), zstd.WithZeroFrames(true))
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("compress %s: %w", file.Name(), err)
	}
	s := &stream{file: file, maxWaiting: maxWaiting, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go s.run(enc)
	return s, nil
}

// begin locks the stream and returns the block to append a line to. commit or fail
// must follow.
func (s *stream) begin() []byte {
	s.mu.Lock()
	if s.block == nil {
		s.block = s.takeFree()
	}
	return s.block
}

func (s *stream) takeFree() []byte {
	if n := len(s.free); n > 0 {
		block := s.free[n-1]
		s.free = s.free[:n-1]
		return block
	}
	return make([]byte, 0, blockSize+blockSize/4)
}

// commit takes the block back with the line that was appended, and unlocks. It returns
// the error of an earlier write: the line is then lost, as are those before it.
func (s *stream) commit(block []byte) error {
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		return s.err
	case s.closed:
		return fmt.Errorf("write %s: %w", s.file.Name(), errClosed)
	case s.waiting+len(block) > s.maxWaiting:
		s.err = fmt.Errorf("write %s: the disk does not keep up, %d MiB wait for it", s.file.Name(), s.maxWaiting>>20)
		return s.err
	}
	s.block = block
	if len(block) >= blockSize {
		s.handOver()
	}
	return nil
}

// fail gives up the line begun and unlocks. err stays.
func (s *stream) fail(err error) error {
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	return s.err
}

// handOver gives the block to the goroutine. The lock is held.
func (s *stream) handOver() {
	s.full = append(s.full, s.block)
	s.waiting += len(s.block)
	s.block = nil
	s.signal()
}

func (s *stream) signal() {
	select {
	case s.wake <- struct{}{}:
	default: // woken already
	}
}

// run writes what comes until the stream is closed.
func (s *stream) run(enc *zstd.Encoder) {
	defer close(s.done)
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	pending := false // written since the last flush
	for {
		flush := false
		select {
		case <-s.wake:
		case <-tick.C:
			flush = true
		}
		blocks, closed := s.take(flush)
		pending = s.write(enc, blocks) || pending
		if closed {
			s.finish(enc)
			return
		}
		if flush && pending {
			s.keep(enc.Flush())
			pending = false
		}
	}
}

// take returns the blocks that wait and, for a flush or the end, the one being filled.
func (s *stream) take(all bool) (blocks [][]byte, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if (all || s.closed) && len(s.block) > 0 {
		s.full = append(s.full, s.block)
		s.waiting += len(s.block)
		s.block = nil
	}
	blocks, s.full = s.full, nil
	return blocks, s.closed
}

// write compresses blocks and gives them back. After an error it only gives them back.
func (s *stream) write(enc *zstd.Encoder, blocks [][]byte) bool {
	for _, block := range blocks {
		if s.failed() == nil {
			_, err := enc.Write(block)
			s.keep(err)
		}
		s.mu.Lock()
		s.waiting -= len(block)
		if cap(block) <= 2*blockSize && len(s.free) < 4 {
			s.free = append(s.free, block[:0])
		}
		s.mu.Unlock()
	}
	return len(blocks) > 0
}

// finish ends the zstd frame and brings the file to the disk.
func (s *stream) finish(enc *zstd.Encoder) {
	s.keep(enc.Close())
	s.keep(s.file.Sync())
	s.keep(s.file.Close())
}

// keep keeps the first error.
func (s *stream) keep(err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	var file *os.PathError
	if errors.As(err, &file) {
		err = file.Err // it would name the file once more
	}
	s.err = fmt.Errorf("write %s: %w", s.file.Name(), err)
}

// failed returns the first error.
func (s *stream) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// close writes what is left, waits until it is on the disk, and returns the first
// error that there was. It may be called again.
func (s *stream) close() error {
	s.mu.Lock()
	s.closed = true
	s.signal()
	s.mu.Unlock()
	<-s.done
	return s.failed()
}
