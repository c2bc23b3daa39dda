package openai

import (
	"strings"
)

// TextCompletion is a text completion, or one event of a streamed text completion.
type TextCompletion struct {
	ID                string       `json:"id"`
	Object            string       `json:"object"`
	Created           int64        `json:"created"`
	Model             string       `json:"model"`
	Choices           []TextChoice `json:"choices"`
	Usage             *Usage       `json:"usage,omitempty"`
	SystemFingerprint string       `json:"system_fingerprint"`
}

// TextChoice is one choice of a TextCompletion.
type TextChoice struct {
	Text         string        `json:"text"`
	Index        int           `json:"index"`
	Logprobs     *TextLogprobs `json:"logprobs"`
	FinishReason *string       `json:"finish_reason"`
}

// TextLogprobs holds the log probabilities of the tokens of a TextChoice.
type TextLogprobs struct {
	Tokens        []string             `json:"tokens"`
	TokenLogprobs []float64            `json:"token_logprobs"`
	TopLogprobs   []map[string]float64 `json:"top_logprobs"`
	TextOffset    []int                `json:"text_offset"`
}

// TextCompletion returns the response as a text completion that is not streamed.
func (a Response) TextCompletion() TextCompletion {
	choices := []TextChoice{}
	for i, c := range a.Choices {
		choices = append(choices, a.textChoice(i, c.Text, &c.Finish))
	}
	whole := a.TextChunk(choices...)
	whole.Usage = a.Usage
	return whole
}

// TextEvents returns the chunks of the response: the interleaved tokens of all choices. Each choice ends with its
// finish reason.
func (a Response) TextEvents() []string {
	longest := 0
	for _, c := range a.Choices {
		longest = max(longest, len(c.Text))
	}
	events := []string{}
	for n := range longest + 1 {
		for i, c := range a.Choices {
			switch {
			case n < len(c.Text):
				events = append(events, string(Encode(a.TextChunk(a.textChoice(i, c.Text[n:n+1], nil)))))
			case n == len(c.Text):
				events = append(events, string(Encode(a.TextChunk(a.textChoice(i, nil, &c.Finish)))))
			}
		}
	}
	return events
}

// TextChunk returns a text completion with the given choices and no usage.
func (a Response) TextChunk(choices ...TextChoice) TextCompletion {
	if choices == nil {
		choices = []TextChoice{}
	}
	return TextCompletion{
		ID: a.ID, Object: "text_completion", Created: a.Created, Model: a.Model, Choices: choices, SystemFingerprint: fingerprint,
	}
}

func (a Response) textChoice(index int, tokens []string, finish *string) TextChoice {
	c := TextChoice{Text: strings.Join(tokens, ""), Index: index, FinishReason: finish}
	if !a.Logprobs {
		return c
	}
	c.Logprobs = &TextLogprobs{Tokens: []string{}, TokenLogprobs: []float64{}, TopLogprobs: []map[string]float64{}, TextOffset: []int{}}
	offset := 0
	for _, one := range probabilities(tokens, 0).Content {
		c.Logprobs.Tokens = append(c.Logprobs.Tokens, one.Token)
		c.Logprobs.TokenLogprobs = append(c.Logprobs.TokenLogprobs, one.Logprob)
		c.Logprobs.TopLogprobs = append(c.Logprobs.TopLogprobs, map[string]float64{one.Token: one.Logprob})
		c.Logprobs.TextOffset = append(c.Logprobs.TextOffset, offset)
		offset += len(one.Token)
	}
	return c
}
