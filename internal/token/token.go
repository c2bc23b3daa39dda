// Package token says how many tokens a prompt or an answer is for a model: exactly for the vocabularies that OpenAI
// publishes, and by a calibrated estimate for all others and for whatever is too long to be split. Everything here is an
// estimate to those who use it: a provider adds framing of its own, and the bill is what it reports.
//
// The weights come from scripts/calibrate-tokens, which fits them against real vocabularies and prints how far off they
// are; see docs/decisions/0015-estimate-tokens-from-character-classes.md.
package token

import (
	"math"

	"fairlead/internal/llm"
)

// Model is whose tokens are counted, as the catalog names it.
type Model struct{ Vendor, Name string }

// Prompt is everything that a prompt's length depends on.
type Prompt struct {
	Text     llm.Text
	Bytes    int // of the text
	Messages int
	Tools    bool
	Images   int
	Sizes    []llm.Image // of those images whose size is known
	TokenIDs int64       // given instead of text
	Attached int         // bytes of inline audio, video and documents
	Unsized  int         // attachments whose tokens only the provider can count
	Body     int         // bytes of the request without inline images and attachments
}

// PromptOf is the prompt of a request.
func PromptOf(req *llm.Request) Prompt {
	return Prompt{
		Text: req.Text, Bytes: req.ASCIIBytes + req.NonASCIIBytes, Messages: req.Messages, Tools: req.Needs.Has(llm.Tools),
		Images: req.Images, Sizes: req.ImageSizes, TokenIDs: req.TokenIDs,
		Attached: req.AttachedBytes, Unsized: req.Unsized, Body: len(req.Body) - req.ImageBytes - req.AttachedBytes,
	}
}

// Estimate returns the tokens of the prompt before a model is chosen, for rate limits.
func (p Prompt) Estimate() int64 { return Model{Vendor: "OpenAI"}.Prompt(p) }

// Framing that models read around what is said.
const (
	perMessage  = 4
	perPrompt   = 3
	claudeTools = 346 // what Anthropic's models are told about using tools
)

// Expected size of an attachment. Audio and video have between 100 and 2,000 bytes for each token, documents fewer.
const (
	attachedBytesPerToken = 512
	perAttachment         = 256
)

// Prompt estimates the tokens of a prompt; none has fewer than one.
func (m Model) Prompt(p Prompt) int64 {
	f, margin := m.family()
	return max(1, count(f, margin, p.Text)+m.beside(f, &p))
}

// beside is everything but the text.
func (m Model) beside(f Family, p *Prompt) int64 {
	n := p.TokenIDs
	if p.Messages > 0 {
		n += int64(p.Messages)*perMessage + perPrompt
	}
	if p.Tools && f == Claude {
		n += claudeTools
	}
	for _, image := range p.Sizes {
		n += m.Image(image)
	}
	if unknown := p.Images - len(p.Sizes); unknown > 0 {
		n += int64(unknown) * m.Image(llm.Image{})
	}
	return n + int64(p.Attached/attachedBytesPerToken) + int64(p.Unsized)*perAttachment
}

// Framing that Bound adds to the bytes of a request.
const (
	boundFraming = 16
	boundTools   = 512
)

// Bound returns a number of tokens that the prompt does not exceed, apart from attachments without a known size. Every
// vocabulary spends at least one byte on a token, so every byte of the request counts as one token. The estimate of
// Prompt is an estimate and not a bound: it samples long texts and is calibrated on ordinary ones.
func (m Model) Bound(p Prompt) int64 {
	n := int64(p.Body) + boundFraming
	if p.Tools {
		n += boundTools
	}
	for _, image := range p.Sizes {
		n += m.imageBound(image)
	}
	if unknown := p.Images - len(p.Sizes); unknown > 0 {
		n += int64(unknown) * m.imageBound(llm.Image{Detail: "original"})
	}
	return n
}

// Text estimates the tokens of a text.
func (m Model) Text(t llm.Text) int64 {
	f, margin := m.family()
	return count(f, margin, t)
}

func count(f Family, margin float64, t llm.Text) int64 {
	features := Features(t)
	return raised(weighed(f, &features), margin)
}

// Output estimates the tokens of answer text from its bytes. What is outside ASCII is taken for the scripts that the prompt
// is written in.
func (m Model) Output(ascii, nonASCII int64, prompt llm.Text) int64 {
	if ascii+nonASCII == 0 {
		return 0
	}
	f, margin := m.family()
	sum := float64(ascii) * asciiDensity[f]
	if nonASCII > 0 {
		sum += float64(nonASCII) * m.foreignDensity(prompt)
	}
	return max(1, int64(math.Ceil(sum*margin)))
}

// foreignDensity is how many tokens a byte outside ASCII has, in the scripts of a text.
func (m Model) foreignDensity(t llm.Text) float64 {
	f, _ := m.family()
	w := weights[f]
	bytes, sum := 0.0, 0.0
	for class, size := range scriptBytes {
		bytes += float64(t.Counts[class]) * size
		sum += float64(t.Counts[class]) * w[class]
	}
	if sum == 0 || bytes == 0 {
		return unknownDensity
	}
	return sum/bytes + w[llm.OtherWords]*float64(t.Counts[llm.OtherWords])/bytes
}

// unknownDensity is tokens a byte of a script that nothing is known of.
const unknownDensity = 0.3

// scriptBytes are the bytes that one character of a class has.
var scriptBytes = map[llm.Class]float64{
	llm.Latin: 2, llm.Cyrillic: 2, llm.Greek: 2, llm.Hebrew: 2, llm.Arabic: 2, llm.Devanagari: 3, llm.Indic: 3, llm.Thai: 3,
	llm.Kana: 3, llm.Han: 3, llm.Hangul: 3, llm.Symbols: 3, llm.Emoji: 4,
}
