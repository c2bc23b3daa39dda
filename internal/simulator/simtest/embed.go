package simtest

import (
	"encoding/json"
	"net/http"
	"testing"
)

// EmbeddingResponse is a decoded embeddings response.
type EmbeddingResponse struct {
	Model string
	Data  []struct {
		Index     int
		Embedding json.RawMessage
	}
	Usage *struct {
		Prompt int64 `json:"prompt_tokens"`
		Total  int64 `json:"total_tokens"`
	}
}

// Embed sends an embeddings request and decodes the response. It fails the test unless the status is 200.
func Embed(t *testing.T, h http.Handler, body string) EmbeddingResponse {
	t.Helper()
	resp := Post(t, h, "/v1/embeddings", body)
	defer resp.Body.Close()
	text, err := ReadAll(resp)
	var a EmbeddingResponse
	if err != nil || resp.StatusCode != http.StatusOK || json.Unmarshal([]byte(text), &a) != nil {
		t.Fatalf("status %d, error %v, body %s", resp.StatusCode, err, text)
	}
	return a
}
