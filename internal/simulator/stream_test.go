package simulator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/simulator/simtest"
)

func TestStreamEqualsCompleteResponse(t *testing.T) {
	t.Parallel()
	tool := `,"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]`
	tests := []struct{ name, model, prompt, more string }{
		{"text", "sim-small", "Hello", ""},
		{"several choices", "sim-small", "Hello", `,"n":3`},
		{"reasoning", "sim-reasoner", "Hello", ""},
		{"cut short", "sim-small", "Hello", `,"max_tokens":6`},
		{"tool call", "sim-large", "Please get weather twice", tool},
		{"JSON", "sim-medium", "Hello", `,"response_format":{"type":"json_object"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := NewSimulator(Options{})
			whole := simtest.Chat(t, s, simtest.UserPrompt(tt.model, tt.prompt, tt.more))
			list, done := simtest.ChatStream(t, s, simtest.UserPrompt(tt.model, tt.prompt, tt.more+`,"stream":true,"stream_options":{"include_usage":true}`))
			choices, used := simtest.Collect(t, list)
			if !done || len(list[len(list)-1].Choices) != 0 {
				t.Errorf("stream ends with [DONE] = %t, chunks %+v; want [DONE] after a chunk with usage and without choices", done, list)
			}
			if diff := cmp.Diff(whole.Usage, used); diff != "" {
				t.Errorf("usage: %s", diff)
			}
			for i, c := range whole.Choices {
				got := choices[i]
				text := ""
				if c.Message.Content != nil {
					text = *c.Message.Content
				}
				want := []string{text, c.Message.ReasoningContent, c.FinishReason}
				if diff := cmp.Diff(want, []string{strings.Join(got.Text, ""), strings.Join(got.Reasoning, ""), got.Finish}); diff != "" {
					t.Error(diff)
				}
				if diff := cmp.Diff(c.Message.ToolCalls, got.Calls); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestStreamWithoutUsage(t *testing.T) {
	t.Parallel()
	list, done := simtest.ChatStream(t, NewSimulator(Options{}), simtest.UserPrompt("sim-small", "Hello", `,"stream":true`))
	if !done {
		t.Error("the stream does not end with [DONE]")
	}
	for _, c := range list {
		if len(c.Choices) != 1 || c.Usage != nil {
			t.Errorf("chunk %+v: want one choice and no usage", c)
		}
	}
	if first := list[0].Choices[0].Delta; first.Role != "assistant" || *first.Content != "" {
		t.Errorf("first delta = %+v, want the role and an empty content", first)
	}
}

func TestLogprobs(t *testing.T) {
	t.Parallel()
	whole := simtest.Chat(t, NewSimulator(Options{}), simtest.UserPrompt("sim-large", "Hello", `,"logprobs":true,"top_logprobs":2`))
	var joined strings.Builder
	for _, token := range whole.Choices[0].Logprobs.Content {
		joined.WriteString(token.Token)
		if token.Logprob > 0 || len(token.TopLogprobs) != 2 || token.TopLogprobs[0].Token != token.Token {
			t.Errorf("token %+v, want a negative logprob and the token first of two", token)
		}
	}
	if diff := cmp.Diff(*whole.Choices[0].Message.Content, joined.String()); diff != "" {
		t.Error(diff)
	}
}
