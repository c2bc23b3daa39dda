package messagesconv

import (
	"slices"
	"strings"

	"fairlead/internal/llm"
	"fairlead/internal/rawjson"
	"fairlead/internal/wire/show"
)

// open begins a block with its initial content. In a whole response that is all content.
func (p *deltaReader) open(index int64, v rawjson.Value) {
	b := &block{kind: v.Get("type").String()}
	p.blocks[index] = b
	switch b.kind {
	case "text":
		p.text(llm.TextDelta, v.Get("text").String())
		if v.Get("citations.0").Exists() {
			p.warnDropped("citations")
		}
	case "thinking":
		p.text(llm.ThinkingDelta, v.Get("thinking").String())
		b.signature.WriteString(v.Get("signature").String())
	case "redacted_thinking":
		b.sealed = v.Get("data").String()
	case "tool_use":
		p.openCall(b, v)
	default:
		p.warnDropped("a block of type " + show.Quote(b.kind))
	}
}

func (p *deltaReader) openCall(b *block, v rawjson.Value) {
	b.id, b.call = v.Get("id").String(), v.Get("name").String()
	if input := v.Get("input").Raw; strings.Trim(input, "{} \t\r\n") != "" {
		b.initial = input
	}
	if b.call == p.o.SchemaTool && b.call != "" {
		return
	}
	b.index = p.calls
	p.calls++
	if !slices.Contains(p.o.CustomTools, b.call) {
		p.emit(llm.Delta{Kind: llm.CallDelta, Index: b.index, Call: &llm.ToolCall{ID: b.id, Name: b.call}})
	}
}

func (p *deltaReader) text(kind llm.DeltaKind, text string) {
	if text != "" && !p.gone {
		p.emit(llm.Delta{Kind: kind, Text: text})
	}
}

// warnDropped warns once about a part of the response that cannot be expressed.
func (p *deltaReader) warnDropped(what string) {
	if !p.lost {
		p.lost = true
		p.Warn("dropped a part of the response: %s", what)
	}
}

func (p *deltaReader) delta(index int64, v rawjson.Value) {
	b := p.blocks[index]
	if b == nil {
		b = &block{kind: "text"} // some compatible servers send no content_block_start
		p.blocks[index] = b
	}
	switch v.Get("type").String() {
	case "text_delta":
		p.text(llm.TextDelta, v.Get("text").String())
	case "thinking_delta":
		b.kind = "thinking"
		p.text(llm.ThinkingDelta, v.Get("thinking").String())
	case "signature_delta":
		b.signature.WriteString(v.Get("signature").String())
	case "input_json_delta":
		if b.kind == "tool_use" {
			p.input(b, v.Get("partial_json").String())
		}
	case "citations_delta":
		p.warnDropped("citations")
	}
}

// input adds to the input of a call. It is sent as text if the call carries the response, and held if it is free text in
// JSON.
func (p *deltaReader) input(b *block, text string) {
	if text == "" || p.gone {
		return
	}
	b.spoke = true
	switch {
	case b.call == p.o.SchemaTool:
		p.emit(llm.Delta{Kind: llm.TextDelta, Text: text})
	case slices.Contains(p.o.CustomTools, b.call):
		b.held = append(b.held, text...)
	default:
		p.emit(llm.Delta{Kind: llm.ArgumentsDelta, Index: b.index, Text: text})
	}
}

// close ends a block. Thinking gets its signature; a call without arguments gets an empty object.
func (p *deltaReader) close(index int64) {
	b := p.blocks[index]
	delete(p.blocks, index)
	if b == nil || p.gone {
		return
	}
	switch b.kind {
	case "thinking":
		p.emit(llm.Delta{Kind: llm.SignatureDelta, Thinking: &llm.Thinking{Signature: b.signature.String(), Provider: p.o.Signer}})
	case "redacted_thinking":
		p.emit(llm.Delta{Kind: llm.SignatureDelta, Thinking: &llm.Thinking{Redacted: b.sealed, Provider: p.o.Signer}})
	case "tool_use":
		if !b.spoke {
			if b.initial == "" {
				b.initial = "{}"
			}
			p.input(b, b.initial)
		}
		if slices.Contains(p.o.CustomTools, b.call) && !p.gone {
			p.emit(llm.Delta{Kind: llm.CallDelta, Index: b.index, Call: &llm.ToolCall{
				ID: b.id, Name: b.call, Arguments: freeTextOf(string(b.held)), Custom: true,
			}})
		}
	}
}
