package anthropic

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/strict"
	"fairlead.dev/internal/wire/upstream"
	"fairlead.dev/internal/wire/websearch"
)

// DecodeRequest implements wire.Format. It checks the types of the fields that routing, limits and pricing need. The provider checks all
// other fields. max_tokens is optional in a token-count request.
func (Format) DecodeRequest(ctx context.Context, op llm.Op, body []byte) (*llm.Request, error) {
	if op != llm.Chat && op != llm.Count {
		return nil, strict.Reject(strict.Problem{Message: "The messages format does not support the operation " + string(op) + "."})
	}
	var in request
	doc, err := strict.Decode(ctx, body, &in, strict.Rules{Lenient: lenient, Messages: "messages"})
	if err != nil {
		return nil, err
	}
	d := decoder{
		ctx: ctx, doc: doc, conv: &llm.Conversation{Choices: 1}, names: map[string]string{}, plain: true,
		req: &llm.Request{Op: op, Payload: llm.Payload{Format: Name}, ResponseOptions: llm.ResponseOptions{Choices: 1}},
	}
	doc.RejectUnknownLookAlikes(in)
	in.Apply(doc, d.req)
	d.settings(&in)
	d.tools(in.Tools)
	d.messages(&in)
	if err := llm.Cancelled(ctx); err != nil {
		return nil, err
	}
	doc.Require("model", doc.Given("model"), `Name a model, or send "auto" to have one chosen.`)
	doc.Require("messages", doc.Given("messages"), "Send a list with at least one message.")
	doc.Require("max_tokens", op == llm.Count || doc.Given("max_tokens"), "Send the maximum number of output tokens.")
	if err := doc.Finish(d.req, d.conv); err != nil {
		return nil, err
	}
	d.describe(&in)
	return d.req, nil
}

// lenient implements strict.Rules.
func lenient(param string) bool {
	top := param[:strings.IndexAny(param+".", ".[")]
	switch top {
	case "messages":
		name, _, _ := strings.Cut(param[strings.LastIndexByte(param, '.')+1:], "[")
		return strings.Contains(param, ".source.") || !slices.Contains([]string{"messages", "role", "content", "type", "text"}, name)
	case "tools":
		return strings.Contains(param, ".")
	case "system", "tool_choice", "thinking", "output_config":
		return param != top
	case "output_format", "stop_sequences", "temperature", "top_p", "top_k":
		return true
	}
	return false
}

// decoder converts a decoded request to a conversation.
type decoder struct {
	ctx   context.Context
	doc   *strict.Document
	req   *llm.Request
	conv  *llm.Conversation
	names map[string]string // tool names by call ID, as the client sent it

	plain bool // whether the messages contain nothing that adaptMessages changes
}

// settings decodes the members other than the messages and the tools.
func (d *decoder) settings(in *request) {
	c, req, doc := d.conv, d.req, d.doc
	req.Stream = in.Stream
	req.MaxOutput = doc.Int("max_tokens", in.MaxTokens, 1, strict.MaxTokens)
	c.MaxOutput, c.ServiceTier, c.Stop = req.MaxOutput, readTier(string(in.ServiceTier)), in.StopSequences
	c.Sampling = llm.Sampling{Temperature: json.Number(in.Temperature), TopP: json.Number(in.TopP), TopK: json.Number(in.TopK)}
	if m := in.Metadata; m != nil {
		doc.RejectLookAlikes("metadata.", m.Unknown, *m)
		req.EndUser, c.EndUser = string(m.UserID), string(m.UserID)
	}
	if t := in.Thinking; t != nil {
		doc.RejectLookAlikes("thinking.", t.Unknown, *t)
		switch t.Type {
		case "disabled", "between_tools":
			c.Effort.Level = "none"
		case enabled:
			c.Effort.Budget = doc.Int("thinking.budget_tokens", t.BudgetTokens, 0, strict.MaxTokens)
			c.Effort.Adaptive = c.Effort.Budget == 0
		case adaptive:
			c.Effort.Adaptive = true
		}
		c.Effort.Hide = t.Display == "omitted"
	}
	if o := in.OutputConfig; o != nil {
		doc.RejectLookAlikes("output_config.", o.Unknown, *o)
		if c.Effort.Level != "none" {
			c.Effort.Level = o.Effort
		}
		d.outputFormat(o.Format)
	}
	d.outputFormat(in.OutputFormat)
	if choice := in.ToolChoice; choice != nil {
		doc.RejectLookAlikes("tool_choice.", choice.Unknown, *choice)
		switch choice.Type {
		case "auto":
			c.ToolChoice.Mode = llm.ChoiceAuto
		case "any":
			c.ToolChoice.Mode = llm.ChoiceMust
		case "tool":
			c.ToolChoice = llm.ToolChoice{Mode: llm.ChoiceMust, Names: []string{choice.Name}}
		case "none":
			c.ToolChoice.Mode = llm.ChoiceNone
		}
		if single := choice.DisableParallelToolUse; single != nil {
			c.ParallelTools = new(!*single)
		}
	}
}

func (d *decoder) outputFormat(f *outputFormat) {
	if f == nil {
		return
	}
	d.doc.RejectLookAlikes("output_config.format.", f.Unknown, *f)
	if f.Type == "json_schema" { // the format supports only strict schemas
		d.conv.Output = llm.Output{Kind: llm.OutputSchema, Name: "answer", Schema: json.RawMessage(f.Schema), Strict: new(true)}
	}
}

// tools decodes the tool definitions.
func (d *decoder) tools(list []tool) {
	for i := range list {
		t := &list[i]
		d.doc.RejectLookAlikes("tools["+strconv.Itoa(i)+"].", t.Unknown, *t)
		d.req.Hosted = d.req.Hosted || isHosted(t.Type)
		if needsVendor(t.Type) {
			d.req.Needs |= llm.MessagesAPI
		}
		d.conv.Tools = append(d.conv.Tools, t.decode())
	}
}

// decode returns the tool. The tools of the format have a type.
func (t *tool) decode() llm.Tool {
	out := llm.Tool{Name: t.Name, Description: t.Description, Cache: t.CacheControl.decode()}
	if t.Type == "" || t.Type == "custom" {
		if t.InputSchema.Kind() == '{' {
			out.Schema = json.RawMessage(t.InputSchema)
		}
		out.Strict = t.Strict
		return out
	}
	raw, _ := encode(t) // it was decoded from JSON
	out.Raw = raw
	if known := clientToolOf(t.Type); known != nil {
		out.Description, out.Schema = known.description, json.RawMessage(known.schema)
		return out
	}
	out.Hosted = t.Type
	if websearch.Is(t.Type) {
		out.Search = websearch.Read(raw)
	}
	return out
}

func (c *cacheControl) decode() *llm.CacheMark {
	if c == nil {
		return nil
	}
	return &llm.CacheMark{TTL: c.TTL}
}

// position is the position of a block in the messages. inner is the index in the content of a tool result, or -1.
type position struct{ message, block, inner int }

// param returns the path of the block, or of its message if block is negative.
func (p position) param() string {
	path := "messages[" + strconv.Itoa(p.message) + "]"
	if p.block >= 0 {
		path += ".content[" + strconv.Itoa(p.block) + "]"
	}
	if p.inner >= 0 {
		path += ".content[" + strconv.Itoa(p.inner) + "]"
	}
	return path
}

// messages decodes the instructions and the messages.
func (d *decoder) messages(in *request) {
	if d.doc.Given("system") {
		d.conv.Messages = append(d.conv.Messages, llm.Message{Role: llm.System, Parts: d.parts(position{-1, -1, -1}, &in.System)})
	}
	if d.doc.Given("messages") && len(in.Messages) == 0 && !d.doc.HasProblem("messages") {
		d.doc.Problem("messages", "messages is empty. Send at least one message.")
	}
	for i := range in.Messages {
		if d.ctx.Err() != nil {
			return
		}
		d.message(position{i, -1, -1}, &in.Messages[i])
	}
}

func (d *decoder) message(at position, m *message) {
	if m.Unknown != nil {
		d.doc.RejectLookAlikes(at.param()+".", m.Unknown, *m)
		d.req.ExtraBytes += d.req.CountJSON(m.Unknown) // the provider may add an unknown member to the prompt
	}
	switch m.Role {
	case "user", "assistant":
	case "system":
		d.plain = false
	default:
		if where := at.param(); !d.doc.HasProblem(where) && !d.doc.HasProblem(where+".role") {
			d.doc.Problem(where+".role", "%s.role must be \"user\" or \"assistant\"; it is %s.", where, show.Quote(m.Role))
		}
	}
	if m.Content.isZero() {
		if where := at.param(); !d.doc.HasProblem(where) && !d.doc.HasProblem(where+".content") {
			d.doc.Problem(where+".content", "%s.content must be a string or a list of blocks; it is null.", where)
		}
	}
	d.conv.Messages = append(d.conv.Messages, llm.Message{Role: llm.Role(m.Role), Parts: d.parts(at, &m.Content)})
}

// parts decodes the content of a message.
func (d *decoder) parts(at position, c *content) []llm.Part {
	if c.text != nil {
		return []llm.Part{{Kind: llm.TextPart, Text: *c.text}}
	}
	parts := make([]llm.Part, 0, len(c.list))
	var signed wrappedSignature // signature of the next call
	for i := range c.list {
		p := &c.list[i]
		at.block = i
		if s, ours := unwrapSignature(textOf(p.Data)); ours && s.Call && p.Type == "redacted_thinking" {
			signed, d.plain = s, false
			continue
		}
		part, ok := d.part(at, p)
		if !ok {
			continue
		}
		if part.Kind == llm.CallPart {
			part.Call.Signature, part.Call.Provider = signed.Value, signed.Provider
			signed = wrappedSignature{}
		}
		parts = append(parts, part)
	}
	return parts
}

// part decodes one block. It returns false for an unsupported block.
func (d *decoder) part(at position, p *part) (llm.Part, bool) {
	d.check(at, p)
	part, ok := llm.Part{Kind: llm.TextPart, Cache: p.CacheControl.decode()}, true
	switch p.Type {
	case "text":
		part.Text = textOf(p.Text)
		d.plain = d.plain && p.Citations == nil
	case "image":
		part.Kind = llm.ImagePart
		ok = d.media(at, p, &part)
	case "document":
		part.Kind = llm.FilePart
		ok = d.media(at, p, &part)
	case "thinking":
		part.Kind = llm.ThinkingPart
		part.Thinking = &llm.Thinking{Text: textOf(p.Thinking)}
		part.Thinking.Signature, part.Thinking.Provider = d.signature(textOf(p.Signature))
	case "redacted_thinking":
		data := textOf(p.Data)
		value, provider := d.signature(data)
		part.Kind, part.Thinking = llm.ThinkingPart, &llm.Thinking{Redacted: value, Provider: provider}
		if s, ours := unwrapSignature(data); ours && s.Text {
			part.Thinking = &llm.Thinking{Signature: value, Provider: provider}
		}
	case "tool_use":
		d.names[p.ID] = p.Name
		part.Kind, part.Call = llm.CallPart, &llm.ToolCall{ID: decodeID(p.ID), Name: p.Name, Arguments: string(p.Input)}
	case "tool_result":
		part.Kind, part.Result = llm.ResultPart, d.result(at, p)
	case "search_result":
		part.Text = p.Title + "\n" + p.Source.String + p.Content.texts("\n")
	case "compaction":
		part.Text = textOf(p.Content.text)
	default:
		ok = d.unusual(at, p, &part)
	}
	return part, ok
}

// check records problems with a block.
func (d *decoder) check(at position, p *part) {
	if at.message < 0 {
		return // the provider checks the instructions
	}
	if p.Unknown != nil {
		d.doc.RejectLookAlikes(at.param()+".", p.Unknown, *p)
	}
	if source := p.Source.Other; source != nil && source.Unknown != nil {
		d.doc.RejectLookAlikes(at.param()+".source.", source.Unknown, *source)
	}
	missing := ""
	switch {
	case p.Type == "":
		missing = ".type"
	case p.Type == "text" && p.Text == nil:
		missing = ".text"
	default:
		return
	}
	if where := at.param(); !d.doc.HasProblem(where) && !d.doc.HasProblem(where+missing) {
		d.doc.Problem(where+missing, "%s must be a string; it is null.", where+missing)
	}
}

// unusual decodes a block that other formats do not have. It returns false for a block that a conversation cannot express.
func (d *decoder) unusual(at position, p *part, out *llm.Part) bool {
	members := rawjson.Parse(p.Unknown)
	if text := describeToolChange(p.Type, members); text != "" {
		if definition := members.Get("tool.definition"); definition.IsObject() {
			var t tool
			if upstream.Decode([]byte(definition.Raw), &t) == nil {
				d.conv.Tools = append(d.conv.Tools, t.decode())
			}
		}
		out.Text = text
		return true
	}
	d.conv.DropField("a block of type " + show.Quote(p.Type))
	if !strings.HasSuffix(p.Type, "_tool_use") && !strings.HasSuffix(p.Type, "_tool_result") {
		d.req.Unsized++
		d.addFile(members.Get("file_id").String(), at.param()+".file_id") // to be copied to the container of the code execution tool
		if p.Source.Other != nil {
			d.addFile(p.Source.Other.FileID, at.param()+".source")
		}
	}
	d.countBlock(p)
	return false
}

// countBlock counts the texts of a block that is not in the conversation. Inline data is not text.
func (d *decoder) countBlock(p *part) {
	texts := *p
	if from := p.Source.Other; from != nil && from.Type == "base64" {
		d.req.AttachedBytes += len(from.Data)
		texts.Source.Other = nil
	}
	raw, _ := encode(texts) // it was decoded from JSON
	d.req.CountJSON(raw)
}

// describeToolChange returns the text for a block that makes a deferred tool available or unavailable, for models that always have every
// tool of the request. It returns an empty string for a block of another kind.
func describeToolChange(kind string, block rawjson.Value) string {
	tool := block.Get("tool")
	name := cmp.Or(block.Get("tool_name").String(), tool.Get("name").String(), tool.Get("definition.name").String(), tool.Get("server_name").String())
	switch kind {
	case "tool_reference", "tool_addition":
		return "The tool " + name + " is available."
	case "tool_removal":
		return "The tool " + name + " is not available any more."
	}
	return ""
}

// signature decodes a signature. provider is empty for a signature that the gateway did not wrap; such a signature is valid only at a
// provider that uses this format.
func (d *decoder) signature(text string) (value, provider string) {
	s, ours := unwrapSignature(text)
	d.plain = d.plain && !ours && text != ""
	if ours {
		return s.Value, s.Provider
	}
	return text, ""
}

// result decodes a tool result. Calls, other results and thinking inside it are not supported.
func (d *decoder) result(at position, p *part) *llm.ToolResult {
	result := &llm.ToolResult{ID: decodeID(p.ToolUseID), Name: d.names[p.ToolUseID], Failed: p.IsError}
	if p.Content.text != nil {
		result.Parts = []llm.Part{{Kind: llm.TextPart, Text: *p.Content.text}}
		return result
	}
	for i := range p.Content.list {
		block := &p.Content.list[i]
		at.inner = i
		switch block.Type {
		case "tool_use", "tool_result", "thinking", "redacted_thinking":
			d.conv.DropField("a block of type " + block.Type + " inside a result")
			d.countBlock(block)
		default:
			if part, ok := d.part(at, block); ok {
				result.Parts = append(result.Parts, part)
			}
		}
	}
	return result
}

// media decodes an image or a document from its source. It returns false if the conversation cannot express the source.
func (d *decoder) media(at position, p *part, out *llm.Part) bool {
	var from source
	if p.Source.Other != nil {
		from = *p.Source.Other
	}
	if citations := rawjson.Parse(p.Citations); citations.Get("enabled").Bool() {
		d.req.Needs |= llm.MessagesAPI
		d.conv.DropField("citations")
	}
	if p.Context != "" {
		d.conv.DropField("context of a document")
	}
	media := &llm.Media{Type: from.MediaType, Name: p.Title}
	need, count := llm.Vision, &d.req.Images // of a source that the conversation does not contain
	if out.Kind == llm.FilePart {
		d.req.CountText(p.Title, p.Context, from.URL)
		need, count = llm.Files, &d.req.Unsized
	}
	d.req.Needs |= need
	switch from.Type {
	case "base64":
		media.Data = from.Data
	case "url":
		media.URL = from.URL
	case "file":
		media.FileID = from.FileID
		d.addFile(from.FileID, at.param()+".source")
	case "text":
		media.Data = base64.StdEncoding.EncodeToString([]byte(from.Data))
		d.req.CountText(from.Data)
	case "content": // blocks, which may be images
		out.Kind, out.Text = llm.TextPart, cmp.Or(textOf(from.Content.text), from.Content.texts(""))
		*count++
		for i := range from.Content.list {
			if inner := from.Content.list[i].Source.Other; inner != nil {
				d.addFile(inner.FileID, at.param()+".source")
			}
		}
		return out.Text != ""
	default:
		*count++
		d.conv.DropField("a source of type " + show.Quote(from.Type))
		d.countBlock(p)
		return false
	}
	out.Media = media
	return true
}

// addFile records a file that the provider stores.
func (d *decoder) addFile(id, param string) {
	d.req.AddStoredFile(id, param)
	if strings.HasPrefix(id, "file_") { // OpenAI's IDs begin with file-
		d.req.Needs |= llm.MessagesAPI
	}
}

// describe adds the properties of the request that do not follow from the conversation.
func (d *decoder) describe(in *request) {
	req := d.req
	req.Plain, req.HasSignatures = d.plain, false
	asked := lastQuestion(in.Messages) // the texts of other blocks, such as search results, are not questions
	req.Asked, req.Preview = asked, show.Preview(asked, llm.PreviewBytes)
	req.Needs &^= llm.Reasoning // an effort without thinking applies to the whole output
	if t := in.Thinking; t != nil {
		req.Effort = cmp.Or(req.Effort, llm.CustomEffort)
		if t.Type != "between_tools" && llm.Reasons(t.Type) {
			req.Needs |= llm.Reasoning
		}
	}
	for _, name := range []string{"temperature", "top_p", "top_k"} {
		if d.doc.Given(name) {
			req.Sampling = append(req.Sampling, name)
		}
	}
	for _, name := range []string{"mcp_servers", "container"} {
		if raw := d.doc.Raw(name); d.doc.Given(name) {
			d.addUnknown(name, raw)
			if string(raw) != "[]" {
				req.Hosted, req.Needs = true, req.Needs|llm.MessagesAPI
			}
		}
	}
	for f := range d.doc.UnknownFields(request{}) {
		if d.doc.Given(f.Name) {
			d.addUnknown(f.Name, d.doc.Raw(f.Name))
		}
	}
}

// lastQuestion returns the first text of the last user message that begins with one.
func lastQuestion(messages []message) string {
	for _, m := range slices.Backward(messages) {
		if m.Role != "user" {
			continue
		}
		first := textOf(m.Content.text)
		for i := 0; first == "" && i < len(m.Content.list); i++ {
			if p := &m.Content.list[i]; p.Type == "text" {
				first = textOf(p.Text)
			}
		}
		if strings.TrimSpace(first) != "" {
			return first
		}
	}
	return ""
}

// addUnknown records a member that the conversation does not contain. The provider may add it to the prompt.
func (d *decoder) addUnknown(name string, raw []byte) {
	d.req.ExtraBytes += d.req.CountJSON(raw)
	if name != "context_management" { // it removes parts of the history that the other formats do not have, or to save tokens
		d.conv.DropField(name)
	}
}
