package workload

import (
	"fmt"
	"math"
	"strings"
)

// ProbeText holds each word of the built-in list once. The token ids that an engine's
// tokenizer makes of it are ordinary ones, see [Spec.Vocabulary]. Ask the tokenizer for
// the text alone, without special tokens, where it lets one choose.
const ProbeText = "" +
	"time year people way day man thing woman life child world school state family student " +
	"group country problem hand part place case week company system program question work " +
	"number night point home water room mother area money story fact month lot right study " +
	"book eye job word business issue side kind head house service friend father power hour " +
	"game line end member law car city community name president team minute idea body back " +
	"parent face level office door health person art war history party result change morning " +
	"reason research girl guy moment air teacher force education foot boy age policy music " +
	"market sense nation plan college interest death effect use class control field role " +
	"effort rate heart drug show leader light voice wife police mind price report decision " +
	"son view relation town road arm value building action season society tax director " +
	"position player record paper space ground form event official matter center couple site " +
	"project activity star table need court oil situation cost industry figure street image " +
	"phone data picture practice piece land product doctor wall patient worker news test " +
	"movie north love support step baby computer type attention film tree source hair look " +
	"window culture chance brother energy period course summer plant term letter condition " +
	"choice single rule daughter south husband floor campaign material call economy hospital " +
	"church risk fire future bank west sport board subject officer rest behavior fight top " +
	"goal second bed order author blood nature color store sound movement page race concern " +
	"series language response animal factor ten dance article east growth"

// words is the list that text prompts are drawn from: common English words, of which
// most tokenizers make one token each.
var words = strings.Fields(ProbeText)

// WordCount is the number of words in the built-in list.
const WordCount = 256

// CalibrationText is a text of n words for a [Probe]: the built-in list, again and
// again. It is the fairest sample where n is a multiple of [WordCount].
func CalibrationText(n int) string {
	list := make([]int, n)
	for i := range list {
		list[i] = i % len(words)
	}
	return join(list)
}

// join makes a text of the words with the given numbers.
func join(list []int) string {
	var b strings.Builder
	b.Grow(8 * len(list))
	for i, w := range list {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(words[w])
	}
	return b.String()
}

// Probe is what an engine counted: a prompt of [CalibrationText] with Words words had
// Tokens tokens by the usage in its answer, with all that the engine put around it.
type Probe struct{ Words, Tokens int }

// Calibration says how many tokens an engine makes of a text prompt: Overhead, mostly
// its chat template's, and PerWord for each word.
type Calibration struct{ Overhead, PerWord float64 }

// The range of PerWord that a tokenizer of English can give: from several words a
// token to a token for each of the bytes.
const minPerWord, maxPerWord = 0.1, 16

// Calibrate fits the calibration to two or more probes of different lengths, by least
// squares. The error says which probes can't be those of a text that grew.
func Calibrate(probes ...Probe) (Calibration, error) {
	var n, words, tokens float64
	for _, p := range probes {
		n++
		words += float64(p.Words)
		tokens += float64(p.Tokens)
	}
	words, tokens = words/n, tokens/n
	var spread, joint float64
	for _, p := range probes {
		d := float64(p.Words) - words
		spread += d * d
		joint += d * (float64(p.Tokens) - tokens)
	}
	if len(probes) < 2 || spread == 0 {
		return Calibration{}, fmt.Errorf("calibrate text prompts: probes %v: need two texts of different lengths", probes)
	}
	c := Calibration{PerWord: joint / spread}
	c.Overhead = tokens - c.PerWord*words
	if err := c.validate(); err != nil {
		return Calibration{}, fmt.Errorf("calibrate text prompts: probes %v: %w", probes, err)
	}
	return c, nil
}

func (c Calibration) validate() error {
	if !(c.PerWord >= minPerWord && c.PerWord <= maxPerWord) {
		return fmt.Errorf("%.3g tokens a word is outside of %g to %d: does the engine count the prompt's tokens in its usage?", c.PerWord, minPerWord, maxPerWord)
	}
	if !(math.Abs(c.Overhead) <= MaxLength) {
		return fmt.Errorf("overhead of %.3g tokens is outside of what a template can have", c.Overhead)
	}
	return nil
}

// Words is the number of words whose text comes closest to the given number of tokens.
// It is at least 1.
func (c Calibration) Words(tokens int) int {
	return max(1, int(math.Round((float64(tokens)-c.Overhead)/c.PerWord)))
}

// Tokens is the number of tokens that a text of n words is expected to have.
func (c Calibration) Tokens(n int) float64 { return c.Overhead + c.PerWord*float64(n) }
