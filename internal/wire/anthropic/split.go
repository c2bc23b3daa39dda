package anthropic

import (
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/upstream"
)

// splitMessage splits a complete message into events.
func splitMessage(message rawjson.Value) []upstream.Frame {
	var out []upstream.Frame
	add := func(name string, write func(w *rawjson.Writer)) {
		var w rawjson.Writer
		w.Open()
		w.Str("type", name)
		write(&w)
		w.Close()
		out = append(out, upstream.Frame{Name: name, Data: w.Out})
	}
	add("message_start", func(w *rawjson.Writer) {
		w.Key("message")
		w.Open()
		message.ForEach(func(key, value rawjson.Value) bool {
			switch name := key.String(); name {
			case "content":
				w.Raw(name, []byte(`[]`))
			case "stop_reason", "stop_sequence":
				w.Raw(name, []byte(`null`))
			default:
				w.Raw(name, []byte(value.Raw))
			}
			return true
		})
		w.Close()
	})
	index := int64(0)
	message.Get("content").ForEach(func(_, block rawjson.Value) bool {
		start, deltas := splitBlock(block)
		add("content_block_start", func(w *rawjson.Writer) {
			w.Int("index", index)
			w.Raw("content_block", start)
		})
		for _, delta := range deltas {
			add("content_block_delta", func(w *rawjson.Writer) {
				w.Int("index", index)
				w.Raw("delta", delta)
			})
		}
		add("content_block_stop", func(w *rawjson.Writer) { w.Int("index", index) })
		index++
		return true
	})
	add("message_delta", func(w *rawjson.Writer) {
		w.Key("delta")
		w.Open()
		w.Raw("stop_reason", or(message.Get("stop_reason").Raw, `"end_turn"`))
		w.Raw("stop_sequence", or(message.Get("stop_sequence").Raw, `null`))
		w.Close()
		w.Raw("usage", or(message.Get("usage").Raw, `{"output_tokens":0}`))
	})
	add("message_stop", func(*rawjson.Writer) {})
	return out
}

func or(raw, otherwise string) []byte {
	if raw == "" || raw == "null" {
		return []byte(otherwise)
	}
	return []byte(raw)
}

// splitBlock splits a block into its start and its deltas. A block of an unknown type consists only of its start.
func splitBlock(block rawjson.Value) (start []byte, deltas [][]byte) {
	parts := map[string][]struct{ member, kind, as, empty string }{
		"text":     {{"text", "text_delta", "text", `""`}},
		"thinking": {{"thinking", "thinking_delta", "thinking", `""`}, {"signature", "signature_delta", "signature", `""`}},
		"tool_use": {{"input", "input_json_delta", "partial_json", `{}`}},
	}[block.Get("type").String()]
	var w rawjson.Writer
	w.Open()
	block.ForEach(func(key, value rawjson.Value) bool {
		for _, part := range parts {
			if key.String() == part.member {
				w.Raw(part.member, []byte(part.empty))
				text := value.String()
				if value.IsObject() {
					text = value.Raw
				}
				var delta rawjson.Writer
				delta.Open()
				delta.Str("type", part.kind)
				delta.Str(part.as, text)
				delta.Close()
				deltas = append(deltas, delta.Out)
				return true
			}
		}
		w.Raw(key.String(), []byte(value.Raw))
		return true
	})
	w.Close()
	return w.Out, deltas
}
