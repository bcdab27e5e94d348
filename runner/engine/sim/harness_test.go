package sim

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/servegate/servegate/runner/engine/sim/pacer"
)

// quick returns an engine whose steps take next to no time, for tests that don't look
// at timing.
func quick() Options {
	o := Defaults()
	o.Cost.Base = 200 * time.Microsecond
	o.Cost.PrefillToken, o.Cost.Decode, o.Cost.KVToken = 0, time.Microsecond, 0
	o.Cost.PrefillToken = 1
	o.Boot = 1
	o.Grace = time.Second
	return o
}

// client talks to an engine, over a socket or over pipes.
type client struct {
	t    testing.TB
	http *http.Client
	url  string
}

// serve runs an engine in this process on a free port until the test ends.
func serve(t testing.TB, o Options) *client {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}, url: "http://" + ln.Addr().String()}
	run(t, s, ln)
	t.Cleanup(c.http.CloseIdleConnections)
	c.awaitHealth()
	return c
}

// run serves until the end of the test, and checks that it then ends in order.
func run(t testing.TB, s *Server, ln net.Listener) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		var crash *CrashError
		if err := <-done; err != nil && !errors.As(err, &crash) {
			t.Errorf("serve: got %v, want no error", err)
		}
	})
}

// serveFake runs an engine over pipes on the clock of a synctest bubble, and returns a
// function that ends it, which must be called in the bubble.
func serveFake(t testing.TB, o Options) (*client, func()) {
	t.Helper()
	return serveFakeWith(t, o, pacer.NewTimer())
}

func serveFakeWith(t testing.TB, o Options, sleep sleeper) (*client, func()) {
	t.Helper()
	s, err := newServer(o, sleep)
	if err != nil {
		t.Fatal(err)
	}
	ln := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	transport := &http.Transport{
		DialContext:         func(context.Context, string, string) (net.Conn, error) { return ln.dial() },
		MaxIdleConnsPerHost: 1000,
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln) }()
	c := &client{t: t, http: &http.Client{Transport: transport}, url: "http://sim"}
	c.awaitHealth()
	return c, func() {
		transport.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: got %v, want no error", err)
		}
	}
}

// pipes is a listener in memory.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) dial() (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

func (c *client) awaitHealth() {
	c.t.Helper()
	for range 2000 {
		resp, err := c.http.Get(c.url + "/health")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		time.Sleep(time.Millisecond)
	}
	c.t.Fatal("the engine doesn't become healthy")
}

// get returns status and body of a GET; post those of a POST of JSON.
func (c *client) get(path string) (int, string) {
	c.t.Helper()
	resp, err := c.http.Get(c.url + path)
	return c.read(resp, err)
}

func (c *client) post(path, body string) (int, string) {
	c.t.Helper()
	resp, err := c.http.Post(c.url+path, "application/json", strings.NewReader(body))
	return c.read(resp, err)
}

func (c *client) read(resp *http.Response, err error) (int, string) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// seen is what a client saw of a stream.
type seen struct {
	sent   time.Time
	at     []time.Time // of frames with tokens
	tokens []int       // of each of them
	ids    []int32
	text   string
	finish string
	usage  *usage
	status int
	err    string // in-band, or what broke
	done   bool   // [DONE] came
	raw    []string
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Details    *struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

func (s *seen) ttft() time.Duration { return s.at[0].Sub(s.sent) }
func (s *seen) e2e() time.Duration  { return s.at[len(s.at)-1].Sub(s.sent) }

// ids returns a completion body for a prompt of n token ids that begins with first.
func idsBody(n, first, output int, extra string) string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = strconv.Itoa(10 + (first+i)%240)
	}
	ids[0] = strconv.Itoa(300 + first) // no two prompts begin alike
	return fmt.Sprintf(`{"prompt":[%s],"max_tokens":%d,"ignore_eos":true,"stream":true,"return_token_ids":true,`+
		`"stream_options":{"include_usage":true}%s}`, strings.Join(ids, ","), output, extra)
}

// stream posts a body and follows the stream to its end.
func (c *client) stream(path, body string) *seen {
	c.t.Helper()
	s := &seen{sent: time.Now()}
	resp, err := c.http.Post(c.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		s.err = err.Error()
		return s
	}
	defer resp.Body.Close()
	s.status = resp.StatusCode
	lines := bufio.NewReader(resp.Body)
	for {
		line, err := lines.ReadString('\n')
		now := time.Now()
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok {
			s.raw = append(s.raw, data)
			s.frame(data, now)
		}
		if err != nil {
			if err != io.EOF {
				s.err = err.Error()
			}
			return s
		}
	}
}

func (s *seen) frame(data string, now time.Time) {
	if data == "[DONE]" {
		s.done = true
		return
	}
	var f struct {
		Choices []struct {
			Text  string `json:"text"`
			Delta struct {
				Content string `json:"content"`
			} `json:"delta"`
			IDs    []int32 `json:"token_ids"`
			Finish string  `json:"finish_reason"`
		} `json:"choices"`
		Usage *usage `json:"usage"`
		Error *struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(data), &f); err != nil {
		s.err = "malformed: " + err.Error()
		return
	}
	if f.Error != nil {
		s.err = "in band: " + f.Error.Message
	}
	if f.Usage != nil {
		s.usage = f.Usage
	}
	for _, c := range f.Choices {
		if c.Text+c.Delta.Content != "" || len(c.IDs) > 0 {
			s.at = append(s.at, now)
			s.tokens = append(s.tokens, len(c.IDs))
			s.ids = append(s.ids, c.IDs...)
			s.text += c.Text + c.Delta.Content
		}
		if c.Finish != "" {
			s.finish = c.Finish
		}
	}
}

// scrape returns the samples of /metrics, under name or name{labels} as printed.
func (c *client) scrape() map[string]float64 {
	c.t.Helper()
	_, body := c.get("/metrics")
	samples := map[string]float64{}
	for line := range strings.Lines(body) {
		if i := strings.LastIndexByte(line, ' '); i > 0 && line[0] != '#' {
			v, err := strconv.ParseFloat(strings.TrimSpace(line[i+1:]), 64)
			if err != nil {
				c.t.Fatalf("metrics line %q: %v", line, err)
			}
			samples[line[:i]] = v
		}
	}
	return samples
}

// metric is the sample of a vLLM name without labels of its own.
func metric(samples map[string]float64, name string) float64 {
	return samples[`vllm:`+name+`{engine="0",model_name="sim"}`]
}
