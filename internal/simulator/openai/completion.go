package openai

import (
	"strings"
)

const fingerprint = "simulated"

// Completion is a chat completion that is not streamed.
type Completion struct {
	ID                string             `json:"id"`
	Object            string             `json:"object"`
	Created           int64              `json:"created"`
	Model             string             `json:"model"`
	Choices           []CompletionChoice `json:"choices"`
	Usage             *Usage             `json:"usage,omitempty"`
	ServiceTier       string             `json:"service_tier"`
	SystemFingerprint string             `json:"system_fingerprint"`
}

// CompletionChoice is one choice of a Completion.
type CompletionChoice struct {
	Index        int               `json:"index"`
	Message      CompletionMessage `json:"message"`
	Logprobs     *logprobs         `json:"logprobs"`
	FinishReason string            `json:"finish_reason"`
}

// CompletionMessage is the message of a CompletionChoice.
type CompletionMessage struct {
	Role             string     `json:"role"`
	Content          *string    `json:"content"`
	ReasoningContent string     `json:"reasoning_content,omitempty"`
	Refusal          *string    `json:"refusal"`
	ToolCalls        []ToolCall `json:"tool_calls,omitempty"`
	Annotations      []string   `json:"annotations"`
}

type logprobs struct {
	Content []tokenLogprob `json:"content"`
	Refusal []tokenLogprob `json:"refusal"`
}

type tokenLogprob struct {
	Token       string         `json:"token"`
	Logprob     float64        `json:"logprob"`
	Bytes       []int          `json:"bytes"`
	TopLogprobs []tokenLogprob `json:"top_logprobs,omitempty"`
}

// Completion returns the response as a chat completion.
func (a Response) Completion() Completion {
	whole := Completion{
		ID: a.ID, Object: "chat.completion", Created: a.Created, Model: a.Model, Choices: []CompletionChoice{},
		Usage: a.Usage, ServiceTier: "default", SystemFingerprint: fingerprint,
	}
	for i, c := range a.Choices {
		part := CompletionChoice{Index: i, FinishReason: c.Finish, Message: CompletionMessage{
			Role: "assistant", ReasoningContent: strings.Join(c.Reasoning, ""), ToolCalls: c.Calls, Annotations: []string{},
		}}
		if len(c.Calls) == 0 {
			text := strings.Join(c.Text, "")
			part.Message.Content = &text
		}
		if a.Logprobs {
			part.Logprobs = probabilities(c.Text, a.Top)
		}
		whole.Choices = append(whole.Choices, part)
	}
	return whole
}

// probabilities returns made-up log probabilities for the tokens.
func probabilities(tokens []string, top int) *logprobs {
	list := &logprobs{Content: []tokenLogprob{}}
	for _, token := range tokens {
		d := &Rand{State: Hash(HashSeed, token)}
		one := probability(token, -0.5*d.Float64())
		for rank := range top {
			other := probability(token, one.Logprob)
			if rank > 0 {
				other = probability(strings.Repeat("?", rank), one.Logprob-float64(rank))
			}
			one.TopLogprobs = append(one.TopLogprobs, other)
		}
		list.Content = append(list.Content, one)
	}
	return list
}

func probability(token string, logprob float64) tokenLogprob {
	raw := make([]int, 0, len(token))
	for _, b := range []byte(token) {
		raw = append(raw, int(b))
	}
	return tokenLogprob{Token: token, Logprob: logprob, Bytes: raw}
}
