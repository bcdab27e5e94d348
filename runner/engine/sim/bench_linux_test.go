package sim

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkServe measures what a frame costs the server: an engine process on one core
// (GOMAXPROCS=1) serves 256 streams over loopback, some 25,000 frames a second by its
// own clock, to a client that only counts. frames/cpu-s is frames per second of the
// server's CPU time, user and system, requests included; late-us is how late its steps
// ended, on average.
func BenchmarkServe(b *testing.B) {
	const streams = 256
	p := start(b, []string{"GOMAXPROCS=1"}, "--step-base=10ms", "--step-decode=0s", "--step-kv-token=0s",
		"--step-prefill-token=1us", "--max-num-seqs=512")
	p.ready(b)
	body := `{"prompt":[11,12,13,14,15,16,17,18],"max_tokens":200,"ignore_eos":true,"stream":true,` +
		`"stream_options":{"include_usage":true,"continuous_usage_stats":true},"return_token_ids":true}`
	request := fmt.Appendf(nil, "POST /v1/completions HTTP/1.1\r\nHost: sim\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	var frames atomic.Int64
	var readers sync.WaitGroup
	var conns []net.Conn
	for range streams {
		conn, err := net.Dial("tcp", p.addr)
		if err != nil {
			b.Fatal(err)
		}
		conns = append(conns, conn)
		readers.Go(func() { count(conn, request, &frames) })
	}
	time.Sleep(500 * time.Millisecond)

	begun, frames0, cpu0 := time.Now(), frames.Load(), cpuTime(b, p.cmd.Process.Pid)
	for b.Loop() {
		for want := frames.Load() + 1000; frames.Load() < want; { // one operation is 1000 frames
			time.Sleep(time.Millisecond)
		}
	}
	c := p.client(b)
	late := c.scrape()
	n, cpu, wall := frames.Load()-frames0, cpuTime(b, p.cmd.Process.Pid)-cpu0, time.Since(begun)
	for _, c := range conns {
		c.Close()
	}
	readers.Wait()
	if cpu > 0 {
		b.ReportMetric(float64(n)/cpu.Seconds(), "frames/cpu-s")
	}
	b.ReportMetric(float64(n)/wall.Seconds(), "frames/s")
	const lateness = `sim:step_lateness_seconds_%s{engine="0",model_name="sim"}`
	b.ReportMetric(1e6*late[fmt.Sprintf(lateness, "sum")]/late[fmt.Sprintf(lateness, "count")], "late-us")
	b.ReportMetric(0, "ns/op")
}

// count sends requests one after the other and counts the frames that come.
func count(conn net.Conn, request []byte, frames *atomic.Int64) {
	buf := make([]byte, 64<<10)
	for {
		if _, err := conn.Write(request); err != nil {
			return
		}
		for ended := false; !ended; {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			frames.Add(int64(bytes.Count(buf[:n], []byte("data: {"))))
			ended = bytes.HasSuffix(buf[:n], []byte("\r\n0\r\n\r\n"))
		}
	}
}

// cpuTime is the CPU time that a process has used, by the clock ticks of /proc.
func cpuTime(t testing.TB, pid int) time.Duration {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	ticks := int64(0)
	for _, f := range fields[11:13] { // utime and stime
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
