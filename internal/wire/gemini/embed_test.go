package gemini

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

func TestVectors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body   string
		inputs int
		want   llm.Vectors
		kind   llm.Kind
	}{
		"AI Studio":           {`{"embeddings":[{"values":[0.10, -1e-7]},{"values":[2]}]}`, 2, llm.Vectors{Data: []json.RawMessage{json.RawMessage(`[0.10, -1e-7]`), json.RawMessage(`[2]`)}}, ""},
		"Vertex":              {`{"predictions":[{"embeddings":{"values":[1],"statistics":{"token_count":3}}},{"embeddings":{"values":[2],"statistics":{"token_count":4}}}]}`, 2, llm.Vectors{Data: []json.RawMessage{json.RawMessage(`[1]`), json.RawMessage(`[2]`)}, Usage: &llm.Usage{Input: 7}}, ""},
		"with usage":          {`{"embeddings":[{"values":[1]}],"usageMetadata":{"promptTokenCount":9}}`, 1, llm.Vectors{Data: []json.RawMessage{json.RawMessage(`[1]`)}, Usage: &llm.Usage{Input: 9}}, ""},
		"a missing vector":    {`{"embeddings":[{"values":[1]}]}`, 2, llm.Vectors{}, llm.UpstreamMalformed},
		"none":                {`{}`, 0, llm.Vectors{}, llm.UpstreamMalformed},
		"an empty vector":     {`{"embeddings":[{"values":[ ]}]}`, 1, llm.Vectors{}, llm.UpstreamMalformed},
		"a vector of strings": {`{"embeddings":[{"values":[1,"2",3]}]}`, 1, llm.Vectors{}, llm.UpstreamMalformed},
		"a nested vector":     {`{"embeddings":[{"values":[1,[2],3]}]}`, 1, llm.Vectors{}, llm.UpstreamMalformed},
		"not a list":          {`{"embeddings":[{"values":"AAAA"}]}`, 1, llm.Vectors{}, llm.UpstreamMalformed},
		"an error":            {`{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"m"}}`, 1, llm.Vectors{}, llm.UpstreamRateLimited},
		"no JSON":             {`<html>`, 1, llm.Vectors{}, llm.UpstreamMalformed},
		"larger than allowed": {`{"embeddings":[{"values":[` + strings.Repeat("1,", 600) + `1]}]}`, 1, llm.Vectors{}, llm.UpstreamMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Vectors(strings.NewReader(tc.body), VectorOptions{Inputs: tc.inputs, MaxResponse: 1000})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (err == nil) != (tc.kind == "") || err != nil && llm.AsError(err).Kind != tc.kind {
				t.Errorf("got %v, want %q", err, tc.kind)
			}
		})
	}
	if _, err := Vectors(iotest.ErrReader(io.ErrUnexpectedEOF), VectorOptions{Inputs: 1}); llm.AsError(err).Kind != llm.StreamInterrupted {
		t.Errorf("broken connection: %v, want StreamInterrupted", err)
	}
}

func FuzzVectors(f *testing.F) {
	f.Add(`{"embeddings":[{"values":[0.1,2e-7]}]}`)
	f.Add(`{"predictions":[{"embeddings":{"values":[1],"statistics":{"token_count":-3}}}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		got, err := Vectors(strings.NewReader(body), VectorOptions{Inputs: 1})
		if err != nil {
			return
		}
		var list []json.Number
		if len(got.Data) != 1 || json.Unmarshal(got.Data[0], &list) != nil || len(list) == 0 {
			t.Errorf("Vectors(%q) = %s, want one list of numbers", body, got.Data)
		}
	})
}
