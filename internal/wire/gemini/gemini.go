// Package gemini implements the wire format of Google's Gemini models at AI Studio and Vertex AI, for providers. It
// encodes conversations and embedding inputs as requests and decodes responses. Package geminiapi implements the client side.
package gemini

import (
	"bytes"
	"encoding/json"
)

// Name is the format's short name.
const Name = "gemini"

// encode encodes JSON without HTML escapes.
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
