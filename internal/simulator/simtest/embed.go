package simtest

import (
	"encoding/json"
	"net/http"
	"testing"
)

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

func Embed(t *testing.T, h http.Handler, body string) EmbeddingResponse {
	t.Helper()
	resp := Post(t, h, "/v1/embeddings", body)
	text, err := ReadAll(resp)
	var a EmbeddingResponse
	if err != nil || resp.StatusCode != http.StatusOK || json.Unmarshal([]byte(text), &a) != nil {
		t.Fatalf("status %d, error %v, body %s", resp.StatusCode, err, text)
	}
	return a
}
