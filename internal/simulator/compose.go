package simulator

import (
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/simulator/openai"
)

// compose builds the response. prompt and cached are the numbers of prompt tokens and cached prompt tokens.
func (q *chatRequest) compose(p profile, prompt, cached int64) openai.Response {
	a := openai.Response{Model: p.name, Logprobs: q.Logprobs, Top: min(max(q.TopLogprobs, 0), 20)}
	u := &openai.Usage{PromptTokens: prompt, PromptDetails: openai.PromptDetails{CachedTokens: cached}}
	n := 1
	if q.N != nil {
		n = *q.N
	}
	for i := range n {
		c, written, reasoned := q.choice(p, i)
		a.Choices = append(a.Choices, c)
		u.CompletionTokens += written
		u.CompletionDetails.ReasoningTokens += reasoned
	}
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	a.Usage = u
	return a
}

// choice composes one choice within the token limit. It returns the number of tokens and how many of them are
// reasoning.
func (q *chatRequest) choice(p profile, index int) (c openai.Choice, written, reasoned int64) {
	left := p.maxOutput
	for _, limit := range []*int64{q.MaxTokens, q.MaxCompletionTokens} {
		if limit != nil {
			left = min(left, *limit)
		}
	}
	if p.abilities.Has(llm.Reasoning) {
		c.Reasoning = firstTokens(openai.Tokenize(q.thoughts()), left)
		reasoned = int64(len(c.Reasoning))
		left -= reasoned
	}
	if calls := q.toolCalls(index); len(calls) > 0 && left > 0 {
		c.Calls, c.Finish = calls, "tool_calls"
		return c, reasoned + callTokens(calls), reasoned
	}
	text := q.text(p, index)
	end := len(text) // offset of the earliest stop sequence
	for _, stop := range q.Stop {
		if i := strings.Index(text, stop); i >= 0 {
			end = min(end, i)
		}
	}
	tokens := openai.Tokenize(text[:end])
	c.Text, c.Finish = firstTokens(tokens, left), "stop"
	if len(c.Text) < len(tokens) || left <= 0 {
		c.Finish = "length"
	}
	return c, reasoned + int64(len(c.Text)), reasoned
}

// text returns the text of one choice, before limits and stop sequences are applied.
func (q *chatRequest) text(p profile, index int) string {
	if verdict, ok := q.verdict(); ok {
		return verdict
	}
	switch q.format() {
	case "json_object":
		return string(openai.Encode(struct {
			Simulated bool   `json:"simulated"`
			Notice    string `json:"notice"`
			Prompt    string `json:"prompt"`
			Answer    string `json:"answer"`
		}{true, "SIMULATED", quote(q.lastUser()), q.prose(p.name, index)}))
	case "json_schema":
		return string(openai.Instance(q.ResponseFormat.JSONSchema.Schema, q.seed()+uint64(index)))
	}
	text := q.prose(p.name, index)
	if rest, ok := strings.CutPrefix(text, q.prefill()); ok {
		return rest // the request already contains the beginning of the text
	}
	return text
}

func firstTokens(tokens []string, limit int64) []string {
	return tokens[:min(int64(len(tokens)), max(limit, 0))]
}

func callTokens(calls []openai.ToolCall) int64 {
	var n int64
	for _, call := range calls {
		n += 4
		if call.Function != nil {
			n += openai.CountTokens(call.Function.Name) + openai.CountTokens(call.Function.Arguments)
		}
		if call.Custom != nil {
			n += openai.CountTokens(call.Custom.Name) + openai.CountTokens(call.Custom.Input)
		}
	}
	return n
}
