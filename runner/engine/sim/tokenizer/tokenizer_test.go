package tokenizer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEncode(t *testing.T) {
	word := func(s string) int32 { return ids[s] }
	letter := func(b byte) int32 { return firstByte + int32(b) }
	tests := []struct {
		name, text string
		want       []int32
	}{
		{"nothing", "", nil},
		{"words with their space", "the server", []int32{word("the"), word(" server")}},
		{"pairs and bytes", "qzx", []int32{word("qz"), letter('x')}},
		{"half a character", "\xe2\x82", []int32{letter(0xe2), letter(0x82)}},
		{"a generated token", " tok31999", []int32{31999}},
		{"several", " tok31999 tok20000", []int32{31999, 20000}},
		{"an id and a digit more", " tok200001", []int32{20000, letter('1')}},
		{"an id that is out of range", " tok40", append(Encode(nil, " tok4"), letter('0'))},
		{"a leading zero is another spelling", " tok02000", append(Encode(nil, " tok0200"), letter('0'))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Encode(nil, tt.text)); diff != "" {
				t.Errorf("ids (-want +got):\n%s", diff)
			}
		})
	}
}

func TestVocabularyFits(t *testing.T) {
	if len(ids) != len(pieces) {
		t.Errorf("got %d pieces with %d different texts, want no duplicates", len(pieces), len(ids))
	}
	if generate > 2000 {
		t.Errorf("generated ids begin at %d, want most of the %d", generate, Size)
	}
	for _, bits := range []uint64{0, 1, 1 << 40, ^uint64(0)} {
		if id := Generated(bits); id < generate || id >= Size {
			t.Errorf("Generated(%d): got %d, want %d to %d", bits, id, generate, Size-1)
		}
	}
}

func TestEnglishIsShorterThanItsBytes(t *testing.T) {
	text := "Please explain how the server keeps its queue short while the load is high, and what that does to the time of the first token."
	n := len(Encode(nil, text))
	if perToken := float64(len(text)) / float64(n); perToken < 2 || perToken > 5 {
		t.Errorf("got %.2f bytes a token, want 2 to 5", perToken)
	}
}

func TestEncodeChat(t *testing.T) {
	one := EncodeChat([]Message{{"user", "hello"}})
	if got := Decode(one); got != "user\nhello\nassistant\n" {
		t.Errorf("text: got %q", got)
	}
	next := EncodeChat([]Message{{"user", "hello"}, {"assistant", " tok20000 tok20001"}, {"user", "more"}})
	whole := append(append([]int32{}, one...), 20000, 20001)
	if diff := cmp.Diff(whole, next[:len(whole)]); diff != "" {
		t.Errorf("the next turn doesn't begin with the last one and its answer (-want +got):\n%s", diff)
	}
}

func TestSpecialTokensHaveNoText(t *testing.T) {
	if got := Decode([]int32{Unknown, Begin, End, messageStart, -1, Size}); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
}

func FuzzRoundTrip(f *testing.F) {
	for _, s := range []string{"", "hello world", " tok31999 tok5 tok", " tok01700", "naïve €", "\x00\xff", strings.Repeat(" tok1234", 3)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tokens := Encode(nil, text)
		if got := Decode(tokens); got != text {
			t.Fatalf("got %q, want %q", got, text)
		}
		for _, id := range tokens {
			if id < firstByte || id >= Size {
				t.Fatalf("id %d is out of range", id)
			}
		}
		if len(tokens) > len(text) {
			t.Fatalf("%d tokens for %d bytes", len(tokens), len(text))
		}
	})
}
