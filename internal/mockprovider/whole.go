package mockprovider

import (
	"net/http"
	"strings"
)

const fingerprint = "simulated"

type completion struct {
	ID                string           `json:"id"`
	Object            string           `json:"object"`
	Created           int64            `json:"created"`
	Model             string           `json:"model"`
	Choices           []completionPart `json:"choices"`
	Usage             *usage           `json:"usage,omitempty"`
	ServiceTier       string           `json:"service_tier"`
	SystemFingerprint string           `json:"system_fingerprint"`
}

type completionPart struct {
	Index        int             `json:"index"`
	Message      completionReply `json:"message"`
	Logprobs     *logprobs       `json:"logprobs"`
	FinishReason string          `json:"finish_reason"`
}

type completionReply struct {
	Role             string     `json:"role"`
	Content          *string    `json:"content"`
	ReasoningContent string     `json:"reasoning_content,omitempty"`
	Refusal          *string    `json:"refusal"`
	ToolCalls        []toolCall `json:"tool_calls,omitempty"`
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

// writeWhole sends the answer in one piece, after the time its tokens take.
func (s *Simulator) writeWhole(w http.ResponseWriter, r *http.Request, p profile, a answer, fault Fault) {
	s.writeAfter(w, r, p, a, encode(a.completion()), fault)
}

// writeAfter sends the body of an answer after the time that its longest choice takes.
func (s *Simulator) writeAfter(w http.ResponseWriter, r *http.Request, p profile, a answer, body []byte, fault Fault) {
	longest := 0
	for _, c := range a.choices {
		longest = max(longest, len(c.reasoning)+len(c.text)+int(callTokens(c.calls)))
	}
	if !s.wait(r.Context(), pace(p, longest)) {
		return
	}
	writeBody(w, r, body, fault)
}

func (a answer) completion() completion {
	whole := completion{
		ID: a.id, Object: "chat.completion", Created: a.created, Model: a.model, Choices: []completionPart{},
		Usage: a.usage, ServiceTier: "default", SystemFingerprint: fingerprint,
	}
	for i, c := range a.choices {
		part := completionPart{Index: i, FinishReason: c.finish, Message: completionReply{
			Role: "assistant", ReasoningContent: strings.Join(c.reasoning, ""), ToolCalls: c.calls, Annotations: []string{},
		}}
		if len(c.calls) == 0 {
			text := strings.Join(c.text, "")
			part.Message.Content = &text
		}
		if a.logprobs {
			part.Logprobs = probabilities(c.text, a.top)
		}
		whole.Choices = append(whole.Choices, part)
	}
	return whole
}

// probabilities invents how sure the model was of each token.
func probabilities(tokens []string, top int) *logprobs {
	list := &logprobs{Content: []tokenLogprob{}}
	for _, token := range tokens {
		d := &draws{state: hash(fnvOffset, token)}
		one := probability(token, -0.5*d.share())
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
