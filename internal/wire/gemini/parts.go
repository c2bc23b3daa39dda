package gemini

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
)

const contentFilter = "content_filter"

// candidate yields the parts of one candidate and records its finish reason. The finish reason is yielded at the end of
// the response, because some models set a reason in every event.
func (dec *responseDecoder) candidate(got *candidate) error {
	if got.Index < 0 || got.Index >= maxChoices {
		return malformed("The provider sent a candidate with index %d.", got.Index)
	}
	c := dec.choices[got.Index]
	if c == nil {
		c = &choice{}
		dec.choices[got.Index] = c
	}
	if got.Grounding != nil && (c.grounding == nil || len(got.Grounding.Supports) > 0) {
		c.grounding = got.Grounding
	}
	if got.Grounding != nil {
		dec.countSearches(got.Grounding.Queries)
	}
	for i := range got.Content.Parts {
		if !dec.streamed {
			c.starts = append(c.starts, c.text.Len())
		}
		if err := dec.part(got.Index, c, &got.Content.Parts[i]); err != nil {
			return err
		}
	}
	switch got.Finish {
	case "", "FINISH_REASON_UNSPECIFIED":
	case "STOP":
		c.finish = "stop"
		if c.calls > 0 {
			c.finish = "tool_calls"
		}
	case "MAX_TOKENS":
		c.finish = "length"
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "MODEL_ARMOR",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		c.finish = contentFilter
	default: // an error, or a reason that the gateway does not know
		kind := llm.UpstreamServer
		if strings.HasPrefix(got.Finish, "MALFORMED") {
			kind = llm.UpstreamMalformed
		}
		reason := show.Cut(show.OneLine(got.Finish), 60)
		e := llm.Errorf(kind, "The model's response was interrupted (%s).", reason)
		if message := show.Preview(got.Message, 200); message != "" {
			e.Message = strings.TrimSuffix(e.Message, ".") + ": " + message
		}
		e.UpstreamCode = reason
		return e
	}
	return nil
}

// part yields one part. A signature in a text part ends the preceding thinking; a signature in a call part belongs to the call.
func (dec *responseDecoder) part(n int, c *choice, got *responsePart) error {
	switch {
	case got.Call != nil:
		return dec.call(n, c, got)
	case got.Text == nil && got.Signature == "":
		if !dec.lost && dec.o.Document == nil {
			dec.lost = true
			dec.warn("dropped a part of the response that is neither text nor a tool call")
		}
		return nil
	case got.Thought && got.Text != nil && *got.Text != "":
		if err := dec.emit(llm.Delta{Kind: llm.ThinkingDelta, Choice: n, Text: *got.Text}); err != nil {
			return err
		}
	}
	if got.Signature != "" {
		signature := &llm.Thinking{Signature: got.Signature, Provider: dec.o.Provider}
		if err := dec.emit(llm.Delta{Kind: llm.SignatureDelta, Choice: n, Thinking: signature}); err != nil {
			return err
		}
	}
	if got.Thought || got.Text == nil || *got.Text == "" {
		return nil
	}
	if dec.o.Search {
		c.text.WriteString(*got.Text)
	}
	return dec.emit(llm.Delta{Kind: llm.TextDelta, Choice: n, Text: *got.Text})
}

// call yields a tool call, which always arrives complete.
func (dec *responseDecoder) call(n int, c *choice, got *responsePart) error {
	call := &llm.ToolCall{ID: got.Call.ID, Name: got.Call.Name, Arguments: "{}"}
	if args := got.Call.Args; len(args) > 0 && string(args) != "null" {
		var compact bytes.Buffer
		_ = json.Compact(&compact, args) // cannot fail, because the arguments were decoded from JSON
		call.Arguments = compact.String()
	}
	if call.ID == "" { // generate a deterministic ID that is unique across the turns of a conversation, even if the model repeats a call
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%d\x00%s\x00%s", dec.seed, n, c.calls, call.Name, call.Arguments))
		call.ID = "call_" + hex.EncodeToString(sum[:12])
	}
	if got.Signature != "" {
		call.Signature, call.Provider = got.Signature, dec.o.Provider
	}
	if dec.o.Custom != nil && dec.o.Custom(call.Name) {
		call.Custom = true
		m, _ := readMembers(got.Call.Args)
		if raw := m.get(customInput); len(raw) > 0 && raw[0] == '"' {
			call.Arguments = text(raw)
		}
	}
	c.calls++
	if c.finish == "stop" {
		c.finish = "tool_calls"
	}
	return dec.emit(llm.Delta{Kind: llm.CallDelta, Choice: n, Index: c.calls - 1, Call: call})
}
