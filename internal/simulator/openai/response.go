// Package openai builds responses in the format of the OpenAI API without a model: bodies, streams, token counts and
// values that satisfy a JSON schema. The simulator and the mock provider for tests share it.
package openai

import (
	"encoding/json"
	"net/http"
	"strings"
)

// Response is the complete response to a request. It can be written as one body or as a stream.
type Response struct {
	ID       string
	Created  int64
	Model    string
	Choices  []Choice
	Usage    *Usage
	Logprobs bool
	Top      int
}

// Choice is one of the requested choices. Text and reasoning are split into the pieces of a stream.
type Choice struct {
	Reasoning []string
	Text      []string
	Calls     []ToolCall
	Finish    string
}

// Usage is the token usage of a response.
type Usage struct {
	PromptTokens      int64             `json:"prompt_tokens"`
	CompletionTokens  int64             `json:"completion_tokens"`
	TotalTokens       int64             `json:"total_tokens"`
	PromptDetails     PromptDetails     `json:"prompt_tokens_details"`
	CompletionDetails completionDetails `json:"completion_tokens_details"`
}

// PromptDetails is the breakdown of the prompt tokens.
type PromptDetails struct {
	CachedTokens int64 `json:"cached_tokens"`
	AudioTokens  int64 `json:"audio_tokens"`
}

type completionDetails struct {
	ReasoningTokens    int64 `json:"reasoning_tokens"`
	AudioTokens        int64 `json:"audio_tokens"`
	AcceptedPrediction int64 `json:"accepted_prediction_tokens"`
	RejectedPrediction int64 `json:"rejected_prediction_tokens"`
}

// ToolCall is a call of a function or of a custom tool. Exactly one of Function and Custom is set.
type ToolCall struct {
	ID       string        `json:"id"`
	Type     string        `json:"type"`
	Function *FunctionCall `json:"function,omitempty"`
	Custom   *CustomCall   `json:"custom,omitempty"`
}

// FunctionCall holds the name of a function and its arguments as JSON text.
type FunctionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// CustomCall holds the name of a custom tool and its input as plain text.
type CustomCall struct {
	Name  string `json:"name"`
	Input string `json:"input"`
}

// Content types of responses.
const (
	EventStream = "text/event-stream"
	JSON        = "application/json"
)

// ContentType returns the content type of a streamed or complete response.
func ContentType(stream bool) string {
	if stream {
		return EventStream
	}
	return JSON
}

// WriteJSON writes value as a JSON response.
func WriteJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", JSON)
	w.WriteHeader(status)
	_, _ = w.Write(append(Encode(value), '\n'))
}

// Encode encodes a value of this package's types as JSON. Like providers, it does not escape <, > and &.
func Encode(value any) []byte {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		panic("openai: encode a response: " + err.Error()) // unreachable: this package's types always encode
	}
	return []byte(strings.TrimSuffix(out.String(), "\n"))
}
