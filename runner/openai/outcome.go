package openai

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/runner/openai/internal/frame"
)

// hintError is an error with a remedy.
type hintError struct {
	err  error
	hint string
}

func hinted(err error, hint string) error { return &hintError{err, hint} }

func (e *hintError) Error() string { return e.err.Error() }
func (e *hintError) Unwrap() error { return e.err }

// Hint says what to do about the error.
func (e *hintError) Hint() string { return e.hint }

// withHint is the text of err with its remedy behind it, for where there is one line.
func withHint(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) && h.Hint() != "" {
		return err.Error() + " (" + h.Hint() + ")"
	}
	return err.Error()
}

// record makes the record of an exchange that has ended.
func (x *exchange) record(call *Call) gate.Request {
	a := x.answer
	r := gate.Request{
		Index: call.Index, Phase: call.Phase, Stream: call.Stream,
		Due: call.Due, Sent: x.sent,
		WantInput: call.WantInput, WantOutput: call.MaxTokens,
	}
	if a.head != nil {
		r.Status = a.head.Status
	}
	var why string
	if r.Outcome, why = x.outcome(); r.Outcome == "" {
		r.Outcome, why = a.judge(call)
	}
	r.Error = frame.OneLine(x.client.redact(why))
	r.Arrivals, r.ChunkTokens = a.tally.Arrivals, a.tally.ChunkTokens()
	if len(r.Arrivals) == 0 {
		r.Arrivals = nil
	}
	r.Input, r.Output, r.Cached = a.tally.Usage.Prompt, a.tally.Usage.Completion, a.tally.Usage.Cached
	r.Finish = a.finish
	if r.Done = a.end; r.Done == 0 {
		r.Done = x.over
	}
	return r
}

// outcome is what became of a request that has no good answer, and why; or "" where the
// answer remains to be judged. What the server said comes before what we did about it.
func (x *exchange) outcome() (gate.Outcome, string) {
	a := x.answer
	if a.head != nil && (a.head.Status < 200 || a.head.Status > 299) {
		return a.refusal()
	}
	switch {
	case a.failure != "":
		return gate.InBandError, a.failure
	case a.fault != nil:
		return gate.Malformed, withHint(a.fault)
	case a.finished():
		return "", ""
	case x.ctx.Err() != nil:
		return gate.Cancelled, x.gaveUp("cancelled")
	case x.sent != 0 && errors.Is(x.err, os.ErrDeadlineExceeded):
		return gate.Timeout, x.gaveUp(fmt.Sprintf("timed out after %v", x.client.timeout))
	case !a.started:
		return gate.Connect, x.noAnswer()
	case a.head == nil:
		return gate.Truncated, "answer cut off within its head: " + x.reason()
	case a.kind != kindEvents:
		return gate.Truncated, fmt.Sprintf("answer cut off after %d bytes: %s", len(a.kept), x.reason())
	}
	return gate.Truncated, fmt.Sprintf("stream cut off after %d frames: %s", a.frames, x.reason())
}

// gaveUp says how far the answer was when the request was given up.
func (x *exchange) gaveUp(what string) string {
	a := x.answer
	switch {
	case x.sent == 0:
		return what + " before it was sent"
	case a.head == nil:
		return what + " before the answer began"
	case a.kind != kindEvents:
		return fmt.Sprintf("%s after %d bytes of the answer", what, len(a.kept))
	}
	return fmt.Sprintf("%s after %d frames", what, a.frames)
}

// noAnswer says why not a byte of an answer came.
func (x *exchange) noAnswer() string {
	if x.sent == 0 {
		return withHint(x.err)
	}
	if x.reused > 0 {
		return fmt.Sprintf("connection broke before the answer, on its reuse after %v: %s", x.reused.Round(1e6), x.reason())
	}
	return "connection broke before the answer: " + x.reason()
}

// reason is what the connection failed with.
func (x *exchange) reason() string {
	if x.err == nil || errors.Is(x.err, io.EOF) {
		return "closed by the server"
	}
	return cause(x.err).Error()
}

// refusal is the outcome of an answer whose status is no success.
func (a *answer) refusal() (gate.Outcome, string) {
	h := a.head
	why := fmt.Sprintf("HTTP %d", h.Status)
	if text := cmp.Or(http.StatusText(h.Status), h.Reason); text != "" {
		why += " " + text
	}
	if h.RetryAfter != "" {
		why += ", retry after " + h.RetryAfter
	}
	what := describeBody(h.ContentType, a.kept)
	if what != "" {
		what = ": " + what
	}
	switch {
	case h.Status == http.StatusTooManyRequests, h.Status == http.StatusServiceUnavailable:
		return gate.Rejected, why + what
	case h.Status == http.StatusUnauthorized, h.Status == http.StatusForbidden:
		return gate.HTTP4xx, why + what + " (is the API key set, and right?)"
	case h.Status >= 500:
		return gate.HTTP5xx, why + what
	case h.Status >= 400:
		return gate.HTTP4xx, why + what
	case h.Location != "":
		return gate.Malformed, why + " to " + h.Location + ", which isn't followed (give that address as the URL)"
	}
	return gate.Malformed, why + what
}

// describeBody says in a few words what a body is that isn't an answer.
func describeBody(contentType string, body []byte) string {
	text := strings.TrimSpace(string(body))
	switch {
	case text == "":
		return ""
	case contentType == "text/html" || strings.HasPrefix(strings.ToLower(text), "<!doctype html") || strings.HasPrefix(strings.ToLower(text), "<html"):
		return "an HTML page" + pageTitle(text)
	case text[0] == '{' || text[0] == '[' || text[0] == '"':
		return frame.DescribeError([]byte(text))
	}
	return frame.OneLine(text[:min(len(text), 200)])
}

// pageTitle is the title of an HTML page, in quotes, if it has one.
func pageTitle(page string) string {
	_, rest, _ := strings.Cut(page, "<title>")
	title, _, found := strings.Cut(rest, "</title>")
	if !found || strings.TrimSpace(title) == "" {
		return ""
	}
	return fmt.Sprintf(" %q", frame.OneLine(title[:min(len(title), 80)]))
}

// judge is the outcome of an answer that came to its end.
func (a *answer) judge(call *Call) (gate.Outcome, string) {
	switch a.kind {
	case kindForeign:
		return gate.Malformed, a.foreign()
	case kindWhole:
		if outcome, why := a.judgeWhole(); outcome != gate.OK {
			return outcome, why
		}
	default:
		if outcome, why := a.judgeStream(); outcome != gate.OK {
			return outcome, why
		}
	}
	if out := a.tally.Usage.Completion; call.FixedOutput && out != gate.Unknown && out < call.MaxTokens {
		return gate.ShortOutput, fmt.Sprintf("%d output tokens of %d although EOS is ignored (finish_reason %q)", out, call.MaxTokens, a.finish)
	}
	return gate.OK, ""
}

// judgeStream judges a stream whose body is over. One without [DONE] is truncated even
// if it told a finish_reason and its body ended cleanly: a proxy whose engine died ends
// a body cleanly too.
func (a *answer) judgeStream() (gate.Outcome, string) {
	told := a.tally.Usage.Completion
	switch {
	case !a.terminated && a.finish != "":
		return gate.Truncated, fmt.Sprintf("stream ended after %d frames and finish_reason %q, but without [DONE]", a.frames, a.finish)
	case !a.terminated:
		return gate.Truncated, fmt.Sprintf("stream ended after %d frames without [DONE]", a.frames)
	case len(a.tally.Arrivals) > 0:
		return gate.OK, ""
	case told > 0:
		return gate.Malformed, fmt.Sprintf("usage tells of %d output tokens, but no frame showed one (ask for return_token_ids or continuous_usage_stats, if the engine has them)", told)
	}
	return gate.Empty, fmt.Sprintf("stream of %d frames without output", a.frames)
}

// judgeWhole judges JSON that was read whole. Its usage is evidence of output: there
// are no frames whose times would be missing.
func (a *answer) judgeWhole() (gate.Outcome, string) {
	f, ok := frame.Scan(a.kept)
	if !ok {
		return gate.Malformed, "answer is no JSON object: " + describeBody("", a.kept[:min(len(a.kept), 80)])
	}
	a.tally.Usage = f.Usage
	a.conclude(&f)
	switch {
	case a.failure != "":
		return gate.InBandError, a.failure
	case a.stream:
		return gate.Malformed, "a stream was asked for, and whole JSON came (does the server stream?)"
	case f.Choices == 0:
		return gate.Malformed, "answer has no choices"
	case f.CarriesOutput() || f.Usage.Completion > 0:
		return gate.OK, ""
	}
	return gate.Empty, "answer without output"
}

// foreign says what came in place of an answer.
func (a *answer) foreign() string {
	h := a.head
	what := describeBody(h.ContentType, a.kept)
	if h.Encoding != "" {
		return fmt.Sprintf("answer is compressed (%s), which wasn't asked for", h.Encoding)
	}
	hint := ""
	if strings.HasPrefix(what, "an HTML page") {
		hint = " (a web page: is the port right?)"
	}
	return fmt.Sprintf("HTTP %d with content type %q: %s%s", h.Status, h.ContentType, what, hint)
}
