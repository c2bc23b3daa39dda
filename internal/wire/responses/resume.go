package responses

import (
	"bytes"
	"context"
	"slices"
	"strconv"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/upstream"
)

var _ wire.Resumer = Format{}

// Prefill implements wire.Resumer.
func (f Format) Prefill(ctx context.Context, req *llm.Request, text string, maxOutput int64) (*llm.Request, error) {
	message := encode(item{Type: messageItem, Role: "assistant", Content: content{list: []part{{Type: "output_text", Text: &text}}}})
	return f.DecodeRequest(ctx, req.Op, req.Replace(func(name string, value []byte) []byte {
		switch {
		case name == "input" && value[0] == '"':
			return slices.Concat([]byte(`[{"role":"user","content":`), value, []byte(`},`), message, []byte(`]`))
		case name == "input":
			end := bytes.LastIndexByte(value, ']')
			return slices.Concat(bytes.TrimRight(value[:end], " \t\r\n"), []byte{','}, message, value[end:])
		case name == "max_output_tokens" && maxOutput > 0 && string(value) != "null":
			return strconv.AppendInt(nil, maxOutput, 10)
		}
		return nil
	}))
}

// Resume implements wire.Resumer. A stream can be continued if its only content is one text part.
func (f Format) Resume(req *llm.Request, sent []byte) (wire.Continuation, bool) {
	w := newWriter(f, req, "")
	w.begun, w.started = true, true
	o := &output{item: item{Type: messageItem, Role: "assistant", Status: "in_progress"}}
	for line := range bytes.Lines(sent) {
		var ev event
		if upstream.Decode(line, &ev) != nil || !w.replay(o, &ev) {
			return wire.Continuation{}, false
		}
	}
	text := o.text.String()
	if o.ID == "" || len(o.parts) == 0 || text == "" {
		return wire.Continuation{}, false
	}
	w.items, w.open = []*output{o}, []*output{o}
	return wire.Continuation{Text: text, Encode: w.write}, true
}

// replay applies a previously sent event. It returns false if a stream with this event cannot be continued.
func (w *writer) replay(o *output, ev *event) bool {
	w.sequence = ev.Sequence + 1
	switch ev.Type {
	case "response.created":
		if r := ev.Response; r != nil {
			w.response.ID, w.response.Model, w.response.CreatedAt = r.ID, r.Model, r.CreatedAt
		}
	case "response.in_progress":
	case "response.output_item.added":
		first := o.ID == ""
		if ev.Item != nil {
			o.ID = ev.Item.ID
		}
		return first && ev.Item != nil && ev.Item.Type == messageItem
	case "response.content_part.added":
		if ev.Part == nil || ev.Part.Type != "output_text" {
			return false
		}
		o.parts = append(o.parts, newTextPart(0))
		return len(o.parts) == 1
	case "response.output_text.delta":
		o.text.WriteString(ev.Delta)
		return len(o.parts) > 0
	default:
		return false
	}
	return true
}
