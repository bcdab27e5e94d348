// Package sse reads server-sent events (the text/event-stream format of the WHATWG
// HTML standard, section 9.2) from the pieces that a stream arrives in.
//
// The caller pushes each piece with [Parser.Feed] as soon as it has it, so that it
// knows which piece completed which event: that is how a frame gets the time of the
// read that delivered its last byte. However the stream is cut into pieces, the events
// are the same. The package reads from nothing, asks no clock, and copies no byte of an
// event that lies whole within one piece and has a single data line.
//
// It leaves to its caller what the events mean (JSON, a "[DONE]" that ends the stream)
// and reconnecting: id and retry lines are skipped.
package sse

import (
	"bytes"
	"errors"
	"fmt"
)

// DefaultLimit is the limit in bytes of a [Parser] that sets none: 16 MiB.
const DefaultLimit = 16 << 20

// ErrTooLong is wrapped by the error for an event or a line over the limit.
var ErrTooLong = errors.New("event too long")

// Event is one event of a stream. Its bytes are valid only until the function that it
// was handed to returns.
type Event struct {
	Name []byte // of the event's "event:" line; empty where it has none
	Data []byte // its data lines, joined by "\n"
	// Partial says that the stream ended before the blank line that ends an event. The
	// standard drops such an event; there are servers that end their last one so.
	Partial bool
}

// Parser turns the pieces of one stream into events. The zero value is ready for use.
type Parser struct {
	// Limit is the most bytes that a line, or the joined data of an event, may have;
	// 0: [DefaultLimit]. It holds alike however the stream is cut.
	Limit int

	line []byte // the line that the last piece left unfinished
	name []byte
	data []byte // our copy of the event's data, where value doesn't lie in the piece
	// value is the data of the event so far: a part of the piece in hand, or data. It
	// is never kept beyond Feed while it is a part of the piece.
	value    []byte
	hasData  bool
	borrowed bool // value lies in the piece in hand
	skipLF   bool // the last piece ended with CR: an LF that follows belongs to it
	begun    bool // the first line, which may carry a byte-order mark, is over
	err      error
}

var bom = []byte("\xef\xbb\xbf")

// Feed takes the next piece of the stream and calls emit for each event that it
// completes, in order. It keeps nothing of piece. An error of emit ends the stream and
// is returned as it is, and so is an error that wraps [ErrTooLong]; every later call
// returns the same one.
func (p *Parser) Feed(piece []byte, emit func(Event) error) error {
	if p.err != nil {
		return p.err
	}
	if p.err = p.feed(piece, emit); p.err != nil {
		return p.err
	}
	if p.borrowed {
		p.data = append(p.data[:0], p.value...)
		p.value, p.borrowed = p.data, false
	}
	return nil
}

// End says that the stream has ended, and emits what stands unfinished as an event
// with Partial set, if it has data.
func (p *Parser) End(emit func(Event) error) error {
	if p.err != nil {
		return p.err
	}
	if len(p.line) > 0 {
		if p.err = p.takeLine(p.line, false, emit); p.err != nil {
			return p.err
		}
		p.line = p.line[:0]
	}
	p.err = p.dispatch(true, emit)
	return p.err
}

// feed cuts piece into lines, which end with LF, CR or CRLF. The places of the next LF
// and CR are looked for only once each is passed, which keeps a piece full of either
// linear.
func (p *Parser) feed(piece []byte, emit func(Event) error) error {
	pos := 0
	if p.skipLF && len(piece) > 0 {
		p.skipLF = false
		if piece[0] == '\n' {
			pos = 1
		}
	}
	lf, cr := -1, -1
	for pos < len(piece) {
		if lf < pos {
			lf = index(piece, pos, '\n')
		}
		if cr < pos {
			cr = index(piece, pos, '\r')
		}
		end := min(lf, cr)
		if end == len(piece) {
			p.line = append(p.line, piece[pos:]...)
			return p.checkLength(len(p.line))
		}
		line := piece[pos:end]
		pos = end + 1
		if end == cr {
			if pos == len(piece) {
				p.skipLF = true
			} else if piece[pos] == '\n' {
				pos++
			}
		}
		if err := p.endLine(line, emit); err != nil {
			return err
		}
	}
	return nil
}

// endLine takes a line whose end lies in the piece in hand, and whose front may have
// come with earlier ones.
func (p *Parser) endLine(line []byte, emit func(Event) error) error {
	if len(p.line) == 0 {
		return p.takeLine(line, true, emit)
	}
	p.line = append(p.line, line...)
	err := p.takeLine(p.line, false, emit)
	p.line = p.line[:0]
	return err
}

// takeLine takes one whole line; inPiece says that it lies in the piece in hand.
func (p *Parser) takeLine(line []byte, inPiece bool, emit func(Event) error) error {
	if err := p.checkLength(len(line)); err != nil {
		return err
	}
	if !p.begun {
		p.begun = true
		line = bytes.TrimPrefix(line, bom)
	}
	if len(line) == 0 {
		return p.dispatch(false, emit)
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch string(field) { // a comment has an empty field
	case "data":
		return p.addData(value, inPiece)
	case "event":
		p.name = append(p.name[:0], value...)
	}
	return nil
}

// addData adds a data line to the event. The first is only pointed at where it may be.
func (p *Parser) addData(value []byte, inPiece bool) error {
	if !p.hasData {
		p.hasData, p.borrowed, p.value = true, inPiece, value
		if !inPiece {
			p.data = append(p.data[:0], value...)
			p.value = p.data
		}
		return nil
	}
	if p.borrowed {
		p.data = append(p.data[:0], p.value...)
		p.borrowed = false
	}
	p.data = append(append(p.data, '\n'), value...)
	p.value = p.data
	return p.checkLength(len(p.value))
}

// dispatch emits the event, if it has data, and begins the next one.
func (p *Parser) dispatch(partial bool, emit func(Event) error) error {
	ev := Event{Name: p.name, Data: p.value, Partial: partial}
	had := p.hasData
	p.name = p.name[:0]
	p.value, p.hasData, p.borrowed = nil, false, false
	if !had {
		return nil
	}
	return emit(ev)
}

func (p *Parser) checkLength(n int) error {
	limit := p.Limit
	if limit <= 0 {
		limit = DefaultLimit
	}
	if n > limit {
		return fmt.Errorf("read event: %w: over %d bytes", ErrTooLong, limit)
	}
	return nil
}

// index is the place of the first c in b at or after from, or len(b).
func index(b []byte, from int, c byte) int {
	if i := bytes.IndexByte(b[from:], c); i >= 0 {
		return from + i
	}
	return len(b)
}
