package openai

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/strict"
	"fairlead.dev/internal/wire/upstream"
)

// builder converts a decoded chat request to a conversation. Content that a conversation cannot express prevents only the translation to
// other formats.
type builder struct {
	doc  *strict.Document
	req  *llm.Request
	conv *llm.Conversation

	texts     []llm.Part          // parts of the messages that consist of one text
	message   int                 // index of the current message
	part      int                 // index of the current part; negative outside parts
	toolNames map[string]string   // tool names by call ID
	pending   map[string][]string // IDs of legacy function calls without a result, by function name
}

// path returns the path of a field of the current message or part.
func (b *builder) path(field string) string {
	path := "messages[" + strconv.Itoa(b.message) + "]."
	if b.part >= 0 {
		path += "content[" + strconv.Itoa(b.part) + "]."
	}
	return path + field
}

// reject records that the field of the current message or part prevents a translation. format has the path of the field as its first verb.
func (b *builder) reject(field, format string, args ...any) {
	param := b.path(field)
	b.doc.Untranslatable(param, "%s", fmt.Sprintf(format, append([]any{param}, args...)...))
}

func (b *builder) addMessages(list messages) {
	b.conv.Messages, b.texts = make([]llm.Message, 0, len(list)), make([]llm.Part, 0, len(list))
	for n := range list {
		b.message, b.part = n, -1
		m := &list[n]
		if element := strings.TrimSuffix(b.path(""), "."); m.Role == "" && !b.doc.HasProblem(element) {
			b.rejectMessage(m, element)
		}
		b.addUnknownMembers(m)
		b.conv.Messages = append(b.conv.Messages, b.readMessage(m))
	}
}

// rejectMessage records a problem for the current message, which has no role or is null.
func (b *builder) rejectMessage(m *message, element string) {
	if !m.Given() {
		b.doc.WrongType(element, "an object", 'n')
		return
	}
	b.doc.Problem(b.path("role"), "Message %d needs a role, such as \"user\".", b.message+1)
}

// addUnknownMembers records the members of a message that a conversation cannot represent.
func (b *builder) addUnknownMembers(m *message) {
	if len(m.Unknown) == 0 {
		return
	}
	b.doc.RejectLookAlikes(b.path(""), m.Unknown, m)
	rawjson.Parse(m.Unknown).ForEach(func(key, value rawjson.Value) bool {
		b.req.CountJSON([]byte(value.Raw))
		if value.Kind != rawjson.Null {
			b.conv.DropField("messages." + key.String())
		}
		return true
	})
}

func (b *builder) readMessage(m *message) llm.Message {
	message := llm.Message{Name: m.Name}
	switch m.Role {
	case "system", "developer":
		message.Role, message.Parts = llm.System, b.readContent(m)
	case "user":
		message.Role, message.Parts = llm.User, b.readContent(m)
	case "assistant":
		message.Role, message.Parts = llm.Assistant, b.readAssistant(m)
	case "tool":
		name, called := b.toolNames[m.ToolCallID]
		if !called {
			name = m.Name
		}
		message = resultMessage(llm.ToolResult{ID: m.ToolCallID, Name: name, Parts: b.readContent(m)})
	case "function": // a legacy result contains the name of the function instead of a call ID; it belongs to the last call of that function
		result := llm.ToolResult{Name: m.Name, Parts: b.readContent(m)}
		if open := b.pending[m.Name]; len(open) > 0 {
			last := len(open) - 1
			result.ID, b.pending[m.Name] = open[last], open[:last]
		}
		message = resultMessage(result)
	default:
		b.reject("role", "%s must be one of system, developer, user, assistant, tool, function; it is %s.", show.Quote(m.Role))
		message.Role, message.Parts = llm.Role(m.Role), b.readContent(m) // only for the properties of the request
	}
	if last := len(message.Parts) - 1; last >= 0 && message.Parts[last].Cache == nil {
		message.Parts[last].Cache = m.mark()
	}
	return message
}

func resultMessage(result llm.ToolResult) llm.Message {
	return llm.Message{Role: llm.User, Parts: []llm.Part{{Kind: llm.ResultPart, Result: &result}}}
}

// readAssistant reads an assistant message. Thinking comes first, as every provider requires, and calls come last.
func (b *builder) readAssistant(m *message) []llm.Part {
	parts := readThinking(m)
	content := b.readContent(m)
	for _, thinking := range []bool{true, false} {
		for _, part := range content {
			if (part.Kind == llm.ThinkingPart) == thinking {
				parts = append(parts, part)
			}
		}
	}
	if m.Refusal != "" {
		parts = append(parts, llm.Part{Kind: llm.RefusalPart, Text: m.Refusal})
	}
	if m.Audio != nil {
		parts = append(parts, llm.Part{Kind: llm.AudioPart, Media: &llm.Media{FileID: m.Audio.ID}})
	}
	for i := range m.ToolCalls {
		call := m.ToolCalls[i].call()
		if b.toolNames == nil {
			b.toolNames = map[string]string{}
		}
		b.toolNames[call.ID] = call.Name
		parts = append(parts, llm.Part{Kind: llm.CallPart, Call: &call})
	}
	if f := m.FunctionCall; f != nil {
		call := llm.ToolCall{
			ID:   "call_" + strconv.Itoa(len(b.conv.Messages)), // legacy calls have no ID; the position of the message identifies the call
			Name: f.Name, Arguments: f.arguments(),
		}
		if b.pending == nil {
			b.pending = map[string][]string{}
		}
		b.pending[call.Name] = append(b.pending[call.Name], call.ID)
		parts = append(parts, llm.Part{Kind: llm.CallPart, Call: &call})
	}
	return parts
}

// readThinking reads thinking. The blocks in thinking_blocks repeat the text and add the provider's signature.
func readThinking(m *message) []llm.Part {
	text := cmp.Or(m.ReasoningContent, upstream.Text(m.Reasoning))
	var parts []llm.Part
	for _, block := range m.ThinkingBlocks {
		thinking := llm.Thinking{Text: textOf(block.Thinking), Signature: block.Signature, Redacted: block.Data, Provider: block.Provider}
		parts = append(parts, llm.Part{Kind: llm.ThinkingPart, Thinking: &thinking})
	}
	switch {
	case len(parts) == 0 && text != "":
		return []llm.Part{{Kind: llm.ThinkingPart, Thinking: &llm.Thinking{Text: text}}}
	case len(parts) == 1 && parts[0].Thinking.Text == "" && parts[0].Thinking.Redacted == "":
		parts[0].Thinking.Text = text
	}
	return parts
}

func (c *toolCall) call() llm.ToolCall {
	call := llm.ToolCall{ID: c.ID}
	switch {
	case c.Custom != nil:
		call.Custom, call.Name, call.Arguments = true, c.Custom.Name, c.Custom.Input
	case c.Function != nil:
		call.Name, call.Arguments = c.Function.Name, c.Function.arguments()
	}
	if x := c.Extra; x != nil {
		if x.Google != nil {
			call.Signature = x.Google.Thought
		}
		if x.Fairlead != nil {
			call.Provider = x.Fairlead.Provider
		}
	}
	return call
}

// arguments returns the arguments of a call as JSON text. They should be a string, but some clients and providers send an object.
func (f *functionCall) arguments() string {
	if f.Arguments.Other != nil {
		return string(*f.Arguments.Other)
	}
	return f.Arguments.String
}

// readContent reads the content of a message. An empty string produces no part.
func (b *builder) readContent(m *message) []llm.Part {
	if m.Content.IsString {
		if m.Content.String == "" {
			return nil
		}
		b.texts = append(b.texts, llm.Part{Kind: llm.TextPart, Text: m.Content.String})
		n := len(b.texts)
		return b.texts[n-1 : n : n]
	}
	if m.Content.Other == nil {
		return nil
	}
	list := *m.Content.Other
	read := make([]llm.Part, 0, len(list))
	for n := range list {
		if list[n].IsString {
			read = append(read, llm.Part{Kind: llm.TextPart, Text: list[n].String})
			continue
		}
		if list[n].Other == nil {
			continue
		}
		b.part = n
		if part, ok := b.readPart(list[n].Other); ok {
			read = append(read, part)
		}
		b.part = -1
	}
	return read
}

func (b *builder) readPart(p *part) (part llm.Part, ok bool) {
	b.addUnknownPart(p)
	switch p.Type {
	case "text":
		part = llm.Part{Kind: llm.TextPart, Text: textOf(p.Text)}
	case "refusal":
		part = llm.Part{Kind: llm.RefusalPart, Text: textOf(p.Refusal)}
	case "image_url":
		part = llm.Part{Kind: llm.ImagePart, Media: b.readImage(&p.ImageURL)}
	case "input_audio":
		part = llm.Part{Kind: llm.AudioPart, Media: b.readAudio(p.InputAudio)}
	case "file":
		part = llm.Part{Kind: llm.FilePart, Media: b.readFile(p.File)}
	case "thinking":
		return llm.Part{Kind: llm.ThinkingPart, Thinking: &llm.Thinking{Text: joinTexts(&p.Thinking)}}, true
	default:
		param := b.path("type")
		b.doc.Untranslatable(param, "A part of type %s cannot be sent to a provider that uses another format. Send text, image_url, input_audio or file.", show.Quote(p.Type))
		return b.guessPart(p) // only for the properties of the request
	}
	part.Cache = p.mark()
	return part, true
}

// guessPart returns the content of a part of another type by its members.
func (b *builder) guessPart(p *part) (llm.Part, bool) {
	switch {
	case p.Text != nil:
		return llm.Part{Kind: llm.TextPart, Text: *p.Text}, true
	case !p.ImageURL.IsZero():
		return llm.Part{Kind: llm.ImagePart, Media: b.readImage(&p.ImageURL)}, true
	case p.InputAudio != nil:
		return llm.Part{Kind: llm.AudioPart, Media: b.readAudio(p.InputAudio)}, true
	case p.File != nil:
		return llm.Part{Kind: llm.FilePart, Media: b.readFile(p.File)}, true
	}
	return llm.Part{}, false
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// joinTexts returns the text of a thinking part, which is a string or a list of parts.
func joinTexts(t *strict.StringOr[[]innerText]) string {
	if t.Other == nil {
		return t.String
	}
	var text strings.Builder
	for _, inner := range *t.Other {
		text.WriteString(inner.Text)
	}
	return text.String()
}

// readImage reads an image, which is an object or a plain URL.
func (b *builder) readImage(image *strict.StringOr[imageURL]) *llm.Media {
	if image.IsString {
		return b.readURL(image.String, "image_url")
	}
	if image.Other == nil {
		return b.readURL("", "image_url.url")
	}
	media := b.readURL(image.Other.URL, "image_url.url")
	media.Detail = strings.Clone(image.Other.Detail) // the log keeps the detail, but must not keep the body
	return media
}

func (b *builder) readAudio(audio *inputAudio) *llm.Media {
	if audio == nil {
		audio = &inputAudio{}
	}
	if llm.IsDataURL(audio.Data) {
		return b.readURL(audio.Data, "input_audio.data")
	}
	media := &llm.Media{Data: b.readBase64(audio.Data, "input_audio.data")}
	switch audio.Format {
	case "":
	case "mp3":
		media.Type = "audio/mpeg"
	default:
		media.Type = "audio/" + audio.Format
	}
	return media
}

func (b *builder) readFile(f *file) *llm.Media {
	if f == nil {
		f = &file{}
	}
	b.doc.RejectLookAlikes("messages.content.file.", f.Unknown, f)
	b.req.AddStoredFile(f.FileID, "messages.content.file.file_id")
	media := &llm.Media{}
	switch data := f.FileData; {
	case data == "":
	case llm.IsDataURL(data), strings.HasPrefix(data, "https://"), strings.HasPrefix(data, "http://"):
		media = b.readURL(data, "file.file_data")
	default:
		media.Data = b.readBase64(data, "file.file_data")
	}
	media.FileID, media.Name = f.FileID, f.Filename
	if media.Type == "" {
		media.Type = typeByName(media.Name)
	}
	return media
}

// readURL converts a URL, which may be a data URL, to media.
func (b *builder) readURL(url, field string) *llm.Media {
	if url == "" {
		b.reject(field, "%s is missing or empty.")
	}
	if !llm.IsDataURL(url) {
		return &llm.Media{URL: url}
	}
	media, ok := llm.SplitDataURL(url)
	if !ok {
		b.reject(field, "%s is an invalid data URL. Send data:TYPE;base64,DATA.")
	}
	return &media
}

func (b *builder) readBase64(data, field string) string {
	clean, ok := llm.StandardBase64(data)
	if !ok {
		b.reject(field, "%s must be base64.")
	}
	return clean
}

// addUnknownPart records the content of a part that only the provider interprets. Its text counts towards the prompt. The tokens of media in
// it are known only to the provider.
func (b *builder) addUnknownPart(p *part) {
	b.req.AddStoredFile(p.FileID, "messages.content.file_id")
	attached := false
	if len(p.Unknown) > 0 {
		b.doc.RejectLookAlikes("messages.content.", p.Unknown, p)
		rawjson.Parse(p.Unknown).ForEach(func(key, value rawjson.Value) bool {
			switch key.String() {
			case "source", "image", "video_url", "audio_url", "input_video", "video", "audio", "file_url", "document":
				attached = true
				b.req.AttachedBytes += len(value.Raw)
				b.addFileIDs(value)
			default:
				attached = b.addUnknownValue(value) || attached
			}
			return true
		})
	}
	switch p.Type {
	case "text", "refusal", "thinking", "reasoning", "input_text", "output_text":
	case "image_url", "input_audio", "file": // the conversation has the media
		return
	default:
		attached = attached || len(p.Unknown) > 0 || p.FileID != ""
		if p.Type == "image" || p.Type == "input_image" {
			b.req.Needs |= llm.Vision
			b.req.Images++
		}
	}
	if attached {
		b.req.Unsized++
	}
}

// addUnknownValue counts the text of an unknown member. It reports whether the member contains inline media.
func (b *builder) addUnknownValue(v rawjson.Value) (media bool) {
	if v.Kind == rawjson.Text {
		if strings.HasPrefix(v.Raw, `"data:`) {
			b.req.AttachedBytes += len(v.Raw)
			return true
		}
		b.req.CountText(v.String())
		return false
	}
	v.ForEach(func(key, value rawjson.Value) bool {
		if key.String() == "file_id" {
			b.req.AddStoredFile(value.String(), "messages.content.file_id")
			return true
		}
		media = b.addUnknownValue(value) || media
		return true
	})
	return media
}

func (b *builder) addFileIDs(v rawjson.Value) {
	v.ForEach(func(key, value rawjson.Value) bool {
		if key.String() == "file_id" {
			b.req.AddStoredFile(value.String(), "messages.content.file_id")
		}
		return true
	})
}
