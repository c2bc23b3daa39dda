// Package gemini is the wire format of Google's Gemini models, at AI Studio and at Vertex AI, as a provider speaks it: it
// writes conversations and texts to embed as requests, and reads the answers. It does not read requests of clients.
package gemini

import (
	"bytes"
	"encoding/json"
)

// Name is the format's short name.
const Name = "gemini"

// encode writes a value as JSON with its characters as they are.
func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}

// isObject reports whether raw is one JSON object.
func isObject(raw []byte) bool {
	trimmed := bytes.TrimLeft(raw, " \t\r\n")
	return len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(trimmed)
}
