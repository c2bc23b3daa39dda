package chat

import (
	"fmt"
	"io"

	"fairlead/internal/llm"
	"fairlead/internal/wire/fault"
)

// ModerationOptions says how a moderations answer is to be read.
type ModerationOptions struct {
	Model       string // written into the answer; empty keeps the provider's
	Inputs      int    // how many results must come; 0 for any number above zero
	ContentType string
	MaxAnswer   int64 // 0 means DefaultMaxAnswer
	SizeHint    int64 // the answer's Content-Length, where there is one
}

// Moderation reads a provider's moderations answer. Only the model's name changes in it. Most providers tell no usage:
// then the event has none.
func Moderation(r io.Reader, o ModerationOptions) (llm.Event, error) {
	a := newResponseReader(r, EventOptions{Model: o.Model, ContentType: o.ContentType, MaxAnswer: o.MaxAnswer, SizeHint: o.SizeHint})
	data, err := a.readAll(r, nil)
	if err != nil {
		return llm.Event{}, err
	}
	data = withoutMark(data)
	if err := a.c.scan(data); err != nil {
		return llm.Event{}, &llm.Error{Kind: llm.UpstreamMalformed, Message: "The provider's answer is not a JSON object" + a.contentType() + ".", Err: err}
	}
	if a.c.fault != nil {
		return llm.Event{}, fault.Inside(a.c.fault)
	}
	a.recordHead(data)
	if n := countResults(data); n == 0 || o.Inputs > 0 && n != o.Inputs {
		return llm.Event{}, malformed(fmt.Sprintf("The provider sent %d results for %d inputs.", n, max(o.Inputs, 1)))
	}
	ev := llm.Event{Content: true, Model: a.reported}
	if usage, ok := parseEmbedUsage(a.c.usage); ok {
		ev.Usage = &usage
	}
	ev.Data = a.rewrite(data, false)
	return ev, nil
}

// countResults counts the verdicts of an answer. The document is valid JSON.
func countResults(data []byte) int {
	s, n := Scanner{Data: data}, 0
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
