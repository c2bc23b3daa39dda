package bedrock

import (
	"encoding/base64"
	"strings"

	"fairlead.dev/internal/llm"
)

// part holds the state of an open content block of the response.
type part struct {
	call         bool
	isOutput     bool // whether the block is a call of the output tool, whose input is the response
	custom       bool // whether the block is a call to a tool that accepts free text
	index        int  // index among the calls to the client's tools
	thinking     bool
	sign         strings.Builder
	redacted     []string        // redacted thinking, as base64 chunks
	hasArguments bool            // whether arguments have arrived
	input        strings.Builder // input of a custom tool
}

func (dec *responseDecoder) part(i int) *part {
	if dec.open[i] == nil {
		dec.open[i] = &part{}
	}
	return dec.open[i]
}

// text yields text. If the request has an output tool, the text is held until the model calls another tool or the response ends, because
// text before a call of the output tool is not part of the response.
func (dec *responseDecoder) text(s string) {
	switch {
	case s == "" || dec.usedOutputTool:
	case dec.o.Plan.outputTool != "":
		dec.held.WriteString(s)
	default:
		dec.emit(llm.Delta{Kind: llm.TextDelta, Text: s})
	}
}

// flush yields the held text.
func (dec *responseDecoder) flush() {
	if dec.held.Len() > 0 {
		dec.emit(llm.Delta{Kind: llm.TextDelta, Text: dec.held.String()})
		dec.held.Reset()
	}
}

// startCall begins a tool call. If the model calls the output tool, the input of the call becomes the response.
func (dec *responseDecoder) startCall(i int, id, name string) {
	p := dec.part(i)
	if dec.o.Plan.outputTool != "" && name == dec.o.Plan.outputTool {
		dec.held.Reset()
		p.isOutput, dec.usedOutputTool = true, true
		return
	}
	dec.flush()
	tool, known := dec.o.Plan.clientTools[name]
	if !known {
		tool.name = name // the request does not contain this tool
	}
	p.call, p.custom, p.index = true, tool.custom, dec.calls
	dec.calls++
	dec.emit(llm.Delta{Kind: llm.CallDelta, Index: p.index, Call: &llm.ToolCall{ID: id, Name: tool.name, Custom: tool.custom}})
}

// arguments yields the next fragment of a call's input. The input of a custom tool is stored until it is complete.
func (dec *responseDecoder) arguments(i int, text string) {
	p := dec.part(i)
	if text == "" {
		return
	}
	p.hasArguments = true
	switch {
	case p.isOutput:
		dec.emit(llm.Delta{Kind: llm.TextDelta, Text: text})
	case p.custom:
		p.input.WriteString(text)
	case p.call:
		dec.emit(llm.Delta{Kind: llm.ArgumentsDelta, Index: p.index, Text: text})
	}
}

func (dec *responseDecoder) thinking(i int, text string) {
	dec.part(i).thinking = true
	if text != "" {
		dec.emit(llm.Delta{Kind: llm.ThinkingDelta, Text: text})
	}
}

func (dec *responseDecoder) sign(i int, signature string) {
	p := dec.part(i)
	p.sign.WriteString(signature)
	p.thinking = p.thinking || signature != ""
}

func (dec *responseDecoder) redact(i int, redacted string) {
	p := dec.part(i)
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
func (dec *responseDecoder) stopBlock(i int) {
	p := dec.open[i]
	delete(dec.open, i)
	switch {
	case p == nil:
	case p.isOutput && !p.hasArguments:
		dec.emit(llm.Delta{Kind: llm.TextDelta, Text: "{}"})
	case p.custom:
		dec.emit(llm.Delta{Kind: llm.ArgumentsDelta, Index: p.index, Text: unwrap(p.input.String())})
	case p.call && !p.hasArguments:
		dec.emit(llm.Delta{Kind: llm.ArgumentsDelta, Index: p.index, Text: "{}"})
	case p.thinking:
		t := &llm.Thinking{Signature: p.sign.String(), Redacted: joinBase64(p.redacted)}
		if t.Signature != "" || t.Redacted != "" {
			t.Provider = dec.o.Provider
		}
		dec.emit(llm.Delta{Kind: llm.SignatureDelta, Thinking: t})
	}
}

// unwrap returns the free text in the arguments of a custom tool call. It returns arguments without such text unchanged.
func unwrap(input string) string {
	var wrapped struct {
		Input *string `json:"input"`
	}
	if decode([]byte(input), &wrapped) != nil || wrapped.Input == nil {
		return input
	}
	return *wrapped.Input
}
