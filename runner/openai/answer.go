package openai

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/servegate/servegate/runner/openai/internal/frame"
	"github.com/servegate/servegate/runner/openai/internal/http1"
	"github.com/servegate/servegate/runner/sse"
)

const (
	// maxErrorBody is how much of the body of a refusal, or of what stands for one, is read.
	maxErrorBody = 8 << 10
	// sampleSize is how much of an answer that isn't the protocol is read, to tell what
	// it is.
	sampleSize = 2 << 10
	// presized is the most arrivals that room is made for beforehand.
	presized = 256
)

// answer takes what a server answers to one request, piece by piece as it arrives.
type answer struct {
	stream bool // what was asked for
	limits limits

	parser http1.HeadParser
	head   *http1.Head // nil: hasn't come
	body   http1.Body
	kind   bodyKind
	events sse.Parser
	emit   func(sse.Event) error // made once, so that a frame allocates nothing
	kept   []byte                // the body, or the front of it, where it isn't a stream

	now     frame.Arrival // of the piece in hand
	started bool          // a byte has come
	surplus bool          // what came behind the answer isn't the end of its body
	tally   frame.Tally
	frames  int
	bytes   int // of a stream
	finish  string

	terminated bool          // [DONE] came
	ended      bool          // the body is whole
	failure    string        // the server told of an error under HTTP 200
	fault      error         // what came isn't the protocol
	end        time.Duration // arrival of what ended the answer
}

// bodyKind is how the body of an answer is taken.
type bodyKind int

const (
	kindEvents  bodyKind = iota // a stream
	kindWhole                   // JSON, read whole
	kindRefusal                 // of an answer without success: its front is kept
	kindForeign                 // neither: a sample is kept
)

func newAnswer(p *Params, l limits) *answer {
	a := &answer{stream: p.Stream, limits: l, tally: frame.NewTally(0)}
	a.events.Limit = l.piece
	a.emit = a.takeEvent
	if p.Stream {
		a.tally = frame.NewTally(min(p.MaxTokens, presized))
	}
	return a
}

// finished says that nothing more of the answer is of interest.
func (a *answer) finished() bool {
	return a.terminated || a.ended || a.failure != "" || a.fault != nil
}

// take takes the next piece.
func (a *answer) take(piece []byte, now frame.Arrival) {
	a.now, a.started = now, true
	for a.head == nil {
		h, rest, err := a.parser.Feed(piece)
		switch {
		case err != nil:
			a.fail(err)
			return
		case h == nil:
			return
		case !h.Interim():
			a.begin(h)
		}
		piece = rest
	}
	for len(piece) > 0 && !a.body.Done() {
		part, rest, err := a.body.Next(piece)
		if err != nil {
			a.surplus = true // whatever it is, another answer can't follow
			a.fail(err)
			return
		}
		if len(part) > 0 {
			a.takePart(part)
		}
		piece = rest
	}
	a.surplus = a.surplus || len(piece) > 0
	if a.body.Done() {
		a.close()
	}
}

// begin decides how the body is taken.
func (a *answer) begin(h *http1.Head) {
	a.head, a.body = h, http1.NewBody(h)
	stream, json := h.ContentType == "text/event-stream", h.ContentType == "application/json"
	switch {
	case h.Status < 200 || h.Status > 299:
		a.kind = kindRefusal
	case h.Encoding != "":
		a.kind = kindForeign
	case a.stream && (stream || h.ContentType == ""):
		a.kind = kindEvents
	case json || !a.stream && h.ContentType == "":
		// JSON where a stream was asked for is an error, or a server that can't stream.
		a.kind = kindWhole
	default:
		a.kind = kindForeign
	}
}

// takePart takes a part of the body.
func (a *answer) takePart(part []byte) {
	switch a.kind {
	case kindEvents:
		a.takeStream(part)
	case kindWhole:
		a.takeWhole(part)
	case kindRefusal, kindForeign:
		limit := sampleSize
		if a.kind == kindRefusal {
			limit = maxErrorBody
		}
		a.kept = append(a.kept, part[:min(len(part), limit-len(a.kept))]...)
		if len(a.kept) == limit {
			a.close()
		}
	}
}

// takeStream takes a part of a stream.
func (a *answer) takeStream(part []byte) {
	a.bytes += len(part)
	err := a.events.Feed(part, a.emit)
	if err == nil && a.bytes > a.limits.stream {
		err = fmt.Errorf("read stream: over %d bytes, more than what was asked for can have", a.limits.stream)
	}
	if err != nil {
		a.fail(err)
	}
}

// takeWhole takes a part of JSON. Where a stream was asked for it can only be an error.
func (a *answer) takeWhole(part []byte) {
	a.kept = append(a.kept, part...)
	switch {
	case a.stream && len(a.kept) > maxErrorBody:
		a.fail(errors.New("a stream was asked for, and whole JSON came (does the server stream?)"))
	case len(a.kept) > a.limits.piece:
		a.fail(fmt.Errorf("read answer: over %d bytes, more than what was asked for can have", a.limits.piece))
	}
}

// takeEvent takes a frame of a stream. What comes behind the end is ignored.
func (a *answer) takeEvent(ev sse.Event) error {
	data := bytes.TrimSpace(ev.Data)
	switch {
	case a.finished() || len(data) == 0:
	case string(data) == "[DONE]":
		a.terminated = true
		a.end = a.now.At
	case ev.Partial: // the stream was cut within it
	case string(ev.Name) == "error":
		a.refuse(frame.DescribeError(data))
	default:
		a.takeFrame(data)
	}
	return nil
}

func (a *answer) takeFrame(data []byte) {
	f, ok := frame.Scan(data)
	if !ok {
		a.fail(fmt.Errorf("frame %d is no JSON object: %q", a.frames+1, frame.OneLine(string(data[:min(len(data), 80)]))))
		return
	}
	a.frames++
	a.tally.Add(&f, a.now)
	a.conclude(&f)
	if len(a.tally.Arrivals) > a.limits.frames {
		a.fail(fmt.Errorf("read stream: over %d frames with output, more than what was asked for can have", a.limits.frames))
	}
}

// conclude takes what a frame or a whole answer tells of its end.
func (a *answer) conclude(f *frame.Frame) {
	if a.finish == "" {
		a.finish = f.Finish
	}
	switch {
	case f.Failure != "":
		a.refuse(f.Failure)
	case f.Finish == "abort" || f.Finish == "error":
		// vLLM and SGLang end a request that they gave up like a good one, but for this.
		a.refuse("finish_reason " + f.Finish)
	}
}

// close takes the end of the body.
func (a *answer) close() {
	if a.ended {
		return
	}
	if a.kind == kindEvents && a.fault == nil {
		if err := a.events.End(a.emit); err != nil {
			a.fail(err)
		}
	}
	if !a.terminated {
		a.end = a.now.At
	}
	a.ended = true
}

// cut takes the end of the connection: that ends a body without any other end.
func (a *answer) cut() {
	if a.head == nil {
		return
	}
	if a.body.Complete() {
		a.close()
	} else if a.kind == kindEvents && a.fault == nil {
		// A terminator may have come without its line end.
		if err := a.events.End(a.emit); err != nil {
			a.fail(err)
		}
	}
}

// fail takes note that what came isn't the protocol, unless that was behind the end.
func (a *answer) fail(err error) {
	if !a.finished() {
		a.fault = err
		a.end = a.now.At
	}
}

func (a *answer) refuse(what string) {
	a.failure = what
	a.end = a.now.At
}
