package chat

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/embeddings"
)

func embedRequest(t *testing.T, body string) *llm.Request {
	t.Helper()
	req, err := Format{}.DecodeRequest(t.Context(), llm.Embed, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func TestTexts(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][]string{
		`{"model":"e","input":"a\u00e9"}`:          {"a\u00e9"},
		`{"input":["a","","b"],"model":"e"}`:       {"a", "", "b"},
		`{"model":"e","user":"x","input":[ "a" ]}`: {"a"},
	} {
		got, err := embeddings.Texts(embedRequest(t, body))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v, texts (-want +got):\n%s", body, err, diff)
		}
	}
	for _, body := range []string{`{"model":"e","input":[1,2]}`, `{"model":"e","input":[[1],[2]]}`} {
		_, err := embeddings.Texts(embedRequest(t, body))
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != llm.Untranslatable || e.Param != "input" {
			t.Errorf("%s: %v, want Untranslatable for input", body, err)
		}
	}
}

func TestWriteVectors(t *testing.T) {
	t.Parallel()
	lists := []json.RawMessage{json.RawMessage(" [0.10, 1e-7]"), json.RawMessage("[1,-2.5]")}
	for name, tc := range map[string]struct {
		request string
		usage   *llm.Usage
		want    string
	}{
		"numbers are copied unchanged": {
			`{"model":"e","input":["a","b"]}`, &llm.Usage{Input: 3},
			`{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.10, 1e-7]},{"object":"embedding","index":1,"embedding":[1,-2.5]}],"model":"canon","usage":{"prompt_tokens":3,"total_tokens":3}}`,
		},
		"base64 and an estimated count": {
			`{"model":"e","input":["a","b"],"encoding_format":"base64"}`, nil,
			`{"object":"list","data":[{"object":"embedding","index":0,"embedding":"zczMPZW/1jM="},{"object":"embedding","index":1,"embedding":"AACAPwAAIMA="}],"model":"canon","usage":{"prompt_tokens":1,"total_tokens":1}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ev, err := embeddings.WriteVectors(embedRequest(t, tc.request), "canon", llm.Vectors{Data: lists, Usage: tc.usage, Model: "real"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(ev.Data)); diff != "" {
				t.Error(diff)
			}
			if ev.Usage != tc.usage || !ev.Content || ev.Model != "real" {
				t.Errorf("event %+v, want usage %+v and model real", ev, tc.usage)
			}
		})
	}
}

func TestInvalidVectorsAreRejected(t *testing.T) {
	t.Parallel()
	req := embedRequest(t, `{"model":"e","input":"a"}`)
	for _, list := range []string{``, `[]`, `null`, `"x"`, `[1`, `[1]]`, `[null]`, `["a"]`, `[1e99]`} {
		if ev, err := embeddings.WriteVectors(req, "m", llm.Vectors{Data: []json.RawMessage{json.RawMessage(list)}}); err == nil {
			t.Errorf("WriteVectors(%s) = %s, want an error", list, ev.Data)
		}
	}
	for _, count := range []int{0, 2} {
		if _, err := embeddings.WriteVectors(req, "m", llm.Vectors{Data: make([]json.RawMessage, count)}); llm.AsError(err).Kind != llm.UpstreamMalformed {
			t.Errorf("%d vectors: %v, want UpstreamMalformed", count, err)
		}
	}
}
