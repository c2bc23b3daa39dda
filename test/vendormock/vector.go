package vendormock

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
)

// Vector returns the embedding of a text: a deterministic unit vector that differs for different texts.
func Vector(text string, size int) []float64 {
	values := make([]float64, size)
	sum := 0.0
	for i := range values {
		seed := binary.LittleEndian.AppendUint64([]byte(text), uint64(i))
		hash := sha256.Sum256(seed)
		values[i] = float64(binary.LittleEndian.Uint16(hash[:]))/math.MaxUint16 - 0.5
		sum += values[i] * values[i]
	}
	for i := range values {
		values[i] = float64(float32(values[i] / math.Sqrt(sum)))
	}
	return values
}
