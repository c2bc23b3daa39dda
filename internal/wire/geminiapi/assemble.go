package geminiapi

import (
	"bytes"
	"errors"
	"fmt"
	"iter"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/gemini"
)

// Assemble joins the events of a stream, one per line, into one response.
func Assemble(events []byte) ([]byte, error) {
	if bytes.Contains(events, []byte(`"inlineData"`)) {
		return nil, errors.New("response contains media") // parts with media cannot be joined
	}
	e := newEncoder(&llm.Request{}, "")
	e.thoughts = true
	named := func(yield func(llm.Delta, error) bool) {
		for d, err := range Stored(events) {
			if d.Kind == llm.BeginDelta {
				e.model = d.Model
			}
			if !yield(d, err) {
				return
			}
		}
	}
	for ev, err := range e.write(named) {
		return ev.Data, err
	}
	return nil, errors.New("response is empty")
}

// Stored decodes a stored response: one event per line, or a complete response.
func Stored(response []byte) iter.Seq2[llm.Delta, error] {
	var wired bytes.Buffer
	for line := range bytes.Lines(response) {
		fmt.Fprintf(&wired, "data: %s\n\n", bytes.TrimSpace(line))
	}
	return gemini.Deltas(&wired, gemini.DeltaOptions{Stream: true})
}
