package workload

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/servegate/servegate/gate"
)

// Options says what a [Generator] generates.
type Options struct {
	Spec Spec
	Seed uint64 // of lengths and content
	// Form is IDs or Text, whichever the engine was found to take.
	Form        Prompt
	Vocabulary  Vocabulary  // of prompts of the form IDs, see [Spec.Vocabulary]
	Calibration Calibration // of prompts of the form Text, see [Calibrate]
	// Run and Repetition are what the nonces are drawn from.
	Run        string
	Repetition int
}

// Request is what one request asks for.
type Request struct {
	Input  int    // prompt tokens; of a text prompt: those that it comes close to
	Output int    // output tokens
	IDs    []int  // the prompt in the form IDs
	Text   string // the prompt in the form Text
}

// Generator makes the requests of one repetition of a cell. It may be used by several
// goroutines at once.
type Generator struct {
	Options
	units  int   // how many different units a prompt is made of: ids or words
	nonce  int   // units of a nonce that no other request has
	bare   []int // units that all prompts share
	prefix []int // the same with the repetition's nonce in front
}

// nonceBits is the size of a nonce. Of 10^5 requests no two have the same but with a
// probability of 3e-10.
const nonceBits = 64

// New makes a generator. The error is about options that contradict each other.
func New(o Options) (*Generator, error) {
	g := &Generator{Options: o}
	if err := g.check(); err != nil {
		return nil, fmt.Errorf("generate workload %q: %w", o.Spec.Name, err)
	}
	g.nonce = int(math.Ceil(nonceBits / math.Log2(float64(g.units))))
	if o.Spec.Cache == SharedPrefix {
		g.bare = make([]int, g.prefixLen())
		g.fill(g.bare, random("prefix %d", o.Seed))
		g.prefix = append([]int(nil), g.bare...)
		g.fill(g.prefix[:min(g.nonce, len(g.prefix))], random("nonce %q %d prefix", o.Run, o.Repetition))
	}
	return g, nil
}

// check validates the options and sets the number of units.
func (g *Generator) check() error {
	if err := g.Spec.Validate(); err != nil {
		return err
	}
	switch {
	case g.Form == IDs && g.Spec.API == Chat:
		return errors.New("chats take no token ids")
	case g.Form == IDs:
		if g.units = g.Vocabulary.Len(); g.units < 2 {
			return fmt.Errorf("vocabulary has %d ids: need 2 at least", g.units)
		}
	case g.Form == Text:
		g.units = len(words)
		if err := g.Calibration.validate(); err != nil {
			return err
		}
		if low := g.Spec.Input.Low(); g.Spec.Cache == SharedPrefix && g.length(low) <= g.prefixLen() {
			return fmt.Errorf("shared prefix of %d tokens leaves nothing of the shortest prompt of %d, of which the engine adds %.0f: shorten the prefix or raise input",
				g.Spec.Prefix, low, g.Calibration.Overhead)
		}
	default:
		return fmt.Errorf("form is %q: must be %s or %s", g.Form, IDs, Text)
	}
	return nil
}

// length is the number of units that make a prompt of the given tokens.
func (g *Generator) length(tokens int) int {
	if g.Form == Text {
		return g.Calibration.Words(tokens)
	}
	return tokens
}

// prefixLen is the number of units of the shared prefix. What the engine puts in front
// of a text is shared anyhow, and counts no part of it.
func (g *Generator) prefixLen() int {
	if g.Form == Text {
		return max(1, int(math.Round(float64(g.Spec.Prefix)/g.Calibration.PerWord)))
	}
	return g.Spec.Prefix
}

// Request makes request index of a phase. It depends on the options, the phase and the
// index alone.
func (g *Generator) Request(phase gate.Phase, index int) Request {
	input, output, content := g.draw(phase, index)
	copy(content, g.prefix)
	if g.Spec.Cache == Cold {
		g.fill(content[:min(g.nonce, len(content))], random("nonce %q %d %s %d", g.Run, g.Repetition, phase, index))
	}
	r := Request{Input: input, Output: output}
	if g.Form == Text {
		r.Text = join(content)
		return r
	}
	g.Vocabulary.name(content)
	r.IDs = content
	return r
}

// Lengths gives the lengths of a request in tokens without making it.
func (g *Generator) Lengths(phase gate.Phase, index int) (input, output int) {
	input, output, _ = g.lengths(phase, index)
	return input, output
}

// lengths draws the lengths of a request. r goes on with its content.
func (g *Generator) lengths(phase gate.Phase, index int) (input, output int, r *rand.PCG) {
	r = random("request %d %s %d", g.Seed, phase, index)
	return g.Spec.Input.Draw(r), g.Spec.Output.Draw(r), r
}

// draw draws a request with the units of its prompt, without any nonce.
func (g *Generator) draw(phase gate.Phase, index int) (input, output int, content []int) {
	input, output, r := g.lengths(phase, index)
	content = make([]int, g.length(input))
	g.fill(content[copy(content, g.bare):], r)
	return input, output, content
}

// fill fills list with units drawn from r.
func (g *Generator) fill(list []int, r *rand.PCG) {
	for i := range list {
		list[i] = below(r, g.units)
	}
}

// MaxContext is the largest sum of input and output in tokens among the first n
// requests of each phase, to be held against the engine's context before the load.
func (g *Generator) MaxContext(n int) int {
	most := 0
	for _, phase := range []gate.Phase{gate.Warmup, gate.Measure, gate.Drain} {
		for i := range n {
			input, output := g.Lengths(phase, i)
			most = max(most, input+output)
		}
	}
	return most
}

// PromptSource names what prompts are made of, as it stands in the envelope: ids(10-250)
// or words(256).
func (g *Generator) PromptSource() string {
	if g.Form == Text {
		return fmt.Sprintf("words(%d)", g.units)
	}
	return fmt.Sprintf("ids(%s)", g.Vocabulary)
}

// Digest is the sha256, in hex, of the first n measured requests: their lengths, what
// their prompts are made of, and the prompts without any nonce. It is the same in every
// run and repetition, and on every platform.
func (g *Generator) Digest(n int) string {
	h := sha256.New()
	s := g.Spec
	fmt.Fprintf(h, "servegate workload v1\nseed %d\ninput %s\noutput %s\n%s\ncache %s\nprefix %d\n",
		g.Seed, s.Input, s.Output, g.PromptSource(), s.Cache, s.Prefix)
	var buf []byte
	for i := range n {
		input, output, content := g.draw(gate.Measure, i)
		buf = binary.LittleEndian.AppendUint32(buf[:0], uint32(input))
		buf = binary.LittleEndian.AppendUint32(buf, uint32(output))
		buf = binary.LittleEndian.AppendUint32(buf, uint32(len(content)))
		if g.Form == IDs {
			g.Vocabulary.name(content)
		}
		for _, unit := range content {
			buf = binary.LittleEndian.AppendUint32(buf, uint32(unit))
		}
		h.Write(buf)
	}
	return hex.EncodeToString(h.Sum(nil))
}
