package sim

import (
	"net/http"
	"strconv"
	"time"

	"github.com/servegate/servegate/runner/engine/sim/scheduler"
	"github.com/servegate/servegate/runner/engine/sim/wire"
)

// generate serves a route whose bodies parse understands.
func (s *Server) generate(parse func([]byte, wire.Limits) (*wire.Call, *wire.Error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.open.begin()
		defer s.open.end()
		body, fault := readBody(w, r)
		if fault != nil {
			writeError(w, fault)
			return
		}
		call, fault := parse(body, s.limits())
		if fault != nil {
			writeError(w, fault)
			return
		}
		number := s.calls.Add(1)
		a := &answer{server: s, w: w, r: r}
		a.blow, a.before = s.opts.Faults.strike(s.draws, number)
		if a.blow == refused {
			writeError(w, wire.Internal())
			return
		}
		a.stream = newStream(call, &s.opts)
		if fault := s.engine.submit(a.stream); fault != nil {
			writeError(w, fault)
			return
		}
		id := strconv.FormatUint(s.bootNumber, 16) + "-" + strconv.FormatUint(number, 10)
		a.enc = wire.NewEncoder(call, s.opts.Style.Style, s.opts.Model, id, time.Now().Unix())
		if call.Stream {
			a.streamed()
		} else {
			a.whole()
		}
	}
}

// answer is the handler's side of one request in the engine.
type answer struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	stream *stream
	enc    *wire.Encoder
	blow   blow
	before int // frames before the blow

	frames int
	tokens int
	ids    []int32
	buf    []byte
}

// next waits for chunks. It returns none when the answer is over before its end,
// because the client left, the engine died (fault) or was stopped.
func (a *answer) next(dst []chunk) (chunks []chunk, fault *wire.Error) {
	select {
	case <-a.stream.wake:
	case <-a.r.Context().Done():
		a.server.engine.abort(a.stream)
		panic(http.ErrAbortHandler)
	}
	chunks, fault, cut := a.stream.take(dst)
	if cut {
		if len(chunks) == 0 {
			panic(http.ErrAbortHandler)
		}
		a.stream.signal() // come back for the cut once these are sent
	}
	return chunks, fault
}

// streamed sends a frame for each chunk. What has come together is written together,
// in one system call, but never made one frame.
func (a *answer) streamed() {
	h := a.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	flusher := a.w.(http.Flusher)
	// Like vLLM's server, answer before the first token is there: a client that takes
	// the head for a token learns that it isn't.
	a.w.WriteHeader(http.StatusOK)
	flusher.Flush()
	var chunks []chunk
	for done := false; !done; {
		var fault *wire.Error
		chunks, fault = a.next(chunks[:0])
		a.buf = a.buf[:0]
		for i := 0; i < len(chunks) && !done; i++ {
			done = a.frame(chunks[i])
		}
		if fault != nil && !done {
			a.buf, done = a.enc.Fail(a.buf, fault), true
		}
		if _, err := a.w.Write(a.buf); err != nil {
			a.server.engine.abort(a.stream)
			return
		}
		flusher.Flush()
	}
	if a.blow == cutOff {
		panic(http.ErrAbortHandler)
	}
}

// frame appends a chunk's frame, or the blow that strikes in its place, and reports
// whether that was the end.
func (a *answer) frame(c chunk) bool {
	if a.blow != none && (a.frames == a.before || c.finish != "") {
		switch a.blow {
		case inBand:
			a.buf = a.enc.Fail(a.buf, wire.Internal())
		case malformed:
			a.buf = a.enc.Close(a.enc.Malformed(a.buf))
		}
		a.server.engine.abort(a.stream)
		return true
	}
	a.frames++
	a.take(c)
	a.buf = a.enc.Frame(a.buf, a.ids, string(c.finish))
	if c.finish == "" {
		return false
	}
	a.buf = a.enc.Close(a.buf)
	return true
}

// take puts a chunk's token ids into ids.
func (a *answer) take(c chunk) {
	a.enc.Cached(c.cached)
	a.ids = a.ids[:0]
	for range c.tokens {
		a.ids = append(a.ids, a.stream.token(a.tokens))
		a.tokens++
	}
}

// whole sends the answer in one piece once it is complete.
func (a *answer) whole() {
	var all []int32
	var chunks []chunk
	for finish := scheduler.Finish(""); finish == ""; {
		var fault *wire.Error
		chunks, fault = a.next(chunks[:0])
		for _, c := range chunks {
			a.take(c)
			all = append(all, a.ids...)
			finish = c.finish
		}
		if fault != nil && finish == "" {
			writeError(a.w, fault)
			return
		}
		if finish != "" {
			a.buf = a.enc.Body(a.buf, all, string(finish))
		}
	}
	switch a.blow {
	case inBand:
		a.buf = wire.Internal().Append(a.buf[:0])
	case malformed, cutShort:
		a.buf = a.buf[:len(a.buf)/2]
	}
	h := a.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(a.buf)))
	if a.blow == cutOff {
		a.buf = a.buf[:len(a.buf)/2]
	}
	_, _ = a.w.Write(a.buf) // a client that is gone needs no answer
	if a.blow == cutOff {
		a.w.(http.Flusher).Flush() // or the client would see no answer at all
		panic(http.ErrAbortHandler)
	}
}
