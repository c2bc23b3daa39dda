package messages

import (
	"strings"

	"fairlead/internal/llm"
)

// event hands out one event of the stream: its type, and what write adds.
func (a *answer) event(name string, ev llm.Event, write func(w *object)) {
	if a.gone {
		return
	}
	var w object
	w.open()
	w.str("type", name)
	write(&w)
	w.close()
	ev.Name, ev.Data, ev.Model = name, w.out, a.reported
	a.gone = !a.emit(ev)
}

func (a *answer) start() {
	if a.started {
		return
	}
	a.started = true
	a.event("message_start", llm.Event{}, func(w *object) {
		w.key("message")
		w.open()
		a.head(w)
		w.raw("content", []byte(`[]`))
		w.raw("stop_reason", []byte(`null`))
		w.raw("stop_sequence", []byte(`null`))
		w.key("usage")
		writeUsage(w, a.used())
		w.close()
	})
}

func (a *answer) used() llm.Usage {
	if a.usage == nil {
		return llm.Usage{}
	}
	return *a.usage
}

// head writes what every message begins with.
func (a *answer) head(w *object) {
	id := a.id
	switch {
	case id == "":
		id = a.fallbackID
	case !strings.HasPrefix(id, "msg_"):
		id = "msg_" + id
	}
	w.str("id", id)
	w.str("type", "message")
	w.str("role", "assistant")
	w.str("model", a.model)
}

// open begins a block, and ends the one before it.
func (a *answer) open(b *content) {
	a.close()
	a.current = len(a.blocks)
	a.blocks = append(a.blocks, b)
	ev := llm.Event{Content: b.kind == "tool_use" || b.kind == "redacted_thinking"}
	a.counted(&ev, b.name)
	a.event("content_block_start", ev, func(w *object) {
		w.int("index", int64(a.current))
		w.key("content_block")
		b.begin(w)
	})
}

func (b *content) begin(w *object) {
	w.open()
	w.str("type", b.kind)
	switch b.kind {
	case "text":
		w.str("text", "")
	case "thinking":
		w.str("thinking", "")
		w.str("signature", "")
	case "redacted_thinking":
		w.str("data", b.text.String())
	case "tool_use":
		w.str("id", b.id)
		w.str("name", b.name)
		w.raw("input", []byte(`{}`))
	}
	w.close()
}

// add goes on with the block that is open.
func (a *answer) add(text string) {
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
	ev.Usage = running(a.usage, a.ascii, a.other)
	a.delta(ev, delta, member, text)
}

func (a *answer) delta(ev llm.Event, kind, member, text string) {
	a.event("content_block_delta", ev, func(w *object) {
		w.int("index", int64(a.current))
		w.key("delta")
		w.open()
		w.str("type", kind)
		w.str(member, text)
		w.close()
	})
}

func (a *answer) counted(ev *llm.Event, text string) {
	ascii, other := countText(text)
	ev.ASCIIBytes += ascii
	ev.NonASCIIBytes += other
	a.ascii += ascii
	a.other += other
}

// close ends the block that is open. Thinking always ends with a signature, its provider's or a mark that it has none.
func (a *answer) close() {
	if a.current < 0 {
		return
	}
	b := a.blocks[a.current]
	if b.kind == "thinking" {
		if b.signature == "" {
			b.signature = seal{}.String()
		}
		a.delta(llm.Event{}, "signature_delta", "signature", b.signature)
	}
	a.event("content_block_stop", llm.Event{}, func(w *object) { w.int("index", int64(a.current)) })
	a.current = -1
}

func (a *answer) end() {
	a.start()
	a.close()
	a.event("message_delta", llm.Event{Finish: a.finish, Usage: a.usage}, func(w *object) {
		w.key("delta")
		w.open()
		a.stopped(w)
		w.close()
		w.key("usage")
		writeUsage(w, a.used())
	})
	a.event("message_stop", llm.Event{}, func(*object) {})
}

func (a *answer) stopped(w *object) {
	w.str("stop_reason", stopReason(a.finish, a.stop))
	if a.stop == "" {
		w.raw("stop_sequence", []byte(`null`))
	} else {
		w.str("stop_sequence", a.stop)
	}
}
