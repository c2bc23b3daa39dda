package responses

import "fairlead/internal/llm"

// call begins a tool call. Another delta for the same call adds to its arguments.
func (w *responseWriter) call(p *llm.Delta) error {
	if p.Call == nil {
		return malformed("The provider's response has a tool call without a name.")
	}
	if w.callAt(p.Index) != nil {
		return w.arguments(p.Index, p.Call.Arguments)
	}
	w.closeText()
	it := &item{kind: functionItem, call: *p.Call, place: p.Index}
	if p.Call.Custom {
		it.kind = customItem
	}
	if tool, ok := w.namespaced[it.call.Name]; ok {
		it.call.Name, it.namespace = tool.name, tool.namespace
	}
	if it.call.ID == "" {
		it.call.ID = "call_" + w.newID("call", p.Index)
	}
	if p.Call.Signature != "" {
		w.signCall(&it.call)
	}
	if w.calls == nil {
		w.calls = map[int]*item{}
	}
	w.calls[p.Index] = it
	w.open(it, w.content(p.Call.Name))
	return w.arguments(p.Index, p.Call.Arguments)
}

// signCall sends the signature of the next call in a reasoning item of its own, because clients drop unknown members of a
// call.
func (w *responseWriter) signCall(call *llm.ToolCall) {
	it := w.open(&item{kind: reasoningItem}, llm.Event{})
	it.encrypted = wrappedSignature{Signature: call.Signature, Provider: call.Provider, Call: call.ID}.String()
	w.close(it, false)
}

func (w *responseWriter) callAt(place int) *item {
	return w.calls[place]
}

func (w *responseWriter) arguments(place int, text string) error {
	it := w.callAt(place)
	switch {
	case it == nil:
		return malformed("The provider's response continues a tool call that never began.")
	case text == "":
		return nil
	}
	it.text.WriteString(text)
	w.emitAt(it, w.content(text), it.argumentsEvent()+".delta", "delta", text)
	return nil
}

// closeCall sends the complete arguments. A function without arguments gets an empty object, because clients parse it.
func (w *responseWriter) closeCall(it *item) {
	if it.kind == functionItem && it.text.Len() == 0 {
		_ = w.arguments(it.place, "{}") // a call that has begun always has arguments
	}
	if it.kind == customItem {
		w.emitAt(it, llm.Event{}, it.argumentsEvent()+".done", "input", it.text.String())
		return
	}
	w.emitAt(it, llm.Event{}, it.argumentsEvent()+".done", "name", it.call.Name, "arguments", it.text.String())
}
