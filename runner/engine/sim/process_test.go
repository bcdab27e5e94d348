package sim

import (
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func (p *process) client(t testing.TB) *client {
	return &client{t: t, http: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, url: "http://" + p.addr}
}

func (p *process) signal(t testing.TB, s os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// On SIGTERM the engine frees its port at once, lets what runs come to its end, and
// exits with 0; connections that were opened and never used don't hold it up.
func TestStopsInOrder(t *testing.T) {
	p := start(t, nil, "--step-base=5ms", "--grace=20s")
	p.ready(t)
	unused, err := net.Dial("tcp", p.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer unused.Close()
	c, result := p.client(t), make(chan *seen)
	go func() { result <- c.stream("/v1/completions", idsBody(8, 1, 100, "")) }()
	await(t, "it runs", func() bool { return metric(c.scrape(), "num_requests_running") == 1 })
	p.signal(t, syscall.SIGTERM)
	await(t, "the port is free", func() bool {
		ln, err := net.Listen("tcp", p.addr)
		if err == nil {
			ln.Close()
		}
		return err == nil
	})
	if s := <-result; outcome(s) != "ok" || len(s.ids) != 100 {
		t.Errorf("the request under way: got %s and %d tokens, want 100", outcome(s), len(s.ids))
	}
	begun := time.Now()
	if code := p.exit(t); code != 0 {
		t.Errorf("exit code: got %d, want 0\n%s", code, p.text())
	}
	if took := time.Since(begun); took > 4*time.Second {
		t.Errorf("it took %s to end after the last request, want no wait for the unused connection", took)
	}
	for _, want := range []string{"Initializing a V1 LLM engine", "GPU KV cache size: 65536 tokens", "Application startup complete"} {
		if !strings.Contains(p.text(), want) {
			t.Errorf("the log lacks %q:\n%s", want, p.text())
		}
	}
}

func TestGraceEnds(t *testing.T) {
	p := start(t, nil, "--step-base=50ms", "--grace=100ms")
	p.ready(t)
	c, result := p.client(t), make(chan *seen)
	go func() { result <- c.stream("/v1/completions", idsBody(8, 1, 8000, "")) }()
	await(t, "it runs", func() bool { return metric(c.scrape(), "num_requests_running") == 1 })
	p.signal(t, syscall.SIGTERM)
	if code := p.exit(t); code != 0 {
		t.Errorf("exit code: got %d, want 0", code)
	}
	if s := <-result; outcome(s) != "cut off" {
		t.Errorf("the request under way: got %s, want it cut off", outcome(s))
	}
}

func TestIgnoresStop(t *testing.T) {
	p := start(t, nil, "--ignore-sigterm=700ms")
	p.ready(t)
	begun := time.Now()
	p.signal(t, syscall.SIGTERM)
	time.Sleep(100 * time.Millisecond)
	if s := p.client(t).stream("/v1/completions", idsBody(8, 1, 3, "")); outcome(s) != "ok" {
		t.Errorf("a request meanwhile: got %s, want ok", outcome(s))
	}
	if code := p.exit(t); code != 0 || time.Since(begun) < 700*time.Millisecond {
		t.Errorf("got exit code %d after %s, want 0 after 0.7 s at least", code, time.Since(begun))
	}
}

func TestCrashesAtBoot(t *testing.T) {
	for _, late := range []string{"false", "true"} {
		p := start(t, nil, "--boot-crash", "--boot-time=10ms", "--crash-code=41", "--crash-words=ValueError: no such model", "--listen-late="+late)
		if code := p.exit(t); code != 41 || !strings.HasSuffix(p.text(), "ValueError: no such model\n") {
			t.Errorf("listen late %s: got exit code %d and\n%s", late, code, p.text())
		}
	}
}

func TestCrashesUnderLoad(t *testing.T) {
	for _, code := range []int{0, 3} {
		p := start(t, nil, "--crash-after=2", "--crash-code="+strconv.Itoa(code))
		p.ready(t)
		c := p.client(t)
		if s := c.stream("/v1/completions", idsBody(8, 1, 3, "")); outcome(s) != "ok" {
			t.Errorf("first request: got %s, want ok", outcome(s))
		}
		if s := c.stream("/v1/completions", idsBody(8, 1, 3, "")); outcome(s) != "cut off" || len(s.at) != 0 {
			t.Errorf("second request: got %s after %d frames, want it cut off before the first", outcome(s), len(s.at))
		}
		if got := p.exit(t); got != code || !strings.Contains(p.text(), "CUDA out of memory") {
			t.Errorf("got exit code %d, want %d and last words\n%s", got, code, p.text())
		}
	}
}

func TestListensLate(t *testing.T) {
	p := start(t, nil, "--listen-late", "--boot-time=400ms")
	await(t, "it boots", func() bool { return strings.Contains(p.text(), "Initializing") })
	if conn, err := net.Dial("tcp", p.addr); err == nil {
		conn.Close()
		t.Error("it listens while it boots")
	}
	p.ready(t)
	if status, _ := p.client(t).get("/health"); status != 200 {
		t.Errorf("/health: got %d, want 200", status)
	}
}

func TestStoppedWhileBooting(t *testing.T) {
	for _, late := range []string{"false", "true"} {
		p := start(t, nil, "--boot-time=1h", "--listen-late="+late)
		await(t, "it boots", func() bool { return strings.Contains(p.text(), "Initializing") })
		p.signal(t, syscall.SIGTERM)
		if code := p.exit(t); code != 0 {
			t.Errorf("listen late %s: got exit code %d, want 0", late, code)
		}
	}
}

func TestPortTaken(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	o := quick()
	o.Port = ln.Addr().(*net.TCPAddr).Port
	if err := Serve(t.Context(), o); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("got %v, want the port to be taken", err)
	}
}

// The planted child outlives the engine.
func TestChildLivesOn(t *testing.T) {
	p := start(t, nil, "--child=sleep", "--child=30", "--log-flood=1000")
	p.ready(t)
	_, after, found := strings.Cut(p.text(), "Worker process started, pid=")
	pid, err := strconv.Atoi(strings.SplitN(after, "\n", 2)[0])
	if !found || err != nil {
		t.Fatalf("no child in the log: %v\n%s", err, p.text())
	}
	await(t, "the log is flooded", func() bool { return strings.Count(p.text(), "quick brown fox") > 400 })
	p.signal(t, syscall.SIGTERM)
	time.Sleep(200 * time.Millisecond)
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("the child: %v, want it alive", err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("kill the child: %v", err)
	}
	if code := p.exit(t); code != 0 {
		t.Errorf("exit code: got %d, want 0", code)
	}
}
