package reasoning

import (
	"context"
	"iter"
	"strings"
	"sync/atomic"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
)

// Session stores and restores the reasoning of one request.
type Session struct {
	store     *Store
	workspace string
	keeps     bool // whether the reasoning of the response is stored
	recalled  *Recalled
	converted atomic.Pointer[converted] // request and conversation for the first attempt
}

// converted holds a request and its converted form, the conversation.
type converted struct {
	req  *llm.Request
	conv *llm.Conversation
}

// Begin returns a session for a request. The reasoning of the response is stored if keeps is true.
func (s *Store) Begin(workspaceID string, keeps bool) *Session {
	return &Session{store: s, workspace: workspaceID, keeps: keeps}
}

// Recall looks up the reasoning that the client did not send and returns its length. The first
// attempt uses conv instead of converting the request again.
func (s *Session) Recall(req *llm.Request, conv *llm.Conversation) int {
	s.converted.Store(&converted{req, conv})
	if wanted := missingCalls(conv); len(wanted) > 0 {
		s.recalled = s.store.recall(s.workspace, wanted)
	}
	return s.recalled.Bytes()
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

// Conversation implements provider.Client.
func (c *client) Conversation(ctx context.Context, req *llm.Request) (*llm.Conversation, error) {
	if done := c.session.converted.Swap(nil); done != nil && done.req == req {
		return c.session.recalled.restore(done.conv, c.model), nil
	}
	conv, err := c.Client.Conversation(ctx, req)
	if err != nil {
		return nil, err
	}
	return c.session.recalled.restore(conv, c.model), nil
}

// EncodeResponse implements provider.Client. It stores reasoning before the client receives the end of the response, so that the next
// request finds it.
func (c *client) EncodeResponse(req *llm.Request, model string, deltas iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Event, error] {
	if !c.session.keeps {
		return c.Client.EncodeResponse(req, model, deltas)
	}
	return c.Client.EncodeResponse(req, model, func(yield func(llm.Delta, error) bool) {
		collected := collector{model: c.model}
		for d, err := range deltas {
			if err == nil {
				collected.add(&d)
			}
			if d.Kind == llm.FinishDelta && err == nil {
				c.session.store.keep(c.session.workspace, collected.calls)
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
	model   string
	choices map[int]*reasoningBefore
	calls   []Call
}

// reasoningBefore is the reasoning in a choice since its last tool call.
type reasoningBefore struct {
	text     strings.Builder
	thinking []llm.Thinking
	size     int
}

func (c *collector) add(d *llm.Delta) {
	switch d.Kind {
	case llm.ThinkingDelta, llm.SignatureDelta, llm.CallDelta:
	default:
		return
	}
	before := c.choices[d.Choice]
	if before == nil {
		if c.choices == nil {
			c.choices = map[int]*reasoningBefore{}
		}
		before = &reasoningBefore{}
		c.choices[d.Choice] = before
	}
	switch d.Kind { //nolint:exhaustive // the switch above excludes the others
	case llm.ThinkingDelta:
		if before.size += len(d.Text); before.size <= maxCallBytes {
			before.text.WriteString(d.Text)
		}
	case llm.SignatureDelta:
		before.sign(*d.Thinking)
	case llm.CallDelta:
		c.call(before, d.Call)
		c.choices[d.Choice] = &reasoningBefore{}
	}
}

// sign ends a block of reasoning. A block without a signature is discarded, because no vendor accepts it.
func (b *reasoningBefore) sign(t llm.Thinking) {
	if t.Redacted == "" {
		t.Text = b.text.String()
		b.text.Reset()
	}
	if t.Signature == "" && t.Redacted == "" {
		return
	}
	if b.size += len(t.Signature) + len(t.Redacted); b.size <= maxCallBytes {
		b.thinking = append(b.thinking, t)
	}
}

func (c *collector) call(before *reasoningBefore, call *llm.ToolCall) {
	made := Call{ID: call.ID, Name: call.Name, Model: c.model, Thinking: before.thinking, Signature: call.Signature, Provider: call.Provider}
	tooLong := before.size > maxCallBytes || made.size() > maxCallBytes // vendors reject partial reasoning, so it is not stored
	if call.ID != "" && made.size() > 0 && !tooLong {
		c.calls = append(c.calls, made)
	}
}
