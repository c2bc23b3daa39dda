package mockprovider

import (
	"strings"

	"fairlead/internal/llm"
)

// answer is everything the simulator will say to one request, before it is written whole or as a stream.
type answer struct {
	id       string
	created  int64
	model    string
	choices  []choice
	usage    *usage
	logprobs bool
	top      int
}

// choice is one of the answers asked for. Text and reasoning are split as they will be streamed.
type choice struct {
	reasoning []string
	text      []string
	calls     []toolCall
	finish    string
}

type usage struct {
	PromptTokens      int64             `json:"prompt_tokens"`
	CompletionTokens  int64             `json:"completion_tokens"`
	TotalTokens       int64             `json:"total_tokens"`
	PromptDetails     promptDetails     `json:"prompt_tokens_details"`
	CompletionDetails completionDetails `json:"completion_tokens_details"`
}

type promptDetails struct {
	CachedTokens int64 `json:"cached_tokens"`
	AudioTokens  int64 `json:"audio_tokens"`
}

type completionDetails struct {
	ReasoningTokens    int64 `json:"reasoning_tokens"`
	AudioTokens        int64 `json:"audio_tokens"`
	AcceptedPrediction int64 `json:"accepted_prediction_tokens"`
	RejectedPrediction int64 `json:"rejected_prediction_tokens"`
}

// compose works the answer out. prompt and cached are the prompt's tokens.
func (q *chatRequest) compose(p profile, prompt, cached int64) answer {
	a := answer{model: p.name, logprobs: q.Logprobs, top: min(max(q.TopLogprobs, 0), 20)}
	u := &usage{PromptTokens: prompt, PromptDetails: promptDetails{CachedTokens: cached}}
	for i := range q.choices() {
		c, written, reasoned := q.choice(p, i)
		a.choices = append(a.choices, c)
		u.CompletionTokens += written
		u.CompletionDetails.ReasoningTokens += reasoned
	}
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	a.usage = u
	return a
}

// choice makes one answer within the token limit, and counts what was written and how much of it is reasoning.
func (q *chatRequest) choice(p profile, index int) (c choice, written, reasoned int64) {
	left := q.limit(p)
	if p.abilities.Has(llm.Reasoning) {
		c.reasoning = firstTokens(tokenize(q.thoughts()), left)
		reasoned = int64(len(c.reasoning))
		left -= reasoned
	}
	if calls := q.toolCalls(index); len(calls) > 0 && left > 0 {
		c.calls, c.finish = calls, "tool_calls"
		return c, reasoned + callTokens(calls), reasoned
	}
	tokens := tokenize(cutAt(q.text(p, index), q.Stop))
	c.text, c.finish = firstTokens(tokens, left), "stop"
	if len(c.text) < len(tokens) || left <= 0 {
		c.finish = "length"
	}
	return c, reasoned + int64(len(c.text)), reasoned
}

// text is the whole text of one choice, before limits and stop sequences.
func (q *chatRequest) text(p profile, index int) string {
	switch q.format() {
	case "json_object":
		return string(encode(struct {
			Simulated bool   `json:"simulated"`
			Notice    string `json:"notice"`
			Prompt    string `json:"prompt"`
			Answer    string `json:"answer"`
		}{true, "SIMULATED", quote(q.lastUser()), q.prose(p.name, index)}))
	case "json_schema":
		return string(sample(q.ResponseFormat.JSONSchema.Schema, q.seed()+uint64(index)))
	}
	text := q.prose(p.name, index)
	if rest, ok := strings.CutPrefix(text, q.prefill()); ok {
		return rest // the caller wrote the beginning: go on from there
	}
	return text
}

func firstTokens(tokens []string, limit int64) []string {
	return tokens[:min(int64(len(tokens)), max(limit, 0))]
}

// cutAt ends text before the earliest stop sequence.
func cutAt(text string, stops []string) string {
	end := len(text)
	for _, stop := range stops {
		if i := strings.Index(text, stop); i >= 0 && i < end {
			end = i
		}
	}
	return text[:end]
}

func callTokens(calls []toolCall) int64 {
	var n int64
	for _, call := range calls {
		n += 4
		if call.Function != nil {
			n += countTokens(call.Function.Name) + countTokens(call.Function.Arguments)
		}
		if call.Custom != nil {
			n += countTokens(call.Custom.Name) + countTokens(call.Custom.Input)
		}
	}
	return n
}
