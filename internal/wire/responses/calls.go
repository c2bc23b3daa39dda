package responses

import "fairlead.dev/internal/llm"

// call begins a tool call. If the call has already begun, the delta's arguments are appended.
func (w *responseWriter) call(p *llm.Delta) error {
	if p.Call == nil {
		return malformed("The provider's response has a tool call without a name.")
	}
	if w.calls[p.Index] != nil {
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
		// Clients drop unknown members of a call, so the signature is sent in a reasoning item before the call.
		signed := w.open(&item{kind: reasoningItem}, llm.Event{})
		signed.encrypted = wrappedSignature{Signature: it.call.Signature, Provider: it.call.Provider, Call: it.call.ID}.String()
		w.close(signed)
	}
	if w.calls == nil {
		w.calls = map[int]*item{}
	}
	w.calls[p.Index] = it
	w.open(it, w.contentEvent(p.Call.Name))
	return w.arguments(p.Index, p.Call.Arguments)
}

func (w *responseWriter) arguments(place int, text string) error {
	it := w.calls[place]
	switch {
	case it == nil:
		return malformed("The provider's response continues a tool call that never began.")
	case text == "":
		return nil
	}
	it.text.WriteString(text)
	w.emitAt(it, w.contentEvent(text), it.argumentsEvent()+".delta", "delta", text)
	return nil
}
