// Package tokenizer turns text into token ids and back, for an engine that has no
// model. Its vocabulary is fixed and small: special tokens, the 256 bytes, common
// English words, pairs of letters, and ids without a meaning of their own whose text is
// " tok" and the id.
//
// Any text can be encoded, and decoding gives it back byte for byte. Ordinary English
// comes to some two and a half bytes a token, less than with a trained vocabulary. The
// ids that the engine generates are of the last kind, and encode to themselves: an
// answer that is sent back as part of the next prompt is the same tokens again.
package tokenizer

import (
	_ "embed"
	"strconv"
	"strings"
)

// Special tokens. Their text is empty.
const (
	Unknown int32 = iota
	Begin
	End // end of the text
	messageStart
	messageEnd
	firstByte // the ids of the 256 bytes begin here
)

// Size is the number of token ids: valid ids are below it.
const Size = 32_000

//go:embed words.txt
var words string

var (
	pieces   = vocabulary()                   // text of each id from firstByte to the generated ones
	ids      = index(pieces)                  // the reverse
	longest  = maxLen(pieces)                 // of any piece, in bytes
	generate = firstByte + int32(len(pieces)) // first id without a meaning
	digits   = len(strconv.Itoa(Size - 1))    // of an id at most
)

const generated = " tok"

func vocabulary() []string {
	var list []string
	for b := range 256 {
		list = append(list, string([]byte{byte(b)}))
	}
	seen := map[string]bool{}
	for _, w := range strings.Fields(words) {
		for _, piece := range []string{w, " " + w} {
			if len(piece) > 1 && !seen[piece] {
				seen[piece] = true
				list = append(list, piece)
			}
		}
	}
	for a := 'a'; a <= 'z'; a++ {
		for b := 'a'; b <= 'z'; b++ {
			if pair := string([]rune{a, b}); !seen[pair] {
				seen[pair] = true
				list = append(list, pair)
			}
		}
	}
	return list
}

func index(pieces []string) map[string]int32 {
	m := make(map[string]int32, len(pieces))
	for i, p := range pieces {
		m[p] = firstByte + int32(i)
	}
	return m
}

func maxLen(pieces []string) int {
	n := 0
	for _, p := range pieces {
		n = max(n, len(p))
	}
	return n
}

// Generated turns random bits into an id of those that the engine generates.
func Generated(bits uint64) int32 {
	return generate + int32(bits%uint64(Size-generate))
}

// Encode appends the ids of text, by the longest piece that fits at each place.
func Encode(dst []int32, text string) []int32 {
	for len(text) > 0 {
		id, n := match(text)
		dst = append(dst, id)
		text = text[n:]
	}
	return dst
}

func match(text string) (id int32, length int) {
	if rest, ok := strings.CutPrefix(text, generated); ok {
		if id, n := number(rest); n > 0 {
			return id, len(generated) + n
		}
	}
	for n := min(longest, len(text)); n > 1; n-- {
		if id, ok := ids[text[:n]]; ok {
			return id, n
		}
	}
	return firstByte + int32(text[0]), 1
}

// number reads the id at the front of text, in the one spelling that AppendText has
// for it, and returns its length; 0 if there is none.
func number(text string) (id int32, length int) {
	for length < len(text) && length < digits && '0' <= text[length] && text[length] <= '9' {
		id = id*10 + int32(text[length]-'0')
		length++
	}
	if id < generate || id >= Size || text[0] == '0' {
		return 0, 0
	}
	return id, length
}

// AppendText appends the text of one token; nothing for special and unknown ones.
func AppendText(dst []byte, id int32) []byte {
	switch {
	case id >= generate && id < Size:
		return strconv.AppendInt(append(dst, generated...), int64(id), 10)
	case id >= firstByte && id < generate:
		return append(dst, pieces[id-firstByte]...)
	}
	return dst
}

// Decode returns the text of tokens.
func Decode(tokens []int32) string {
	var text []byte
	for _, id := range tokens {
		text = AppendText(text, id)
	}
	return string(text)
}

// Message is one turn of a conversation.
type Message struct{ Role, Content string }

// EncodeChat returns the ids of a conversation, up to where the assistant begins. Each
// message costs its role, its content, and four tokens more.
func EncodeChat(messages []Message) []int32 {
	var dst []int32
	open := func(role string) {
		dst = append(dst, messageStart)
		dst = Encode(dst, role)
		dst = Encode(dst, "\n")
	}
	for _, m := range messages {
		open(m.Role)
		dst = Encode(dst, m.Content)
		dst = append(dst, messageEnd)
		dst = Encode(dst, "\n")
	}
	open("assistant")
	return dst
}
