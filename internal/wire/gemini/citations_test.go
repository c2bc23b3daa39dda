package gemini

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

// cited returns the citations of a response as "title start-end".
func cited(t *testing.T, body string, stream bool) []string {
	t.Helper()
	deltas, _, err := deltaWords(strings.NewReader(body), DeltaOptions{Search: true, Stream: stream})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range deltas {
		if d.Kind == llm.CitationDelta {
			got = append(got, fmt.Sprintf("%s %d-%d", d.Citation.Title, d.Citation.Start, d.Citation.End))
		}
	}
	return got
}

func TestGroundingBecomesCitations(t *testing.T) {
	t.Parallel()
	const chunks = `"groundingChunks":[{"web":{"uri":"https://a.example","title":"A"}},{"web":{"uri":"https://b.example","title":"B"}},{"retrievedContext":{"uri":"gs://c"}}]`
	whole := func(parts, metadata string) string {
		return `{"candidates":[{"content":{"parts":[` + parts + `]},"finishReason":"STOP","groundingMetadata":{` + metadata + `}}]}`
	}
	support := func(segment, indices string) string {
		return `{"segment":{` + segment + `},"groundingChunkIndices":[` + indices + `]}`
	}
	for name, c := range map[string]struct {
		parts, metadata string
		want            []string
	}{
		"bytes become characters": {`{"text":"äöü äöü"}`, chunks + `,"groundingSupports":[` + support(`"startIndex":7,"endIndex":13`, "0,1") + `]`, []string{"A 4-7", "B 4-7"}},
		"ranges in any order":     {`{"text":"äöü äöü"}`, chunks + `,"groundingSupports":[` + support(`"startIndex":7,"endIndex":13`, "0") + "," + support(`"endIndex":6`, "1") + `]`, []string{"B 0-3", "A 4-7"}},
		"the second part":         {`{"text":"thought","thought":true},{"text":"äö"},{"text":"ü x"}`, chunks + `,"groundingSupports":[` + support(`"partIndex":2,"startIndex":0,"endIndex":2`, "0") + `]`, []string{"A 2-3"}},
		"inside a character":      {`{"text":"äöü"}`, chunks + `,"groundingSupports":[` + support(`"startIndex":1,"endIndex":3`, "0") + `]`, []string{"A 1-2"}},
		"outside of the text":     {`{"text":"abc"}`, chunks + `,"groundingSupports":[` + support(`"startIndex":-5,"endIndex":900`, "0,7,-1") + `]`, []string{"A 0-3"}},
		"reversed":                {`{"text":"abc"}`, chunks + `,"groundingSupports":[` + support(`"startIndex":2,"endIndex":1`, "0") + `]`, []string{"A 2-2"}},
		"sources without ranges":  {`{"text":"äöü"}`, chunks, []string{"A 3-3", "B 3-3"}},
		"no web page":             {`{"text":"abc"}`, chunks + `,"groundingSupports":[` + support(`"endIndex":3`, "2") + `]`, nil},
		"unknown form":            {`{"text":"abc"}`, `"groundingChunks":"none"`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, cited(t, whole(c.parts, c.metadata), false)); diff != "" {
				t.Error(diff)
			}
		})
	}
	stream := "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"äö\"}]}}]}\n\n" +
		"data: " + whole(`{"text":"ü x"}`, chunks+`,"groundingSupports":[`+support(`"startIndex":4,"endIndex":6`, "0")+`]`) + "\n\n"
	if diff := cmp.Diff([]string{"A 2-3"}, cited(t, stream, true)); diff != "" {
		t.Errorf("stream: %s", diff)
	}
}
