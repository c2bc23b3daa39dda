package anthropic

import (
	"encoding/json"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// whole returns the response as one message.
func (a *responseWriter) whole() llm.Event {
	a.close()
	var w rawjson.Writer
	w.Open()
	a.head(&w)
	w.OpenList("content")
	for _, b := range a.blocks {
		b.write(&w)
	}
	w.CloseList()
	a.stopped(&w)
	w.Key("usage")
	WriteUsage(&w, a.usageSoFar())
	w.Close()
	return llm.Event{
		Data: w.Out, Content: true, Finish: a.finish, Usage: a.usage, Model: a.reported,
		ASCIIBytes: a.ascii, NonASCIIBytes: a.other,
	}
}

func (b *content) write(w *rawjson.Writer) {
	text := b.text.String()
	w.Open()
	w.Str("type", b.kind)
	switch b.kind {
	case "text":
		w.Str("text", text)
		if len(b.citations) > 0 {
			w.OpenList("citations")
			w.Out = append(w.Out, rawjson.Join(b.citations)...)
			w.CloseList()
		}
	case "thinking":
		w.Str("thinking", text)
		w.Str("signature", b.signature)
	case "redacted_thinking":
		w.Str("data", text)
	case "tool_use":
		w.Str("id", b.id)
		w.Str("name", b.name)
		w.Raw("input", inputOf(text))
	}
	w.Close()
}

// inputOf returns the arguments of a call as an object. Invalid JSON is wrapped as text.
func inputOf(arguments string) []byte {
	trimmed := strings.TrimSpace(arguments)
	if trimmed == "" {
		return []byte(`{}`)
	}
	if trimmed[0] == '{' && json.Valid([]byte(trimmed)) {
		return []byte(trimmed)
	}
	var w rawjson.Writer
	w.Open()
	w.Str("arguments", arguments)
	w.Close()
	return w.Out
}
