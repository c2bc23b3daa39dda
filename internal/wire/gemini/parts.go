package gemini

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"fairlead/internal/llm"
	"fairlead/internal/wire/show"
)

const contentFilter = "content_filter"

// finishes maps Google's finish reasons to those of the chat format. STOP becomes tool_calls if there are calls.
var finishes = map[string]string{
	"STOP": "stop", "MAX_TOKENS": "length",
	"SAFETY": contentFilter, "RECITATION": contentFilter, "BLOCKLIST": contentFilter, "PROHIBITED_CONTENT": contentFilter,
	"SPII": contentFilter, "LANGUAGE": contentFilter, "MODEL_ARMOR": contentFilter,
	"IMAGE_SAFETY": contentFilter, "IMAGE_PROHIBITED_CONTENT": contentFilter, "IMAGE_RECITATION": contentFilter,
}

// candidate yields the parts of one candidate and records its finish reason. The finish is yielded at the end, because
// some models set a reason in every event.
func (a *answer) candidate(got *candidate) error {
	if got.Index < 0 || got.Index >= maxChoices {
		return malformed("The provider sent a candidate with index %d.", got.Index)
	}
	c := a.choices[got.Index]
	if c == nil {
		c = &choice{}
		a.choices[got.Index] = c
	}
	if got.Grounding != nil && (c.grounding == nil || len(got.Grounding.Supports) > 0) {
		c.grounding = got.Grounding
	}
	if got.Grounding != nil {
		a.countSearches(got.Grounding.Queries)
	}
	for i := range got.Content.Parts {
		if !a.streamed {
			c.starts = append(c.starts, c.text.Len())
		}
		if err := a.part(got.Index, c, &got.Content.Parts[i]); err != nil {
			return err
		}
	}
	return c.end(got)
}

func (c *choice) end(got *candidate) error {
	if got.Finish == "" || got.Finish == "FINISH_REASON_UNSPECIFIED" {
		return nil
	}
	finish, known := finishes[got.Finish]
	if !known {
		return unfinished(got)
	}
	if finish == "stop" && c.calls > 0 {
		finish = "tool_calls"
	}
	c.finish = finish
	return nil
}

// unfinished returns the error for a response with an error or unknown finish reason.
func unfinished(got *candidate) error {
	kind := llm.UpstreamServer
	if strings.HasPrefix(got.Finish, "MALFORMED") {
		kind = llm.UpstreamMalformed
	}
	e := llm.Errorf(kind, "The model's response was interrupted (%s).", show.Cut(show.OneLine(got.Finish), 60))
	if said := show.Preview(got.Message, 200); said != "" {
		e.Message = strings.TrimSuffix(e.Message, ".") + ": " + said
	}
	e.UpstreamCode = show.Cut(show.OneLine(got.Finish), 60)
	return e
}

// part yields one part. A signature on a text ends the thinking before it; a signature on a call belongs to the call.
func (a *answer) part(n int, c *choice, got *answerPart) error {
	switch {
	case got.Call != nil:
		return a.call(n, c, got)
	case got.Text == nil && got.Signature == "":
		if !a.lost && a.o.Document == nil {
			a.lost = true
			a.warn("dropped a part of the response that is neither text nor a tool call")
		}
		return nil
	case got.Thought && got.Text != nil && *got.Text != "":
		if err := a.tell(llm.Delta{Kind: llm.ThinkingDelta, Choice: n, Text: *got.Text}); err != nil {
			return err
		}
	}
	if got.Signature != "" {
		signature := &llm.Thinking{Signature: got.Signature, Provider: a.o.Provider}
		if err := a.tell(llm.Delta{Kind: llm.SignatureDelta, Choice: n, Thinking: signature}); err != nil {
			return err
		}
	}
	if got.Thought || got.Text == nil || *got.Text == "" {
		return nil
	}
	if a.o.Search {
		c.text.WriteString(*got.Text)
	}
	return a.tell(llm.Delta{Kind: llm.TextDelta, Choice: n, Text: *got.Text})
}

// call yields a tool call, which always arrives complete.
func (a *answer) call(n int, c *choice, got *answerPart) error {
	call := &llm.ToolCall{ID: got.Call.ID, Name: got.Call.Name, Arguments: compact(got.Call.Args)}
	if call.ID == "" {
		call.ID = a.callID(n, c.calls, call)
	}
	if got.Signature != "" {
		call.Signature, call.Provider = got.Signature, a.o.Provider
	}
	if a.o.Custom != nil && a.o.Custom(call.Name) {
		call.Custom = true
		call.Arguments = freeText(got.Call.Args, call.Arguments)
	}
	c.calls++
	if c.finish == "stop" {
		c.finish = "tool_calls"
	}
	return a.tell(llm.Delta{Kind: llm.CallDelta, Choice: n, Index: c.calls - 1, Call: call})
}

// callID creates an ID for a call without one. It is deterministic, and unique across the turns of a conversation even
// if the model repeats a call.
func (a *answer) callID(choice, place int, call *llm.ToolCall) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%d\x00%s\x00%s", a.seed, choice, place, call.Name, call.Arguments))
	return "call_" + hex.EncodeToString(sum[:12])
}

func compact(args json.RawMessage) string {
	if len(args) == 0 || string(args) == "null" {
		return "{}"
	}
	var out bytes.Buffer
	if err := json.Compact(&out, args); err != nil {
		return string(args) // unreachable: the arguments were decoded from JSON
	}
	return out.String()
}

// freeText returns the text argument of a custom tool.
func freeText(args json.RawMessage, otherwise string) string {
	m, _ := readMembers(args)
	if raw := m.get(customInput); len(raw) > 0 && raw[0] == '"' {
		return text(raw)
	}
	return otherwise
}
