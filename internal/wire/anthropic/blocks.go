package anthropic

import (
	"cmp"
	"encoding/base64"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/show"
)

// parts decodes a string or a list of blocks.
func (r *requestReader) parts(v rawjson.Value) []llm.Part {
	if v.Kind == rawjson.Text {
		return []llm.Part{{Kind: llm.TextPart, Text: v.String()}}
	}
	var parts []llm.Part
	var signed wrappedSignature // signature of the next call
	v.ForEach(func(_, block rawjson.Value) bool {
		if data := block.Get("data").String(); block.Get("type").String() == "redacted_thinking" {
			if s, ours := unwrapSignature(data); ours && s.Call {
				signed = s
				return true
			}
		}
		if part, ok := r.part(block); ok {
			if part.Kind == llm.CallPart {
				part.Call.Signature, part.Call.Provider = signed.Value, signed.Provider
				signed = wrappedSignature{}
			}
			part.Cache = readCache(block)
			parts = append(parts, part)
		}
		return r.ctx.Err() == nil
	})
	return parts
}

// part decodes one block. It returns false for an unsupported block.
func (r *requestReader) part(v rawjson.Value) (llm.Part, bool) {
	switch kind := v.Get("type").String(); kind {
	case "text":
		return llm.Part{Kind: llm.TextPart, Text: v.Get("text").String()}, true
	case "image":
		return r.media(llm.ImagePart, v)
	case "document":
		return r.media(llm.FilePart, v)
	case "thinking":
		thinking := &llm.Thinking{Text: v.Get("thinking").String()}
		thinking.Signature, thinking.Provider = signature(v.Get("signature").String())
		return llm.Part{Kind: llm.ThinkingPart, Thinking: thinking}, true
	case "redacted_thinking":
		data := v.Get("data").String()
		if s, ours := unwrapSignature(data); ours && s.Text {
			return llm.Part{Kind: llm.ThinkingPart, Thinking: &llm.Thinking{Signature: s.Value, Provider: s.Provider}}, true
		}
		thinking := &llm.Thinking{}
		thinking.Redacted, thinking.Provider = signature(data)
		return llm.Part{Kind: llm.ThinkingPart, Thinking: thinking}, true
	case "tool_use":
		id := v.Get("id").String()
		call := &llm.ToolCall{ID: decodeID(id), Name: v.Get("name").String(), Arguments: v.Get("input").Raw}
		r.names[id] = call.Name
		return llm.Part{Kind: llm.CallPart, Call: call}, true
	case "tool_result":
		return r.result(v), true
	case "search_result":
		text := v.Get("title").String() + "\n" + v.Get("source").String()
		v.Get("content").ForEach(func(_, block rawjson.Value) bool {
			text += "\n" + block.Get("text").String()
			return r.ctx.Err() == nil
		})
		return llm.Part{Kind: llm.TextPart, Text: text}, true
	case "compaction":
		return llm.Part{Kind: llm.TextPart, Text: v.Get("content").String()}, true
	default:
		if text := DescribeToolChange(v); text != "" {
			if definition := v.Get("tool.definition"); definition.IsObject() {
				r.conv.Tools = append(r.conv.Tools, readTool(definition))
			}
			return llm.Part{Kind: llm.TextPart, Text: text}, true
		}
		r.conv.DropField("a block of type " + show.Quote(kind))
		return llm.Part{}, false
	}
}

// DescribeToolChange returns the text for a block that makes a deferred tool available or unavailable, for models that always have every
// tool of the request. It returns an empty string for any other block.
func DescribeToolChange(block rawjson.Value) string {
	tool := block.Get("tool")
	name := cmp.Or(block.Get("tool_name").String(), tool.Get("name").String(), tool.Get("definition.name").String(), tool.Get("server_name").String())
	switch block.Get("type").String() {
	case "tool_reference", "tool_addition":
		return "The tool " + name + " is available."
	case "tool_removal":
		return "The tool " + name + " is not available any more."
	}
	return ""
}

// signature decodes a signature. provider is empty for a signature that the gateway did not wrap; such a signature is valid only at a
// provider that uses this format.
func signature(text string) (value, provider string) {
	if s, ours := unwrapSignature(text); ours {
		return s.Value, s.Provider
	}
	return text, ""
}

func (r *requestReader) result(v rawjson.Value) llm.Part {
	id := v.Get("tool_use_id").String()
	result := &llm.ToolResult{ID: decodeID(id), Name: r.names[id], Failed: v.Get("is_error").Bool()}
	content := v.Get("content")
	if content.Kind == rawjson.Text {
		result.Parts = []llm.Part{{Kind: llm.TextPart, Text: content.String()}}
		return llm.Part{Kind: llm.ResultPart, Result: result}
	}
	content.ForEach(func(_, block rawjson.Value) bool {
		switch block.Get("type").String() {
		case "tool_use", "tool_result", "thinking", "redacted_thinking": // not supported inside a tool result
			r.conv.DropField("a block of type " + block.Get("type").String() + " inside a result")
		default:
			if part, ok := r.part(block); ok {
				part.Cache = readCache(block)
				result.Parts = append(result.Parts, part)
			}
		}
		return true
	})
	return llm.Part{Kind: llm.ResultPart, Result: result}
}

// media decodes an image or a document from its source.
func (r *requestReader) media(kind llm.PartKind, v rawjson.Value) (llm.Part, bool) {
	source := v.Get("source")
	media := &llm.Media{Type: source.Get("media_type").String(), Name: v.Get("title").String()}
	switch what := source.Get("type").String(); what {
	case "base64":
		media.Data = source.Get("data").String()
	case "url":
		media.URL = source.Get("url").String()
	case "file":
		media.FileID = source.Get("file_id").String()
	case "text":
		media.Data = base64.StdEncoding.EncodeToString([]byte(source.Get("data").String()))
	case "content":
		content := source.Get("content")
		text := content.String()
		if content.IsList() {
			var all strings.Builder
			content.ForEach(func(_, block rawjson.Value) bool {
				all.WriteString(block.Get("text").String())
				return true
			})
			text = all.String()
		}
		return llm.Part{Kind: llm.TextPart, Text: text}, text != ""
	default:
		r.conv.DropField("a source of type " + show.Quote(what))
		return llm.Part{}, false
	}
	if v.Get("citations.enabled").Bool() {
		r.conv.DropField("citations")
	}
	if v.Get("context").String() != "" {
		r.conv.DropField("context of a document")
	}
	return llm.Part{Kind: kind, Media: media}, true
}
