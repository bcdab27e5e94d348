package engine

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// DefaultLogLimit is how many bytes of one boot's log are kept beside its end.
	DefaultLogLimit = 64 << 20
	// maxLine is the length in bytes at which a line of the log is cut.
	maxLine = 8 << 10
	// tailBytes is how much of the end of a log is kept, in memory and in the file.
	tailBytes = 64 << 10
	// tailEvery is how stale the end of a log in the file may be once it is limited.
	tailEvery = 500 * time.Millisecond
)

// LogFile is what a [Log] writes to; an [os.File] that wasn't opened to append is one.
type LogFile interface {
	io.WriterAt
	Truncate(size int64) error
}

// Log writes the output of an engine to a file: line by line, secrets masked, each line
// and the whole bounded. What exceeds the limit is not kept, but the file always ends
// with the last lines, for they are the ones that tell why an engine died.
//
// Its Write never fails and never returns short: a full disk must not take the engine
// down. What went wrong is returned by Close. A secret is found however it is spread
// over writes, since only whole lines are written. It is safe for concurrent use.
type Log struct {
	mu    sync.Mutex
	file  LogFile
	mask  *Mask
	off   int64 // where the next bytes go
	limit int64 // the offset from which on only the end is kept
	err   error // the first failure to write

	line    []byte // the line that isn't complete yet
	skip    bool   // drop everything up to the next end of line
	afterCR bool   // the last byte was \r: a \n that follows ends no further line
	out     []byte // complete lines, masked, not written yet
	tail    []byte // the last lines, at most 2*tailBytes
	dropped int64  // bytes that exceeded the limit
	pending bool   // a timer will write the end
	closed  bool
}

// NewLog returns a log that writes to file from the offset on, and keeps limit bytes
// beside the end; 0: [DefaultLogLimit]. The file stays the caller's to close.
func NewLog(file LogFile, offset, limit int64, mask *Mask) *Log {
	if limit <= 0 {
		limit = DefaultLogLimit
	}
	if mask == nil {
		mask = NewMask()
	}
	return &Log{file: file, mask: mask, off: offset, limit: offset + limit}
}

// Write takes the next bytes of output. It returns len(p), nil.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := p; len(rest) > 0; {
		i := endOfLine(rest)
		if i < 0 {
			l.take(rest)
			break
		}
		// Progress bars end their lines with \r; \r\n is one end, not two.
		if rest[i] == '\r' || i > 0 || !l.afterCR {
			l.take(rest[:i])
			l.endLine()
		}
		l.afterCR = rest[i] == '\r'
		rest = rest[i+1:]
	}
	l.flush()
	return len(p), nil
}

// endOfLine returns the index of the first \n or \r in p, or -1.
func endOfLine(p []byte) int {
	i := bytes.IndexByte(p, '\n')
	if i >= 0 {
		p = p[:i]
	}
	if j := bytes.IndexByte(p, '\r'); j >= 0 {
		return j
	}
	return i
}

// take adds bytes without an end of line to the current line, and cuts it where it gets
// too long. It holds enough in hand that a secret across the cut is seen whole.
func (l *Log) take(p []byte) {
	if len(p) > 0 {
		l.afterCR = false
	}
	if l.skip {
		return
	}
	room := maxLine + l.mask.longest + 1 - len(l.line)
	l.line = append(l.line, p[:min(len(p), room)]...)
	if len(p) >= room {
		l.endLine()
		l.skip = true
	}
}

// endLine hands the current line on, masked, and begins the next one.
func (l *Log) endLine() {
	if l.skip {
		l.skip = false
		return
	}
	start := len(l.out)
	l.out = l.mask.append(l.out, l.line, min(len(l.line), maxLine))
	if len(l.line) > maxLine {
		l.out = append(l.out, " [line cut]"...)
	}
	l.out = append(l.out, '\n')
	l.line = l.line[:0]
	l.keep(l.out[start:])
}

// keep remembers text as the end of the log.
func (l *Log) keep(text []byte) {
	l.tail = append(l.tail, text...)
	if len(l.tail) > 2*tailBytes {
		l.tail = append(l.tail[:0], wholeLines(l.tail, tailBytes)...)
	}
}

// wholeLines returns the lines that are complete within the last n bytes of text.
func wholeLines(text []byte, n int) []byte {
	if len(text) <= n {
		return text
	}
	text = text[len(text)-n:]
	return text[bytes.IndexByte(text, '\n')+1:]
}

// Gap says that n bytes of output were lost at this place. The line before and the
// line after the gap are dropped too: either might hold half a secret.
func (l *Log) Gap(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line, l.skip, l.afterCR = l.line[:0], true, false
	note := fmt.Appendf(nil, "[servegate: %d bytes of output lost here, the engine writes faster than the log can take]\n", n)
	l.out = append(l.out, note...)
	l.keep(note)
	l.flush()
}

// flush writes the complete lines to the file, or, once the limit is reached, sees to
// it that the end of the file is written before long.
func (l *Log) flush() {
	if len(l.out) == 0 {
		return
	}
	if l.off < l.limit {
		n, err := l.file.WriteAt(l.out, l.off)
		l.off += int64(n)
		l.fail(err)
		l.out = l.out[:0]
		return
	}
	l.dropped += int64(len(l.out))
	l.out = l.out[:0]
	if !l.pending && !l.closed {
		l.pending = true
		time.AfterFunc(tailEvery, l.writeTailLater)
	}
}

func (l *Log) writeTailLater() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = false
	if !l.closed {
		l.writeTail()
	}
}

// writeTail writes what was kept of the end behind the limit. It overwrites the end that
// it wrote before, and shortens the file afterwards only: a reader never sees it empty.
func (l *Log) writeTail() {
	if l.dropped == 0 {
		return
	}
	tail := wholeLines(l.tail, tailBytes)
	text := fmt.Appendf(nil, "[servegate: the log's limit is reached, %d bytes are not kept; the last lines follow]\n",
		max(0, l.dropped-int64(len(tail))))
	text = append(text, tail...)
	_, err := l.file.WriteAt(text, l.off)
	l.fail(err)
	if err == nil {
		l.fail(l.file.Truncate(l.off + int64(len(text))))
	}
}

func (l *Log) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

// LastLines returns up to n lines from the end of the log, oldest first, masked and
// printable. An unfinished line counts as one.
func (l *Log) LastLines(n int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := bytes.Clone(l.tail)
	if len(l.line) > 0 && !l.skip {
		text = l.mask.append(text, l.line, min(len(l.line), maxLine))
	}
	return printable(text, n)
}

// Fault returns the first failure to write so far, or nil.
func (l *Log) Fault() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault()
}

func (l *Log) fault() error {
	if l.err == nil {
		return nil
	}
	return fmt.Errorf("write engine log: %w", l.err)
}

// Close writes what is left and returns the first failure to write, if any. The file is
// not closed.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.line) > 0 && !l.skip {
		l.endLine()
		l.flush()
	}
	l.writeTail()
	l.closed = true
	return l.fault()
}
