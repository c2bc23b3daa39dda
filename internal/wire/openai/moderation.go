package openai

import (
	"io"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// ModerationOptions holds the settings for decoding a moderations response.
type ModerationOptions struct {
	Model       string // model name of the response; empty to keep the provider's name
	Inputs      int    // expected number of results; 0 for any number above zero
	ContentType string
	MaxResponse int64 // maximum size of the response in bytes; 0 for DefaultMaxResponse
	SizeHint    int64 // Content-Length of the response, if known
}

// Moderation decodes a provider's moderations response. Only the model name is changed. Most providers report no usage;
// in that case, the event has no usage.
func Moderation(r io.Reader, o ModerationOptions) (llm.Event, error) {
	d, err := ReadDocument(r, EventOptions{Model: o.Model, ContentType: o.ContentType, MaxResponse: o.MaxResponse, SizeHint: o.SizeHint})
	if err != nil {
		return llm.Event{}, err
	}
	if n := countResults(d.Data); n == 0 || o.Inputs > 0 && n != o.Inputs {
		return llm.Event{}, llm.Errorf(llm.UpstreamMalformed, "The provider sent %d results for %d inputs.", n, max(o.Inputs, 1))
	}
	ev := llm.Event{Content: true, Model: d.Model, Usage: d.Usage}
	ev.Data, err = d.WithModel(d.Data)
	return ev, err
}

// countResults counts the results of a response, which must be valid JSON.
func countResults(data []byte) int {
	s, n := rawjson.Scanner{Data: data}, 0
	for key := range s.Members {
		if string(key) != "results" || s.Kind() != '[' {
			continue
		}
		for range s.Elements {
			if s.Kind() == '{' {
				n++
			}
		}
	}
	return n
}
