package mockprovider

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"fairlead/internal/llm"
)

// defaultPromptTokens is how long an answer to a bare prompt is when nothing is said, as at OpenAI.
const defaultPromptTokens = 16

// promptRequest is what the simulator understands of a legacy completions request.
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

// promptText is one prompt: a text, or the token ids that stand for one.
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
	switch fault { //nolint:exhaustive // these change the answer; the rest change how it is written
	case FaultNoUsage:
		a.usage = nil
	case FaultAbsurdUsage:
		a.usage = absurd()
	}
	if !s.begin(r, p, a, fault) {
		return
	}
	if !q.Stream {
		s.writeAfter(w, r, p, a, encode(a.promptAnswer()), fault)
		return
	}
	events := a.promptEvents()
	if q.StreamOptions.IncludeUsage && a.usage != nil {
		last := a.promptChunk()
		last.Usage = a.usage
		events = append(events, string(encode(last)))
	}
	s.play(w, r, p, performance{events: append(events, "[DONE]"), voices: len(a.choices)}, fault)
}

// completePrompt checks the request and works out what to say. Every chat model answers bare prompts here.
func (s *Simulator) completePrompt(q *promptRequest) (profile, answer, error) {
	p, err := s.lookup(q.Model, llm.Chat)
	if err != nil {
		return p, answer{}, err
	}
	p.abilities &^= llm.Reasoning // a bare prompt has no place to show it
	prompts, err := readPrompts(q.Prompt)
	if err != nil {
		return p, answer{}, err
	}
	n, best, err := q.counts(p)
	if err != nil {
		return p, answer{}, err
	}
	limit := int64(defaultPromptTokens)
	if q.MaxTokens != nil {
		limit = *q.MaxTokens
	}
	a := answer{model: p.name, created: s.options.Now().Unix(), usage: &usage{}, logprobs: q.Logprobs != nil}
	seed := uint64(fnvOffset)
	for _, prompt := range prompts {
		if prompt.tokens+limit > p.context {
			message := fmt.Sprintf("This model's maximum context length is %d tokens, however you requested %d tokens (%d in your prompt; %d for the completion). Please reduce your prompt; or completion length.",
				p.context, prompt.tokens+limit, prompt.tokens, limit)
			return p, answer{}, badRequest(message, "prompt", "context_length_exceeded")
		}
		chat := chatRequest{Messages: []message{{Role: "user", Content: content{text: prompt.text}}}, MaxTokens: &limit, N: &best, Stop: q.Stop}
		one := chat.compose(p, prompt.tokens, 0)
		for i, c := range one.choices[:n] {
			if q.Echo {
				one.choices[i].text = slices.Concat(tokenize(prompt.text), c.text)
			}
		}
		a.choices = append(a.choices, one.choices[:n]...)
		a.usage.PromptTokens += one.usage.PromptTokens
		a.usage.CompletionTokens += one.usage.CompletionTokens
		seed = hash(seed, prompt.text)
	}
	a.usage.TotalTokens = a.usage.PromptTokens + a.usage.CompletionTokens
	a.id = fmt.Sprintf("cmpl-sim%016x", hash(seed, q.Model))
	return p, a, nil
}

// counts is how many answers are shown for each prompt, and how many are made.
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
		return 0, 0, badRequest("Invalid 'n': must be between 1 and 128.", "n", "invalid_value")
	case best < n || best > 128:
		return 0, 0, badRequest("Invalid 'best_of': must be between n and 128.", "best_of", "invalid_value")
	case best > n && q.Stream:
		return 0, 0, badRequest("Streaming is not supported with best_of > n.", "best_of", "invalid_value")
	case q.MaxTokens != nil && (*q.MaxTokens < 0 || *q.MaxTokens > p.maxOutput):
		return 0, 0, badRequest(fmt.Sprintf("Invalid 'max_tokens': must be between 0 and %d.", p.maxOutput), "max_tokens", "invalid_value")
	}
	return n, best, nil
}

// readPrompts reads a text, texts, token ids, or lists of token ids.
func readPrompts(raw json.RawMessage) ([]promptText, error) {
	var one string
	var texts []string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &one) == nil {
		texts = []string{one}
	} else if json.Unmarshal(raw, &texts) != nil {
		return readTokenPrompts(raw)
	}
	if len(texts) == 0 || len(texts) > maxInputs {
		return nil, badRequest("'prompt' must have between 1 and 2048 entries.", "prompt", "invalid_value")
	}
	var prompts []promptText
	for _, text := range texts {
		prompts = append(prompts, promptText{text: text, tokens: max(countTokens(text), 1)})
	}
	return prompts, nil
}

func readTokenPrompts(raw json.RawMessage) ([]promptText, error) {
	inputs, err := readInputs(raw)
	if err != nil {
		return nil, badRequest("'prompt' must be a string, a list of strings, a list of token ids or a list of such lists.", "prompt", "invalid_type")
	}
	var prompts []promptText
	for _, input := range inputs {
		prompts = append(prompts, promptText{text: strings.Join(input.words, " "), tokens: input.tokens})
	}
	return prompts, nil
}

type promptAnswer struct {
	ID                string         `json:"id"`
	Object            string         `json:"object"`
	Created           int64          `json:"created"`
	Model             string         `json:"model"`
	Choices           []promptChoice `json:"choices"`
	Usage             *usage         `json:"usage,omitempty"`
	SystemFingerprint string         `json:"system_fingerprint"`
}

type promptChoice struct {
	Text         string          `json:"text"`
	Index        int             `json:"index"`
	Logprobs     *promptLogprobs `json:"logprobs"`
	FinishReason *string         `json:"finish_reason"`
}

type promptLogprobs struct {
	Tokens        []string             `json:"tokens"`
	TokenLogprobs []float64            `json:"token_logprobs"`
	TopLogprobs   []map[string]float64 `json:"top_logprobs"`
	TextOffset    []int                `json:"text_offset"`
}

// promptAnswer is the answer in one piece.
func (a answer) promptAnswer() promptAnswer {
	choices := []promptChoice{}
	for i, c := range a.choices {
		choices = append(choices, a.promptChoice(i, c.text, &c.finish))
	}
	whole := a.promptChunk(choices...)
	whole.Usage = a.usage
	return whole
}

// promptEvents are the chunks of the answer: the tokens of all choices in turn, each choice ended by its finish.
func (a answer) promptEvents() []string {
	longest := 0
	for _, c := range a.choices {
		longest = max(longest, len(c.text))
	}
	events := []string{}
	for n := range longest + 1 {
		for i, c := range a.choices {
			switch {
			case n < len(c.text):
				events = append(events, string(encode(a.promptChunk(a.promptChoice(i, c.text[n:n+1], nil)))))
			case n == len(c.text):
				events = append(events, string(encode(a.promptChunk(a.promptChoice(i, nil, &c.finish)))))
			}
		}
	}
	return events
}

func (a answer) promptChunk(choices ...promptChoice) promptAnswer {
	if choices == nil {
		choices = []promptChoice{}
	}
	return promptAnswer{
		ID: a.id, Object: "text_completion", Created: a.created, Model: a.model, Choices: choices, SystemFingerprint: fingerprint,
	}
}

func (a answer) promptChoice(index int, tokens []string, finish *string) promptChoice {
	c := promptChoice{Text: strings.Join(tokens, ""), Index: index, FinishReason: finish}
	if !a.logprobs {
		return c
	}
	c.Logprobs = &promptLogprobs{Tokens: []string{}, TokenLogprobs: []float64{}, TopLogprobs: []map[string]float64{}, TextOffset: []int{}}
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

// forPrompts reports whether a path is that of bare prompts.
func forPrompts(path string) bool {
	return strings.HasSuffix(path, "/completions") && !strings.HasSuffix(path, "/chat/completions")
}

// promptID names an answer of the mock.
func promptID(number int) string { return "cmpl-mock" + strconv.Itoa(number) }
