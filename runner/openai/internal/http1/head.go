// Package http1 reads HTTP/1 answers from the pieces that they arrive in: the head, and
// the parts of the body behind its framing. Its caller pushes each piece and so knows
// which read delivered which part, which general clients hide.
//
// It is pure: connections, deadlines and what an answer means are left to its caller.
package http1

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// ProtocolError says that what came is no answer of an HTTP/1 server.
type ProtocolError struct {
	What   string
	Remedy string // perhaps empty
}

func (e *ProtocolError) Error() string { return "read head: " + e.What }

// Hint says what to look at.
func (e *ProtocolError) Hint() string { return e.Remedy }

// maxHead is the most bytes that the head of an answer may have, interim (1xx) heads
// included.
const maxHead = 64 << 10

// Head is what matters of the head of an answer.
type Head struct {
	Status      int
	Reason      string
	ContentType string // media type in lower case, without parameters
	Encoding    string // Content-Encoding, where it isn't identity
	Location    string
	RetryAfter  string
	KeepAlive   bool // the connection may serve another request once the body has been read
	framing     framing
	length      int64 // of the body in bytes, -1 where it isn't told
}

// framing is how an answer tells where its body ends.
type framing int

const (
	byLength framing = iota
	byChunks
	untilClose
)

// HeadParser gathers the head of an answer from the pieces that it arrives in. The zero
// value is ready for use.
type HeadParser struct {
	buf  []byte // the unfinished head
	size int    // bytes of all heads so far
}

// Feed takes the next piece and returns the head with the rest of the piece behind it,
// or nil where the head goes on. After an interim head it is fed on for the next one. An
// error says what is no HTTP/1; it is a [ProtocolError] where another protocol shows.
func (p *HeadParser) Feed(piece []byte) (h *Head, rest []byte, err error) {
	seen := len(p.buf)
	p.buf = append(p.buf, piece...)
	if err := checkProtocol(p.buf); err != nil {
		return nil, nil, err
	}
	end := headEnd(p.buf, max(0, seen-3))
	if end < 0 {
		if p.size+len(p.buf) > maxHead {
			return nil, nil, fmt.Errorf("read head: over %d bytes", maxHead)
		}
		return nil, nil, nil
	}
	rest = piece[end-seen:]
	if p.size += end; p.size > maxHead {
		return nil, nil, fmt.Errorf("read head: over %d bytes", maxHead)
	}
	parsed, err := parseHead(p.buf[:end])
	if err != nil {
		return nil, nil, err
	}
	p.buf = nil // a stream may go on for minutes: its head isn't kept so long
	return &parsed, rest, nil
}

// headEnd is the place behind the blank line that ends a head, looked for from place
// from, or -1. Lines may end with LF alone.
func headEnd(b []byte, from int) int {
	for i := from; i < len(b); i++ {
		if b[i] != '\n' {
			continue
		}
		switch {
		case bytes.HasPrefix(b[i+1:], []byte("\n")):
			return i + 2
		case bytes.HasPrefix(b[i+1:], []byte("\r\n")):
			return i + 3
		}
	}
	return -1
}

// checkProtocol refuses what can't be the front of an HTTP/1 answer, early: a server of
// another protocol may never send a blank line.
func checkProtocol(b []byte) error {
	const proto = "HTTP/1."
	if n := min(len(b), len(proto)); string(b[:n]) == proto[:n] {
		return nil
	}
	if b[0] == 0x15 || b[0] == 0x16 { // an alert or a handshake record
		return &ProtocolError{"the server speaks TLS", "use https:// in the URL"}
	}
	return &ProtocolError{fmt.Sprintf("not HTTP/1: %q", b[:min(len(b), 40)]), "is the port right?"}
}

// parseHead reads a head with its blank line.
func parseHead(b []byte) (Head, error) {
	lines := strings.Split(strings.TrimRight(string(b), "\r\n"), "\n")
	h, minor, err := parseStatusLine(strings.TrimSuffix(lines[0], "\r"))
	if err != nil {
		return h, err
	}
	h.KeepAlive, h.framing, h.length = minor >= 1, untilClose, -1
	for _, line := range lines[1:] {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\r"), ":")
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			return h, fmt.Errorf("read head: bad header line %q", line[:min(len(line), 80)])
		}
		if err := h.setField(strings.ToLower(name), strings.Trim(value, " \t")); err != nil {
			return h, err
		}
	}
	h.settle()
	return h, nil
}

func parseStatusLine(line string) (h Head, minor int, err error) {
	proto, rest, _ := strings.Cut(line, " ")
	code, reason, _ := strings.Cut(rest, " ")
	version := strings.TrimPrefix(proto, "HTTP/1.")
	minor, err = strconv.Atoi(version)
	status, codeErr := strconv.Atoi(code)
	if err != nil || codeErr != nil || len(version) != 1 || len(code) != 3 || status < 100 {
		return h, 0, fmt.Errorf("read head: bad status line %q", line[:min(len(line), 80)])
	}
	return Head{Status: status, Reason: reason}, minor, nil
}

func (h *Head) setField(name, value string) error {
	switch name {
	case "content-type":
		media, _, _ := strings.Cut(value, ";")
		h.ContentType = strings.ToLower(strings.TrimSpace(media))
	case "content-encoding":
		if !strings.EqualFold(value, "identity") {
			h.Encoding = value
		}
	case "location":
		h.Location = value
	case "retry-after":
		h.RetryAfter = value
	case "connection":
		for option := range strings.SplitSeq(strings.ToLower(value), ",") {
			switch strings.TrimSpace(option) {
			case "close":
				h.KeepAlive = false
			case "keep-alive": // an HTTP/1.0 server that keeps it open
				h.KeepAlive = true
			}
		}
	case "transfer-encoding":
		// Only chunked, alone or last, says where a body ends.
		h.framing = untilClose
		if codings := strings.ToLower(value); codings == "chunked" || strings.HasSuffix(codings, ",chunked") || strings.HasSuffix(codings, " chunked") {
			h.framing = byChunks
		}
	case "content-length":
		n, err := strconv.ParseInt(value, 10, 63)
		if err != nil || n < 0 || value[0] == '+' || h.length >= 0 && h.length != n {
			return fmt.Errorf("read head: bad content length %q", value[:min(len(value), 40)])
		}
		h.length = n
	}
	return nil
}

// settle decides how the body is framed, by RFC 9112 section 6.3.
func (h *Head) settle() {
	switch {
	case h.Interim(), h.Status == 204, h.Status == 304:
		h.framing, h.length = byLength, 0
	case h.framing == byChunks:
		if h.length >= 0 {
			// Both are told: the body ends by its chunks, but another request can't
			// trust what follows.
			h.KeepAlive = false
		}
	case h.length >= 0:
		h.framing = byLength
	}
	if h.framing == untilClose {
		h.KeepAlive = false
	}
}

// Interim says that the final answer is still to come.
func (h *Head) Interim() bool { return h.Status < 200 && h.Status != 101 }
