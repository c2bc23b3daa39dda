package openai

import (
	"encoding/base64"
	"encoding/binary"
	"math"
)

// Embedding is one entry of an embeddings response.
type Embedding struct {
	Object    string `json:"object"`
	Index     int    `json:"index"`
	Embedding any    `json:"embedding"` // []float32 or base64 text
}

// EncodeVector encodes the vector as little-endian float32 in base64.
func EncodeVector(unit []float32) string {
	raw := make([]byte, 0, 4*len(unit))
	for _, v := range unit {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return base64.StdEncoding.EncodeToString(raw)
}
