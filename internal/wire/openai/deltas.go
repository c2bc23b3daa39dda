package openai

import (
	"iter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/strict"
	"fairlead.dev/internal/wire/upstream"
)

// Deltas converts the events of a chat response, streamed or not, for a client of another format.
func Deltas(events iter.Seq2[llm.Event, error]) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		t := deltaReader{choices: map[int]*choiceState{}}
		for ev, err := range events {
			if err == nil {
				err = t.take(&ev)
			}
			for _, p := range t.deltas {
				if !yield(p, nil) {
					return
				}
			}
			t.deltas = t.deltas[:0]
			if err != nil {
				yield(llm.Delta{}, err)
				return
			}
		}
	}
}

// deltaReader holds the state of the conversion of one response.
type deltaReader struct {
	begun   bool
	choices map[int]*choiceState
	deltas  []llm.Delta // deltas of the current event
}

// choiceState holds the state of the conversion of one choice.
type choiceState struct {
	calls []string // call IDs in the order in which the calls began; the position of an ID is the call index in deltas
	at    map[int]int
	last  int
	old   bool // whether a legacy function call has begun
	think bool // whether a thinking block is open
}

// received is the part of a response that Deltas reads.
type received struct {
	ID      string   `json:"id"`
	Choices []choice `json:"choices"`
}

// annotations is a list of citations. A value of any other type is ignored.
type annotations []annotation

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (l *annotations) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	var list []annotation
	if decodeJSON(raw, &list) == nil {
		*l = list
	}
	return nil
}

// decodeJSON decodes a value of a provider. Members of unexpected types are an error.
func decodeJSON(data []byte, into any) error {
	return json.Unmarshal(data, into, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

func (t *deltaReader) take(ev *llm.Event) error {
	if err := strict.CheckResponse(ev.Data, 0); err != nil {
		return err
	}
	var s received
	if err := decodeJSON(ev.Data, &s); err != nil {
		return &llm.Error{Kind: llm.UpstreamMalformed, Message: "The provider's response has fields of the wrong type.", Err: err}
	}
	if !t.begun {
		t.begun = true
		t.add(llm.Delta{Kind: llm.BeginDelta, ID: s.ID, Model: ev.Model})
	}
	for _, c := range s.Choices {
		parts := c.Delta
		if parts == nil {
			parts = c.Message
		}
		state := t.choices[c.Index]
		if state == nil {
			state = &choiceState{at: map[int]int{}}
			t.choices[c.Index] = state
		}
		if parts != nil {
			t.message(c.Index, state, parts)
		}
		finish := textOf(c.Finish)
		if finish == "" && c.Message != nil {
			finish = "stop" // a non-streamed response is always complete, even without a finish reason
			if len(state.calls) > 0 {
				finish = "tool_calls"
			}
		}
		if finish == "function_call" {
			finish = "tool_calls"
		}
		if finish != "" {
			t.add(llm.Delta{Kind: llm.FinishDelta, Choice: c.Index, Finish: finish})
		}
	}
	if ev.Usage != nil {
		usage := *ev.Usage
		t.add(llm.Delta{Kind: llm.UsageDelta, Usage: &usage})
	}
	return nil
}

func (t *deltaReader) add(p llm.Delta) { t.deltas = append(t.deltas, p) }

func (t *deltaReader) message(choice int, state *choiceState, parts *answer) {
	thought := parts.ReasoningContent
	if thought == "" {
		thought = upstream.Text(parts.Reasoning)
	}
	if !state.think && len(parts.ThinkingBlocks) > 0 && textOf(parts.ThinkingBlocks[0].Thinking) != "" {
		thought = "" // the blocks contain the same text
	}
	t.text(llm.ThinkingDelta, choice, &thought)
	state.think = state.think || thought != ""
	for _, b := range parts.ThinkingBlocks { // most providers send the text of blocks also as reasoning or reasoning_content, so it was already added
		if !state.think {
			t.text(llm.ThinkingDelta, choice, b.Thinking)
		}
		if b.Signature != "" || b.Data != "" {
			t.add(llm.Delta{Kind: llm.SignatureDelta, Choice: choice, Thinking: &llm.Thinking{Signature: b.Signature, Redacted: b.Data, Provider: b.Provider}})
		}
	}
	if len(parts.ThinkingBlocks) > 0 {
		state.think = false
	}
	t.text(llm.TextDelta, choice, valueOf(parts.Content))
	t.text(llm.RefusalDelta, choice, valueOf(parts.Refusal))
	for _, a := range parts.Annotations {
		if web := a.URLCitation; a.Type == "url_citation" && web.URL != "" {
			cited := llm.Citation{URL: web.URL, Title: web.Title, Start: max(web.Start, 0), End: max(web.End, web.Start, 0)}
			t.add(llm.Delta{Kind: llm.CitationDelta, Choice: choice, Citation: &cited})
		}
	}
	if f := parts.FunctionCall; f != nil {
		called := toolCall{Function: f}
		if !state.old {
			state.old = true
			called.ID = "call_0"
		}
		t.call(choice, state, &called)
	}
	for i := range parts.ToolCalls {
		t.call(choice, state, &parts.ToolCalls[i])
	}
}

func (t *deltaReader) text(kind llm.DeltaKind, choice int, text *string) {
	if text != nil && *text != "" {
		t.add(llm.Delta{Kind: kind, Choice: choice, Text: *text})
	}
}

func (t *deltaReader) call(choice int, state *choiceState, c *toolCall) {
	call := c.call()
	index, begins := state.place(c, call.Name != "" || c.ID != "")
	switch {
	case begins:
		t.add(llm.Delta{Kind: llm.CallDelta, Choice: choice, Index: index, Call: &call})
	case call.Arguments != "":
		t.add(llm.Delta{Kind: llm.ArgumentsDelta, Choice: choice, Index: index, Text: call.Arguments})
	}
}

// place returns the index of the call that a delta belongs to, and whether the delta begins the call. Some providers
// reuse an index for another call with another ID, and some send no index.
func (s *choiceState) place(c *toolCall, named bool) (index int, begins bool) {
	key := len(s.calls)
	if c.Index != nil {
		key = *c.Index
	} else if !named && key > 0 {
		return s.last, false
	}
	if at, known := s.at[key]; known && (c.ID == "" || s.calls[at] == c.ID) {
		s.last = at
		return at, false
	}
	s.last = len(s.calls)
	s.at[key] = s.last
	s.calls = append(s.calls, c.ID)
	return s.last, true
}

// valueOf returns a member that may be absent or null.
func valueOf(s **string) *string {
	if s == nil {
		return nil
	}
	return *s
}
