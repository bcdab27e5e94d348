package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

// maxWindow bounds the memory that a zstd frame may ask for: what every decoder is to
// support, and eight times what we write.
const maxWindow = 8 << 20

// errCut says that a file ends before its zstd frame does.
var errCut = errors.New("the file ends within its zstd frame")

// inflater decompresses one file after the other, up to a limit each.
type inflater struct {
	zstd  *zstd.Decoder
	file  counter
	limit int64 // bytes that may still come out
}

// counter counts what is read, so that an empty file shows.
type counter struct {
	io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// reset begins with another file, out of which at most limit bytes may come.
func (f *inflater) reset(file io.Reader, limit int64) error {
	f.file, f.limit = counter{Reader: file}, limit
	if f.zstd != nil {
		return f.zstd.Reset(&f.file)
	}
	dec, err := zstd.NewReader(&f.file, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	f.zstd = dec
	return err
}

// Read returns errCut where the file ends early; what came before it is good.
func (f *inflater) Read(p []byte) (int, error) {
	n, err := f.zstd.Read(p)
	f.limit -= int64(n)
	switch {
	case f.limit < 0:
		return 0, errors.New("decompresses to more than the limit")
	case errors.Is(err, io.ErrUnexpectedEOF), err == io.EOF && f.file.n == 0:
		err = errCut
	}
	return n, err
}

// lineReader cuts what it reads into lines.
type lineReader struct {
	src        io.Reader
	limit      int // bytes of a line
	buf        []byte
	start, end int // what is read and not handed out yet
	err        error
}

// lineBuffer is the size that the buffer begins with.
const lineBuffer = 256 << 10

// reset begins with another source.
func (l *lineReader) reset(src io.Reader, limit int) {
	if l.buf == nil {
		l.buf = make([]byte, lineBuffer)
	}
	l.src, l.limit = src, limit
	l.start, l.end, l.err = 0, 0, nil
}

// next returns the next line without its newline, good until the following call. At
// the end it returns the source's error, [io.EOF] if that is all; a line without a
// newline before io.EOF is an error, before another it is dropped.
func (l *lineReader) next() ([]byte, error) {
	searched := l.start
	for {
		if i := bytes.IndexByte(l.buf[searched:l.end], '\n'); i >= 0 {
			line := l.buf[l.start : searched+i]
			l.start = searched + i + 1
			return line, nil
		}
		if l.err != nil {
			if l.err == io.EOF && l.start < l.end {
				return nil, errors.New("the last line has no end")
			}
			return nil, l.err
		}
		if l.end-l.start > l.limit {
			return nil, fmt.Errorf("a line of more than %d bytes", l.limit)
		}
		searched = l.fill()
	}
}

// fill reads on and returns where the new bytes begin.
func (l *lineReader) fill() int {
	if l.start > 0 {
		copy(l.buf, l.buf[l.start:l.end])
		l.start, l.end = 0, l.end-l.start
	}
	if l.end == len(l.buf) {
		l.buf = append(l.buf, make([]byte, len(l.buf))...)
	}
	fresh := l.end
	n, err := l.src.Read(l.buf[l.end:])
	l.end += n
	l.err = err
	return fresh
}

// limits bounds what is read of one repetition, since whoever made the directory may
// want to fill our memory. What lies beyond is not written either.
type limits struct {
	records  int   // raw records
	arrivals int   // arrivals and token counts, all records together
	line     int   // bytes of one line
	bytes    int64 // bytes of one file, decompressed
}

// defaultLimits is far beyond any measurement: half an hour of a thousand requests a
// second, and as many arrivals as fit into a gigabyte.
var defaultLimits = limits{records: 2_000_000, arrivals: 128 << 20, line: 16 << 20, bytes: 4 << 30}

// maxRunSize bounds run.json and the manifest, in bytes.
const maxRunSize = 256 << 20

// exceeded says which limit is exceeded, or "" if none is.
func (l limits) exceeded(records, arrivals, line int) string {
	switch {
	case records > l.records:
		return fmt.Sprintf("more than %d raw records in one repetition", l.records)
	case arrivals > l.arrivals:
		return fmt.Sprintf("more than %d arrivals in one repetition", l.arrivals)
	case line > l.line:
		return fmt.Sprintf("a line of more than %d bytes", l.line)
	}
	return ""
}

// Telemetry returns the decompressed lines of the time series <name>.jsonl.zst of one
// repetition. Where the run was cut short and the file is, what was written can be read
// and the error at its end is [ErrTruncated].
func (d *Dir) Telemetry(cellID string, index int, name string) (io.ReadCloser, error) {
	ref := Ref{Cell: cellID, Index: index}
	if err := errors.Join(ref.check(), checkName("telemetry", name)); err != nil {
		return nil, fmt.Errorf("read telemetry: %w", err)
	}
	file, _, err := d.openFile(ref.file(name))
	if err != nil {
		return nil, fmt.Errorf("read telemetry of %s: %w", ref, err)
	}
	t := &telemetryReader{file: file, finished: d.run.Complete}
	if err := t.inflater.reset(file, d.limits.bytes); err != nil {
		file.Close()
		return nil, fmt.Errorf("read telemetry of %s: %w", ref, err)
	}
	return t, nil
}

// telemetryReader decompresses a file and closes it.
type telemetryReader struct {
	inflater inflater
	file     *os.File
	finished bool
}

func (t *telemetryReader) Read(p []byte) (int, error) {
	n, err := t.inflater.Read(p)
	switch {
	case errors.Is(err, errCut) && !t.finished:
		err = fmt.Errorf("read %s: %w, since the run was", t.file.Name(), ErrTruncated)
	case err != nil && err != io.EOF:
		err = fmt.Errorf("read %s: %w", t.file.Name(), err)
	}
	return n, err
}

func (t *telemetryReader) Close() error { return t.file.Close() }
