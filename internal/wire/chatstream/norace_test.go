//go:build !race

package chatstream

import (
	"bytes"
	"strings"
	"testing"

	"fairlead.dev/internal/llm"
)

// The race detector discards pooled chunks, so the test does not run with it.
func TestStreamAllocatesNothingPerChunk(t *testing.T) {
	count := func(chunks int) float64 {
		stream := []byte(strings.Repeat(oneChunk, chunks) + "data: [DONE]\n\n")
		return testing.AllocsPerRun(20, func() {
			for range llm.All(Read(bytes.NewReader(stream), EventOptions{Stream: true, Model: "m"})) {
			}
		})
	}
	if few, many := count(10), count(500); many > few+5 {
		t.Errorf("%v allocations for 10 chunks, %v for 500; want at most 5 more", few, many)
	}
}
