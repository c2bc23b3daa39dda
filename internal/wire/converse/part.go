package converse

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"fairlead/internal/llm"
)

// part is an open block of the response.
type part struct {
	call     bool
	answer   bool // a call to the tool whose input is the response
	custom   bool // a call to a tool that accepts free text
	index    int  // index among the client's calls
	thinking bool
	sign     strings.Builder
	redacted []string        // base64 chunks
	said     bool            // whether arguments have arrived
	input    strings.Builder // input of a custom tool
}

func (a *answer) part(i int) *part {
	if a.open[i] == nil {
		a.open[i] = &part{}
	}
	return a.open[i]
}

// text yields text. If the response may be the input of a tool, text before the tool call is not part of the response,
// so it is held until no such call can follow.
func (a *answer) text(s string) {
	switch {
	case s == "" || a.answered:
	case a.o.Plan.answer != "":
		a.held.WriteString(s)
	default:
		a.say(llm.Delta{Kind: llm.TextDelta, Text: s})
	}
}

// flush yields the held text.
func (a *answer) flush() {
	if a.held.Len() > 0 {
		a.say(llm.Delta{Kind: llm.TextDelta, Text: a.held.String()})
		a.held.Reset()
	}
}

// startCall begins a tool call, or the response if it is the input of the tool.
func (a *answer) startCall(i int, id, name string) {
	p := a.part(i)
	if a.o.Plan.answer != "" && name == a.o.Plan.answer {
		a.held.Reset()
		p.answer, a.answered = true, true
		return
	}
	a.flush()
	tool, known := a.o.Plan.ours[name]
	if !known {
		tool.name = name // invented by the model
	}
	p.call, p.custom, p.index = true, tool.custom, a.calls
	a.calls++
	a.say(llm.Delta{Kind: llm.CallDelta, Index: p.index, Call: &llm.ToolCall{ID: id, Name: tool.name, Custom: tool.custom}})
}

// arguments yields part of the input of a call.
func (a *answer) arguments(i int, text string) {
	p := a.part(i)
	if text == "" {
		return
	}
	p.said = true
	switch {
	case p.answer:
		a.say(llm.Delta{Kind: llm.TextDelta, Text: text})
	case p.custom:
		p.input.WriteString(text)
	case p.call:
		a.say(llm.Delta{Kind: llm.ArgumentsDelta, Index: p.index, Text: text})
	}
}

func (a *answer) thinking(i int, text string) {
	a.part(i).thinking = true
	if text != "" {
		a.say(llm.Delta{Kind: llm.ThinkingDelta, Text: text})
	}
}

func (a *answer) sign(i int, signature string) {
	p := a.part(i)
	p.sign.WriteString(signature)
	p.thinking = p.thinking || signature != ""
}

func (a *answer) redact(i int, redacted string) {
	p := a.part(i)
	if redacted != "" {
		p.redacted = append(p.redacted, redacted)
		p.thinking = true
	}
}

// joinBase64 returns the base64 of the concatenated chunks. Chunks that are not valid base64 are concatenated
// unchanged.
func joinBase64(pieces []string) string {
	if len(pieces) == 1 {
		return pieces[0]
	}
	var all []byte
	for _, piece := range pieces {
		decoded, err := base64.StdEncoding.DecodeString(piece)
		if err != nil {
			return strings.Join(pieces, "")
		}
		all = append(all, decoded...)
	}
	return base64.StdEncoding.EncodeToString(all)
}

// stopBlock ends a block. It yields the signature of a thinking block, and an empty object for a call without
// arguments.
func (a *answer) stopBlock(i int) {
	p := a.open[i]
	delete(a.open, i)
	switch {
	case p == nil:
	case p.answer && !p.said:
		a.say(llm.Delta{Kind: llm.TextDelta, Text: "{}"})
	case p.custom:
		a.say(llm.Delta{Kind: llm.ArgumentsDelta, Index: p.index, Text: unwrap(p.input.String())})
	case p.call && !p.said:
		a.say(llm.Delta{Kind: llm.ArgumentsDelta, Index: p.index, Text: "{}"})
	case p.thinking:
		t := &llm.Thinking{Signature: p.sign.String(), Redacted: joinBase64(p.redacted)}
		if t.Signature != "" || t.Redacted != "" {
			t.Provider = a.o.Provider
		}
		a.say(llm.Delta{Kind: llm.SignatureDelta, Thinking: t})
	}
}

// unwrap returns the free text from the object that contains it.
func unwrap(input string) string {
	var wrapped map[string]json.RawMessage
	if json.Unmarshal([]byte(input), &wrapped) != nil {
		return input
	}
	var text string
	if json.Unmarshal(wrapped[customInput], &text) != nil {
		return input
	}
	return text
}
