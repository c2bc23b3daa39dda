package responses

import (
	"bytes"
	"context"
	"slices"
	"strconv"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire"
)

var _ wire.Resumer = Format{}

// Prefill implements wire.Resumer.
func (f Format) Prefill(ctx context.Context, req *llm.Request, text string, maxOutput int64) (*llm.Request, error) {
	message := encode(map[string]any{
		"type": "message", "role": "assistant", "content": []any{map[string]any{"type": "output_text", "text": text}},
	})
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
	w := newResponseWriter(f, req, "")
	w.begun, w.started = true, true
	it := &item{kind: messageItem, status: "in_progress"}
	for line := range bytes.Lines(sent) {
		if !w.replay(it, rawjson.Parse(line)) {
			return wire.Continuation{}, false
		}
	}
	if it.id == "" || len(it.parts) == 0 || it.parts[0].text.Len() == 0 {
		return wire.Continuation{}, false
	}
	w.items, w.openItems = []*item{it}, []*item{it}
	return wire.Continuation{Text: it.parts[0].text.String(), Encode: w.write}, true
}

// replay applies a previously sent event. It returns false if a stream with this event cannot be continued.
func (w *responseWriter) replay(it *item, v rawjson.Value) bool {
	w.sequence = int(v.Get("sequence_number").Int()) + 1
	switch v.Get("type").String() {
	case "response.created":
		w.response.ID, w.response.Model = v.Get("response.id").String(), v.Get("response.model").String()
		w.response.CreatedAt = v.Get("response.created_at").Int()
	case "response.in_progress":
	case "response.output_item.added":
		first := it.id == ""
		it.id = v.Get("item.id").String()
		return first && v.Get("item.type").String() == messageItem
	case "response.content_part.added":
		it.parts = append(it.parts, &part{})
		return len(it.parts) == 1 && v.Get("part.type").String() == "output_text"
	case "response.output_text.delta":
		if len(it.parts) == 0 {
			return false
		}
		it.parts[0].text.WriteString(v.Get("delta").String())
	default:
		return false
	}
	return true
}
