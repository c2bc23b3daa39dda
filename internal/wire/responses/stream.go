package responses

import (
	"slices"
	"strconv"
	"unicode/utf8"

	"fairlead.dev/internal/llm"
)

// emit adds an event to the ready events of a stream. The event consists of its type, its sequence number, and the given members, which
// alternate between names and values. Without streaming, emit does nothing.
func (w *responseWriter) emit(ev llm.Event, kind string, members ...any) {
	if !w.stream {
		return
	}
	data := append([]byte(`{"type":`), encode(kind)...)
	data = append(data, `,"sequence_number":`...)
	data = strconv.AppendInt(data, int64(w.sequence), 10)
	for i := 0; i+1 < len(members); i += 2 {
		data = append(append(append(data, ','), encode(members[i])...), ':')
		data = append(data, encode(members[i+1])...)
	}
	data = append(data, '}')
	w.sequence++
	ev.Name, ev.Data, ev.Model = kind, data, w.reported
	w.ready = append(w.ready, ev)
}

// emitAt is like emit, but adds the ID and the index of the output item to which the event belongs.
func (w *responseWriter) emitAt(it *item, ev llm.Event, kind string, members ...any) {
	w.emit(ev, kind, append([]any{"item_id", it.id, "output_index", it.index}, members...)...)
}

// contentEvent adds the length of text to the size of the response and returns an event with this length. Do not call it for text that is
// repeated in an end event.
func (w *responseWriter) contentEvent(text string) llm.Event {
	ascii, other := bytesOf(text)
	w.ascii += ascii
	w.other += other
	return llm.Event{Content: true, ASCIIBytes: ascii, NonASCIIBytes: other}
}

// open begins an item.
func (w *responseWriter) open(it *item, ev llm.Event) *item {
	it.index, it.status = len(w.items), "in_progress"
	it.id = prefixes[it.kind] + w.newID(it.kind, it.index)
	w.items = append(w.items, it)
	if !it.isCall() {
		w.openItems = append(w.openItems, it)
	}
	w.emit(ev, "response.output_item.added", "output_index", it.index, "item", it.json())
	return it
}

// current returns the last item if it is open and of the given kind, otherwise nil.
func (w *responseWriter) current(kind string) *item {
	if n := len(w.items); n > 0 && w.items[n-1].kind == kind && w.items[n-1].status == "in_progress" {
		return w.items[n-1]
	}
	return nil
}

// closeText closes open text or thinking before another item begins. Calls stay open, because the arguments of several calls may arrive
// interleaved.
func (w *responseWriter) closeText() {
	for _, it := range w.openItems {
		w.close(it)
	}
	w.openItems = w.openItems[:0]
}

func (w *responseWriter) close(it *item) { w.closeAs(it, "completed") }

// closeAs ends an open item with the given status.
func (w *responseWriter) closeAs(it *item, status string) {
	if it.status != "in_progress" {
		return
	}
	switch it.kind {
	case messageItem:
		w.closePart(it)
	case reasoningItem:
		if it.spoken {
			w.emitAt(it, llm.Event{}, "response.reasoning_summary_text.done", "summary_index", 0, "text", it.text.String())
			w.emitAt(it, llm.Event{}, "response.reasoning_summary_part.done", "summary_index", 0, "part", it.summary())
		}
	case customItem:
		w.emitAt(it, llm.Event{}, it.argumentsEvent()+".done", "input", it.text.String())
	default:
		if it.text.Len() == 0 { // clients parse the arguments as JSON, so they must not be empty
			_ = w.arguments(it.place, "{}") // fails only for a call that has not started
		}
		w.emitAt(it, llm.Event{}, it.argumentsEvent()+".done", "name", it.call.Name, "arguments", it.text.String())
	}
	it.status = status
	w.emit(llm.Event{}, "response.output_item.done", "output_index", it.index, "item", it.json())
}

// addText appends text to the current message.
func (w *responseWriter) addText(text string) { w.addPart(text, false) }

// addRefusal appends text to the refusal of the current message.
func (w *responseWriter) addRefusal(text string) { w.addPart(text, true) }

func (w *responseWriter) addPart(text string, refusal bool) {
	if text == "" {
		return
	}
	it := w.current(messageItem)
	if it == nil {
		w.closeText()
		it = w.open(&item{kind: messageItem}, llm.Event{})
	}
	n := len(it.parts) - 1
	if n < 0 || it.parts[n].refusal != refusal {
		w.closePart(it)
		it.parts = append(it.parts, &part{refusal: refusal, from: w.characters})
		n++
		w.emitAt(it, llm.Event{}, "response.content_part.added", "content_index", n, "part", it.parts[n].json())
	}
	p := it.parts[n]
	p.text.WriteString(text)
	if !refusal {
		w.characters += utf8.RuneCountInString(text)
	}
	members := []any{"content_index", n, "delta", text}
	if !refusal {
		members = append(members, "logprobs", []any{})
	}
	w.emitAt(it, w.contentEvent(text), p.event()+".delta", members...)
}

// cite adds a citation to the text part in which its range begins. If this part has ended, no event is sent, and only the final response
// object contains the citation.
func (w *responseWriter) cite(c *llm.Citation) {
	for _, it := range slices.Backward(w.items) {
		for n, p := range slices.Backward(it.parts) {
			if p.refusal || p.from > c.Start {
				continue
			}
			cited := citationJSON{Type: "url_citation", StartIndex: c.Start - p.from, EndIndex: max(c.End, c.Start) - p.from, URL: c.URL, Title: c.Title}
			p.annotations = append(p.annotations, cited)
			if !p.done {
				w.emitAt(it, llm.Event{}, "response.output_text.annotation.added",
					"content_index", n, "annotation_index", len(p.annotations)-1, "annotation", cited)
			}
			return
		}
	}
}

func (w *responseWriter) closePart(it *item) {
	n := len(it.parts) - 1
	if n < 0 || it.parts[n].done {
		return
	}
	p := it.parts[n]
	p.done = true
	if p.refusal {
		w.emitAt(it, llm.Event{}, p.event()+".done", "content_index", n, "refusal", p.text.String())
	} else {
		w.emitAt(it, llm.Event{}, p.event()+".done", "content_index", n, "text", p.text.String(), "logprobs", []any{})
	}
	w.emitAt(it, llm.Event{}, "response.content_part.done", "content_index", n, "part", p.json())
}

// think sends thinking as the summary of a reasoning item, where clients expect it.
func (w *responseWriter) think(text string) {
	if text == "" {
		return
	}
	it := w.thinking()
	if !it.spoken {
		it.spoken = true
		w.emitAt(it, llm.Event{}, "response.reasoning_summary_part.added", "summary_index", 0, "part", it.summary())
	}
	it.text.WriteString(text)
	w.emitAt(it, w.contentEvent(text), "response.reasoning_summary_text.delta", "summary_index", 0, "delta", text)
}

func (w *responseWriter) thinking() *item {
	if it := w.current(reasoningItem); it != nil {
		return it
	}
	w.closeText()
	return w.open(&item{kind: reasoningItem}, llm.Event{})
}

// addSignature ends a thinking block. The signature is sent in encrypted_content, which clients send back unchanged.
func (w *responseWriter) addSignature(t *llm.Thinking) {
	if t == nil || t.Signature == "" && t.Redacted == "" {
		w.closeText()
		return
	}
	it := w.thinking()
	it.encrypted = wrappedSignature{Text: it.text.String() + t.Text, Signature: t.Signature, Redacted: t.Redacted, Provider: t.Provider}.String()
	w.close(it)
}
