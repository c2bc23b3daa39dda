package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/simulator/openai"
)

// defaultPromptTokens is OpenAI's default output limit for legacy completions.
const defaultPromptTokens = 16

// promptRequest holds the fields of a legacy completions request that the simulator uses.
type promptRequest struct {
	Model         string          `json:"model"`
	Prompt        json.RawMessage `json:"prompt"`
	Stream        bool            `json:"stream"`
	StreamOptions streamOptions   `json:"stream_options"`
	MaxTokens     *int64          `json:"max_tokens"`
	N             *int            `json:"n"`
	BestOf        *int            `json:"best_of"`
	Stop          stopList        `json:"stop"`
	Echo          bool            `json:"echo"`
	Logprobs      *int            `json:"logprobs"`
	Metadata      metadata        `json:"metadata"`
}

// promptText is one prompt: a string, or token IDs instead of a string.
type promptText struct {
	text   string
	tokens int64
}

func (s *Simulator) servePrompt(w http.ResponseWriter, r *http.Request) {
	var q promptRequest
	if err := decode(r, &q); err != nil {
		writeFailure(w, err)
		return
	}
	fault, err := s.fault(q.Metadata.simulate, q.Model)
	if err != nil {
		writeFailure(w, err)
		return
	}
	if s.fail(w, r, fault, q.Stream) {
		return
	}
	p, a, err := s.completePrompt(&q)
	if err != nil {
		writeFailure(w, err)
		return
	}
	switch fault { //nolint:exhaustive // these faults change the response; the others change how it is written
	case FaultNoUsage:
		a.Usage = nil
	case FaultAbsurdUsage:
		a.Usage = absurd()
	}
	if !s.begin(r, p, a, fault) {
		return
	}
	if !q.Stream {
		s.writeAfter(w, r, p, a, openai.Encode(a.TextCompletion()), fault)
		return
	}
	events := a.TextEvents()
	if q.StreamOptions.IncludeUsage && a.Usage != nil {
		last := a.TextChunk()
		last.Usage = a.Usage
		events = append(events, string(openai.Encode(last)))
	}
	s.play(w, r, p, performance{events: append(events, "[DONE]"), voices: len(a.Choices)}, fault)
}

// completePrompt validates the request and composes the response. Every simulated chat model serves legacy completions.
func (s *Simulator) completePrompt(q *promptRequest) (profile, openai.Response, error) {
	p, err := s.lookup(q.Model, llm.Chat)
	if err != nil {
		return p, openai.Response{}, err
	}
	p.abilities &^= llm.Reasoning // legacy completions cannot contain reasoning
	prompts, err := readPrompts(q.Prompt)
	if err != nil {
		return p, openai.Response{}, err
	}
	n, best, err := q.counts(p)
	if err != nil {
		return p, openai.Response{}, err
	}
	limit := int64(defaultPromptTokens)
	if q.MaxTokens != nil {
		limit = *q.MaxTokens
	}
	a := openai.Response{Model: p.name, Created: s.options.Now().Unix(), Usage: &openai.Usage{}, Logprobs: q.Logprobs != nil}
	seed := uint64(openai.HashSeed)
	for _, prompt := range prompts {
		if prompt.tokens+limit > p.context {
			message := fmt.Sprintf("This model's maximum context length is %d tokens, however you requested %d tokens (%d in your prompt; %d for the completion). Please reduce your prompt; or completion length.",
				p.context, prompt.tokens+limit, prompt.tokens, limit)
			return p, openai.Response{}, openai.BadRequest(message, "prompt", "context_length_exceeded")
		}
		chat := chatRequest{Messages: []message{{Role: "user", Content: openai.Content{Text: prompt.text}}}, MaxTokens: &limit, N: &best, Stop: q.Stop}
		one := chat.compose(p, prompt.tokens, 0)
		for i, c := range one.Choices[:n] {
			if q.Echo {
				one.Choices[i].Text = slices.Concat(openai.Tokenize(prompt.text), c.Text)
			}
		}
		a.Choices = append(a.Choices, one.Choices[:n]...)
		a.Usage.PromptTokens += one.Usage.PromptTokens
		a.Usage.CompletionTokens += one.Usage.CompletionTokens
		seed = openai.Hash(seed, prompt.text)
	}
	a.Usage.TotalTokens = a.Usage.PromptTokens + a.Usage.CompletionTokens
	a.ID = fmt.Sprintf("cmpl-sim%016x", openai.Hash(seed, q.Model))
	return p, a, nil
}

// counts returns the number of choices per prompt that are returned (n) and generated (best).
func (q *promptRequest) counts(p profile) (n, best int, err error) {
	n = 1
	if q.N != nil {
		n = *q.N
	}
	best = n
	if q.BestOf != nil {
		best = *q.BestOf
	}
	switch {
	case n < 1 || n > 128:
		return 0, 0, openai.BadRequest("Invalid 'n': must be between 1 and 128.", "n", "invalid_value")
	case best < n || best > 128:
		return 0, 0, openai.BadRequest("Invalid 'best_of': must be between n and 128.", "best_of", "invalid_value")
	case best > n && q.Stream:
		return 0, 0, openai.BadRequest("Streaming is not supported with best_of > n.", "best_of", "invalid_value")
	case q.MaxTokens != nil && (*q.MaxTokens < 0 || *q.MaxTokens > p.maxOutput):
		return 0, 0, openai.BadRequest(fmt.Sprintf("Invalid 'max_tokens': must be between 0 and %d.", p.maxOutput), "max_tokens", "invalid_value")
	}
	return n, best, nil
}

// readPrompts parses a string, a list of strings, a list of token IDs, or a list of token ID lists.
func readPrompts(raw json.RawMessage) (prompts []promptText, err error) {
	var one string
	var texts []string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &one) == nil {
		texts = []string{one}
	} else if json.Unmarshal(raw, &texts) != nil {
		inputs, err := openai.ParseInputs(raw)
		if err != nil {
			return nil, openai.BadRequest("'prompt' must be a string, a list of strings, a list of token ids or a list of such lists.", "prompt", "invalid_type")
		}
		for _, input := range inputs {
			prompts = append(prompts, promptText{text: strings.Join(input.Words, " "), tokens: input.Tokens})
		}
		return prompts, nil
	}
	if len(texts) == 0 || len(texts) > openai.MaxInputs {
		return nil, openai.BadRequest("'prompt' must have between 1 and 2048 entries.", "prompt", "invalid_value")
	}
	for _, text := range texts {
		prompts = append(prompts, promptText{text: text, tokens: max(openai.CountTokens(text), 1)})
	}
	return prompts, nil
}
