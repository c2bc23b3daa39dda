package simulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/simulator/openai"
)

// chatRequest holds the fields of a chat request that the simulator uses. Other fields are ignored.
type chatRequest struct {
	Model               string          `json:"model"`
	Messages            []message       `json:"messages"`
	Stream              bool            `json:"stream"`
	StreamOptions       streamOptions   `json:"stream_options"`
	MaxTokens           *int64          `json:"max_tokens"`
	MaxCompletionTokens *int64          `json:"max_completion_tokens"`
	N                   *int            `json:"n"`
	Stop                stopList        `json:"stop"`
	Temperature         *float64        `json:"temperature"`
	TopP                *float64        `json:"top_p"`
	Logprobs            bool            `json:"logprobs"`
	TopLogprobs         int             `json:"top_logprobs"`
	ReasoningEffort     string          `json:"reasoning_effort"`
	Tools               []tool          `json:"tools"`
	ToolChoice          json.RawMessage `json:"tool_choice"`
	ParallelToolCalls   *bool           `json:"parallel_tool_calls"`
	ResponseFormat      *responseFormat `json:"response_format"`
	PromptCacheKey      string          `json:"prompt_cache_key"`
	User                string          `json:"user"`
	Metadata            metadata        `json:"metadata"`

	judging *Judging  // behaviour of the models as judges; nil in legacy completions
	models  []profile // profiles of all simulated models
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type responseFormat struct {
	Type       string `json:"type"`
	JSONSchema struct {
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}

type tool struct {
	Type     string `json:"type"`
	Function struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	} `json:"function"`
	Custom struct {
		Name string `json:"name"`
	} `json:"custom"`
}

func (t tool) name() string {
	if t.Type == "custom" {
		return t.Custom.Name
	}
	return t.Function.Name
}

type message struct {
	Role      string            `json:"role"`
	Content   openai.Content    `json:"content"`
	ToolCalls []openai.ToolCall `json:"tool_calls"`
}

// stopList holds one or more stop sequences.
type stopList []string

// UnmarshalJSON reads a string, a list of strings, or null.
func (s *stopList) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*s = nil
		if one != "" {
			*s = stopList{one}
		}
		return nil
	}
	var several []string
	if err := json.Unmarshal(b, &several); err != nil {
		return errors.New("stop must be a string or a list of strings")
	}
	*s = slices.DeleteFunc(several, func(stop string) bool { return stop == "" })
	return nil
}

// metadata holds the value of the metadata label "simulate". Other labels are ignored.
type metadata struct{ simulate string }

// UnmarshalJSON never returns an error, because invalid metadata must not cause an error response.
func (m *metadata) UnmarshalJSON(b []byte) error {
	var labels map[string]json.RawMessage
	_ = json.Unmarshal(b, &labels)
	_ = json.Unmarshal(labels["simulate"], &m.simulate)
	return nil
}

// check rejects requests that the model does not support, with OpenAI's error messages.
func (q *chatRequest) check(p profile) error {
	if len(q.Messages) == 0 {
		return openai.BadRequest("Missing required parameter: 'messages'.", "messages", "missing_required_parameter")
	}
	for i, m := range q.Messages {
		if !slices.Contains([]string{"system", "developer", "user", "assistant", "tool", "function"}, m.Role) {
			return openai.BadRequest(fmt.Sprintf("Invalid value: '%s' for 'messages[%d].role'.", m.Role, i), fmt.Sprintf("messages[%d].role", i), "invalid_value")
		}
		if len(m.Content.Images) > 0 && !p.abilities.Has(llm.Vision) {
			return openai.BadRequest("Invalid content type. image_url is only supported by certain models.", fmt.Sprintf("messages[%d].content", i), "invalid_value")
		}
	}
	if err := q.checkNumbers(p); err != nil {
		return err
	}
	if p.fixed {
		return q.checkFixed()
	}
	switch {
	case len(q.Tools) > 0 && !p.abilities.Has(llm.Tools):
		return openai.BadRequest("tools is not supported in this model.", "tools", "unsupported_parameter")
	case q.format() == "json_schema" && !p.abilities.Has(llm.JSONSchema):
		return openai.BadRequest("Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.", "response_format", "unsupported_parameter")
	case q.Logprobs && !p.abilities.Has(llm.Logprobs):
		return openai.BadRequest("Unsupported parameter: 'logprobs' is not supported with this model.", "logprobs", "unsupported_parameter")
	}
	return nil
}

func (q *chatRequest) checkNumbers(p profile) error {
	if q.N != nil && (*q.N < 1 || *q.N > 128) {
		return openai.BadRequest("Invalid 'n': must be between 1 and 128.", "n", "invalid_value")
	}
	for name, limit := range map[string]*int64{"max_tokens": q.MaxTokens, "max_completion_tokens": q.MaxCompletionTokens} {
		if limit == nil {
			continue
		}
		if *limit < 1 {
			return openai.BadRequest(fmt.Sprintf("Invalid '%s': integer below minimum value. Expected a value >= 1.", name), name, "integer_below_min_value")
		}
		if *limit > p.maxOutput {
			return openai.BadRequest(fmt.Sprintf("%s is too large: %d. This model supports at most %d completion tokens.", name, *limit, p.maxOutput), name, "invalid_value")
		}
	}
	return nil
}

// checkFixed rejects the fields that reasoning models do not accept.
func (q *chatRequest) checkFixed() error {
	switch {
	case q.MaxTokens != nil:
		return openai.BadRequest("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "max_tokens", "unsupported_parameter")
	case q.Temperature != nil && *q.Temperature != 1:
		return openai.BadRequest("Unsupported value: 'temperature' does not support this value with this model. Only the default (1) value is supported.", "temperature", "unsupported_value")
	case q.TopP != nil && *q.TopP != 1:
		return openai.BadRequest("Unsupported parameter: 'top_p' is not supported with this model.", "top_p", "unsupported_parameter")
	case q.Logprobs:
		return openai.BadRequest("Unsupported parameter: 'logprobs' is not supported with this model.", "logprobs", "unsupported_parameter")
	}
	return nil
}

func (q *chatRequest) format() string {
	if q.ResponseFormat == nil {
		return ""
	}
	return q.ResponseFormat.Type
}

// lastUser returns the text of the last user message.
func (q *chatRequest) lastUser() string {
	for _, m := range slices.Backward(q.Messages) {
		if m.Role == "user" {
			return m.Content.Text
		}
	}
	return q.Messages[len(q.Messages)-1].Content.Text
}

// prefill returns the text of a final assistant message, which the response continues.
func (q *chatRequest) prefill() string {
	last := q.Messages[len(q.Messages)-1]
	if last.Role != "assistant" || len(last.ToolCalls) > 0 {
		return ""
	}
	return last.Content.Text
}

// seed returns the hash of the conversation. It does not depend on the model, so the responses of all models begin with the
// same text, and another model can continue an interrupted stream.
func (q *chatRequest) seed() uint64 {
	h := uint64(openai.HashSeed)
	messages := q.Messages
	if q.prefill() != "" {
		messages = messages[:len(messages)-1]
	}
	for _, m := range messages {
		h = openai.Hash(openai.Hash(h, m.Role), m.Content.Text)
		for _, call := range m.ToolCalls {
			h = openai.Hash(h, call.ID)
		}
		for _, image := range m.Content.Images {
			h = openai.Hash(h, image)
		}
	}
	return openai.Mix(h)
}

// meter counts the tokens of the prompt. salt separates the caches of callers.
func (q *chatRequest) meter(salt string) *promptMeter {
	m := &promptMeter{hash: openai.Hash(openai.HashSeed, strings.Join([]string{q.Model, salt, q.PromptCacheKey, q.User}, "\x00"))}
	if len(q.Tools) > 0 {
		m.text(string(openai.Encode(q.Tools)))
	}
	for _, msg := range q.Messages {
		m.fixed(msg.Role, 4) // tokens that frame a message
		m.text(msg.Content.Text)
		for _, call := range msg.ToolCalls {
			m.text(string(openai.Encode(call)))
		}
		for _, image := range msg.Content.Images {
			m.fixed(image, openai.ImageTokens)
		}
	}
	return m
}
