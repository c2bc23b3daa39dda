package openai

import (
	"encoding/json"
	"testing"

	"fairlead.dev/internal/llm"
)

func TestInvalidVectorsAreRejected(t *testing.T) {
	t.Parallel()
	req := decode(t, llm.Embed, `{"model":"e","input":"a"}`)
	for _, list := range []string{``, `[]`, `null`, `"x"`, `[1`, `[1]]`, `[null]`, `["a"]`, `[1e99]`} {
		if ev, err := WriteVectors(req, "m", llm.Vectors{Data: []json.RawMessage{json.RawMessage(list)}}); err == nil {
			t.Errorf("WriteVectors(%s) = %s, want an error", list, ev.Data)
		}
	}
	for _, count := range []int{0, 2} {
		if _, err := WriteVectors(req, "m", llm.Vectors{Data: make([]json.RawMessage, count)}); llm.AsError(err).Kind != llm.UpstreamMalformed {
			t.Errorf("%d vectors: %v, want UpstreamMalformed", count, err)
		}
	}
}
