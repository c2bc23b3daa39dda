package openai

import (
	"encoding/json"
	"iter"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/strict"
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

// chunkJSON is the part of an event that Deltas decodes. delta and message have the same members.
type chunkJSON struct {
	ID      string       `json:"id"`
	Choices []choiceJSON `json:"choices"`
}

type choiceJSON struct {
	Index   int          `json:"index"`
	Finish  string       `json:"finish_reason"`
	Delta   *messageJSON `json:"delta"`
	Message *messageJSON `json:"message"`
}

type messageJSON struct {
	Content          *string             `json:"content"`
	Refusal          *string             `json:"refusal"`
	ReasoningContent *string             `json:"reasoning_content"`
	Reasoning        lenientText         `json:"reasoning"`
	Blocks           []thinkingBlockJSON `json:"thinking_blocks"`
	FunctionCall     *functionJSON       `json:"function_call"`
	ToolCalls        []toolCallJSON      `json:"tool_calls"`
	Annotations      annotationsJSON     `json:"annotations"`
}

// annotationsJSON is a list of citations. A value of any other type is ignored.
type annotationsJSON []annotationJSON

// UnmarshalJSON implements json.Unmarshaler.
func (l *annotationsJSON) UnmarshalJSON(data []byte) error {
	var list []annotationJSON
	if json.Unmarshal(data, &list) == nil {
		*l = list
	}
	return nil
}

type annotationJSON struct {
	Type string `json:"type"`
	Web  struct {
		Start int    `json:"start_index"`
		End   int    `json:"end_index"`
		URL   string `json:"url"`
		Title string `json:"title"`
	} `json:"url_citation"`
}

type thinkingBlockJSON struct {
	Text      string `json:"thinking"`
	Signature string `json:"signature"`
	Data      string `json:"data"`
	Provider  string `json:"provider"`
}

type toolCallJSON struct {
	Index    *int          `json:"index"`
	ID       string        `json:"id"`
	Function *functionJSON `json:"function"`
	Custom   *functionJSON `json:"custom"`
	Extra    struct {
		Google struct {
			Signature string `json:"thought_signature"`
		} `json:"google"`
		Ours struct {
			Provider string `json:"provider"`
		} `json:"fairlead"`
	} `json:"extra_content"`
}

type functionJSON struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Input     string          `json:"input"`
}

// lenientText is a string. A value of any other type is ignored.
type lenientText string

// UnmarshalJSON implements json.Unmarshaler.
func (l *lenientText) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) == nil {
		*l = lenientText(s)
	}
	return nil
}

func (t *deltaReader) take(ev *llm.Event) error {
	if err := strict.CheckResponse(ev.Data, 0); err != nil {
		return err
	}
	var s chunkJSON
	if err := json.Unmarshal(ev.Data, &s); err != nil {
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
		finish := c.Finish
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

func (t *deltaReader) message(choice int, state *choiceState, parts *messageJSON) {
	thought := string(parts.Reasoning)
	if parts.ReasoningContent != nil && *parts.ReasoningContent != "" {
		thought = *parts.ReasoningContent
	}
	if !state.think && len(parts.Blocks) > 0 && parts.Blocks[0].Text != "" {
		thought = "" // the blocks contain the same text
	}
	t.text(llm.ThinkingDelta, choice, &thought)
	state.think = state.think || thought != ""
	for _, b := range parts.Blocks { // most providers send the text of blocks also as reasoning or reasoning_content, so it was already added
		if !state.think {
			t.text(llm.ThinkingDelta, choice, &b.Text)
		}
		if b.Signature != "" || b.Data != "" {
			t.add(llm.Delta{Kind: llm.SignatureDelta, Choice: choice, Thinking: &llm.Thinking{Signature: b.Signature, Redacted: b.Data, Provider: b.Provider}})
		}
	}
	if len(parts.Blocks) > 0 {
		state.think = false
	}
	t.text(llm.TextDelta, choice, parts.Content)
	t.text(llm.RefusalDelta, choice, parts.Refusal)
	for _, a := range parts.Annotations {
		if a.Type == "url_citation" && a.Web.URL != "" {
			cited := llm.Citation{URL: a.Web.URL, Title: a.Web.Title, Start: max(a.Web.Start, 0), End: max(a.Web.End, a.Web.Start, 0)}
			t.add(llm.Delta{Kind: llm.CitationDelta, Choice: choice, Citation: &cited})
		}
	}
	if f := parts.FunctionCall; f != nil {
		called := toolCallJSON{Function: f}
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

func (t *deltaReader) call(choice int, state *choiceState, c *toolCallJSON) {
	f := c.Function
	custom := c.Custom != nil
	if custom {
		f = c.Custom
	}
	if f == nil {
		f = &functionJSON{}
	}
	arguments := ""
	if custom {
		arguments = f.Input
	} else if len(f.Arguments) > 0 && json.Unmarshal(f.Arguments, &arguments) != nil {
		arguments = string(f.Arguments) // some providers send an object instead of a string
	}
	index, begins := state.place(c, f.Name != "" || c.ID != "")
	if !begins {
		if arguments != "" {
			t.add(llm.Delta{Kind: llm.ArgumentsDelta, Choice: choice, Index: index, Text: arguments})
		}
		return
	}
	t.add(llm.Delta{Kind: llm.CallDelta, Choice: choice, Index: index, Call: &llm.ToolCall{
		ID: c.ID, Name: f.Name, Arguments: arguments, Custom: custom, Signature: c.Extra.Google.Signature, Provider: c.Extra.Ours.Provider,
	}})
}

// place returns the index of the call that a delta belongs to, and whether the delta begins the call. Some providers
// reuse an index for another call with another ID, and some send no index.
func (s *choiceState) place(c *toolCallJSON, named bool) (index int, begins bool) {
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
