package responses

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/strict"
)

// addInput decodes the instructions, which form a system message, and the input, which is a text or a list of items.
func (d *decoder) addInput(in *request) {
	if in.Instructions != "" {
		d.conv.Messages = append(d.conv.Messages, llm.Message{Role: llm.System, Parts: textParts(in.Instructions)})
	}
	if in.Input.String != "" {
		d.add(llm.User, textParts(in.Input.String))
	}
	if list := in.Input.Other; list != nil {
		d.conv.Messages = slices.Grow(d.conv.Messages, len(*list))
		for n := range *list {
			if d.ctx.Err() != nil {
				return
			}
			d.addItem(place{n: n}, &(*list)[n])
		}
	}
	if len(d.conv.Messages) == 0 && !d.extends && d.doc.Reject() == nil {
		d.doc.Problem("input", `The field "input" is missing or empty. Send a string or a list of items.`)
	}
}

func textParts(text string) []llm.Part { return []llm.Part{{Kind: llm.TextPart, Text: text}} }

// place is the path of an item, such as input[3], or of a part in it, such as input[3].content[0]. It is formatted only when it is needed.
type place struct {
	n     int
	inner string // name of the list in the item; empty for the item itself
	m     int    // index in this list
}

func (p place) String() string {
	path := "input[" + strconv.Itoa(p.n) + "]"
	if p.inner != "" {
		path += "." + p.inner + "[" + strconv.Itoa(p.m) + "]"
	}
	return path
}

func (p place) member(name string) string { return p.String() + "." + name }

// given reports whether a list element is an object. If it is null, a problem is recorded.
func (d *decoder) given(at place, p strict.Position) bool {
	if !p.Given() && !d.doc.HasProblem(at.String()) {
		d.doc.WrongType(at.String(), "an object", 'n')
	}
	return p.Given()
}

// add adds the parts of an item to the conversation. A model turn consists of several items and becomes one message.
func (d *decoder) add(role llm.Role, parts []llm.Part) {
	text := slices.ContainsFunc(parts, func(p llm.Part) bool { return p.Kind == llm.TextPart || p.Kind == llm.RefusalPart })
	call := slices.ContainsFunc(parts, func(p llm.Part) bool { return p.Kind == llm.CallPart })
	// If the last message has text but no tool call, further text begins a new message.
	if role == llm.Assistant && d.last == role && (!text || !d.hasText || d.hasCall) {
		d.hasText, d.hasCall = d.hasText || text, d.hasCall || call
		last := &d.conv.Messages[len(d.conv.Messages)-1]
		last.Parts = append(last.Parts, parts...)
		return
	}
	d.last, d.hasText, d.hasCall = role, text, call
	d.conv.Messages = append(d.conv.Messages, llm.Message{Role: role, Parts: parts})
}

func (d *decoder) addItem(at place, it *item) {
	if !d.given(at, it.Position) {
		return
	}
	if it.Unknown != nil {
		d.doc.RejectLookAlikes(at.String()+".", it.Unknown, it)
	}
	switch it.Type {
	case "", "message":
		d.addMessage(at, it)
	case "function_call":
		d.addCall(at, it, "arguments", it.Arguments)
	case "custom_tool_call":
		d.addCall(at, it, "input", it.Input)
	case "function_call_output", "custom_tool_call_output":
		if it.CallID == "" {
			d.requireMember(at.member("call_id"), "Send the ID of the call that the result belongs to.")
		}
		name, called := d.toolNames[it.CallID]
		if !called {
			name = it.Name
		}
		d.addResult(llm.ToolResult{ID: it.CallID, Name: name, Parts: d.parts(at, "output", &it.Output)})
	case "reasoning":
		d.addReasoning(at, it)
	case "item_reference":
		if it.ID == "" {
			d.requireMember(at.member("id"), "Set it to the id of the stored item.")
		}
		d.req.Account = at.String()
		d.markStoredInput()
	default:
		d.addForeign(at, it)
	}
}

func (d *decoder) addResult(result llm.ToolResult) {
	d.add(llm.User, []llm.Part{{Kind: llm.ResultPart, Result: &result}})
}

// addForeign adds an item that other formats do not have. The results of tools that the client runs and encrypted summaries must reach the
// model, so such a request needs the Responses API. Items of other types record calls of hosted tools. They can be dropped, because the
// model's answer contains the results.
func (d *decoder) addForeign(at place, it *item) {
	output := strings.HasSuffix(it.Type, "_output")
	switch {
	case output || it.Type == "mcp_approval_response":
		d.addFiles(at.member("output"), d.doc.RawAt(it.Position))
	case it.Type == "compaction" || it.Type == "compaction_trigger":
	default:
		d.conv.DropField("input." + show.Cut(it.Type, strict.MaxName))
		return
	}
	d.extends = true
	d.req.Needs |= llm.ResponsesAPI
	d.req.Unsized++ // the result may be media, such as a screenshot
	if output {     // only for the properties of the request; its format stays the same
		result := llm.ToolResult{ID: it.CallID}
		if it.Output.text != nil {
			result.Parts = textParts(*it.Output.text)
		}
		d.addResult(result)
	}
}

func (d *decoder) addMessage(at place, it *item) {
	role, parts := llm.Role(it.Role), d.parts(at, "content", &it.Content)
	switch it.Role {
	case "user", "assistant", "system":
	case "developer":
		role = llm.System
	default:
		if param := at.member("role"); !d.doc.HasProblem(param) {
			d.doc.Problem(param, "%s must be one of user, assistant, system, developer; it is %s.", param, show.Quote(it.Role))
		}
		return
	}
	d.add(role, parts)
}

// addCall adds a tool call. member is the name of the member that contains the arguments: arguments for a function, input for a custom
// tool.
func (d *decoder) addCall(at place, it *item, member string, arguments strict.StringOr[jsontext.Value]) {
	if it.CallID == "" {
		d.requireMember(at.member("call_id"), "Send the id that the model gave the call.")
	}
	d.requireName(at.String(), it.Name)
	if arguments.Other != nil {
		d.doc.WrongType(at.member(member), "a string", byte(arguments.Other.Kind()))
	}
	call := llm.ToolCall{ID: it.CallID, Name: joinNamespace(it.Namespace, it.Name), Arguments: arguments.String, Custom: member == "input"}
	s := d.callSignatures[call.ID]
	call.Signature, call.Provider = s.Signature, s.Provider
	if d.toolNames == nil {
		d.toolNames = map[string]string{}
	}
	d.toolNames[call.ID] = call.Name
	d.add(llm.Assistant, []llm.Part{{Kind: llm.CallPart, Call: &call}})
}

// addReasoning adds reasoning. It unwraps signatures that the gateway has wrapped. It drops encrypted data of OpenAI or of another gateway
// and uses only the text of the item.
func (d *decoder) addReasoning(at place, it *item) {
	thinking := llm.Thinking{}
	if s, ours := unwrapSignature(it.Encrypted); ours {
		d.wrapped = true
		if s.Call != "" {
			if d.callSignatures == nil {
				d.callSignatures = map[string]wrappedSignature{}
			}
			d.callSignatures[s.Call] = s
			return
		}
		thinking = llm.Thinking{Text: s.Text, Signature: s.Signature, Redacted: s.Redacted, Provider: s.Provider}
	} else {
		d.requireList(at.member("content"), &it.Content)
		d.requireList(at.member("summary"), &it.Summary)
		if thinking.Text = it.reasoning(); thinking.Text == "" {
			return
		}
	}
	d.add(llm.Assistant, []llm.Part{{Kind: llm.ThinkingPart, Thinking: &thinking}})
}

// requireList records a problem if the content is neither a list nor absent.
func (d *decoder) requireList(param string, c *content) {
	if c.text != nil {
		d.doc.WrongType(param, "a list", '"')
	} else if c.other != nil {
		d.doc.WrongType(param, "a list", byte(c.other.Kind()))
	}
}

// parts decodes the content of a message or of a tool result, which is the member with the given name. An empty string produces no part.
func (d *decoder) parts(at place, name string, c *content) []llm.Part {
	switch {
	case c.text != nil && *c.text != "":
		return textParts(*c.text)
	case c.other != nil:
		d.doc.WrongType(at.member(name), "a string or a list of parts", byte(c.other.Kind()))
	}
	if len(c.list) == 0 {
		return nil
	}
	parts := make([]llm.Part, 0, len(c.list))
	at.inner = name
	for m := range c.list {
		at.m = m
		if part, ok := d.part(at, &c.list[m]); ok {
			parts = append(parts, part)
		}
	}
	return parts
}

// part decodes one part. It returns false for an invalid part.
func (d *decoder) part(at place, p *part) (part llm.Part, ok bool) {
	if !d.given(at, p.Position) {
		return part, false
	}
	if p.Unknown != nil {
		d.doc.RejectLookAlikes(at.String()+".", p.Unknown, p)
	}
	if p.Breakpoint.Kind() == '{' {
		part.Cache = &llm.CacheMark{}
	}
	switch p.Type {
	case "input_text", "output_text", "text":
		part.Kind, part.Text = llm.TextPart, textOf(p.Text)
		return part, true
	case "refusal":
		part.Kind, part.Text = llm.RefusalPart, textOf(p.Refusal)
		return part, true
	case "input_image":
		part.Kind, part.Media = llm.ImagePart, d.readURL(at.member("image_url"), p.ImageURL)
		part.Media.Detail = strings.Clone(p.Detail) // the log keeps the detail, but must not keep the body
		if p.ImageURL == "" && p.FileID == "" {
			d.requireMember(at.member("image_url"), "Send a URL or a data URL.")
		}
	case "input_file":
		part.Kind, part.Media = llm.FilePart, d.readFile(at, p)
	case "input_audio":
		part.Kind, part.Media = llm.AudioPart, d.readAudio(at, p.InputAudio)
	default:
		if param := at.member("type"); !d.doc.HasProblem(param) {
			d.doc.Problem(param, "The part type %s is not supported. Send input_text, input_image or input_file.", show.Quote(p.Type))
		}
		return part, false
	}
	if part.Media.FileID = p.FileID; p.FileID != "" {
		d.req.AddStoredFile(p.FileID, at.member("file_id"))
	}
	return part, true
}

func (d *decoder) readFile(at place, p *part) *llm.Media {
	media := &llm.Media{}
	switch {
	case llm.IsDataURL(p.FileData):
		media = d.readURL(at.member("file_data"), p.FileData)
	case p.FileData != "":
		media.Data = d.readBase64(at.member("file_data"), p.FileData)
	}
	media.Name = p.Filename
	if p.FileURL != "" {
		media.URL = p.FileURL
	}
	if media.Type == "" && strings.EqualFold(path.Ext(media.Name), ".pdf") {
		media.Type = "application/pdf"
	}
	if p.FileURL == "" && p.FileData == "" && p.FileID == "" && !d.doc.HasProblem(at.String()) {
		d.doc.Problem(at.String(), "%s has no file. Send file_data or file_url.", at)
	}
	return media
}

func (d *decoder) readAudio(at place, audio *inputAudio) *llm.Media {
	if audio == nil {
		audio = &inputAudio{}
	}
	param := at.member("input_audio")
	d.doc.RejectLookAlikes(param+".", audio.Unknown, *audio)
	media := &llm.Media{Data: d.readBase64(param+".data", audio.Data)}
	switch audio.Format {
	case "":
	case "mp3":
		media.Type = "audio/mpeg"
	default:
		media.Type = "audio/" + audio.Format
	}
	return media
}

// readURL decodes a URL, which may be a data URL.
func (d *decoder) readURL(param, address string) *llm.Media {
	if !llm.IsDataURL(address) {
		return &llm.Media{URL: address}
	}
	media, ok := llm.SplitDataURL(address)
	if !ok || media.Data == "" {
		d.doc.Problem(param, "%s is an invalid data URL. Send data:TYPE;base64,DATA.", param)
	}
	return &media
}

// readBase64 returns base64 data in the standard alphabet with padding.
func (d *decoder) readBase64(param, data string) string {
	standard, ok := llm.StandardBase64(data)
	if !ok || standard == "" {
		if !d.doc.HasProblem(param) {
			d.doc.Problem(param, "%s must be base64.", param)
		}
		return ""
	}
	return standard
}

// reasoning returns the reasoning text of an item, or its summary if the item has no text.
func (it *item) reasoning() string {
	for _, c := range []*content{&it.Content, &it.Summary} {
		var texts []string
		for i := range c.list {
			if text := textOf(c.list[i].Text); text != "" {
				texts = append(texts, text)
			}
		}
		if len(texts) > 0 {
			return strings.Join(texts, "\n\n")
		}
	}
	return ""
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
