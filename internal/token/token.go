// Package token counts the tokens of prompts and responses for a model: exactly for the vocabularies that OpenAI publishes, and by a
// calibrated estimate for other models and long text. Callers treat every count as an estimate: a provider adds its own framing tokens, and
// the bill is based on the usage that the provider reports.
//
// scripts/calibrate-tokens fits the weights to real vocabularies and prints their error; see
// docs/decisions/tokens.md.
package token

import (
	"math"

	"fairlead.dev/internal/llm"
)

// Model identifies a model as the catalog names it.
type Model struct{ Vendor, Name string }

// Prompt holds everything that determines the length of a prompt.
type Prompt struct {
	Text     llm.Text
	Bytes    int // length of the text in bytes
	Messages int
	Tools    bool
	Images   int
	Sizes    []llm.Image // images of known size
	TokenIDs int64       // token IDs given instead of text
	Attached int         // length of inline audio, video and documents in bytes
	Unsized  int         // number of attachments that only the provider can count
	Body     int         // length of the request in bytes, without inline images and attachments, plus the reasoning that the gateway adds
}

// PromptOf returns the prompt of a request.
func PromptOf(req *llm.Request) Prompt {
	return Prompt{
		Text: req.Text, Bytes: req.ASCIIBytes + req.NonASCIIBytes, Messages: req.Messages, Tools: req.Needs.Has(llm.Tools),
		Images: req.Images, Sizes: req.ImageSizes, TokenIDs: req.TokenIDs,
		Attached: req.AttachedBytes, Unsized: req.Unsized, Body: len(req.Body) - req.ImageBytes - req.AttachedBytes + req.RestoredBytes,
	}
}

// Estimate estimates the tokens of the prompt for rate limits, which apply before a model is chosen.
func (p Prompt) Estimate() int64 { return Model{Vendor: "OpenAI"}.Prompt(p) }

// Tokens that providers add for each message and each prompt.
const (
	perMessage = 4
	perPrompt  = 3
)

// Assumed tokens per attachment. Audio and video have between 100 and 2,000 bytes per token. Documents have fewer bytes per token.
const (
	attachedBytesPerToken = 512
	perAttachment         = 256
)

// Prompt estimates the tokens of a prompt, at least one.
func (m Model) Prompt(p Prompt) int64 {
	v := m.Vocabulary()
	return max(1, v.text(p.Text)+v.nonText(&p))
}

// nonText estimates everything except the text.
func (v *Vocabulary) nonText(p *Prompt) int64 {
	n := p.TokenIDs
	if p.Messages > 0 {
		n += int64(p.Messages)*perMessage + perPrompt
	}
	if p.Tools {
		n += v.rule.Tools
	}
	for _, image := range p.Sizes {
		n += v.image(image)
	}
	if unknown := p.Images - len(p.Sizes); unknown > 0 {
		n += int64(unknown) * v.image(llm.Image{})
	}
	return n + int64(p.Attached/attachedBytesPerToken) + int64(p.Unsized)*perAttachment
}

// Tokens that Bound adds to the bytes of a request for framing and for tools.
const (
	boundFraming = 16
	boundTools   = 512
)

// Bound returns an upper bound for the tokens of a prompt, without audio, video and document attachments, whose tokens only the provider
// can count. A token has at least one byte in every vocabulary, so every byte of the request counts as one token. The result of Prompt is
// not a bound, because it samples long text and is calibrated on ordinary text.
func (m Model) Bound(p Prompt) int64 {
	n := int64(p.Body) + boundFraming
	if p.Tools {
		n += boundTools
	}
	if p.Images == 0 && len(p.Sizes) == 0 {
		return n
	}
	v := m.Vocabulary()
	for _, image := range p.Sizes {
		n += v.imageBound(image)
	}
	if unknown := p.Images - len(p.Sizes); unknown > 0 {
		n += int64(unknown) * v.imageBound(llm.Image{Detail: "original"})
	}
	return n
}

// Text estimates the number of tokens in text with the given counts.
func (m Model) Text(t llm.Text) int64 {
	v := m.Vocabulary()
	return v.text(t)
}

func (v *Vocabulary) text(t llm.Text) int64 {
	features := Features(t)
	return int64(math.Ceil(weightedSum(v.family, &features) * v.rule.Margin))
}

// Output estimates the tokens of generated text from its size in bytes. Non-ASCII bytes are assumed to have the same
// scripts as the prompt.
func (m Model) Output(ascii, nonASCII int64, prompt llm.Text) int64 {
	if ascii+nonASCII == 0 {
		return 0
	}
	v := m.Vocabulary()
	sum := float64(ascii) * asciiDensity[v.family]
	if nonASCII > 0 {
		sum += float64(nonASCII) * v.foreignDensity(prompt)
	}
	return max(1, int64(math.Ceil(sum*v.rule.Margin)))
}

// foreignDensity returns the average tokens per non-ASCII byte for the mix of scripts in t.
func (v *Vocabulary) foreignDensity(t llm.Text) float64 {
	w := weights[v.family]
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

// unknownDensity is the tokens per byte of an unknown script.
const unknownDensity = 0.3

// scriptBytes maps a character class to the number of bytes per character.
var scriptBytes = map[llm.Class]float64{
	llm.Latin: 2, llm.Cyrillic: 2, llm.Greek: 2, llm.Hebrew: 2, llm.Arabic: 2, llm.Devanagari: 3, llm.Indic: 3, llm.Thai: 3,
	llm.Kana: 3, llm.Han: 3, llm.Hangul: 3, llm.Symbols: 3, llm.Emoji: 4,
}
