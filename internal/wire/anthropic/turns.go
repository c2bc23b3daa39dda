package anthropic

import (
	"encoding/base64"
	"slices"
	"strings"

	"fairlead.dev/internal/llm"
)

// sendable returns the turns without the parts that the provider rejects: blank text, and thinking that is empty or was
// not signed by the provider. Empty turns are dropped, and the turns before and after them are joined.
func (r *renderer) sendable(turns []llm.Message) []llm.Message {
	var kept []llm.Message
	for _, m := range turns {
		if m.Name != "" {
			r.warn("the name of a message was dropped: the messages format does not support it")
		}
		var parts []llm.Part
		for _, p := range m.Parts {
			if !isBlank(&p) && (p.Kind != llm.ThinkingPart || r.isSignedThinking(p)) {
				parts = append(parts, p)
			}
		}
		n := len(kept)
		switch {
		case len(parts) == 0:
		case n > 0 && kept[n-1].Role == m.Role:
			kept[n-1].Parts = append(kept[n-1].Parts, parts...)
		default:
			kept = append(kept, llm.Message{Role: m.Role, Parts: parts})
		}
	}
	return kept
}

// isBlank reports whether a part is a text of white space.
func isBlank(p *llm.Part) bool {
	return (p.Kind == llm.TextPart || p.Kind == llm.RefusalPart) && strings.TrimSpace(p.Text) == ""
}

// addMessages adds the turns.
func (r *renderer) addMessages(turns []llm.Message) error {
	if len(turns) > 0 && turns[0].Role == llm.Assistant {
		r.warn("the conversation begins with the assistant: a user turn was added before it")
		text := llm.Part{Kind: llm.TextPart, Text: "(The conversation goes on.)"}
		turns = append([]llm.Message{{Role: llm.User, Parts: []llm.Part{text}}}, turns...)
	}
	for i, m := range turns {
		parts := orderParts(m)
		if last := len(parts) - 1; m.Role == llm.Assistant && i == len(turns)-1 && last >= 0 && parts[last].Kind == llm.TextPart {
			// The last text is a prefill, which the model continues. The provider rejects white space at its end.
			if trimmed := strings.TrimRight(parts[last].Text, " \t\r\n"); trimmed != parts[last].Text {
				r.warn("white space at the end of the last assistant message was dropped: the provider rejects it")
				parts = slices.Clone(parts)
				parts[last].Text = trimmed
			}
		}
		next := message{Role: string(m.Role)}
		next.Content.list = make([]part, 0, len(parts))
		for i := range parts {
			if err := r.addPart(&next.Content.list, &parts[i]); err != nil {
				return err
			}
		}
		if len(next.Content.list) > 0 {
			r.out.Messages = append(r.out.Messages, next)
		}
	}
	if len(r.out.Messages) == 0 {
		return untranslatable("The conversation is empty: every message is empty.")
	}
	return nil
}

// orderParts sorts parts as the provider requires: tool results first in user messages, thinking first in assistant messages. If an assistant
// message already begins with thinking, the order is kept, because thinking may alternate with calls.
func orderParts(m llm.Message) []llm.Part {
	kind := llm.ResultPart
	if m.Role == llm.Assistant {
		kind = llm.ThinkingPart
		if len(m.Parts) > 0 && m.Parts[0].Kind == kind {
			return m.Parts
		}
	}
	parts := make([]llm.Part, 0, len(m.Parts))
	for _, first := range []bool{true, false} {
		for _, p := range m.Parts {
			if (p.Kind == kind) == first {
				parts = append(parts, p)
			}
		}
	}
	return parts
}

func untranslatable(message string) *llm.Error {
	return &llm.Error{Kind: llm.Untranslatable, Message: message, Param: "messages"}
}

// addPart adds a block to a list. Blank text is dropped, because the provider rejects it.
func (r *renderer) addPart(list *[]part, p *llm.Part) error {
	if err := llm.Cancelled(r.ctx); err != nil {
		return err
	}
	var out part
	var err error
	switch p.Kind {
	case llm.TextPart, llm.RefusalPart:
		if isBlank(p) {
			return nil
		}
		out.Type, out.Text = "text", &p.Text
	case llm.ImagePart, llm.FilePart:
		out, err = r.media(p)
	case llm.ThinkingPart:
		if t := p.Thinking; t.Redacted != "" {
			out.Type, out.Data = "redacted_thinking", &t.Redacted
		} else {
			out.Type, out.Thinking, out.Signature = "thinking", &t.Text, &t.Signature
		}
	case llm.CallPart:
		out.block = block{Type: "tool_use", ID: r.ids.call(p.Call.ID), Name: p.Call.Name, Input: r.input(p.Call)}
	case llm.ResultPart:
		out, err = r.result(p.Result)
	default:
		err = untranslatable("The provider does not support " + string(p.Kind) + ".")
	}
	if err != nil {
		return err
	}
	if p.Kind != llm.ThinkingPart { // thinking blocks cannot have a cache mark
		out.CacheControl = r.mark(p.Cache)
	}
	*list = append(*list, out)
	return nil
}

// input returns the arguments of a call as an object, as the provider requires.
func (r *renderer) input(call *llm.ToolCall) []byte {
	if call.Custom {
		input, _ := encode(map[string]string{"input": call.Arguments}) // strings can always be encoded
		return input
	}
	input, wrapped := inputOf(call.Arguments)
	if wrapped {
		r.warn("the arguments of a call of %s are not a JSON object: they were wrapped in one", call.Name)
	}
	return input
}

func (r *renderer) result(res *llm.ToolResult) (part, error) {
	out := part{block: block{Type: "tool_result"}, ToolUseID: r.ids.result(res.ID), IsError: res.Failed}
	if len(res.Parts) == 1 && res.Parts[0].Kind == llm.TextPart && res.Parts[0].Cache == nil {
		out.Content.text = &res.Parts[0].Text
		return out, nil
	}
	for i := range res.Parts {
		if err := r.addPart(&out.Content.list, &res.Parts[i]); err != nil {
			return out, err
		}
	}
	return out, nil
}

// media returns an image or a document.
func (r *renderer) media(p *llm.Part) (part, error) {
	m := *p.Media
	if rest, ok := strings.CutPrefix(m.URL, "data:"); ok {
		head, data, _ := strings.Cut(rest, ",")
		m.URL, m.Data = "", data
		if kind, _, _ := strings.Cut(head, ";"); kind != "" {
			m.Type = kind
		}
	}
	if m.Detail != "" && m.Detail != "auto" {
		r.warnDropped("the detail of an image")
	}
	var from *source
	var err error
	out := part{block: block{Type: "image"}}
	if p.Kind == llm.FilePart && !strings.HasPrefix(m.Type, "image/") {
		out.Type, out.Title = "document", m.Name
		from, err = documentSource(m)
	} else {
		from, err = imageSource(m)
	}
	out.Source.Other = from
	return out, err
}

func imageSource(m llm.Media) (*source, error) {
	switch {
	case m.Data != "":
		return &source{Type: "base64", MediaType: imageType(m), Data: m.Data}, nil
	case m.URL != "":
		return &source{Type: "url", URL: m.URL}, nil
	}
	return nil, untranslatable("An image is stored at another provider. Send its bytes or its URL.")
}

// imageType returns the declared type of an image, or the type detected from its first bytes.
func imageType(m llm.Media) string {
	switch m.Type {
	case "":
		for prefix, kind := range map[string]string{"/9j/": "image/jpeg", "iVBOR": "image/png", "R0lGOD": "image/gif", "UklGR": "image/webp"} {
			if strings.HasPrefix(m.Data, prefix) {
				return kind
			}
		}
		return "image/png"
	case "image/jpg":
		return "image/jpeg"
	}
	return m.Type
}

// documentSource returns a PDF, a text or JSON document, or the URL of a document. The provider does not support other documents.
func documentSource(m llm.Media) (*source, error) {
	kind, _, _ := strings.Cut(m.Type, ";")
	switch {
	case m.Data == "" && m.URL == "":
		return nil, untranslatable("A file is stored at another provider. Send its bytes.")
	case m.Data == "":
		return &source{Type: "url", URL: m.URL}, nil
	case kind == "application/pdf" || strings.HasPrefix(m.Data, "JVBERi"):
		return &source{Type: "base64", MediaType: "application/pdf", Data: m.Data}, nil
	case strings.HasPrefix(kind, "text/") || kind == "application/json":
		text, err := base64.StdEncoding.DecodeString(m.Data)
		if err != nil {
			return nil, untranslatable("A file is not valid base64.")
		}
		return &source{Type: "text", MediaType: "text/plain", Data: string(text)}, nil
	}
	return nil, untranslatable("The provider supports only PDF and text files.")
}
