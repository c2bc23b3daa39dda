package openai

import (
	"slices"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

func (t *translator) messages() {
	t.w.Key("messages")
	t.w.Out = append(t.w.Out, '[')
	for i := range t.conv.Messages {
		m := &t.conv.Messages[i]
		results := slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.Kind == llm.ResultPart })
		if !results {
			t.flush()
		}
		switch {
		case results && m.Role == llm.User:
			// Each result becomes one message. Other user content and images follow the last result, because no other
			// message may come between a call and its result.
			for i := range m.Parts {
				if p := &m.Parts[i]; p.Kind == llm.ResultPart {
					t.waiting = append(t.waiting, t.result(p)...)
				} else {
					t.waiting = append(t.waiting, *p)
				}
			}
		case m.Role == llm.System:
			t.plain(m.Name, "system", m.Parts)
		case m.Role == llm.Assistant:
			t.assistant(m)
		default:
			t.plain(m.Name, "user", m.Parts)
		}
	}
	t.flush()
	t.w.Out = append(t.w.Out, ']')
}

// flush writes the user content that was held back until after the last result.
func (t *translator) flush() {
	if len(t.waiting) > 0 {
		t.plain("", "user", t.waiting)
		t.waiting = nil
	}
}

// begin opens a message.
func (t *translator) begin(role, name string) {
	if t.w.Out[len(t.w.Out)-1] == '}' {
		t.w.Out = append(t.w.Out, ',')
	}
	t.w.Open()
	t.w.Str("role", role)
	t.w.OptionalStr("name", name)
}

// plain writes a message that has no members other than role, name and content.
func (t *translator) plain(name, role string, parts []llm.Part) {
	t.begin(role, name)
	t.content(parts)
	t.w.Close()
}

// result writes one tool message and returns the parts that a tool message cannot contain.
func (t *translator) result(p *llm.Part) (others []llm.Part) {
	var texts []llm.Part
	for _, part := range p.Result.Parts {
		if part.Kind == llm.TextPart {
			texts = append(texts, part)
		} else {
			others = append(others, part)
		}
	}
	t.begin("tool", "")
	t.w.Str("tool_call_id", p.Result.ID)
	t.content(texts)
	t.cache(p.Cache)
	t.w.Close()
	return others
}

func (t *translator) assistant(m *llm.Message) {
	var content []llm.Part
	var thoughts []*llm.Thinking
	var calls []*llm.ToolCall
	var audio *llm.Media
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Kind {
		case llm.TextPart, llm.RefusalPart:
			content = append(content, *p)
		case llm.ThinkingPart:
			thoughts = append(thoughts, p.Thinking)
		case llm.CallPart:
			calls = append(calls, p.Call)
		case llm.AudioPart:
			audio = p.Media
		default:
			t.dropField("assistant content of kind " + string(p.Kind))
		}
	}
	if len(thoughts) > 0 && !t.o.Accepts.Thinking && len(content) == 0 && len(calls) == 0 && audio == nil {
		return // many providers reject an empty message
	}
	t.begin("assistant", m.Name)
	t.thinking(thoughts)
	text, refusal, simple := simply(content)
	switch {
	case !simple:
		t.content(content)
	case text == "" && (len(calls) > 0 || refusal != ""):
		t.w.Raw("content", []byte("null"))
	default:
		t.w.Str("content", text)
	}
	t.w.OptionalStr("refusal", refusal)
	if audio != nil && audio.FileID != "" {
		t.w.Key("audio")
		t.w.Open()
		t.w.Str("id", audio.FileID)
		t.w.Close()
	}
	t.calls(calls)
	if last := len(m.Parts) - 1; last >= 0 {
		kind := m.Parts[last].Kind
		if simple || kind != llm.TextPart && kind != llm.RefusalPart { // text and refusal parts in a list have their own cache breakpoints
			t.cache(m.Parts[last].Cache)
		}
	}
	t.w.Close()
}

// simply returns the text and the refusal of content that consists of at most one text and one refusal, in this order and without cache
// breakpoints. For any other content, it returns false.
func simply(parts []llm.Part) (text, refusal string, ok bool) {
	kinds := []llm.PartKind{llm.TextPart, llm.RefusalPart}
	for _, p := range parts {
		i := slices.Index(kinds, p.Kind)
		if i < 0 || p.Cache != nil || p.Text == "" {
			return "", "", false
		}
		kinds = kinds[i+1:]
		if p.Kind == llm.TextPart {
			text = p.Text
		} else {
			refusal = p.Text
		}
	}
	return text, refusal, true
}

// thinking writes the text of earlier thinking, and the blocks whose signatures the provider accepts. It writes nothing if the provider
// does not accept thinking.
func (t *translator) thinking(thoughts []*llm.Thinking) {
	if !t.o.Accepts.Thinking {
		return
	}
	var text strings.Builder
	var blocks [][]byte
	for _, thought := range thoughts {
		text.WriteString(thought.Text)
		if t.o.Signers(thought.Provider) {
			block := *thought
			block.Provider = t.signer(block.Provider)
			blocks = append(blocks, encodeThinking(&block))
		}
	}
	t.w.OptionalStr("reasoning_content", text.String())
	if len(blocks) > 0 {
		t.w.Key("thinking_blocks")
		t.w.Out = append(t.w.Out, '[')
		t.w.Out = append(t.w.Out, rawjson.Join(blocks)...)
		t.w.Out = append(t.w.Out, ']')
	}
}

// signer returns provider if NameSigners is set, otherwise an empty string.
func (t *translator) signer(provider string) string {
	if t.o.NameSigners {
		return provider
	}
	return ""
}

func (t *translator) calls(calls []*llm.ToolCall) {
	if len(calls) == 0 {
		return
	}
	w := &t.w
	w.Key("tool_calls")
	w.Out = append(w.Out, '[')
	for i, call := range calls {
		if i > 0 {
			w.Out = append(w.Out, ',')
		}
		made, arguments := callWriter{call: *call}, call.Arguments
		if call.Custom && !t.o.Accepts.CustomTools {
			made.call.Custom, arguments = false, wrapFreeText(arguments)
		}
		w.Open()
		made.head(w)
		w.Key(toolKind(made.call.Custom))
		made.function(w, arguments, true)
		if t.o.Signers(call.Provider) {
			made.call.Provider = t.signer(call.Provider)
			made.extra(w)
		}
		w.Close()
	}
	w.Out = append(w.Out, ']')
}

// content writes parts. A single text part without a cache breakpoint is written as a string, which every provider accepts. An empty list
// is written as an empty string, and any other parts as a list.
func (t *translator) content(parts []llm.Part) {
	w := &t.w
	w.Key("content")
	marked := t.o.Accepts.CacheMarks && slices.ContainsFunc(parts, func(p llm.Part) bool { return p.Cache != nil })
	switch {
	case len(parts) == 0:
		w.Out = append(w.Out, `""`...)
		return
	case len(parts) == 1 && parts[0].Kind == llm.TextPart && parts[0].Text != "" && !marked:
		w.Out = rawjson.AppendString(w.Out, parts[0].Text)
		return
	}
	w.Out = append(w.Out, '[')
	for i := range parts {
		t.part(&parts[i])
	}
	w.Out = append(w.Out, ']')
}

func (t *translator) part(p *llm.Part) {
	w := &t.w
	kind := map[llm.PartKind]string{
		llm.TextPart: "text", llm.RefusalPart: "refusal", llm.ImagePart: "image_url", llm.AudioPart: "input_audio", llm.FilePart: "file",
	}[p.Kind]
	if kind == "" {
		t.dropField("a part of the kind " + string(p.Kind))
		return
	}
	if w.Out[len(w.Out)-1] == '}' {
		w.Out = append(w.Out, ',')
	}
	w.Open()
	w.Str("type", kind)
	if p.Media == nil {
		w.Str(kind, p.Text)
	} else {
		w.Key(kind)
		w.Open()
		t.media(p.Kind, p.Media)
		w.Close()
	}
	t.cache(p.Cache)
	w.Close()
}

func (t *translator) media(kind llm.PartKind, m *llm.Media) {
	w := &t.w
	address := m.URL
	if m.Data != "" {
		address = "data:" + m.Type + ";base64," + m.Data
	}
	switch kind {
	case llm.ImagePart:
		if address == "" {
			t.dropField("an image that is stored at another provider")
		}
		w.Str("url", address)
		w.OptionalStr("detail", m.Detail)
	case llm.AudioPart:
		w.Str("data", m.Data)
		format := strings.TrimPrefix(m.Type, "audio/")
		switch format {
		case "mpeg":
			format = "mp3"
		case "x-wav", "wave":
			format = "wav"
		}
		w.Str("format", format)
	default:
		w.OptionalStr("file_id", m.FileID)
		w.OptionalStr("filename", m.Name)
		w.OptionalStr("file_data", address)
	}
}
