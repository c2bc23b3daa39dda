package messages

import (
	"encoding/json"
	"strings"

	"fairlead/internal/llm"
)

// whole is the answer as one message.
func (a *answer) whole() llm.Event {
	a.close()
	var w object
	w.open()
	a.head(&w)
	w.openList("content")
	for _, b := range a.blocks {
		b.write(&w)
	}
	w.closeList()
	a.stopped(&w)
	w.key("usage")
	writeUsage(&w, a.used())
	w.close()
	return llm.Event{
		Data: w.out, Content: true, Finish: a.finish, Usage: a.usage, Model: a.reported,
		ASCIIBytes: a.ascii, NonASCIIBytes: a.other,
	}
}

func (b *content) write(w *object) {
	text := b.text.String()
	w.open()
	w.str("type", b.kind)
	switch b.kind {
	case "text":
		w.str("text", text)
	case "thinking":
		w.str("thinking", text)
		w.str("signature", b.signature)
	case "redacted_thinking":
		w.str("data", text)
	case "tool_use":
		w.str("id", b.id)
		w.str("name", b.name)
		w.raw("input", inputOf(text))
	}
	w.close()
}

// inputOf is the arguments of a call as an object; a model's broken JSON is kept as a text inside one.
func inputOf(arguments string) []byte {
	trimmed := strings.TrimSpace(arguments)
	if trimmed == "" {
		return []byte(`{}`)
	}
	if trimmed[0] == '{' && json.Valid([]byte(trimmed)) {
		return []byte(trimmed)
	}
	var w object
	w.open()
	w.str("arguments", arguments)
	w.close()
	return w.out
}
