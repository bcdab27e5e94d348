package http1

import (
	"bytes"
	"errors"
	"fmt"
)

// maxChunkLine is the most bytes of a chunk's size line, and of all trailers together.
const maxChunkLine = 8 << 10

// Body cuts the body of an answer out of the pieces that it arrives in, so that every
// part of it keeps the time of the read that delivered it.
type Body struct {
	framing framing
	left    int64 // bytes left of the body, or of the chunk
	state   chunkState
	line    []byte // the unfinished size line, or trailer line
	extra   int    // bytes of trailers so far
	done    bool
}

// chunkState is the place within a chunked body.
type chunkState int

const (
	chunkSize chunkState = iota
	chunkData
	chunkEnd // the line end behind a chunk's data
	chunkTrailer
)

// NewBody makes a Body for the answer that h is the head of.
func NewBody(h *Head) Body {
	return Body{framing: h.framing, left: max(h.length, 0), done: h.framing == byLength && h.length == 0}
}

// Next cuts the next part of the body, which may be empty, off the front of piece. It
// is called until rest is empty or the body is done; what is left then doesn't belong
// to it.
func (b *Body) Next(piece []byte) (part, rest []byte, err error) {
	switch {
	case b.done:
		return nil, piece, nil
	case b.framing == untilClose:
		return piece, nil, nil
	case b.framing == byLength:
		part, rest = b.cut(piece)
		b.done = b.left == 0
		return part, rest, nil
	case b.state == chunkData:
		part, rest = b.cut(piece)
		if b.left == 0 {
			b.state = chunkEnd
		}
		return part, rest, nil
	}
	rest, err = b.chunkLine(piece)
	return nil, rest, err
}

// cut takes up to left bytes off piece.
func (b *Body) cut(piece []byte) (part, rest []byte) {
	n := int(min(int64(len(piece)), b.left))
	b.left -= int64(n)
	return piece[:n], piece[n:]
}

// chunkLine takes one of the lines between the data of chunks off piece.
func (b *Body) chunkLine(piece []byte) (rest []byte, err error) {
	i := bytes.IndexByte(piece, '\n')
	if i < 0 {
		b.line = append(b.line, piece...)
		if len(b.line) > maxChunkLine {
			return nil, errors.New("read chunk: line too long")
		}
		return nil, nil
	}
	line := piece[:i]
	if len(b.line) > 0 {
		b.line = append(b.line, line...)
		line = b.line
		b.line = b.line[:0]
	}
	if len(line) > maxChunkLine {
		return nil, errors.New("read chunk: line too long")
	}
	return piece[i+1:], b.endLine(bytes.TrimSuffix(line, []byte("\r")))
}

func (b *Body) endLine(line []byte) error {
	switch b.state {
	case chunkEnd:
		if len(line) > 0 {
			return fmt.Errorf("read chunk: got %q behind its data, want a line end", line[:min(len(line), 40)])
		}
		b.state = chunkSize
	case chunkTrailer:
		b.done = len(line) == 0
		if b.extra += len(line); b.extra > maxChunkLine {
			return errors.New("read chunk: trailers too long")
		}
	default:
		size, err := parseChunkSize(line)
		if err != nil {
			return err
		}
		b.left, b.state = size, chunkData
		if size == 0 {
			b.state = chunkTrailer
		}
	}
	return nil
}

// parseChunkSize reads a chunk's size line; extensions behind a semicolon are skipped.
func parseChunkSize(line []byte) (int64, error) {
	digits, _, _ := bytes.Cut(line, []byte(";"))
	digits = bytes.TrimRight(digits, " \t")
	var size int64
	good := len(digits) > 0
	for _, ch := range digits {
		value, ok := hexValue(ch)
		good = good && ok && size < 1<<55
		size = size<<4 | value
	}
	if !good {
		return 0, fmt.Errorf("read chunk: bad size %q", line[:min(len(line), 40)])
	}
	return size, nil
}

func hexValue(ch byte) (int64, bool) {
	switch {
	case '0' <= ch && ch <= '9':
		return int64(ch - '0'), true
	case 'a' <= ch|0x20 && ch|0x20 <= 'f':
		return int64(ch|0x20-'a') + 10, true
	}
	return 0, false
}

// Done says whether the body is whole. One that lasts until the connection closes never is.
func (b *Body) Done() bool { return b.done }

// Complete says whether the body is whole given that the connection has ended.
func (b *Body) Complete() bool { return b.done || b.framing == untilClose }
