package simtest

import (
	"encoding/json"
	"net/http"
	"testing"

	"fairlead.dev/internal/simulator/openai"
)

// Chat sends a chat request and decodes the complete response.
func Chat(t *testing.T, h http.Handler, body string) openai.Completion {
	t.Helper()
	resp := Post(t, h, "/v1/chat/completions", body)
	defer resp.Body.Close()
	text, err := ReadAll(resp)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d, error %v, body %s", resp.StatusCode, err, text)
	}
	var whole openai.Completion
	if err := json.Unmarshal([]byte(text), &whole); err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
	return whole
}

// ChatStream sends a streamed chat request and decodes its events. done reports whether the stream ended with [DONE].
func ChatStream(t *testing.T, h http.Handler, body string) (list []openai.Chunk, done bool) {
	t.Helper()
	resp := Post(t, h, "/v1/chat/completions", body)
	defer resp.Body.Close()
	text, err := ReadAll(resp)
	if err != nil || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("type %s, error %v, body %s", resp.Header.Get("Content-Type"), err, text)
	}
	for _, data := range EventData(text) {
		if data == "[DONE]" {
			return list, true
		}
		var c openai.Chunk
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatalf("decode %s: %v", data, err)
		}
		list = append(list, c)
	}
	return list, false
}

// Collect joins the chunks of a stream, like a client.
func Collect(t *testing.T, list []openai.Chunk) (choices []openai.Choice, used *openai.Usage) {
	t.Helper()
	for _, c := range list {
		if c.ID != list[0].ID || c.Model != list[0].Model || c.Created != list[0].Created {
			t.Errorf("chunk has a different ID, model or time from the first one: %+v", c)
		}
		if c.Usage != nil {
			used = c.Usage
		}
		for _, part := range c.Choices {
			for len(choices) <= part.Index {
				choices = append(choices, openai.Choice{})
			}
			addPart(t, &choices[part.Index], part)
		}
	}
	return choices, used
}

func addPart(t *testing.T, into *openai.Choice, part openai.ChunkChoice) {
	t.Helper()
	if into.Finish != "" {
		t.Errorf("chunk after the finish reason: %+v", part)
	}
	if part.Delta.Content != nil {
		into.Text = append(into.Text, *part.Delta.Content)
	}
	into.Reasoning = append(into.Reasoning, part.Delta.ReasoningContent)
	for _, call := range part.Delta.ToolCalls {
		if call.ID != "" {
			if call.Index != len(into.Calls) {
				t.Errorf("call index %d, want %d", call.Index, len(into.Calls))
			}
			into.Calls = append(into.Calls, openai.ToolCall{ID: call.ID, Type: call.Type, Function: &openai.FunctionCall{Name: call.Function.Name}})
		}
		into.Calls[call.Index].Function.Arguments += call.Function.Arguments
	}
	if part.FinishReason != nil {
		into.Finish = *part.FinishReason
	}
}
