package openai

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire"
)

// Resume decodes the chunks of an interrupted stream. It returns false for a response with content other than text, which
// cannot be continued.
func resume(req *llm.Request, now func() time.Time, sent []byte) (wire.Continuation, bool) {
	if req.Op != llm.Chat || req.Needs&(llm.Logprobs|llm.AudioOut) != 0 {
		return wire.Continuation{}, false
	}
	var text strings.Builder
	for p, err := range Deltas(lines(sent)) {
		switch {
		case err != nil:
			return wire.Continuation{}, false
		case p.Kind == llm.BeginDelta, p.Kind == llm.UsageDelta:
		case p.Kind == llm.TextDelta && p.Choice == 0:
			text.WriteString(p.Text)
		default:
			return wire.Continuation{}, false
		}
	}
	if text.Len() == 0 {
		return wire.Continuation{}, false
	}
	w := newResponseWriter(req, "", now)
	w.begun = true
	for ev := range lines(sent) { // all chunks have the ID, creation time and model of the first one
		var head struct {
			ID      string      `json:"id"`
			Created json.Number `json:"created"`
			Model   string      `json:"model"`
		}
		if json.Unmarshal(ev.Data, &head) == nil && head.ID != "" {
			w.head.ID, w.head.Model = head.ID, head.Model
			w.head.Created, _ = head.Created.Int64() // 0 if it is not a number
			break
		}
	}
	w.choices = []*choiceWriter{{}}
	return wire.Continuation{Text: text.String(), Encode: w.write}, true
}

func lines(sent []byte) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for line := range bytes.Lines(sent) {
			if line = bytes.TrimSpace(line); len(line) > 0 && !yield(llm.Event{Data: line}, nil) {
				return
			}
		}
	}
}
