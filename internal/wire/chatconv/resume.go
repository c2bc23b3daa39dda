package chatconv

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/wire"
)

// Resume decodes the chunks of an interrupted stream. It returns false for a response with log probabilities or audio,
// which cannot be continued.
func Resume(req *llm.Request, now func() time.Time, sent []byte) (wire.Continuation, bool) {
	if req.Op != llm.Chat || req.Needs&(llm.Logprobs|llm.AudioOut) != 0 {
		return wire.Continuation{}, false
	}
	text, ok := textOnly(sent)
	if !ok {
		return wire.Continuation{}, false
	}
	w := newResponseWriter(req, "", now)
	w.readHead(sent)
	w.choices = []*choiceWriter{{}}
	return wire.Continuation{Text: text, Encode: w.write}, true
}

// textOnly returns the text of a stream. It returns false if there is other content.
func textOnly(sent []byte) (string, bool) {
	var said strings.Builder
	for p, err := range Deltas(lines(sent)) {
		switch {
		case err != nil:
			return "", false
		case p.Kind == llm.BeginDelta, p.Kind == llm.UsageDelta:
		case p.Kind == llm.TextDelta && p.Choice == 0:
			said.WriteString(p.Text)
		default:
			return "", false
		}
	}
	return said.String(), said.Len() > 0
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

// readHead copies the members that all chunks share.
func (w *responseWriter) readHead(sent []byte) {
	w.begun = true
	for ev := range lines(sent) {
		var head struct {
			ID      string      `json:"id"`
			Created json.Number `json:"created"`
			Model   string      `json:"model"`
		}
		if json.Unmarshal(ev.Data, &head) == nil && head.ID != "" {
			w.id, w.model = head.ID, head.Model
			w.created, _ = head.Created.Int64() // 0 if it is not a number
			return
		}
	}
}
