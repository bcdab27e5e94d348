// Package wire speaks the OpenAI API as vLLM 0.32 does: it turns request bodies into
// checked calls, and tokens into frames and answers.
//
// It works on bytes only: sockets, status lines and timing are left to package sim.
// Frames are put together from parts that are prepared once a request, because an
// engine that serves 20,000 frames a second cannot afford to marshal each of them.
package wire

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Error is an answer that says no, in the shape of vLLM.
type Error struct {
	Status  int    // HTTP status, repeated as the code in the body
	Type    string // such as BadRequestError
	Message string
	Param   string // the request's field at fault, if one is
}

func (e *Error) Error() string { return e.Message }

// Append appends the body {"error": ...}.
func (e *Error) Append(dst []byte) []byte {
	body := struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    int     `json:"code"`
	}{e.Message, e.Type, nil, e.Status}
	if e.Param != "" {
		body.Param = &e.Param
	}
	inner, err := json.Marshal(body)
	if err != nil {
		panic(err) // strings and a number: cannot fail
	}
	dst = append(dst, `{"error":`...)
	dst = append(dst, inner...)
	return append(dst, '}')
}

// EngineDead is vLLM's answer once its engine process has died.
func EngineDead() *Error {
	return &Error{
		Status: http.StatusInternalServerError, Type: "InternalServerError",
		Message: "EngineCore encountered an issue. See stack trace (above) for the root cause.",
	}
}

// Internal is a failure of one request.
func Internal() *Error {
	return &Error{Status: http.StatusInternalServerError, Type: "InternalServerError", Message: "Internal server error"}
}

// Busy is vLLM's answer where the number of unfinished requests is limited.
func Busy() *Error {
	return &Error{
		Status: http.StatusServiceUnavailable, Type: "Service Unavailable",
		Message: "The engine is currently busy and cannot accept new requests. Please try again later or on a different instance.",
	}
}

// Starting is the answer of a server whose engine is not ready yet.
func Starting() *Error {
	return &Error{
		Status: http.StatusServiceUnavailable, Type: "Service Unavailable",
		Message: "The engine is still starting.",
	}
}

// NotJSON is vLLM's answer to a body that isn't declared as JSON.
func NotJSON() *Error {
	return &Error{
		Status: http.StatusBadRequest, Type: "Bad Request",
		Message: "1 validation error:\n  Unsupported Media Type: Only 'application/json' is allowed",
	}
}

func badRequest(param, format string, args ...any) *Error {
	return &Error{
		Status: http.StatusBadRequest, Type: "BadRequestError",
		Message: fmt.Sprintf(format, args...), Param: param,
	}
}
