package anthropic

import (
	"bytes"
	"slices"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// turn is a message with its encoded blocks.
type turn struct {
	role   llm.Role
	blocks rawjson.Writer
}

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
			switch p.Kind { //nolint:exhaustive // the other kinds are never empty
			case llm.TextPart, llm.RefusalPart:
				if strings.TrimSpace(p.Text) == "" {
					continue
				}
			case llm.ThinkingPart:
				if !r.isSignedThinking(p) {
					continue
				}
			}
			parts = append(parts, p)
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

// messages encodes the turns.
func (r *renderer) messages(turns []llm.Message) error {
	var written []turn
	for i, m := range turns {
		next := turn{role: m.Role}
		parts := r.ordered(m)
		if last := len(parts) - 1; m.Role == llm.Assistant && i == len(turns)-1 && last >= 0 && parts[last].Kind == llm.TextPart {
			// The last text is a prefill, which the model continues. The provider rejects white space at its end.
			if trimmed := strings.TrimRight(parts[last].Text, " \t\r\n"); trimmed != parts[last].Text {
				r.warn("white space at the end of the last assistant message was dropped: the provider rejects it")
				parts = slices.Clone(parts)
				parts[last].Text = trimmed
			}
		}
		for _, part := range parts {
			if err := r.part(&next.blocks, part); err != nil {
				return err
			}
		}
		if len(next.blocks.Out) > 0 {
			written = append(written, next)
		}
	}
	if len(written) == 0 {
		return untranslatable("The conversation is empty: every message is empty.")
	}
	r.w.OpenList("messages")
	if written[0].role == llm.Assistant {
		r.warn("the conversation begins with the assistant: a user turn was added before it")
		r.w.Element([]byte(`{"role":"user","content":[{"type":"text","text":"(The conversation goes on.)"}]}`))
	}
	for _, t := range written {
		r.w.Open()
		r.w.Str("role", string(t.role))
		r.w.OpenList("content")
		r.w.Out = append(r.w.Out, t.blocks.Out...)
		r.w.CloseList()
		r.w.Close()
	}
	r.w.CloseList()
	return nil
}

// ordered sorts parts as the provider requires: tool results first in user messages, thinking first in assistant messages. If an assistant
// message already begins with thinking, the order is kept, because thinking may alternate with calls.
func (r *renderer) ordered(m llm.Message) []llm.Part {
	kind := llm.ResultPart
	if m.Role == llm.Assistant {
		kind = llm.ThinkingPart
		if len(m.Parts) > 0 && m.Parts[0].Kind == kind {
			return m.Parts
		}
	}
	parts := slices.Clone(m.Parts)
	slices.SortStableFunc(parts, func(a, b llm.Part) int {
		switch {
		case a.Kind == kind && b.Kind != kind:
			return -1
		case a.Kind != kind && b.Kind == kind:
			return 1
		}
		return 0
	})
	return parts
}

func untranslatable(message string) *llm.Error {
	return &llm.Error{Kind: llm.Untranslatable, Message: message, Param: "messages"}
}

// part encodes one block. Blank text is dropped, because the provider rejects it.
func (r *renderer) part(w *rawjson.Writer, p llm.Part) error {
	if err := llm.Cancelled(r.ctx); err != nil {
		return err
	}
	switch p.Kind {
	case llm.TextPart, llm.RefusalPart:
		if strings.TrimSpace(p.Text) == "" {
			return nil
		}
		w.Open()
		w.Str("type", "text")
		w.Str("text", p.Text)
	case llm.ImagePart, llm.FilePart:
		if err := r.media(w, p); err != nil {
			return err
		}
	case llm.ThinkingPart:
		w.Open()
		if t := p.Thinking; t.Redacted != "" {
			w.Str("type", "redacted_thinking")
			w.Str("data", t.Redacted)
		} else {
			w.Str("type", "thinking")
			w.Str("thinking", t.Text)
			w.Str("signature", t.Signature)
		}
		w.Close()
		return nil // thinking blocks cannot have a cache mark
	case llm.CallPart:
		w.Open()
		w.Str("type", "tool_use")
		w.Str("id", r.ids.call(p.Call.ID))
		w.Str("name", p.Call.Name)
		w.Raw("input", r.input(*p.Call))
	case llm.ResultPart:
		if err := r.result(w, *p.Result); err != nil {
			return err
		}
	default:
		return untranslatable("The provider does not support " + string(p.Kind) + ".")
	}
	r.cache(w, p.Cache)
	w.Close()
	return nil
}

// input returns the arguments of a call as an object, as the provider requires.
func (r *renderer) input(call llm.ToolCall) []byte {
	if call.Custom {
		input, _ := encode(map[string]string{"input": call.Arguments}) // strings can always be encoded
		return input
	}
	input := inputOf(call.Arguments)
	if !bytes.Equal(input, []byte(`{}`)) && string(input) != strings.TrimSpace(call.Arguments) {
		r.warn("the arguments of a call of %s are not a JSON object: they were wrapped in one", call.Name)
	}
	return input
}

func (r *renderer) result(w *rawjson.Writer, res llm.ToolResult) error {
	w.Open()
	w.Str("type", "tool_result")
	w.Str("tool_use_id", r.ids.result(res.ID))
	if len(res.Parts) == 1 && res.Parts[0].Kind == llm.TextPart && res.Parts[0].Cache == nil {
		w.Str("content", res.Parts[0].Text)
	} else if len(res.Parts) > 0 {
		list := rawjson.Writer{}
		for _, part := range res.Parts {
			if err := r.part(&list, part); err != nil {
				return err
			}
		}
		w.OpenList("content")
		w.Out = append(w.Out, list.Out...)
		w.CloseList()
	}
	if res.Failed {
		w.Bool("is_error", true)
	}
	return nil
}
