package http1

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// result is what came out of reading one connection.
type result struct {
	Status   int // of the final head; 0: it didn't come
	Interim  int // heads before it
	Body     string
	Done     bool
	Complete bool
	Rest     string // what came behind the answer
	KeepAlive,
	Failed bool
}

// readAll feeds the pieces to a parser and the body behind it.
func readAll(pieces ...string) (result, *Head) {
	var r result
	var p HeadParser
	var head *Head
	var body Body
	for _, s := range pieces {
		piece := []byte(s)
		for head == nil {
			h, rest, err := p.Feed(piece)
			if err != nil {
				r.Failed = true
				return r, nil
			}
			if h == nil {
				piece = nil
				break
			}
			piece = rest
			if h.Interim() {
				r.Interim++
				continue
			}
			head, body = h, NewBody(h)
		}
		for len(piece) > 0 && !body.Done() {
			part, rest, err := body.Next(piece)
			if err != nil {
				r.Failed = true
				return r, head
			}
			r.Body += string(part)
			piece = rest
		}
		r.Rest += string(piece)
	}
	if head != nil {
		r.Status, r.KeepAlive, r.Done, r.Complete = head.Status, head.KeepAlive, body.Done(), body.Complete()
	}
	return r, head
}

var answers = []struct {
	name, in string
	want     result
}{
	{"length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", result{Status: 200, Body: "hello", Done: true, Complete: true, KeepAlive: true}},
	{"length, not all of it", "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello", result{Status: 200, Body: "hello", KeepAlive: true}},
	{"length 0", "HTTP/1.1 200 OK\r\ncontent-length:0\r\n\r\n", result{Status: 200, Done: true, Complete: true, KeepAlive: true}},
	{"bytes behind the body", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhello", result{Status: 200, Body: "he", Rest: "llo", Done: true, Complete: true, KeepAlive: true}},
	{"line feeds alone", "HTTP/1.1 200 OK\nContent-Length: 2\n\nhe", result{Status: 200, Body: "he", Done: true, Complete: true, KeepAlive: true}},
	{"no reason", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", result{Status: 200, Done: true, Complete: true, KeepAlive: true}},
	{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nB;x=y\r\n world12345\r\n0\r\n\r\n", result{Status: 200, Body: "hello world12345", Done: true, Complete: true, KeepAlive: true}},
	{"chunks with trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n00a\r\n0123456789\r\n0\r\nA: b\r\nC: d\r\n\r\n", result{Status: 200, Body: "0123456789", Done: true, Complete: true, KeepAlive: true}},
	{"chunks cut off", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", result{Status: 200, Body: "hel", KeepAlive: true}},
	{"chunks without the last", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", result{Status: 200, Body: "hello", KeepAlive: true}},
	{"chunks by line feeds", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\nab\n0\n\n", result{Status: 200, Body: "ab", Done: true, Complete: true, KeepAlive: true}},
	{"chunk of a bad size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", result{Failed: true}},
	{"chunk of no size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", result{Failed: true}},
	{"chunk of a huge size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", result{Failed: true}},
	{"chunk longer than its size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n", result{Body: "he", Failed: true}},
	{"until close", "HTTP/1.1 200 OK\r\n\r\nhello", result{Status: 200, Body: "hello", Complete: true}},
	{"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab", result{Status: 200, Body: "ab", Done: true, Complete: true}},
	{"HTTP/1.0 kept alive", "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nab", result{Status: 200, Body: "ab", Done: true, Complete: true, KeepAlive: true}},
	{"connection close", "HTTP/1.1 200 OK\r\nConnection: foo, Close\r\nContent-Length: 2\r\n\r\nab", result{Status: 200, Body: "ab", Done: true, Complete: true}},
	{"both framings", "HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", result{Status: 200, Done: true, Complete: true}},
	{"another coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nab", result{Status: 200, Body: "ab", Complete: true}},
	{"equal lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na", result{Status: 200, Body: "a", Done: true, Complete: true, KeepAlive: true}},
	{"lengths that differ", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na", result{Failed: true}},
	{"length of no number", "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\na", result{Failed: true}},
	{"empty length", "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\na", result{Failed: true}},
	{"no content", "HTTP/1.1 204 No Content\r\n\r\n", result{Status: 204, Done: true, Complete: true, KeepAlive: true}},
	{"interim heads", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", result{Status: 200, Interim: 2, Body: "a", Done: true, Complete: true, KeepAlive: true}},
	{"head cut off", "HTTP/1.1 200 OK\r\nContent-Le", result{}},
	{"bad header line", "HTTP/1.1 200 OK\r\nfoo\r\n\r\n", result{Failed: true}},
	{"folded header line", "HTTP/1.1 200 OK\r\nA: b\r\n c: d\r\n\r\n", result{Failed: true}},
	{"bad status", "HTTP/1.1 20 OK\r\n\r\n", result{Failed: true}},
	{"no status", "HTTP/1.1\r\n\r\n", result{Failed: true}},
	{"another protocol", "SSH-2.0-OpenSSH_9.6\r\n", result{Failed: true}},
	{"HTTP/2", "HTTP/2 200\r\n\r\n", result{Failed: true}},
	{"TLS alert", "\x15\x03\x01\x00\x02\x02\x46", result{Failed: true}},
	{"endless head", "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", maxHead) + "\r\n\r\n", result{Failed: true}},
	{"endless chunk line", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;" + strings.Repeat("x", maxChunkLine) + "\r\nhello", result{Failed: true}},
	{"endless trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + strings.Repeat("A: b\r\n", maxChunkLine/3) + "\r\n", result{Failed: true}},
}

func TestAnswers(t *testing.T) {
	for _, c := range answers {
		t.Run(c.name, func(t *testing.T) {
			for cut := 0; cut <= min(len(c.in), 300); cut++ {
				got, _ := readAll(c.in[:cut], c.in[cut:])
				if d := cmp.Diff(c.want, got); d != "" {
					t.Fatalf("cut at %d: answer differs (-want +got):\n%s", cut, d)
				}
			}
			got, _ := readAll(strings.Split(c.in, "")...)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Fatalf("byte by byte: answer differs (-want +got):\n%s", d)
			}
		})
	}
}

func TestHeadFields(t *testing.T) {
	_, h := readAll("HTTP/1.1 429 Too Many Requests\r\nContent-TYPE: Text/HTML ; charset=utf-8\r\nRetry-After: 7\r\nLocation: /x\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n")
	if h == nil {
		t.Fatal("got no head")
	}
	got := *h
	got.framing, got.length = 0, 0
	want := Head{Status: 429, Reason: "Too Many Requests", ContentType: "text/html", RetryAfter: "7", Location: "/x", Encoding: "gzip", KeepAlive: true}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(Head{})); d != "" {
		t.Errorf("head differs (-want +got):\n%s", d)
	}
}

func TestProtocolErrors(t *testing.T) {
	for in, want := range map[string]string{"\x15\x03\x01": "https://", "SSH-2.0": "port"} {
		var p HeadParser
		_, _, err := p.Feed([]byte(in))
		var protocol *ProtocolError
		if !errors.As(err, &protocol) || !strings.Contains(protocol.Hint(), want) {
			t.Errorf("%q: got error %v, want a ProtocolError that hints at %q", in, err, want)
		}
	}
}

// FuzzAnswer checks that nothing panics, and that an answer is the same however it is cut.
func FuzzAnswer(f *testing.F) {
	for _, c := range answers {
		if len(c.in) < 1000 {
			f.Add(c.in, uint(7))
		}
	}
	f.Fuzz(func(t *testing.T, in string, at uint) {
		whole, _ := readAll(in)
		cut := int(at % uint(len(in)+1))
		for _, pieces := range [][]string{{in[:cut], in[cut:]}, bytewise(in)} {
			got, _ := readAll(pieces...)
			if d := cmp.Diff(whole, got); d != "" {
				t.Fatalf("%d pieces: answer differs (-whole +cut):\n%s", len(pieces), d)
			}
		}
	})
}

func bytewise(s string) []string {
	var pieces []string
	for i := range len(s) {
		pieces = append(pieces, s[i:i+1])
	}
	return pieces
}
