package reasoning

import (
	"slices"

	"fairlead.dev/internal/llm"
)

// wantedCall is a tool call whose reasoning is missing from the request.
type wantedCall struct{ id, name string }

// Recalled is the stored reasoning for the tool calls in one request. A nil Recalled is empty.
type Recalled struct {
	calls map[string]*Call // stored calls by ID
	bytes int
}

func (r *Recalled) add(w wantedCall, call *Call) {
	if call.Name == w.name && r.bytes+call.size() <= maxRestored {
		r.calls[w.id] = call
		r.bytes += call.size()
	}
}

// Bytes returns the length of the reasoning, an upper bound for the tokens that the reasoning adds to the prompt.
func (r *Recalled) Bytes() int {
	if r == nil {
		return 0
	}
	return r.bytes
}

// turn is a model turn: a range of adjacent assistant messages.
type turn struct{ from, to int }

// unsignedTurns returns the turns that have tool calls but no signature, last turn first. Turns with a signature need no restored
// reasoning, because a client that sends back one signature of a turn sends back all of them.
func unsignedTurns(messages []llm.Message) (turns []turn) {
	for to := len(messages); to > 0; {
		from := to - 1
		for messages[from].Role == llm.Assistant && from > 0 && messages[from-1].Role == llm.Assistant {
			from--
		}
		if messages[from].Role == llm.Assistant {
			calls, signed := false, false
			for _, m := range messages[from:to] {
				for _, p := range m.Parts {
					calls = calls || p.Kind == llm.CallPart
					signed = signed || isSigned(p)
				}
			}
			if calls && !signed {
				turns = append(turns, turn{from, to})
			}
		}
		to = from
	}
	return turns
}

func isSigned(p llm.Part) bool {
	switch p.Kind { //nolint:exhaustive // the other kinds have no signature
	case llm.ThinkingPart:
		return p.Thinking.Signature != "" || p.Thinking.Redacted != ""
	case llm.CallPart:
		return p.Call.Signature != ""
	}
	return false
}

// missingCalls returns the calls whose reasoning the client did not send, last call first. If a client uses an ID twice, only the last call
// is returned, because the store holds only the last call.
func missingCalls(conv *llm.Conversation) (wanted []wantedCall) {
	seen := map[string]bool{}
	for _, t := range unsignedTurns(conv.Messages) {
		for _, m := range slices.Backward(conv.Messages[t.from:t.to]) {
			for _, p := range slices.Backward(m.Parts) {
				if p.Kind == llm.CallPart && p.Call.ID != "" && !seen[p.Call.ID] {
					seen[p.Call.ID] = true
					wanted = append(wanted, wantedCall{p.Call.ID, p.Call.Name})
				}
			}
		}
	}
	return wanted
}

// restore returns a copy of the conversation with the reasoning of the model's own calls. Reasoning of other models is
// not restored, because a signature may be valid only for the model that created it.
func (r *Recalled) restore(conv *llm.Conversation, model string) *llm.Conversation {
	if r == nil || len(r.calls) == 0 {
		return conv
	}
	restored := *conv
	restored.Messages = slices.Clone(conv.Messages)
	used := map[string]bool{}
	for _, t := range unsignedTurns(conv.Messages) {
		r.restoreTurn(restored.Messages[t.from:t.to], model, used)
	}
	return &restored
}

// restoreTurn restores the reasoning of one turn if the reasoning of its first call is known. The reasoning of the first call is inserted
// at the start of the turn. The reasoning of each other call is inserted before that call. Reasoning without a signature is removed,
// because it repeats the restored reasoning.
func (r *Recalled) restoreTurn(messages []llm.Message, model string, used map[string]bool) {
	calls := map[string]*Call{}
	first := ""
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Kind != llm.CallPart {
				continue
			}
			if first == "" {
				first = p.Call.ID
			}
			if call := r.calls[p.Call.ID]; call != nil && call.Model == model && !used[p.Call.ID] {
				calls[p.Call.ID] = call
			}
			used[p.Call.ID] = true
		}
	}
	if calls[first] == nil {
		return
	}
	for i := range messages {
		var parts []llm.Part
		if i == 0 {
			parts = calls[first].thinkingParts()
		}
		for _, p := range messages[i].Parts {
			if p.Kind == llm.ThinkingPart {
				continue
			}
			if p.Kind == llm.CallPart && calls[p.Call.ID] != nil {
				call := calls[p.Call.ID]
				delete(calls, p.Call.ID)
				if p.Call.ID != first {
					parts = append(parts, call.thinkingParts()...)
				}
				signed := *p.Call
				signed.Signature, signed.Provider = call.Signature, call.Provider
				p.Call = &signed
			}
			parts = append(parts, p)
		}
		messages[i].Parts = parts
	}
}

func (c *Call) thinkingParts() (parts []llm.Part) {
	for i := range c.Thinking {
		parts = append(parts, llm.Part{Kind: llm.ThinkingPart, Thinking: &c.Thinking[i]})
	}
	return parts
}
