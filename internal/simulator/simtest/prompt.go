package simtest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"fairlead.dev/internal/simulator/openai"
)

// Complete sends a legacy completions request and decodes the complete response.
func Complete(t *testing.T, h http.Handler, body string) openai.TextCompletion {
	t.Helper()
	resp := Post(t, h, "/v1/completions", body)
	defer resp.Body.Close()
	text, err := ReadAll(resp)
	var whole openai.TextCompletion
	if err != nil || resp.StatusCode != http.StatusOK || json.Unmarshal([]byte(text), &whole) != nil {
		t.Fatalf("status %d, error %v, body %s", resp.StatusCode, err, text)
	}
	return whole
}

// CompleteStream sends a streamed legacy completions request and joins the text of each choice.
func CompleteStream(t *testing.T, h http.Handler, body string) (texts, finishes map[int]string, used *openai.Usage) {
	t.Helper()
	resp := Post(t, h, "/v1/completions", body)
	defer resp.Body.Close()
	text, err := ReadAll(resp)
	if err != nil || !strings.HasSuffix(text, "data: [DONE]\n\n") {
		t.Fatalf("error %v, body %s", err, text)
	}
	texts, finishes = map[int]string{}, map[int]string{}
	for _, data := range EventData(strings.TrimSuffix(text, "data: [DONE]\n\n")) {
		var c openai.TextCompletion
		if err := json.Unmarshal([]byte(data), &c); err != nil || c.Object != "text_completion" {
			t.Fatalf("decode %s: %v", data, err)
		}
		if c.Usage != nil {
			used = c.Usage
		}
		for _, part := range c.Choices {
			texts[part.Index] += part.Text
			if part.FinishReason != nil {
				finishes[part.Index] += *part.FinishReason
			}
		}
	}
	return texts, finishes, used
}
