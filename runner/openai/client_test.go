package openai_test

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/runner/openai"
)

// connect makes a client for the server, with n connections open.
func connect(t testing.TB, o openai.Options, n int) *openai.Client {
	t.Helper()
	if o.RequestTimeout == 0 {
		o.RequestTimeout = 20 * time.Second
	}
	c, err := openai.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := c.Open(context.Background(), n, 0); err != nil {
		t.Fatal(err)
	}
	return c
}

// send prepares and sends a call.
func send(t testing.TB, c *openai.Client, call openai.Call) gate.Request {
	t.Helper()
	p, err := c.Prepare(call)
	if err != nil {
		t.Fatal(err)
	}
	return p.Send(context.Background())
}

// streaming is a call for a stream of three tokens.
func streaming() openai.Call {
	return openai.Call{Params: openai.Params{Model: "m", IDs: []int{1, 2, 3, 4}, MaxTokens: 3, Stream: true}, WantInput: 4}
}

// outcomes has every way in which a request can end.
var outcomes = []struct {
	name   string
	change func(*openai.Call)
	answer func(c *rawConn) bool // true: the connection goes on
	want   gate.Outcome
	frames int
	say    string // what the error must contain
}{
	{"ok", nil, func(c *rawConn) bool {
		c.write(streamHead, text("a"), text("b"), text("c"), frame(closing), done, lastChunk)
		return true
	}, gate.OK, 3, ""},
	{"ok in one write", nil, func(c *rawConn) bool {
		c.write(streamHead + text("a") + text("b") + frame(closing) + done + lastChunk)
		return true
	}, gate.OK, 2, ""},
	{"ok, until close", nil, func(c *rawConn) bool {
		c.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", "data: {\"choices\":[{\"text\":\"a\"}]}\n\n", "data: [DONE]\n\n")
		return false
	}, gate.OK, 1, ""},
	{"ok, terminator without a line end", nil, func(c *rawConn) bool {
		c.write("HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", "data: {\"choices\":[{\"text\":\"a\"}]}\n\n", "data: [DONE]")
		return false
	}, gate.OK, 1, ""},
	{"ok, last chunk missing", nil, func(c *rawConn) bool { c.write(streamHead, text("a"), done); return false }, gate.OK, 1, ""},
	{"ok, frames behind the end", nil, func(c *rawConn) bool {
		c.write(streamHead, text("a"), done+text("b")+frame("{"), lastChunk)
		return true
	}, gate.OK, 1, ""},
	{"ok, slow head", nil, func(c *rawConn) bool {
		c.write("HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 20", "0 OK\r\nContent-Type: text/event-stream\r\nTransfer-Enc", "oding: chunked\r\n\r", "\n", text("a"), done, lastChunk)
		return true
	}, gate.OK, 1, ""},
	{"ok, megabyte frame", nil, func(c *rawConn) bool {
		c.write(streamHead, text("a"), text(strings.Repeat("x", 1<<20)), done, lastChunk)
		return true
	}, gate.OK, 2, ""},
	{"ok, whole answer", func(c *openai.Call) { c.Params.Stream = false }, func(c *rawConn) bool {
		c.write(whole(200, "application/json; charset=utf-8", `{"choices":[{"text":"abc","finish_reason":"length"}],"usage":{"prompt_tokens":4,"completion_tokens":3}}`))
		return true
	}, gate.OK, 0, ""},
	{"ok, whole answer without text", func(c *openai.Call) { c.Params.Stream = false }, func(c *rawConn) bool {
		c.write(whole(200, "application/json", `{"choices":[{"text":""}],"usage":{"completion_tokens":3}}`))
		return true
	}, gate.OK, 0, ""},

	{"400", nil, func(c *rawConn) bool {
		c.write(whole(400, "application/json", `{"error":{"message":"max_tokens is too large","code":400}}`))
		return true
	}, gate.HTTP4xx, 0, "HTTP 400 Bad Request: code 400: max_tokens is too large"},
	{"401", nil, func(c *rawConn) bool {
		c.write(whole(401, "application/json", `{"error":"bad key sk-secret"}`))
		return true
	}, gate.HTTP4xx, 0, "HTTP 401 Unauthorized: bad key *** (is the API key set"},
	{"404", nil, func(c *rawConn) bool { c.write(whole(404, "application/json", `{"detail":"Not Found"}`)); return true }, gate.HTTP4xx, 0, "HTTP 404 Not Found: Not Found"},
	{"404 HTML", nil, func(c *rawConn) bool {
		c.write(whole(404, "text/html", "<html><head><title>404 nginx</title>"))
		return true
	}, gate.HTTP4xx, 0, `an HTML page "404 nginx"`},
	{"429", nil, func(c *rawConn) bool { c.write(whole(429, "text/plain", "busy", "Retry-After: 7")); return true }, gate.Rejected, 0, "HTTP 429 Too Many Requests, retry after 7: busy"},
	{"503", nil, func(c *rawConn) bool { c.write(whole(503, "text/plain", "")); return true }, gate.Rejected, 0, "HTTP 503 Service Unavailable"},
	{"500", nil, func(c *rawConn) bool { c.write(whole(500, "text/plain", "Internal\nError")); return false }, gate.HTTP5xx, 0, "HTTP 500 Internal Server Error: Internal Error"},
	{"502 cut off", nil, func(c *rawConn) bool {
		c.write("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 100\r\n\r\nupstream")
		return false
	}, gate.HTTP5xx, 0, "HTTP 502 Bad Gateway: upstream"},
	{"endless error body", nil, func(c *rawConn) bool {
		c.write("HTTP/1.1 500 x\r\n\r\n" + strings.Repeat("x", 100<<10))
		time.Sleep(50 * time.Millisecond)
		return false
	}, gate.HTTP5xx, 0, "HTTP 500 Internal Server Error: xxx"},
	{"redirect", nil, func(c *rawConn) bool {
		c.write(whole(307, "text/html", "", "Location: https://elsewhere/v1/completions"))
		return true
	}, gate.Malformed, 0, "HTTP 307 Temporary Redirect to https://elsewhere/v1/completions, which isn't followed"},

	{"reset before the head", nil, func(c *rawConn) bool { c.reset(); return false }, gate.Connect, 0, "connection broke before the answer: connection reset by peer"},
	{"closed before the head", nil, func(*rawConn) bool { return false }, gate.Connect, 0, "connection broke before the answer: closed by the server"},
	{"closed within the head", nil, func(c *rawConn) bool { c.write("HTTP/1.1 200 OK\r\nConte"); return false }, gate.Truncated, 0, "within its head"},
	{"cut after three frames", nil, func(c *rawConn) bool { c.write(streamHead, text("a"), text("b"), text("c")); return false }, gate.Truncated, 3, "stream cut off after 3 frames: closed by the server"},
	{"reset after two frames", nil, func(c *rawConn) bool {
		c.write(streamHead, text("a"), text("b"))
		time.Sleep(20 * time.Millisecond)
		c.reset()
		return false
	}, gate.Truncated, 2, "stream cut off after 2 frames: connection reset by peer"},
	{"clean end without a terminator", nil, func(c *rawConn) bool { c.write(streamHead, text("a"), frame(closing), lastChunk); return true }, gate.Truncated, 1, `finish_reason "length", but without [DONE]`},
	{"whole answer cut off", func(c *openai.Call) { c.Params.Stream = false }, func(c *rawConn) bool {
		c.write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"choices\"")
		return false
	}, gate.Truncated, 0, "answer cut off after 10 bytes"},
	{"hang", nil, func(c *rawConn) bool {
		c.write(streamHead, text("a"), text("b"))
		_, _ = c.Read(make([]byte, 1))
		return false
	}, gate.Timeout, 2, "timed out after 1s after 2 frames"},
	{"hang before the head", nil, func(c *rawConn) bool { _, _ = c.Read(make([]byte, 1)); return false }, gate.Timeout, 0, "timed out after 1s before the answer began"},

	{"error after three frames", nil, func(c *rawConn) bool {
		c.write(streamHead, text("a"), text("b"), text("c"), frame(`{"error":{"message":"engine died","code":500}}`), done, lastChunk)
		return true
	}, gate.InBandError, 3, "code 500: engine died"},
	{"error event", nil, func(c *rawConn) bool {
		c.write(streamHead, chunk("event: error\ndata: {\"message\":\"boom\"}\n\n"), done, lastChunk)
		return true
	}, gate.InBandError, 0, "boom"},
	{"error in JSON under 200", nil, func(c *rawConn) bool {
		c.write(whole(200, "application/json", `{"object":"error","message":"too long","code":400}`))
		return true
	}, gate.InBandError, 0, "code 400: too long"},
	{"error in a whole answer", func(c *openai.Call) { c.Params.Stream = false }, func(c *rawConn) bool {
		c.write(whole(200, "application/json", `{"error":{"message":"boom"}}`))
		return true
	}, gate.InBandError, 0, "boom"},

	{"no output", nil, func(c *rawConn) bool {
		c.write(streamHead, frame(`{"choices":[{"delta":{"role":"assistant","content":""}}]}`), frame(`{"choices":[],"usage":{"completion_tokens":0}}`), done, lastChunk)
		return true
	}, gate.Empty, 0, "stream of 2 frames without output"},
	{"nothing but the terminator", nil, func(c *rawConn) bool { c.write(streamHead, done, lastChunk); return true }, gate.Empty, 0, "stream of 0 frames without output"},
	{"whole answer without output", func(c *openai.Call) { c.Params.Stream = false }, func(c *rawConn) bool {
		c.write(whole(200, "application/json", `{"choices":[{"text":""}]}`))
		return true
	}, gate.Empty, 0, "without output"},
	{"tokens that no frame showed", nil, func(c *rawConn) bool {
		c.write(streamHead, text(""), text(""), text(""), frame(closing), done, lastChunk)
		return true
	}, gate.Malformed, 0, "usage tells of 3 output tokens, but no frame showed one"},
	{"early EOS", func(c *openai.Call) { c.FixedOutput, c.Params.MaxTokens = true, 5 }, func(c *rawConn) bool {
		c.write(streamHead, text("a"), frame(closing), done, lastChunk)
		return true
	}, gate.ShortOutput, 1, "3 output tokens of 5 although EOS is ignored"},
	{"early EOS where it is allowed", func(c *openai.Call) { c.Params.MaxTokens = 5 }, func(c *rawConn) bool {
		c.write(streamHead, text("a"), frame(closing), done, lastChunk)
		return true
	}, gate.OK, 1, ""},

	{"HTML", nil, func(c *rawConn) bool {
		c.write(whole(200, "text/html; charset=utf-8", "<!DOCTYPE html><html><title>Grafana</title>"))
		return true
	}, gate.Malformed, 0, `an HTML page "Grafana" (a web page: is the port right?)`},
	{"text", nil, func(c *rawConn) bool { c.write(whole(200, "text/plain", "Ollama is running")); return true }, gate.Malformed, 0, `content type "text/plain": Ollama is running`},
	{"JSON for a stream", nil, func(c *rawConn) bool {
		c.write(whole(200, "application/json", `{"choices":[{"text":"abc"}]}`))
		return true
	}, gate.Malformed, 0, "a stream was asked for"},
	{"stream for JSON", func(c *openai.Call) { c.Params.Stream = false }, func(c *rawConn) bool { c.write(streamHead, text("a"), done, lastChunk); return true }, gate.Malformed, 0, "text/event-stream"},
	{"compressed", nil, func(c *rawConn) bool {
		c.write(whole(200, "text/event-stream", "\x1f\x8b", "Content-Encoding: gzip"))
		return true
	}, gate.Malformed, 0, "compressed (gzip)"},
	{"bad JSON in a frame", nil, func(c *rawConn) bool {
		c.write(streamHead, text("a"), frame(`{"choices":[`), text("b"), done, lastChunk)
		return true
	}, gate.Malformed, 1, "frame 2 is no JSON object"},
	{"bad JSON", func(c *openai.Call) { c.Params.Stream = false }, func(c *rawConn) bool { c.write(whole(200, "application/json", `{"choices":[`)); return true }, gate.Malformed, 0, "answer is no JSON object"},
	{"JSON without choices", func(c *openai.Call) { c.Params.Stream = false }, func(c *rawConn) bool { c.write(whole(200, "application/json", `{"status":"ok"}`)); return true }, gate.Malformed, 0, "no choices"},
	{"bad chunk", nil, func(c *rawConn) bool { c.write(streamHead, text("a"), "zz\r\n"); return true }, gate.Malformed, 1, "bad size"},
	{"frame over the limit", nil, func(c *rawConn) bool {
		c.write(streamHead, text("a"), text(strings.Repeat("x", 5<<20)))
		return false
	}, gate.Malformed, 1, "event too long"},
	{"another protocol", nil, func(c *rawConn) bool { c.write("SSH-2.0-OpenSSH_9.6\r\n"); return true }, gate.Malformed, 0, `not HTTP/1: "SSH-2.0-OpenSSH_9.6\r\n" (is the port right?)`},
	{"TLS", nil, func(c *rawConn) bool { c.write("\x15\x03\x01\x00\x02\x02\x46"); return false }, gate.Malformed, 0, "use https:// in the URL"},
}

func TestOutcomes(t *testing.T) {
	for _, c := range outcomes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.answer)
			o := openai.Options{BaseURL: s.URL, APIKey: "sk-secret", MaxFrame: 4 << 20}
			if c.want == gate.Timeout {
				o.RequestTimeout = time.Second
			}
			call := streaming()
			if c.change != nil {
				c.change(&call)
			}
			got := send(t, connect(t, o, 1), call)
			if got.Outcome != c.want || len(got.Arrivals) != c.frames {
				t.Errorf("got %s with %d frames (%s), want %s with %d", got.Outcome, len(got.Arrivals), got.Error, c.want, c.frames)
			}
			if c.say == "" != (got.Error == "") || !strings.Contains(got.Error, c.say) || strings.ContainsAny(got.Error, "\r\n") {
				t.Errorf("got error %q, want %q in one line", got.Error, c.say)
			}
			if got.Sent <= 0 || got.Done <= got.Sent || len(got.Arrivals) > 0 && (got.First() <= got.Sent || got.Done < got.Last()) {
				t.Errorf("got sent %v, arrivals %v, done %v, want them in this order", got.Sent, got.Arrivals, got.Done)
			}
		})
	}
}

func TestRecord(t *testing.T) {
	s := serve(t, func(c *rawConn) bool {
		c.write(streamHead, text("a"), frame(`{"choices":[{"text":"","finish_reason":"length"}],"usage":{"prompt_tokens":4,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":2}}}`), done, lastChunk)
		return true
	})
	call := streaming()
	call.Index, call.Phase, call.Stream, call.Due, call.WantInput = 7, gate.Measure, 3, time.Second, 5
	got := send(t, connect(t, openai.Options{BaseURL: s.URL}, 1), call)
	want := gate.Request{
		Index: 7, Phase: gate.Measure, Stream: 3, Due: time.Second, Sent: got.Sent, Arrivals: got.Arrivals, Done: got.Done,
		WantInput: 5, WantOutput: 3, Input: 4, Output: 3, Cached: 2, Outcome: gate.OK, Status: 200, Finish: "length",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("record differs (-want +got):\n%s", d)
	}
}

func TestWireFormat(t *testing.T) {
	s := serve(t, func(c *rawConn) bool { c.write(whole(200, "application/json", `{}`)); return true })
	c := connect(t, openai.Options{BaseURL: s.URL + "/some%20where//v1/", APIKey: "sk-secret"}, 1)
	call := streaming()
	call.Chat, call.IDs, call.Text = true, nil, "h\u00e4"
	send(t, c, call)
	req := s.requests()[0]
	got := map[string]string{"": req.Method + " " + req.RequestURI + " " + req.Proto + " " + req.Host}
	for name := range req.Header {
		got[name] = req.Header.Get(name)
	}
	want := map[string]string{
		"":       "POST /some%20where/v1/chat/completions HTTP/1.1 " + strings.TrimPrefix(s.URL, "http://"),
		"Accept": "text/event-stream", "Accept-Encoding": "identity", "Authorization": "Bearer sk-secret",
		"Content-Type": "application/json", "Content-Length": strconv.Itoa(len(req.body)), "User-Agent": "servegate",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("request differs (-want +got):\n%s", d)
	}
}

func TestCancel(t *testing.T) {
	s := serve(t, func(c *rawConn) bool {
		c.write(streamHead, text("a"))
		_, _ = c.Read(make([]byte, 1))
		return false
	})
	c := connect(t, openai.Options{BaseURL: s.URL}, 1)
	p, err := c.Prepare(streaming())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(500*time.Millisecond, cancel)
	got := p.Send(ctx)
	if got.Outcome != gate.Cancelled || len(got.Arrivals) != 1 || got.Error != "cancelled after 1 frames" {
		t.Errorf("got %s with %d frames (%s), want cancelled with 1", got.Outcome, len(got.Arrivals), got.Error)
	}
	q, err := c.Prepare(streaming())
	if err != nil {
		t.Fatal(err)
	}
	if got := q.Send(ctx); got.Outcome != gate.Cancelled || got.Sent != 0 || got.Done != 0 || got.Error != "cancelled before it was sent" {
		t.Errorf("got %s, sent %v, done %v (%s), want it cancelled and never sent", got.Outcome, got.Sent, got.Done, got.Error)
	}
}

func TestTimeoutWhileWriting(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // nobody accepts, and nobody reads
	c := connect(t, openai.Options{BaseURL: "http://" + l.Addr().String(), RequestTimeout: 200 * time.Millisecond}, 1)
	call := streaming()
	call.IDs, call.Text = nil, strings.Repeat("x", 16<<20)
	if got := send(t, c, call); got.Outcome != gate.Timeout || got.Done-got.Sent < 200*time.Millisecond {
		t.Errorf("got %s after %v (%s), want timeout", got.Outcome, got.Done-got.Sent, got.Error)
	}
}

// A server that refuses a long request answers and closes before it has read it.
func TestRefusalWhileWriting(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	refuse := func(nc net.Conn) {
		_, _ = nc.Read(make([]byte, 100))
		(&rawConn{Conn: nc}).write(whole(413, "text/plain", "too large", "Connection: close"))
		_ = nc.(*net.TCPConn).CloseWrite()
		time.Sleep(50 * time.Millisecond)
		nc.Close()
	}
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go refuse(nc)
		}
	}()
	c := connect(t, openai.Options{BaseURL: "http://" + l.Addr().String()}, 1)
	call := streaming()
	call.IDs, call.Text = nil, strings.Repeat("x", 16<<20)
	if got := send(t, c, call); got.Outcome != gate.HTTP4xx || got.Status != 413 {
		t.Errorf("got %s, status %d (%s), want http_4xx, 413", got.Outcome, got.Status, got.Error)
	}
}

func TestConnectErrors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	c, err := openai.New(openai.Options{BaseURL: "http://" + addr})
	if err != nil {
		t.Fatal(err)
	}
	want := "connect to " + addr + ": connection refused"
	got := send(t, c, streaming())
	if got.Outcome != gate.Connect || got.Sent != 0 || got.Done != 0 || !strings.HasPrefix(got.Error, want+" (is the engine running") {
		t.Errorf("got %s, sent %v (%s), want %q", got.Outcome, got.Sent, got.Error, want)
	}
	if err := c.Open(context.Background(), 3, 0); err == nil || err.Error() != "open 3 connections: "+want {
		t.Errorf("got error %v, want %q", err, want)
	}
	c.Close()
	if got := send(t, c, streaming()); got.Outcome != gate.Connect || got.Error != "client is closed" {
		t.Errorf("got %s (%s), want the client closed", got.Outcome, got.Error)
	}
}
