package anthropic

import (
	"bytes"
	"strings"

	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire"
)

// Resume decodes the events of an interrupted stream. It returns false if the stream cannot be continued: it must consist of text, and its
// last text block must still be open.
func Resume(sent []byte) (wire.Continuation, bool) {
	a := &responseWriter{started: true, current: -1, stream: true, calls: map[int]int{}}
	var text strings.Builder
	for line := range bytes.Lines(sent) {
		if !a.replay(rawjson.Parse(line), &text) {
			return wire.Continuation{}, false
		}
	}
	if a.current < 0 || text.Len() == 0 {
		return wire.Continuation{}, false
	}
	return wire.Continuation{Text: text.String(), Encode: a.write}, true
}

// replay applies a previously sent event and appends its text to text. It returns false if a stream with this event cannot be continued.
func (a *responseWriter) replay(v rawjson.Value, text *strings.Builder) bool {
	block, delta := v.Get("content_block"), v.Get("delta")
	switch v.Get("type").String() {
	case "message_start":
		a.id, a.model = v.Get("message.id").String(), v.Get("message.model").String()
	case "content_block_start":
		a.current = len(a.blocks)
		a.blocks = append(a.blocks, &content{kind: "text"})
		text.WriteString(block.Get("text").String())
		return block.Get("type").String() == "text" && v.Get("index").Int() == int64(a.current)
	case "content_block_delta":
		text.WriteString(delta.Get("text").String())
		return delta.Get("type").String() == "text_delta" && v.Get("index").Int() == int64(a.current)
	case "content_block_stop":
		a.current = -1
	case "ping":
	default:
		return false
	}
	return true
}
