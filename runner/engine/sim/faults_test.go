package sim

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// outcome sorts what a client saw.
func outcome(s *seen) string {
	switch {
	case s.status == 500:
		return "500"
	case s.status == 503:
		return "503"
	case strings.HasPrefix(s.err, "in band"):
		return "in band"
	case strings.HasPrefix(s.err, "malformed"):
		return "malformed"
	case s.err != "":
		return "cut off"
	case !s.done:
		return "cut short"
	}
	return "ok"
}

func TestFaultRates(t *testing.T) {
	o := quick()
	o.Faults.ErrorRate, o.Faults.InBandRate, o.Faults.TruncatedRate, o.Faults.MalformedRate = .1, .1, .2, .1
	c := serve(t, o)
	const n = 300
	results := make(chan *seen, n)
	var some sync.WaitGroup
	for i := range 10 {
		some.Go(func() {
			for range n / 10 {
				results <- c.stream("/v1/completions", idsBody(8, i, 6, ""))
			}
		})
	}
	some.Wait()
	close(results)
	got, frames := map[string]int{}, map[int]int{}
	for s := range results {
		got[outcome(s)]++
		if outcome(s) == "in band" {
			frames[len(s.at)]++
			if !s.done {
				t.Error("no [DONE] after the error frame, which vLLM sends")
			}
		}
	}
	for kind, share := range map[string]float64{"500": .1, "in band": .1, "cut off": .1, "cut short": .1, "malformed": .1, "ok": .5} {
		// Four standard deviations of 300 draws at 0.1 are 21.
		if want := share * n; float64(got[kind]) < want-35 || float64(got[kind]) > want+35 || got[kind] == 0 {
			t.Errorf("%s: got %d of %d, want about %v", kind, got[kind], n, want)
		}
	}
	if len(frames) < 3 || frames[0] == 0 {
		t.Errorf("frames before an error: got %v, want 0 to %d", frames, maxFramesBefore)
	}
	await(t, "nothing is left in the engine", func() bool {
		m := c.scrape()
		return metric(m, "num_requests_running")+metric(m, "num_requests_waiting")+metric(m, "kv_cache_usage_perc") == 0
	})
}

func TestFaultsWithoutStreaming(t *testing.T) {
	body := `{"prompt":[10,11],"max_tokens":3,"ignore_eos":true}`
	for name, tt := range map[string]struct {
		plant func(*Faults)
		check func(status int, body string, err error) bool
	}{
		"error":     {func(f *Faults) { f.ErrorRate = 1 }, func(s int, b string, err error) bool { return s == 500 && strings.Contains(b, "InternalServerError") }},
		"in band":   {func(f *Faults) { f.InBandRate = 1 }, func(s int, b string, err error) bool { return s == 200 && strings.HasPrefix(b, `{"error":`) }},
		"malformed": {func(f *Faults) { f.MalformedRate = 1 }, func(s int, b string, err error) bool { return s == 200 && err == nil && !strings.HasSuffix(b, "}") }},
		"truncated": {func(f *Faults) { f.TruncatedRate = 1 }, func(s int, b string, err error) bool { return s == 200 && !strings.HasSuffix(b, "}") }},
	} {
		t.Run(name, func(t *testing.T) {
			o := quick()
			tt.plant(&o.Faults)
			c := serve(t, o)
			resp, err := c.http.Post(c.url+"/v1/completions", "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			if !tt.check(resp.StatusCode, string(got), err) {
				t.Errorf("got %d %s, %v", resp.StatusCode, got, err)
			}
		})
	}
}

func TestQueueLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Defaults()
		o.Faults.MaxQueued = 2
		c, stop := serveFake(t, o)
		defer stop()
		var three sync.WaitGroup
		kinds := make(chan string, 3)
		for i := range 3 {
			three.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				kinds <- outcome(c.stream("/v1/completions", idsBody(8, i, 4, "")))
			})
		}
		three.Wait()
		got := map[string]int{<-kinds: 1}
		got[<-kinds]++
		got[<-kinds]++
		if got["ok"] != 2 || got["503"] != 1 {
			t.Errorf("got %v, want two ok and a 503", got)
		}
		if n := c.scrape()[`vllm:admission_rejections_total{model_name="sim",reason="max_num_queued_reqs"}`]; n != 1 {
			t.Errorf("rejections: got %v, want 1", n)
		}
	})
}

// hold posts a request and reads nothing of its answer until the context ends.
func (c *client) hold(ctx context.Context, body string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/v1/completions", strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { resp.Body.Close() })
}

// A client that leaves frees its place and its memory at once.
func TestClientLeaves(t *testing.T) {
	o := quick()
	o.Cost.Base = 2 * time.Millisecond
	o.Scheduler.MaxSeqs = 2
	c := serve(t, o)
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	c.hold(ctx, idsBody(8, 1, 8000, ""))
	c.hold(ctx, idsBody(8, 2, 8000, ""))
	await(t, "both run", func() bool { return metric(c.scrape(), "num_requests_running") == 2 })
	done := make(chan *seen)
	go func() { done <- c.stream("/v1/completions", idsBody(8, 3, 4, "")) }()
	await(t, "the third waits", func() bool { return metric(c.scrape(), "num_requests_waiting") == 1 })
	leave()
	if s := <-done; outcome(s) != "ok" {
		t.Errorf("the third: got %s, want ok", outcome(s))
	}
	await(t, "all is free", func() bool { return metric(c.scrape(), "kv_cache_usage_perc") == 0 })
	if n := c.scrape()[`vllm:request_success_total{engine="0",finished_reason="abort",model_name="sim"}`]; n != 2 {
		t.Errorf("aborts: got %v, want 2", n)
	}
}

// A client that stays but doesn't read holds up nobody, and its own request goes on.
// The pipes of the bubble hold no byte, so its handler is stuck after a few frames.
func TestClientSleeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Defaults()
		o.Cost.KVToken = 0
		c, stop := serveFake(t, o)
		defer stop()
		ctx, leave := context.WithCancel(context.Background())
		defer leave()
		c.hold(ctx, idsBody(8, 1, 8000, ""))
		time.Sleep(time.Second)
		if got := metric(c.scrape(), "generation_tokens_total"); got < 200 {
			t.Errorf("the sleeper's tokens after a second: got %v, want one each 4.82 ms", got)
		}
		s := c.stream("/v1/completions", idsBody(8, 2, 50, ""))
		if outcome(s) != "ok" || s.ttft() > 2*5*time.Millisecond {
			t.Errorf("another request: got %s, TTFT %s, want ok within two steps", outcome(s), s.ttft())
		}
		for i, g := range gaps(s) {
			if g != 4840*time.Microsecond {
				t.Errorf("gap %d: got %s, want 4.84 ms", i, g)
			}
		}
	})
}

func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 5000 {
		if ok() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("waited in vain: %s", what)
}

func TestHang(t *testing.T) {
	o := quick()
	o.Faults.HangAfter = 2
	o.Grace = 10 * time.Millisecond
	c := serve(t, o)
	if s := c.stream("/v1/completions", idsBody(8, 1, 3, "")); outcome(s) != "ok" {
		t.Fatalf("first request: got %s, want ok", outcome(s))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/v1/completions", strings.NewReader(idsBody(8, 1, 3, "")))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); len(body) > 0 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("second request: got %q, %v, want nothing until the time is up", body, err)
	}
	if status, _ := c.get("/health"); status != 200 {
		t.Errorf("/health of a hung engine: got %d, want 200", status)
	}
}

func TestDeadEngine(t *testing.T) {
	o := quick()
	o.Faults.CrashAfter, o.Faults.CrashMode = 1, CrashDead
	c := serve(t, o)
	s := c.stream("/v1/completions", idsBody(8, 1, 3, ""))
	if s.status != 200 || outcome(s) != "in band" || !s.done || !strings.Contains(s.err, "EngineCore encountered an issue") {
		t.Errorf("first request: got %d, %q, done %v, want 200, vLLM's error and [DONE]", s.status, s.err, s.done)
	}
	if status, _ := c.get("/health"); status != 503 {
		t.Errorf("/health: got %d, want 503", status)
	}
	if status, body := c.post("/v1/completions", idsBody(8, 1, 3, "")); status != 500 || !strings.Contains(body, "EngineCore") {
		t.Errorf("second request: got %d %s, want 500", status, body)
	}
}

func TestDeafEngine(t *testing.T) {
	o := quick()
	o.Faults.CrashAfter, o.Faults.CrashMode = 1, CrashDeaf
	c := serve(t, o)
	if s := c.stream("/v1/completions", idsBody(8, 1, 3, "")); outcome(s) != "in band" {
		t.Errorf("first request: got %s, want an error in band", outcome(s))
	}
	await(t, "nothing listens", func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
}

func TestSlowBoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Defaults()
		o.Faults.BootTime = 1500 * time.Millisecond
		begun := time.Now()
		_, stop := serveFake(t, o) // polls /health every millisecond
		defer stop()
		if took := time.Since(begun); took < 1500*time.Millisecond || took > 1502*time.Millisecond {
			t.Errorf("healthy after %s, want 1.5 s", took)
		}
	})
}

func TestAnswersWhileBooting(t *testing.T) {
	o := quick()
	o.Faults.BootTime = time.Hour
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	run(t, s, ln) // which also checks that it ends in order when stopped in the boot
	c := &client{t: t, http: http.DefaultClient, url: "http://" + ln.Addr().String()}
	defer c.http.CloseIdleConnections()
	for path, want := range map[string]int{"/health": 503, "/v1/models": 503, "/version": 200, "/metrics": 200} {
		if status, _ := c.get(path); status != want {
			t.Errorf("%s: got %d, want %d", path, status, want)
		}
	}
	if status, body := c.post("/v1/completions", idsBody(3, 1, 1, "")); status != 503 || !strings.Contains(body, "starting") {
		t.Errorf("completion: got %d %s, want 503", status, body)
	}
}
