package openai_test

import (
	"bytes"
	"context"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/runner/openai"
)

// frugalServer answers each request with answer and keeps the connection. What it needs
// is there before the first request: the growth of memory is the client's alone.
func frugalServer(tb testing.TB, answer []byte, hold <-chan struct{}, rest []byte) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serveFrugally(c, answer, hold, rest)
		}
	}()
	return "http://" + l.Addr().String()
}

func serveFrugally(c net.Conn, answer []byte, hold <-chan struct{}, rest []byte) {
	defer c.Close()
	buf := make([]byte, 128<<10) // a request fits
	end := []byte("}}")          // of stream_options, and of the body
	for {
		n := 0
		for !bytes.HasSuffix(buf[:n], end) {
			k, err := c.Read(buf[n:])
			if err != nil {
				return
			}
			n += k
		}
		if _, err := c.Write(answer); err != nil {
			return
		}
		if hold != nil {
			<-hold
			_, _ = c.Write(rest)
		}
	}
}

// memory is what heap and stacks hold after a collection.
func memory() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapInuse + m.StackInuse)
}

// inFlight has n streams with a prompt of so many ids wait for their second frame, and
// returns the bytes that each of them costs.
func inFlight(tb testing.TB, n, ids int) float64 {
	tb.Helper()
	hold := make(chan struct{})
	url := frugalServer(tb, []byte(streamHead+text("a")), hold, []byte(text("b")+done+lastChunk))
	c := connect(tb, openai.Options{BaseURL: url}, n)
	prompt := slices.Repeat([]int{12345}, ids)
	before := memory()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			p, err := c.Prepare(openai.Call{Params: openai.Params{Model: "m", IDs: prompt, MaxTokens: 128, Stream: true}})
			if err != nil {
				tb.Error(err)
				return
			}
			if r := p.Send(context.Background()); r.Outcome != gate.OK {
				tb.Errorf("got %s (%s), want ok", r.Outcome, r.Error)
			}
		})
	}
	// Each of them is parked on its read once its first frame has been looked at.
	waitUntilParked(tb, n)
	each := (memory() - before) / float64(n)
	close(hold)
	wg.Wait()
	return each
}

// waitUntilParked waits until n goroutines wait for the network within a client's read.
func waitUntilParked(tb testing.TB, n int) {
	tb.Helper()
	buf := make([]byte, 64<<20)
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		stacks := string(buf[:runtime.Stack(buf, true)])
		if strings.Count(stacks, "openai.(*exchange).receive") >= n {
			return
		}
	}
	tb.Fatal("requests didn't get on their way")
}

// A prompt of 120 KB is given up once it has been written.
func TestMemoryInFlight(t *testing.T) {
	if each := inFlight(t, 100, 20_000); each > 64<<10 {
		t.Errorf("got %.0f bytes for a request in flight, want less than 64 KiB", each)
	}
}

func BenchmarkInFlight(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(inFlight(b, 2000, 512), "B/request")
	}
}

// BenchmarkStream is a whole stream of 64 frames, server in the same process included.
func BenchmarkStream(b *testing.B) {
	const frames = 64
	answer := streamHead + strings.Repeat(text(" token"), frames) + done + lastChunk
	url := frugalServer(b, []byte(answer), nil, nil)
	c := connect(b, openai.Options{BaseURL: url}, 1)
	b.SetBytes(int64(len(answer)))
	b.ReportAllocs()
	for b.Loop() {
		if r := send(b, c, streaming()); len(r.Arrivals) != frames {
			b.Fatalf("got %s with %d frames (%s)", r.Outcome, len(r.Arrivals), r.Error)
		}
	}
}

func BenchmarkPrepare(b *testing.B) {
	for _, n := range []int{512, 100_000} {
		b.Run(map[int]string{512: "512 ids", 100_000: "100000 ids"}[n], func(b *testing.B) {
			ids := make([]int, n)
			for i := range ids {
				ids[i] = 100 + i%30_000
			}
			c := connect(b, openai.Options{BaseURL: frugalServer(b, nil, nil, nil)}, 0)
			b.ReportAllocs()
			for b.Loop() {
				p, err := c.Prepare(openai.Call{Params: openai.Params{Model: "m", IDs: ids, MaxTokens: 128, Stream: true}})
				if err != nil || p == nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("100000 tokens of text", func(b *testing.B) {
		prompt := strings.Repeat("word ", 100_000)
		for b.Loop() {
			if _, err := openai.Body(openai.Params{Model: "m", Text: prompt, MaxTokens: 128}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
