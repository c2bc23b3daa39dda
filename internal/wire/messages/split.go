package messages

import "github.com/tidwall/gjson"

// splitMessage makes the events of a whole message.
func splitMessage(message gjson.Result) []frame {
	var out []frame
	add := func(name string, write func(w *object)) {
		var w object
		w.open()
		w.str("type", name)
		write(&w)
		w.close()
		out = append(out, frame{name: name, data: w.out})
	}
	add("message_start", func(w *object) {
		w.key("message")
		w.open()
		message.ForEach(func(key, value gjson.Result) bool {
			switch name := key.String(); name {
			case "content":
				w.raw(name, []byte(`[]`))
			case "stop_reason", "stop_sequence":
				w.raw(name, []byte(`null`))
			default:
				w.raw(name, []byte(value.Raw))
			}
			return true
		})
		w.close()
	})
	index := int64(0)
	message.Get("content").ForEach(func(_, block gjson.Result) bool {
		start, deltas := splitBlock(block)
		add("content_block_start", func(w *object) {
			w.int("index", index)
			w.raw("content_block", start)
		})
		for _, delta := range deltas {
			add("content_block_delta", func(w *object) {
				w.int("index", index)
				w.raw("delta", delta)
			})
		}
		add("content_block_stop", func(w *object) { w.int("index", index) })
		index++
		return true
	})
	add("message_delta", func(w *object) {
		w.key("delta")
		w.open()
		w.raw("stop_reason", or(message.Get("stop_reason").Raw, `"end_turn"`))
		w.raw("stop_sequence", or(message.Get("stop_sequence").Raw, `null`))
		w.close()
		w.raw("usage", or(message.Get("usage").Raw, `{"output_tokens":0}`))
	})
	add("message_stop", func(*object) {})
	return out
}

func or(raw, otherwise string) []byte {
	if raw == "" || raw == "null" {
		return []byte(otherwise)
	}
	return []byte(raw)
}

// splitBlock separates how a block begins from what it says. A block of another type begins with all it has.
func splitBlock(block gjson.Result) (start []byte, deltas [][]byte) {
	parts := map[string][]struct{ member, kind, as, empty string }{
		"text":     {{"text", "text_delta", "text", `""`}},
		"thinking": {{"thinking", "thinking_delta", "thinking", `""`}, {"signature", "signature_delta", "signature", `""`}},
		"tool_use": {{"input", "input_json_delta", "partial_json", `{}`}},
	}[block.Get("type").String()]
	var w object
	w.open()
	block.ForEach(func(key, value gjson.Result) bool {
		for _, part := range parts {
			if key.String() == part.member {
				w.raw(part.member, []byte(part.empty))
				deltas = append(deltas, deltaOf(part.kind, part.as, value))
				return true
			}
		}
		w.raw(key.String(), []byte(value.Raw))
		return true
	})
	w.close()
	return w.out, deltas
}

// deltaOf writes a delta with a text, or with the JSON of an object as a text.
func deltaOf(kind, member string, value gjson.Result) []byte {
	text := value.String()
	if value.IsObject() {
		text = value.Raw
	}
	var w object
	w.open()
	w.str("type", kind)
	w.str(member, text)
	w.close()
	return w.out
}
