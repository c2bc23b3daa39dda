package anthropic

import (
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/token"
	"fairlead.dev/internal/wire/upstream"
)

// event yields one event of the stream. The event consists of its type and the members that the function write adds.
func (a *responseWriter) event(name string, ev llm.Event, write func(w *rawjson.Writer)) {
	if a.disconnected {
		return
	}
	var w rawjson.Writer
	w.Open()
	w.Str("type", name)
	write(&w)
	w.Close()
	ev.Name, ev.Data, ev.Model = name, w.Out, a.reported
	a.disconnected = !a.emit(ev)
}

func (a *responseWriter) start() {
	if a.started {
		return
	}
	a.started = true
	a.event("message_start", llm.Event{}, func(w *rawjson.Writer) {
		w.Key("message")
		w.Open()
		a.head(w)
		w.Raw("content", []byte(`[]`))
		w.Raw("stop_reason", []byte(`null`))
		w.Raw("stop_sequence", []byte(`null`))
		w.Key("usage")
		WriteUsage(w, a.usageSoFar())
		w.Close()
	})
}

// usageSoFar returns the usage that the provider has reported, or an estimate if it has not reported usage yet.
func (a *responseWriter) usageSoFar() llm.Usage {
	if a.usage != nil {
		return *a.usage
	}
	if a.request == nil || a.request.Messages == 0 {
		return llm.Usage{}
	}
	prompt := token.Model{Name: a.model}.Prompt(token.PromptOf(a.request))
	return *upstream.RunningUsage(&llm.Usage{Input: prompt}, a.ascii, a.other)
}

// head writes the first members of a message.
func (a *responseWriter) head(w *rawjson.Writer) {
	id := a.id
	switch {
	case id == "":
		id = a.fallbackID
	case !strings.HasPrefix(id, "msg_"):
		id = "msg_" + id
	}
	w.Str("id", id)
	w.Str("type", "message")
	w.Str("role", "assistant")
	w.Str("model", a.model)
}

// open ends the current block, if any, and begins block b.
func (a *responseWriter) open(b *content) {
	a.close()
	a.current = len(a.blocks)
	a.blocks = append(a.blocks, b)
	ev := llm.Event{Content: b.kind == "tool_use" || b.kind == "redacted_thinking"}
	a.counted(&ev, b.name)
	a.event("content_block_start", ev, func(w *rawjson.Writer) {
		w.Int("index", int64(a.current))
		w.Key("content_block")
		b.begin(w)
	})
}

func (b *content) begin(w *rawjson.Writer) {
	w.Open()
	w.Str("type", b.kind)
	switch b.kind {
	case "text":
		w.Str("text", "")
	case "thinking":
		w.Str("thinking", "")
		w.Str("signature", "")
	case "redacted_thinking":
		w.Str("data", b.text.String())
	case "tool_use":
		w.Str("id", b.id)
		w.Str("name", b.name)
		w.Raw("input", []byte(`{}`))
	}
	w.Close()
}

// appendText appends text to the open block.
func (a *responseWriter) appendText(text string) {
	if text == "" {
		return
	}
	b := a.blocks[a.current]
	if !a.stream {
		b.text.WriteString(text)
	}
	delta, member := "text_delta", "text"
	switch b.kind {
	case "thinking":
		delta, member = "thinking_delta", "thinking"
	case "tool_use":
		delta, member = "input_json_delta", "partial_json"
	}
	ev := llm.Event{Content: true}
	a.counted(&ev, text)
	ev.Usage = upstream.RunningUsage(a.usage, a.ascii, a.other)
	a.delta(ev, delta, member, text)
}

func (a *responseWriter) delta(ev llm.Event, kind, member, text string) {
	a.event("content_block_delta", ev, func(w *rawjson.Writer) {
		w.Int("index", int64(a.current))
		w.Key("delta")
		w.Open()
		w.Str("type", kind)
		w.Str(member, text)
		w.Close()
	})
}

func (a *responseWriter) counted(ev *llm.Event, text string) {
	ascii, other := upstream.CountText(text)
	ev.ASCIIBytes += ascii
	ev.NonASCIIBytes += other
	a.ascii += ascii
	a.other += other
}

// close ends the open block. A thinking block always ends with a signature: the provider's, or a placeholder if the
// provider sent none.
func (a *responseWriter) close() {
	if a.current < 0 {
		return
	}
	b := a.blocks[a.current]
	if b.kind == "thinking" {
		if b.signature == "" {
			b.signature = WrappedSignature{}.String()
		}
		a.delta(llm.Event{}, "signature_delta", "signature", b.signature)
	}
	a.event("content_block_stop", llm.Event{}, func(w *rawjson.Writer) { w.Int("index", int64(a.current)) })
	a.current = -1
}

func (a *responseWriter) end() {
	a.start()
	a.close()
	a.event("message_delta", llm.Event{Finish: a.finish, Usage: a.usage}, func(w *rawjson.Writer) {
		w.Key("delta")
		w.Open()
		a.stopped(w)
		w.Close()
		w.Key("usage")
		WriteUsage(w, a.usageSoFar())
	})
	a.event("message_stop", llm.Event{}, func(*rawjson.Writer) {})
}

func (a *responseWriter) stopped(w *rawjson.Writer) {
	w.Str("stop_reason", StopReason(a.finish, a.stop))
	if a.stop == "" {
		w.Raw("stop_sequence", []byte(`null`))
	} else {
		w.Str("stop_sequence", a.stop)
	}
}
