package runner

import (
	"context"
	"fmt"
	"strings"

	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/runner/openai"
	"github.com/servegate/servegate/runner/workload"
)

// probeTokens is the length of a probe's prompt and of its output. A prompt of only a few
// tokens was seen to kill an engine; outputs of some dozens show whether ignore_eos holds.
const probeTokens = 32

// traits is what an engine was seen to be and to do.
type traits struct {
	model      string // name that requests ask for
	listed     bool   // the engine lists it
	maxLength  int    // context length in tokens; 0: not told
	tokenized  []int  // ids of workload.ProbeText; nil: it has no tokenizer route
	abilities  map[workload.API]openai.Abilities
	calibrated map[workload.API]workload.Calibration
}

// client is one for calls that aren't measured.
func (s *session) client(url string) (*openai.Client, error) {
	return openai.New(openai.Options{BaseURL: url, APIKey: s.apiKey(), RequestTimeout: s.plan.Measure.RequestTimeout})
}

// words is the beginning of the probing text.
func words(n int) string {
	return strings.Join(strings.Fields(workload.ProbeText)[:n], " ")
}

// learn finds out what the engine at url is and does, as far as the plan's cells need
// to know. What the first boot was seen to do holds for the run: whether ignore_eos is
// honoured, say, is told from a few outputs, and chance must not tell two boots apart.
func (s *session) learn(ctx context.Context, url string) (traits, error) {
	t := traits{abilities: map[workload.API]openai.Abilities{}, calibrated: map[workload.API]workload.Calibration{}}
	c, err := s.client(url)
	if err != nil {
		return t, err
	}
	defer c.Close()
	if s.learned != nil {
		t = *s.learned
	}
	s.identify(ctx, c, &t)
	if version, err := c.Version(ctx); err == nil {
		s.run.Subject.Version = version
	}
	if s.learned == nil {
		if err := s.examine(ctx, c, &t); err != nil {
			return t, err
		}
		s.learned = &t
	}
	return t, nil
}

// examine probes an engine that nothing is known of yet.
func (s *session) examine(ctx context.Context, c *openai.Client, t *traits) error {
	if ids, err := c.Tokenize(ctx, t.model, workload.ProbeText); err == nil {
		t.tokenized = ids
	}
	for _, cell := range s.plan.Cells {
		api := cell.Workload.API
		if _, known := t.abilities[api]; known {
			continue
		}
		abilities, err := t.probe(ctx, c, api)
		if err != nil {
			return err
		}
		t.abilities[api] = abilities
	}
	return s.calibrate(ctx, c, t)
}

// identify asks which models the server lists. One that lists none is asked for the
// plan's model all the same.
func (s *session) identify(ctx context.Context, c *openai.Client, t *traits) {
	t.model, t.listed = s.plan.Model, false
	models, err := c.Models(ctx)
	if err != nil || len(models) == 0 {
		return
	}
	if t.model == "" {
		t.model = models[0].ID
	}
	for _, m := range models {
		if m.ID == t.model {
			t.listed, t.maxLength = true, m.MaxLen
			return
		}
	}
	s.warn("the engine doesn't list model %q but %q", t.model, models[0].ID)
}

// probe finds out what the engine does with the optional parts of a request.
func (t *traits) probe(ctx context.Context, c *openai.Client, api workload.API) (openai.Abilities, error) {
	p := openai.Params{Model: t.model, Chat: api == workload.Chat, Text: words(probeTokens), MaxTokens: probeTokens}
	if api != workload.Chat {
		ids, err := t.probeIDs()
		if err != nil {
			return openai.Abilities{}, err
		}
		p.IDs = ids
	}
	return c.Probe(ctx, p)
}

// probeIDs draws a prompt of token ids that any model has.
func (t *traits) probeIDs() ([]int, error) {
	spec := workload.Spec{
		Name:   "probe",
		Input:  workload.Lengths{Distribution: workload.Fixed, Mean: probeTokens},
		Output: workload.Lengths{Distribution: workload.Fixed, Mean: probeTokens},
		API:    workload.Completions, Prompt: workload.IDs, Cache: workload.Cold,
	}
	vocabulary, err := spec.Vocabulary(t.tokenized)
	if err != nil {
		return nil, err
	}
	g, err := workload.New(workload.Options{Spec: spec, Seed: 1, Form: workload.IDs, Vocabulary: vocabulary, Run: "probe", Repetition: 1})
	if err != nil {
		return nil, err
	}
	return g.Request(gate.Warmup, 0).IDs, nil
}

// calibrate learns how many tokens text prompts have, for each API that some cell sends
// text to.
func (s *session) calibrate(ctx context.Context, c *openai.Client, t *traits) error {
	for _, cell := range s.plan.Cells {
		api := cell.Workload.API
		form, err := t.form(cell)
		if err != nil {
			return err
		}
		if _, known := t.calibrated[api]; known || form != workload.Text {
			continue
		}
		if t.calibrated[api], err = t.fit(ctx, c, api); err != nil {
			return fmt.Errorf("calibrate text prompts: %w", err)
		}
	}
	return nil
}

// fit asks for the token counts of two texts. Where the engine's context is short, so
// are they.
func (t *traits) fit(ctx context.Context, c *openai.Client, api workload.API) (workload.Calibration, error) {
	long := 2 * workload.WordCount
	if t.maxLength > 0 {
		long = min(long, t.maxLength/4)
	}
	var probes []workload.Probe
	for _, n := range []int{max(1, long/2), max(2, long)} {
		r, err := c.Complete(ctx, openai.Params{Model: t.model, Chat: api == workload.Chat, Text: workload.CalibrationText(n), MaxTokens: 1})
		if err != nil {
			return workload.Calibration{}, err
		}
		if r.Input == gate.Unknown {
			return workload.Calibration{}, fmt.Errorf("the engine tells no prompt tokens in its usage")
		}
		probes = append(probes, workload.Probe{Words: n, Tokens: r.Input})
	}
	return workload.Calibrate(probes...)
}

// form is the form that the prompts of a cell are sent in.
func (t *traits) form(c Cell) (workload.Prompt, error) {
	ids := c.Workload.API != workload.Chat && t.abilities[c.Workload.API].TokenIDs
	switch {
	case c.Workload.Prompt == workload.IDs && !ids:
		return "", &PlanError{
			What:   fmt.Sprintf("cell %s: the engine takes no token ids as a prompt", c.ID),
			Remedy: "leave out prompt: ids, and text of about that length is sent",
		}
	case ids && c.Workload.Prompt != workload.Text:
		return workload.IDs, nil
	}
	return workload.Text, nil
}

// fixedOutput reports whether outputs of the cell are as long as asked for.
func (t *traits) fixedOutput(c Cell) bool {
	return c.Workload.IgnoreEOS && t.abilities[c.Workload.API].IgnoreEOS
}

// generator makes the requests of one repetition of a cell.
func (s *session) generator(c *cellState, t traits, repetition int) (*workload.Generator, error) {
	form, err := t.form(c.Cell)
	if err != nil {
		return nil, err
	}
	o := workload.Options{
		Spec: c.Workload, Seed: s.plan.Measure.Seed, Form: form,
		// Cells may have the same prompts, and one must not warm the cache for another.
		Run: s.run.ID + "/" + c.ID, Repetition: repetition,
	}
	if form == workload.IDs {
		if o.Vocabulary, err = c.Workload.Vocabulary(t.tokenized); err != nil {
			return nil, err
		}
	} else {
		o.Calibration = t.calibrated[c.Workload.API]
	}
	return workload.New(o)
}

// call is the request r of cell c as the client sends it.
func (s *session) call(c *cellState, t traits, r workload.Request) openai.Call {
	can := t.abilities[c.Workload.API]
	return openai.Call{
		Params: openai.Params{
			Model:     t.model,
			Chat:      c.Workload.API == workload.Chat,
			IDs:       r.IDs,
			Text:      r.Text,
			MaxTokens: r.Output,
			Stream:    c.Workload.Stream,
			IgnoreEOS: t.fixedOutput(c.Cell),
			Seed:      s.plan.Measure.Seed,
			// A running count is a few bytes a frame. Token ids come with those of the
			// whole prompt in the first frame, which would make it late.
			ContinuousUsage: c.Workload.Stream && can.ContinuousUsage,
			ReturnTokenIDs:  c.Workload.Stream && can.ReturnTokenIDs && !can.ContinuousUsage,
		},
		WantInput:   r.Input,
		FixedOutput: t.fixedOutput(c.Cell),
	}
}
