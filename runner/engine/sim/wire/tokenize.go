package wire

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/servegate/servegate/runner/engine/sim/tokenizer"
)

// Tokenize answers POST /tokenize, for a text or for the messages of a chat.
func Tokenize(data []byte, l Limits) ([]byte, *Error) {
	var b struct {
		Prompt   *string   `json:"prompt"`
		Messages []message `json:"messages"`
		Strings  bool      `json:"return_token_strs"`
	}
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, badRequest("", "1 validation error:\n  %v", err)
	}
	ids := []int32{}
	switch {
	case b.Prompt != nil:
		ids = tokenizer.Encode(ids, *b.Prompt)
	case len(b.Messages) > 0:
		var turns []tokenizer.Message
		for i, m := range b.Messages {
			text, err := m.text()
			if err != nil {
				return nil, badRequest("messages", "message %d: %v", i, err)
			}
			turns = append(turns, tokenizer.Message{Role: m.Role, Content: text})
		}
		ids = tokenizer.EncodeChat(turns)
	default:
		return nil, badRequest("prompt", "1 validation error:\n  neither prompt nor messages is there")
	}
	answer := struct {
		Count       int      `json:"count"`
		MaxModelLen int      `json:"max_model_len"`
		Tokens      []int32  `json:"tokens"`
		Strings     []string `json:"token_strs"`
	}{Count: len(ids), MaxModelLen: l.MaxModelLen, Tokens: ids}
	if b.Strings {
		for _, id := range ids {
			answer.Strings = append(answer.Strings, visible(tokenizer.AppendText(nil, id)))
		}
	}
	return marshal(answer), nil
}

// visible is a token's text as JSON can show it: a byte that is no character of its
// own becomes the replacement character.
func visible(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	return string(utf8.RuneError)
}

// Detokenize answers POST /detokenize.
func Detokenize(data []byte) ([]byte, *Error) {
	var b struct {
		Tokens []int32 `json:"tokens"`
	}
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, badRequest("tokens", "1 validation error:\n  %v", err)
	}
	return marshal(struct {
		Prompt string `json:"prompt"`
	}{tokenizer.Decode(b.Tokens)}), nil
}

func marshal(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers: cannot fail
	}
	return data
}
