package openai

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

func TestModeration(t *testing.T) {
	t.Parallel()
	const result = `{"flagged":false,"categories":{"violence":false},"category_scores":{"violence":1.0e-7}}`
	tests := map[string]struct {
		body  string
		o     ModerationOptions
		want  string
		usage *llm.Usage
	}{
		"the canonical model": {
			`{"id":"modr-1","model":"up","results":[` + result + `]}`,
			ModerationOptions{Model: "canon", Inputs: 1},
			`{"id":"modr-1","model":"canon","results":[` + result + `]}`, nil,
		},
		"a result for each text": {
			`{"model":"up","results":[` + result + `, ` + result + `]}`, ModerationOptions{Inputs: 2}, `{"model":"up","results":[` + result + `, ` + result + `]}`, nil,
		},
		"parts form one result or several": {
			`{"model":"up","results":[` + result + `]}`, ModerationOptions{}, `{"model":"up","results":[` + result + `]}`, nil,
		},
		"reported usage": {
			`{"model":"up","results":[` + result + `],"usage":{"prompt_tokens":9,"total_tokens":9,"completion_tokens":0}}`,
			ModerationOptions{Inputs: 1},
			`{"model":"up","results":[` + result + `],"usage":{"prompt_tokens":9,"total_tokens":9,"completion_tokens":0}}`, &llm.Usage{Input: 9},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ev, err := Moderation(strings.NewReader(tc.body), tc.o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(ev.Data)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.usage, ev.Usage); diff != "" || ev.Model != "up" || !ev.Content {
				t.Errorf("event %+v, usage (-want +got):\n%s", ev, diff)
			}
		})
	}
}

func TestModerationRejectsInvalidResponses(t *testing.T) {
	t.Parallel()
	for body, kind := range map[string]llm.Kind{
		``:                             llm.UpstreamMalformed,
		`<html>`:                       llm.UpstreamMalformed,
		`{"model":"m"}`:                llm.UpstreamMalformed,
		`{"results":[]}`:               llm.UpstreamMalformed,
		`{"results":[null]}`:           llm.UpstreamMalformed,
		`{"results":{}}`:               llm.UpstreamMalformed,
		`{"results":[{},{}]}`:          llm.UpstreamMalformed,
		`{"results":[{}]} x`:           llm.UpstreamMalformed,
		`{"error":{"message":"no"}}`:   llm.UpstreamServer,
		`{"results":[{}],"error":"x"}`: llm.UpstreamServer,
	} {
		_, err := Moderation(strings.NewReader(body), ModerationOptions{Inputs: 1})
		if err == nil || llm.AsError(err).Kind != kind {
			t.Errorf("%s: %v, want %s", body, err, kind)
		}
	}
}

func FuzzModeration(f *testing.F) {
	f.Add([]byte(`{"model":"up","results":[{"flagged":true}],"usage":{"prompt_tokens":1}}`), 1)
	f.Add([]byte(`{"results":[[{}]],"error":null}`), 0)
	f.Fuzz(func(t *testing.T, answer []byte, inputs int) {
		ev, err := Moderation(strings.NewReader(string(answer)), ModerationOptions{Model: "m", Inputs: inputs})
		if err == nil && (!ev.Content || len(ev.Data) == 0) {
			t.Fatalf("response %q gave event %+v, want content", answer, ev)
		}
	})
}
