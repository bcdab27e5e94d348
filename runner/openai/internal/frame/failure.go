package frame

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
)

// errorBody is what servers put into an error: an OpenAI error object, alone or under
// "error", or FastAPI's "detail".
type errorBody struct {
	Error   json.RawMessage `json:"error"`
	Message string          `json:"message"`
	Type    string          `json:"type"`
	Code    any             `json:"code"`
	Detail  any             `json:"detail"`
}

// DescribeError makes one line of what a server tells of an error.
func DescribeError(raw []byte) string {
	var body errorBody
	if json.Unmarshal(raw, &body) == nil && len(body.Error) > 0 && string(body.Error) != "null" {
		raw, body = body.Error, errorBody{}
	}
	var text string
	switch {
	case json.Unmarshal(raw, &text) == nil:
		return OneLine(text)
	case json.Unmarshal(raw, &body) != nil:
		return OneLine(string(raw))
	case body.Message == "" && body.Detail != nil:
		detail, _ := json.Marshal(body.Detail) // it came from JSON
		return OneLine(strings.Trim(string(detail), `"`))
	case body.Message == "":
		return OneLine(string(raw))
	}
	line := body.Message
	if code := describeCode(body.Code, body.Type); code != "" {
		line = code + ": " + line
	}
	return OneLine(line)
}

// describeCode prefers the code of an error, which tells a full queue (503) from an
// invalid request (400), to its type.
func describeCode(code any, kind string) string {
	switch v := code.(type) {
	case float64:
		return "code " + strconv.FormatFloat(v, 'f', -1, 64)
	case string:
		if v != "" {
			return "code " + v
		}
	}
	return kind
}

// OneLine makes a line of at most 300 bytes of what a server sent.
func OneLine(s string) string {
	const most = 300
	s = strings.ToValidUTF8(s[:min(len(s), 4*most)], "\ufffd")
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsGraphic(r)
	}), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
