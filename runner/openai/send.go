package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/runner/openai/internal/frame"
	"github.com/servegate/servegate/runner/openai/internal/http1"
)

// Call is one request to be made and where it stands in its repetition.
type Call struct {
	Params
	// Index, Phase, Stream, Due and WantInput are copied into the record.
	Index     int
	Phase     gate.Phase
	Stream    int
	Due       time.Duration
	WantInput int
	// FixedOutput says that the engine was seen to honour ignore_eos (or min_tokens), so
	// that fewer output tokens than asked for are a fault of the answer.
	FixedOutput bool
}

// Prepared is a request that only remains to be sent, once.
type Prepared struct {
	client *Client
	call   Call
	wire   []byte // head and body, as they go over the connection
}

// Prepare builds the request, so that sending it when it is due costs next to nothing.
// The error is about a call that can't be sent.
func (c *Client) Prepare(call Call) (*Prepared, error) {
	head := c.head(&call.Params)
	const lengthRoom = 20 + len("\r\n\r\n")
	room := len(head) + lengthRoom
	wire, err := call.Params.bodyBehind(room)
	if err != nil {
		return nil, err
	}
	head = strconv.AppendInt(head, int64(len(wire)-room), 10)
	head = append(head, "\r\n\r\n"...)
	wire = wire[room-len(head):]
	copy(wire, head)
	// What the prompt was made of isn't needed any more.
	call.IDs, call.Text, call.Extra = nil, "", nil
	return &Prepared{client: c, call: call, wire: wire}, nil
}

// head is the head of a request up to the number of its content length.
func (c *Client) head(p *Params) []byte {
	accept := "application/json"
	if p.Stream {
		accept = "text/event-stream"
	}
	b := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: servegate\r\nAccept: %s\r\nAccept-Encoding: identity\r\nContent-Type: application/json\r\n",
		c.route(p.path()).EscapedPath(), c.base.Host, accept)
	if c.key != "" {
		b = append(append(append(b, "Authorization: Bearer "...), c.key...), "\r\n"...)
	}
	return append(b, "Content-Length: "...)
}

func (p *Params) path() string {
	if p.Chat {
		return "/v1/chat/completions"
	}
	return "/v1/completions"
}

// route is the URL of a path of the API.
func (c *Client) route(path string) *url.URL { return c.base.JoinPath(path) }

// Send sends the request at once and returns its record when it has ended: by its
// answer, by an error, by the client's request timeout, or by ctx, which makes it
// cancelled. The record holds what had arrived by then. Done is the end of the answer
// (the arrival of a stream's terminator, of an error frame, or of the body's last
// byte), or the moment at which the request was cut off or given up; a request that was
// never sent has none. p is spent.
func (p *Prepared) Send(ctx context.Context) gate.Request {
	r, _ := p.send(ctx)
	return r
}

func (p *Prepared) send(ctx context.Context) (gate.Request, *answer) {
	x := &exchange{
		ctx: ctx, client: p.client, origin: *p.client.origin.Load(),
		answer: newAnswer(&p.call.Params, limitsOf(p.call.MaxTokens, len(p.wire), p.client.maxFrame)),
	}
	wire := p.wire
	p.wire = nil
	if wire == nil {
		x.err = errors.New("send request: it was sent before")
	} else if x.err = ctx.Err(); x.err == nil {
		var c *conn
		if c, x.err = p.client.pool.take(ctx); x.err == nil {
			x.run(c, wire)
		}
	}
	return x.record(&p.call), x.answer
}

// exchange is one request on its way.
type exchange struct {
	ctx    context.Context
	client *Client
	origin time.Time
	answer *answer

	sent  time.Duration // 0: never
	over  time.Duration // when run ended
	floor time.Duration // nothing can have arrived before
	err   error         // what ended it, where it wasn't its answer

	reads, unstamped int64
	reused           time.Duration // how long the connection had lain idle before; 0: it was new
}

// clockSlack is how far a kernel timestamp may lie on the wrong side of another moment
// without being taken for nonsense: reading two clocks takes time.
const clockSlack = time.Millisecond

// run carries the request over c and gives c back.
func (x *exchange) run(c *conn, wire []byte) {
	deadline := time.Time{}
	if x.client.timeout > 0 {
		deadline = time.Now().Add(x.client.timeout)
	}
	if c.used > 0 {
		x.reused = time.Since(c.idleSince)
	}
	// In this order: an interrupt that comes early mustn't be undone.
	c.setDeadline(deadline)
	stop := context.AfterFunc(x.ctx, c.interrupt)
	sent, err := c.send(wire)
	wire = nil // a prompt isn't kept over the answer
	if !sent.IsZero() {
		x.sent = sent.Sub(x.origin)
		x.floor = x.sent + 1
	}
	if x.sent != 0 && !errors.Is(err, os.ErrDeadlineExceeded) {
		// A server that refuses may answer, and close, before it has read all.
		x.receive(c)
	}
	if err != nil && !x.answer.finished() {
		x.err = fmt.Errorf("write request: %w", cause(err))
	}
	x.over = time.Since(x.origin)
	x.giveBack(c, stop() && err == nil && x.err == nil)
	x.client.counters.add(x)
}

// receive reads until the answer is finished or the connection fails.
func (x *exchange) receive(c *conn) {
	for !x.answer.finished() {
		piece, err := c.receive()
		if len(piece) > 0 {
			x.reads++
			if !c.stamp.kernel {
				x.unstamped++
			}
			before := len(x.answer.tally.Arrivals)
			x.answer.take(piece, frame.Arrival{At: x.arrival(c.stamp), Read: int(x.reads)})
			if n := len(x.answer.tally.Arrivals) - before; n > 0 {
				x.client.counters.frames.Add(int64(n)) // at once: a watcher tells by it that the server is alive
			}
		}
		c.release()
		if err == nil {
			continue
		}
		if errors.Is(err, io.EOF) {
			x.answer.cut()
		}
		if !x.answer.finished() {
			x.err = err
		}
		return
	}
}

// arrival is the offset of the moment that s tells of. It never lies before one that
// was told earlier, or in the future.
func (x *exchange) arrival(s stamp) time.Duration {
	read := s.at.Sub(x.origin)
	at := read - s.lag
	if at < x.floor-clockSlack {
		at = read // the real-time clock was set: only the read is left to go by
	}
	x.floor = max(at, x.floor)
	return x.floor
}

const (
	// drainInline is how long a request waits, once its stream has ended, for the end of
	// the body, so that its connection is there for the next one.
	drainInline = 10 * time.Millisecond
	// drainAside is how long this is waited for beside other requests.
	drainAside = time.Second
)

// giveBack puts c back into the pool if it may serve another request, once the rest of
// the body has been read.
func (x *exchange) giveBack(c *conn, sound bool) {
	p, a := x.client.pool, x.answer
	switch {
	case !sound, a.head == nil, a.fault != nil, a.surplus:
		if x.sent != 0 && !a.started && !errors.Is(x.err, os.ErrDeadlineExceeded) && x.reused > 0 && x.reused < rightAfter {
			p.noteBroken(false)
		}
		p.drop(c)
	case !a.head.KeepAlive:
		p.noteBroken(a.head.Status < 300) // an error may be all that it closes for
		p.drop(c)
	case drain(c, &a.body, drainInline):
		p.put(c)
	default:
		body := a.body
		p.aside(c, func() {
			if drain(c, &body, drainAside) {
				p.put(c)
			} else {
				p.drop(c)
			}
		})
	}
}

// drain reads the rest of the body, for so long at most, and says whether it was there
// and nothing behind it.
func drain(c *conn, body *http1.Body, most time.Duration) bool {
	if body.Done() {
		return true
	}
	c.setDeadline(time.Now().Add(most))
	for !body.Done() {
		piece, err := c.receive()
		for err == nil && len(piece) > 0 && !body.Done() {
			_, piece, err = body.Next(piece)
		}
		c.release()
		if err != nil || body.Done() && len(piece) > 0 {
			return false
		}
	}
	return true
}
