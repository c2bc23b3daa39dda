package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"strings"

	"fairlead/internal/llm"
	"fairlead/internal/wire"
)

var _ wire.Resumer = Format{}

// Prefill returns the request with text as how the assistant's answer begins.
func (f Format) Prefill(ctx context.Context, req *llm.Request, text string, most int64) (*llm.Request, error) {
	var message Writer
	message.Open()
	message.Str("role", "assistant")
	message.Str("content", text)
	message.Close()
	return f.DecodeRequest(ctx, req.Op, req.Replace(func(name string, value []byte) []byte {
		switch {
		case name == "messages":
			end := bytes.LastIndexByte(value, ']')
			return slices.Concat(bytes.TrimRight(value[:end], " \t\r\n"), []byte{','}, message.Out, value[end:])
		case (name == "max_tokens" || name == "max_completion_tokens") && most > 0 && string(value) != "null":
			return strconv.AppendInt(nil, most, 10)
		}
		return nil
	}))
}

// Resume reads the chunks of a stream that broke. What follows has neither log probabilities nor sound, so that an answer with
// them does not go on.
func (f Format) Resume(req *llm.Request, sent []byte) (wire.Continuation, bool) {
	if req.Op != llm.Chat || req.Needs&(llm.Logprobs|llm.AudioOut) != 0 {
		return wire.Continuation{}, false
	}
	text, ok := textOnly(sent)
	if !ok {
		return wire.Continuation{}, false
	}
	w := newResponseWriter(f, req, "")
	w.readHead(sent)
	w.choices = []*choiceWriter{{}}
	return wire.Continuation{Text: text, Encode: w.write}, true
}

// textOnly is what a stream has said so far; false when that is not all of it.
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

// readHead takes over what all chunks have in common.
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
			w.created, _ = head.Created.Int64() // one that is no number has no date
			return
		}
	}
}
