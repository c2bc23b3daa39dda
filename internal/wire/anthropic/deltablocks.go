package anthropic

import (
	"slices"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/show"
)

// open begins a block with its initial content. In a non-streamed response, this is the complete content.
func (p *deltaReader) open(index int64, v rawjson.Value) {
	b := &block{kind: v.Get("type").String(), from: p.characters}
	p.blocks[index] = b
	switch b.kind {
	case "text":
		p.text(llm.TextDelta, v.Get("text").String())
		v.Get("citations").ForEach(func(_, citation rawjson.Value) bool {
			p.cite(b, citation)
			return true
		})
	case "thinking":
		p.text(llm.ThinkingDelta, v.Get("thinking").String())
		b.signature.WriteString(v.Get("signature").String())
	case "redacted_thinking":
		b.sealed = v.Get("data").String()
	case "tool_use":
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
	case "server_tool_use", "web_search_tool_result": // dropped, because the citations contain the sources
	default:
		p.warnDropped("a block of type " + show.Quote(b.kind))
	}
}

func (p *deltaReader) text(kind llm.DeltaKind, text string) {
	if text != "" && !p.gone {
		p.emit(llm.Delta{Kind: kind, Text: text})
	}
}

// warnDropped warns about a part of the response that llm.Delta cannot express. It warns only once per response.
func (p *deltaReader) warnDropped(what string) {
	if !p.lost {
		p.lost = true
		p.Warn("dropped a part of the response: %s", what)
	}
}

func (p *deltaReader) delta(index int64, v rawjson.Value) {
	b := p.blocks[index]
	if b == nil {
		b = &block{kind: "text", from: p.characters} // some compatible servers send no content_block_start
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
		p.cite(b, v.Get("citation"))
	}
}

// cite adds a citation to a text block. It drops a citation whose source is not a web page, because other formats do not support it.
func (p *deltaReader) cite(b *block, v rawjson.Value) {
	url := v.Get("url").String()
	if url == "" && v.Get("type").String() == "search_result_location" {
		url = v.Get("source").String()
	}
	if !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
		p.warnDropped("a citation that does not name a web page")
		return
	}
	b.citations = append(b.citations, llm.Citation{URL: url, Title: v.Get("title").String(), Quote: v.Get("cited_text").String(), Start: b.from})
}

// input handles a part of the input of a call. The input of the schema tool is sent as text, because it is the response. The input of a
// custom tool is held until it is complete, because incomplete JSON cannot be decoded.
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

// close ends a block. It yields the citations of a text block, which apply to the whole block, the signature of a
// thinking block, and an empty object for a call without arguments.
func (p *deltaReader) close(index int64) {
	b := p.blocks[index]
	delete(p.blocks, index)
	if b == nil || p.gone {
		return
	}
	switch b.kind {
	case "text":
		for i := range b.citations {
			if b.citations[i].End = p.characters; !p.gone {
				p.emit(llm.Delta{Kind: llm.CitationDelta, Citation: &b.citations[i]})
			}
		}
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
			text := string(b.held)
			if input := rawjson.ParseString(text).Get("input"); input.Kind == rawjson.Text {
				text = input.String()
			}
			p.emit(llm.Delta{Kind: llm.CallDelta, Index: b.index, Call: &llm.ToolCall{ID: b.id, Name: b.call, Arguments: text, Custom: true}})
		}
	}
}
