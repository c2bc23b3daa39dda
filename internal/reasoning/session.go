package reasoning

import (
	"iter"
	"slices"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
)

// Session stores and restores the reasoning of one request.
type Session struct {
	store     *Store
	workspace string
	keeps     bool             // whether the reasoning of the response is stored
	recalled  map[string]*call // stored calls by ID; nil for a call that is not restored
}

// Begin returns a session for a request. The reasoning of the response is stored if keeps is true.
func (s *Store) Begin(workspaceID string, keeps bool) *Session {
	return &Session{store: s, workspace: workspaceID, keeps: keeps, recalled: map[string]*call{}}
}

// Recall looks up the reasoning that the client did not send, newest first. It returns its length, an upper bound for the tokens that it
// adds to the prompt.
func (s *Session) Recall(conv *llm.Conversation) (bytes int) {
	for _, turn := range unsignedTurns(conv.Messages) {
		for _, m := range slices.Backward(turn) {
			for _, p := range slices.Backward(m.Parts) {
				if p.Kind != llm.CallPart {
					continue
				}
				if _, seen := s.recalled[p.Call.ID]; seen {
					continue // the store holds only the last call with an ID
				}
				c := s.store.find(key{s.workspace, p.Call.ID})
				if c != nil && (c.name != p.Call.Name || bytes+c.size() > maxRestored) {
					c = nil
				}
				if s.recalled[p.Call.ID] = c; c != nil {
					bytes += c.size()
				}
			}
		}
	}
	return bytes
}

// unsignedTurns returns the turns of the model that have tool calls but no signature, last turn first. Turns with a signature need no
// restored reasoning, because a client that sends back one signature of a turn sends back all of them.
func unsignedTurns(messages []llm.Message) (turns [][]llm.Message) {
	for to := len(messages); to > 0; {
		from := to - 1
		calls, signed := false, false
		for i := from; i >= 0 && messages[i].Role == llm.Assistant; i-- {
			from = i
			for _, p := range messages[i].Parts {
				calls = calls || p.Kind == llm.CallPart
				signed = signed || p.Kind == llm.CallPart && p.Call.Signature != "" ||
					p.Kind == llm.ThinkingPart && (p.Thinking.Signature != "" || p.Thinking.Redacted != "")
			}
		}
		if calls && !signed {
			turns = append(turns, messages[from:to])
		}
		to = from
	}
	return turns
}

// restore returns a copy of the conversation with the reasoning of the model's own calls. Reasoning of other models is
// not restored, because a signature may be valid only for the model that created it.
func (s *Session) restore(conv *llm.Conversation, model string) *llm.Conversation {
	if len(s.recalled) == 0 {
		return conv
	}
	restored := *conv
	restored.Messages = slices.Clone(conv.Messages)
	used := map[string]bool{}
	for _, turn := range unsignedTurns(restored.Messages) {
		s.restoreTurn(turn, model, used)
	}
	return &restored
}

// restoreTurn restores the reasoning of one turn if the reasoning of its first call is known. The reasoning of the first call is inserted
// at the start of the turn. The reasoning of each other call is inserted before that call. Reasoning without a signature is removed,
// because it repeats the restored reasoning.
func (s *Session) restoreTurn(messages []llm.Message, model string, used map[string]bool) {
	calls := map[string]*call{}
	first := ""
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Kind != llm.CallPart {
				continue
			}
			if first == "" {
				first = p.Call.ID
			}
			if c := s.recalled[p.Call.ID]; c != nil && c.model == model && !used[p.Call.ID] {
				calls[p.Call.ID] = c
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
				c := calls[p.Call.ID]
				delete(calls, p.Call.ID)
				if p.Call.ID != first {
					parts = append(parts, c.thinkingParts()...)
				}
				signed := *p.Call
				signed.Signature, signed.Provider = c.signature, c.provider
				p.Call = &signed
			}
			parts = append(parts, p)
		}
		messages[i].Parts = parts
	}
}

// Client wraps the client's format for calls to a target. It adds the recalled reasoning of the target's model to requests, and stores the
// reasoning of complete responses.
func (s *Session) Client(format provider.Client, t *provider.Target) provider.Client {
	return &client{Client: format, session: s, model: t.Model.Name}
}

type client struct {
	provider.Client
	session *Session
	model   string
}

// Restore implements provider.Restorer.
func (c *client) Restore(conv *llm.Conversation) *llm.Conversation {
	return c.session.restore(conv, c.model)
}

// EncodeResponse implements provider.Client. It stores reasoning before the client receives the end of the response, so that the next
// request finds it.
func (c *client) EncodeResponse(req *llm.Request, model string, deltas iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Event, error] {
	if !c.session.keeps {
		return c.Client.EncodeResponse(req, model, deltas)
	}
	return c.Client.EncodeResponse(req, model, func(yield func(llm.Delta, error) bool) {
		collected := collector{workspace: c.session.workspace, model: c.model, choices: map[int]*reasoningBefore{}}
		for d, err := range deltas {
			if err == nil {
				collected.add(&d)
			}
			if d.Kind == llm.FinishDelta && err == nil {
				c.session.store.keep(collected.calls)
				collected.calls = nil
			}
			if !yield(d, err) {
				return
			}
		}
	})
}

// collector collects the reasoning before the tool calls of a response.
type collector struct {
	workspace, model string
	choices          map[int]*reasoningBefore
	calls            []*call
}

// reasoningBefore is the reasoning in a choice since its last tool call.
type reasoningBefore struct {
	text     strings.Builder
	thinking []llm.Thinking
	size     int
}

func (c *collector) add(d *llm.Delta) {
	before := c.choices[d.Choice]
	if before == nil {
		before = &reasoningBefore{}
		c.choices[d.Choice] = before
	}
	switch d.Kind { //nolint:exhaustive // the other kinds are not reasoning
	case llm.ThinkingDelta:
		if before.size += len(d.Text); before.size <= maxCallBytes {
			before.text.WriteString(d.Text)
		}
	case llm.SignatureDelta:
		t := *d.Thinking
		if t.Redacted == "" {
			t.Text = before.text.String()
			before.text.Reset()
		}
		before.size += len(t.Signature) + len(t.Redacted)
		if (t.Signature != "" || t.Redacted != "") && before.size <= maxCallBytes { // no vendor accepts a block without a signature
			before.thinking = append(before.thinking, t)
		}
	case llm.CallDelta:
		delete(c.choices, d.Choice)
		made := &call{key: key{c.workspace, d.Call.ID}, name: d.Call.Name, model: c.model, thinking: before.thinking, signature: d.Call.Signature, provider: d.Call.Provider}
		tooLong := before.size > maxCallBytes || made.size() > maxCallBytes // vendors reject partial reasoning, so it is not stored
		if d.Call.ID != "" && made.size() > 0 && !tooLong {
			c.calls = append(c.calls, made)
		}
	}
}
