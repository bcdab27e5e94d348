package rundir

import (
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/servegate/servegate/gate"
)

// appendRequest writes the canonical form of r and a newline.
func appendRequest(dst []byte, r *gate.Request) []byte {
	dst = appendInt(append(dst, `{"i":`...), r.Index)
	dst = appendString(append(dst, `,"phase":`...), string(r.Phase))
	dst = appendOptional(dst, `,"stream":`, r.Stream, 0)
	dst = appendSeconds(append(dst, `,"due":`...), r.Due)
	if r.Sent != 0 {
		dst = appendSeconds(append(dst, `,"sent":`...), r.Sent)
	}
	dst = appendArrivals(dst, r.Arrivals)
	if r.Done != 0 {
		dst = appendSeconds(append(dst, `,"done":`...), r.Done)
	}
	dst = appendChunkTokens(dst, r.ChunkTokens)
	dst = appendInt(append(dst, `,"want_in":`...), r.WantInput)
	dst = appendInt(append(dst, `,"want_out":`...), r.WantOutput)
	dst = appendOptional(dst, `,"in":`, r.Input, gate.Unknown)
	dst = appendOptional(dst, `,"out":`, r.Output, gate.Unknown)
	dst = appendOptional(dst, `,"cached":`, r.Cached, gate.Unknown)
	dst = appendString(append(dst, `,"outcome":`...), string(r.Outcome))
	dst = appendOptional(dst, `,"status":`, r.Status, 0)
	if r.Finish != "" {
		dst = appendString(append(dst, `,"finish":`...), r.Finish)
	}
	if r.Error != "" {
		dst = appendString(append(dst, `,"error":`...), r.Error)
	}
	return append(dst, '}', '\n')
}

func appendInt(dst []byte, v int) []byte { return strconv.AppendInt(dst, int64(v), 10) }

// appendOptional writes key and v, or nothing where v is what its absence means.
func appendOptional(dst []byte, key string, v, absent int) []byte {
	if v == absent {
		return dst
	}
	return appendInt(append(dst, key...), v)
}

// appendArrivals writes the first arrival and then gaps: shorter than the times
// themselves, and what a reader of the file looks for. A gap that overflows wraps
// around, and back again when it is read.
func appendArrivals(dst []byte, arrivals []time.Duration) []byte {
	if len(arrivals) == 0 {
		return dst
	}
	dst = append(dst, `,"arrivals":[`...)
	before := time.Duration(0)
	for i, at := range arrivals {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendSeconds(dst, at-before)
		before = at
	}
	return append(dst, ']')
}

func appendChunkTokens(dst []byte, tokens []int) []byte {
	if len(tokens) == 0 {
		return dst
	}
	dst = append(dst, `,"chunk_tokens":[`...)
	for i, n := range tokens {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendInt(dst, n)
	}
	return append(dst, ']')
}

// appendSeconds writes d in seconds: plain decimals, no digit more than needed.
func appendSeconds(dst []byte, d time.Duration) []byte {
	ns := uint64(d)
	if d < 0 {
		dst = append(dst, '-')
		ns = -ns // right for the smallest duration, too
	}
	dst = strconv.AppendUint(dst, ns/1e9, 10)
	frac := uint32(ns % 1e9)
	if frac == 0 {
		return dst
	}
	var digits [10]byte
	digits[0] = '.'
	for i := 9; i > 0; i-- {
		digits[i] = byte('0' + frac%10)
		frac /= 10
	}
	end := len(digits)
	for digits[end-1] == '0' {
		end--
	}
	return append(dst, digits[:end]...)
}

const hexDigits = "0123456789abcdef"

// appendString writes s as a JSON string, escaping only what must be escaped and
// replacing each byte that is no UTF-8 by U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += size
			continue
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
		default:
			dst = append(dst, c)
		}
		i++
	}
	return append(dst, '"')
}
