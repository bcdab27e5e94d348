package openai

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/servegate/gate"
)

// Abilities is what a server was seen to do with the optional parts of a request.
type Abilities struct {
	TokenIDs  bool // takes a prompt as token ids, and counts as many prompt tokens
	IgnoreEOS bool // every output was as long as was asked for (see [Client.Probe])
	// Usage says that a stream tells of its token counts at its end.
	Usage bool
	// ReturnTokenIDs and ContinuousUsage say that frames showed token ids, or a running
	// count, when asked for it. Where neither is seen, frames are told by their text.
	ReturnTokenIDs  bool
	ContinuousUsage bool
	// Refused lists the forms of a request that the server refused before it took one,
	// with its words.
	Refused []string
}

// form is which optional parts a probing request has.
type form struct {
	name            string
	ids, eos, shown bool
}

// forms are tried in turn until the server takes one: token ids matter most, since they
// alone give prompts of exact length.
var forms = []form{
	{"token ids, ignore_eos, return_token_ids, continuous_usage_stats", true, true, true},
	{"token ids, ignore_eos", true, true, false},
	{"token ids", true, false, false},
	{"text, ignore_eos, return_token_ids, continuous_usage_stats", false, true, true},
	{"text, ignore_eos", false, true, false},
	{"text", false, false, false},
}

// Probe finds out what a server that nothing is known of understands. p holds the two
// forms of a prompt, IDs and Text, of which a chat needs Text only, and MaxTokens,
// which should be some dozens: that ignore_eos is honoured shows only by outputs that
// are no shorter, and an engine that had no reason to end sooner passes too. The error
// is that of the barest form.
func (c *Client) Probe(ctx context.Context, p Params) (Abilities, error) {
	var found Abilities
	err := errors.New("no prompt was given")
	for _, f := range forms {
		if f.ids && len(p.IDs) == 0 || !f.ids && p.Text == "" {
			continue
		}
		q := f.apply(p)
		var r gate.Request
		var a *answer
		if r, a, err = c.insist(ctx, q); err == nil {
			found.observe(q, r, a)
			return found, c.confirmIgnoreEOS(ctx, q, &found)
		}
		if !refused(r.Outcome) {
			break
		}
		found.Refused = append(found.Refused, f.name+": "+r.Error)
	}
	return found, fmt.Errorf("probe server: %w", err)
}

// probeTries is how often a form is tried before it counts as refused.
const probeTries = 4

// insist makes a request, and again where it failed otherwise than by being refused in
// so many words (4xx): a server that errs now and then must not pass for one that takes
// no token ids.
func (c *Client) insist(ctx context.Context, p Params) (r gate.Request, a *answer, err error) {
	for range probeTries {
		r, a, err = c.complete(ctx, p)
		if err == nil || r.Outcome == gate.HTTP4xx || r.Outcome == gate.Cancelled || r.Outcome == gate.Timeout {
			break
		}
	}
	return r, a, err
}

// apply gives p the form f.
func (f form) apply(p Params) Params {
	p.Stream, p.IgnoreEOS = true, f.eos
	p.ReturnTokenIDs, p.ContinuousUsage = f.shown, f.shown
	if !f.ids {
		p.IDs = nil
	}
	return p
}

// refused says whether an outcome may be about what a request asked for.
func refused(o gate.Outcome) bool {
	return o == gate.HTTP4xx || o == gate.HTTP5xx || o == gate.InBandError || o == gate.Malformed
}

// eosProbes is how many outputs must be as long as was asked for before ignore_eos
// counts as honoured.
const eosProbes = 4

// confirmIgnoreEOS asks for further answers: that one was long enough can be chance.
func (c *Client) confirmIgnoreEOS(ctx context.Context, p Params, found *Abilities) error {
	ids, text := p.IDs, p.Text
	for i := 1; i < eosProbes && found.IgnoreEOS; i++ {
		p.Seed++
		p.Text = fmt.Sprintf("Answer with %d words. %s", i, text)
		if len(ids) > 1 {
			at := len(ids) * i / eosProbes
			p.IDs = slices.Concat(ids[at:], ids[:at])
		}
		r, _, err := c.insist(ctx, p)
		found.IgnoreEOS = err == nil && r.Output >= p.MaxTokens
	}
	return ctx.Err()
}

// observe takes what a good answer to p showed.
func (f *Abilities) observe(p Params, r gate.Request, a *answer) {
	// One token more may be the one that begins a text.
	extra := r.Input - len(p.IDs)
	f.TokenIDs = len(p.IDs) > 0 && (r.Input == gate.Unknown || extra == 0 || extra == 1)
	f.IgnoreEOS = p.IgnoreEOS && r.Output >= p.MaxTokens && !strings.EqualFold(r.Finish, "stop")
	f.Usage = r.Output != gate.Unknown
	f.ReturnTokenIDs = a.tally.SawIDs
	f.ContinuousUsage = a.tally.SawRunning
}
