package gemini

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/strict"
	"fairlead.dev/internal/wire/upstream"
	"fairlead.dev/internal/wire/websearch"
)

// DecodeRequest implements wire.Format. It checks the types of the fields that routing, limits, pricing and translation need. The provider
// checks all other fields. The body of a token-count request is either the request to be counted or an object with this request as a
// member.
func (f Format) DecodeRequest(ctx context.Context, op llm.Op, body []byte) (*llm.Request, error) {
	switch op {
	case llm.Embed:
		return f.decodeEmbedding(ctx, body)
	case llm.Chat, llm.Count:
	default:
		return nil, strict.Reject(strict.Problem{Message: "The gemini format does not support the operation " + string(op) + "."})
	}
	var in request
	doc, err := strict.Decode(ctx, body, &in, strict.Rules{Messages: "contents", Alias: camelCase})
	if err != nil {
		return nil, err
	}
	if op == llm.Count && in.Counted.Kind() == '{' {
		return f.DecodeRequest(ctx, llm.Count, in.Counted)
	}
	r := requestReader{doc: doc, conv: &llm.Conversation{}, pending: map[string][]string{}, req: &llm.Request{
		Op: op, Payload: llm.Payload{Format: Name},
		ResponseOptions: llm.ResponseOptions{Stream: f.Stream, IncludeUsage: true},
	}}
	r.readRequest(&in)
	r.req.Model = ModelName(cmp.Or(f.Model, r.req.Model))
	doc.Require("model", r.req.Model != "", `Name a model in the path, or "auto" to have one chosen.`)
	if err := doc.Finish(r.req, r.conv); err != nil {
		return nil, err
	}
	r.describeRequest(&in)
	return r.req, nil
}

// ModelName returns the name of a model without the prefix models/ that Google's clients add.
func ModelName(name string) string { return strings.TrimPrefix(name, "models/") }

// camelCase returns the camelCase spelling of a name in snake_case, such as systemInstruction for system_instruction. Google's API accepts
// both. It returns any other name unchanged.
func camelCase(name string) string {
	if name == "serviceTier" {
		return "service_tier" // the only member that the API's own documentation spells in snake_case
	}
	if !strings.Contains(name, "_") || strings.ContainsFunc(name, func(c rune) bool { return c != '_' && (c < 'a' || c > 'z') }) {
		return name
	}
	words := strings.Split(name, "_")
	for i, word := range words[1:] {
		if word != "" {
			words[i+1] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, "")
}

// requestReader converts a decoded request to a conversation and records its problems.
type requestReader struct {
	doc  *strict.Document
	req  *llm.Request
	conv *llm.Conversation

	detail  string              // requested resolution of images
	calls   int                 // number of calls so far
	pending map[string][]string // IDs of calls in the last model turn without a result, by function name
}

func (r *requestReader) readRequest(in *request) {
	in.Apply(r.doc, r.req)
	r.doc.RejectUnknownLookAlikes(in)
	r.conv.ServiceTier = strings.ToLower(string(in.ServiceTier))
	for f := range r.doc.UnknownFields(in) {
		r.conv.DropField(f.Name)
		r.req.ExtraBytes += r.req.CountJSON(r.doc.Body[f.Value:f.End]) // an unknown member may become part of the prompt
	}
	r.dropGiven("safetySettings", in.Safety)
	r.dropGiven("labels", in.Labels)
	if isGiven(in.Cached) {
		r.doc.Untranslatable("cachedContent", "cachedContent names a prompt that is stored at Google, so only Gemini models can read it.")
	}
	r.readSettings(&in.Settings)
	if in.System != nil {
		r.conv.Messages = append(r.conv.Messages, llm.Message{Role: llm.System, Parts: r.readContent("systemInstruction", in.System)})
	}
	r.doc.Require("contents", r.doc.Given("contents"), "Send a list with at least one entry.")
	if len(in.Contents) == 0 && !r.doc.HasProblem("contents") {
		r.doc.Problem("contents", "contents is empty. Send at least one entry.")
	}
	for i := range in.Contents {
		r.readTurn("contents["+strconv.Itoa(i)+"]", &in.Contents[i])
	}
	for i := range in.Tools {
		r.readTool("tools["+strconv.Itoa(i)+"]", &in.Tools[i])
	}
	r.readToolChoice(&in.Choice)
}

// describeRequest adapts the properties that were derived from the conversation. A provider of the same format receives the thinking settings and the tools that
// Google runs as they are, so they do not restrict the choice of models as in other formats.
func (r *requestReader) describeRequest(in *request) {
	req := r.req
	req.HasSignatures, req.Plain = false, false
	req.Needs &^= llm.Reasoning
	if !slices.ContainsFunc(in.Tools, func(t tool) bool { return len(t.Functions) > 0 }) {
		req.Needs &^= llm.Tools
	}
	t := in.Settings.Thinking
	switch {
	case t == nil:
		req.Effort = ""
	case t.Level != "":
		req.Effort = strings.ToLower(t.Level)
	case t.Budget != "":
		req.Effort = llm.CustomEffort
	default:
		req.Effort = ""
	}
	if r.conv.Effort.Budget > 0 || req.Effort != llm.CustomEffort && llm.Reasons(req.Effort) {
		req.Needs |= llm.Reasoning
	}
}

// dropGiven records a member that is lost in other formats, if it is given.
func (r *requestReader) dropGiven(name string, value jsontext.Value) {
	if isGiven(value) {
		r.conv.DropField(name)
	}
}

// dropUnknown records the unknown members of an object, which are lost in other formats.
func (r *requestReader) dropUnknown(where string, unknown jsontext.Value) {
	list, _ := readMembers(unknown)
	for _, m := range list {
		r.dropGiven(where+"."+m.name, m.value)
	}
}

// readSettings reads generationConfig.
func (r *requestReader) readSettings(s *settings) {
	const where = "generationConfig"
	r.doc.RejectLookAlikes(where+".", s.Unknown, s)
	r.dropUnknown(where, s.Unknown)
	c := r.conv
	r.req.MaxOutput = r.doc.Int(where+".maxOutputTokens", s.MaxOutput, 1, strict.MaxTokens)
	r.req.Choices = max(int(r.doc.Int(where+".candidateCount", s.Candidates, 1, 128)), 1)
	c.MaxOutput, c.Choices, c.Stop = r.req.MaxOutput, r.req.Choices, s.Stop
	for _, one := range []struct {
		name  string
		value jsontext.Value
		into  *json.Number
	}{
		{"temperature", s.Temperature, &c.Sampling.Temperature},
		{"top_p", s.TopP, &c.Sampling.TopP},
		{"top_k", s.TopK, &c.Sampling.TopK},
		{"", s.PresencePenalty, &c.Sampling.PresencePenalty},
		{"", s.FrequencyPenalty, &c.Sampling.FrequencyPenalty},
		{"", s.Seed, &c.Sampling.Seed},
	} {
		if one.value.Kind() == '0' {
			*one.into = json.Number(one.value)
		}
		if one.name != "" && isGiven(one.value) {
			r.req.Sampling = append(r.req.Sampling, one.name)
		}
	}
	// Gemini CLI always sends 0.95 and 64, the defaults of Gemini models, which say nothing about other models.
	if c.Sampling.TopP == "0.95" {
		c.Sampling.TopP = ""
	}
	if c.Sampling.TopK == "64" {
		c.Sampling.TopK = ""
	}
	for _, modality := range s.Modalities { // reject media, because providers of other formats return only text
		if kind := strings.ToUpper(modality); kind != "TEXT" && kind != "MODALITY_UNSPECIFIED" {
			r.doc.Untranslatable(where+".responseModalities", "Responses of modality %s are available only from Gemini models.", show.Quote(kind))
		}
	}
	r.detail = map[string]string{"MEDIA_RESOLUTION_LOW": "low", "MEDIA_RESOLUTION_HIGH": "high"}[s.Resolution]
	c.Effort = r.readThinking(s.Thinking)
	c.Output = r.readOutput(s)
}

// readThinking converts the thinking settings.
func (r *requestReader) readThinking(t *thinking) (e llm.Effort) {
	if t == nil {
		return llm.Effort{Hide: true}
	}
	r.doc.RejectLookAlikes("generationConfig.thinkingConfig.", t.Unknown, t)
	e.Hide = !t.Show
	if t.Level != "THINKING_LEVEL_UNSPECIFIED" {
		e.Level = strings.ToLower(t.Level)
	}
	switch n := r.doc.Int("generationConfig.thinkingConfig.thinkingBudget", t.Budget, -1, strict.MaxTokens); {
	case t.Budget == "":
		e.Adaptive = t.Show && e.Level == "" // Gemini models that think do so by default
	case n == 0:
		e.Level = "none"
	case n < 0:
		e.Adaptive = true
	default:
		e.Budget = n
	}
	return e
}

// readOutput reads the requested output format of the response.
func (r *requestReader) readOutput(s *settings) (out llm.Output) {
	switch {
	case s.MIMEType != "" && s.MIMEType != jsonType && s.MIMEType != "text/plain":
		r.conv.DropField("generationConfig.responseMimeType")
	case len(s.JSONSchema) > 0:
		out = llm.Output{Kind: llm.OutputSchema, Name: "answer", Schema: json.RawMessage(s.JSONSchema)}
	case len(s.Schema) > 0:
		out = llm.Output{Kind: llm.OutputSchema, Name: "answer", Schema: jsonSchema(jsontext.Value(s.Schema))}
	case s.MIMEType == jsonType:
		out.Kind = llm.OutputJSON
	}
	// Other providers require strict schemas to forbid additional members.
	if m, _ := readMembers(jsontext.Value(out.Schema)); m.get("additionalProperties").Kind() == 'f' {
		yes := true
		out.Strict = &yes
	}
	return out
}

// readTurn reads one element of contents. The results of function calls are part of a user message.
func (r *requestReader) readTurn(where string, c *content) {
	role := llm.User
	switch c.Role {
	case roleModel:
		role = llm.Assistant
		if n := len(r.conv.Messages); n > 0 && r.conv.Messages[n-1].Role != role {
			r.pending = map[string][]string{}
		}
	case roleUser, "", "function", "tool":
	default:
		r.doc.Problem(where+".role", "%s.role must be \"user\" or \"model\"; it is %s.", where, show.Quote(c.Role))
	}
	if parts := r.readContent(where, c); len(parts) > 0 {
		r.conv.Messages = append(r.conv.Messages, llm.Message{Role: role, Parts: parts})
	}
}

func (r *requestReader) readContent(where string, c *content) []llm.Part {
	r.doc.RejectLookAlikes(where+".", c.Unknown, c)
	if c.Parts == nil && !r.doc.HasProblem(where) && !r.doc.HasProblem(where+".parts") {
		r.doc.Problem(where+".parts", "%s.parts must be a list of parts; it is null.", where)
	}
	return r.readParts(where+".parts", c.Parts)
}

func (r *requestReader) readParts(where string, parts []part) []llm.Part {
	out := make([]llm.Part, 0, len(parts))
	for i := range parts {
		if p, ok := r.readPart(func() string { return where + "[" + strconv.Itoa(i) + "]" }, &parts[i]); ok {
			out = append(out, p)
		}
	}
	return out
}

// readPart converts one part. It returns false for a part that other formats do not have. Of the thought signatures, which are valid only at
// Google, it keeps only those of calls.
func (r *requestReader) readPart(where func() string, p *part) (llm.Part, bool) {
	if len(p.Unknown) > 0 {
		r.doc.RejectLookAlikes(where()+".", p.Unknown, p)
		r.dropUnknown("parts", p.Unknown)
		r.req.ExtraBytes += r.req.CountJSON(p.Unknown) // the provider may add an unknown member to the prompt
	}
	r.dropGiven("parts.executableCode", p.Code)
	r.dropGiven("parts.codeExecutionResult", p.Outcome)
	if p.Code != nil || p.Outcome != nil {
		r.req.CountJSON(p.Code)
		r.req.CountJSON(p.Outcome)
	}
	if p.countKinds() > 1 {
		r.doc.Problem(where(), "%s contains several kinds of content. Send a separate part for each kind.", where())
	}
	switch {
	case p.Text != nil && p.Thought:
		return llm.Part{Kind: llm.ThinkingPart, Thinking: &llm.Thinking{Text: *p.Text}}, true
	case p.Text != nil:
		return llm.Part{Kind: llm.TextPart, Text: *p.Text}, true
	case p.Inline != nil:
		return r.readInline(where, p.Inline), true
	case p.File != nil:
		return r.readFile(where, p.File), true
	case p.Call != nil:
		return r.readCall(p.Call, p.Signature), true
	case p.Response != nil:
		return r.readResult(where, p.Response), true
	}
	return llm.Part{}, false
}

// readInline converts a file whose bytes are in the request.
func (r *requestReader) readInline(where func() string, in *inlineData) llm.Part {
	if in.Data == "" {
		r.doc.Problem(where()+".inlineData.data", "%s.inlineData.data must be a base64 string.", where())
	}
	if len(in.Unknown) > 0 {
		r.doc.RejectLookAlikes(where()+".inlineData.", in.Unknown, in)
	}
	data, ok := llm.StandardBase64(in.Data) // Google's Python client uses the URL alphabet
	if !ok {
		data = in.Data
	}
	return r.mediaPart(&llm.Media{Type: in.Type, Data: data, Name: in.Name})
}

// readFile converts a file that is given by its URI: a file that is public, or stored at Google.
func (r *requestReader) readFile(where func() string, in *fileData) llm.Part {
	if len(in.Unknown) > 0 {
		r.doc.RejectLookAlikes(where()+".fileData.", in.Unknown, in)
	}
	r.req.AddStoredFile(in.URI, where()+".fileData.fileUri")
	media := &llm.Media{Type: in.Type, Name: in.Name}
	public := strings.HasPrefix(in.URI, "https://") || strings.HasPrefix(in.URI, "http://")
	if public && !strings.HasPrefix(in.URI, "https://generativelanguage.googleapis.com/") {
		media.URL = in.URI
	} else {
		media.FileID = in.URI // only Google can read the file
	}
	return r.mediaPart(media)
}

func (r *requestReader) mediaPart(m *llm.Media) llm.Part {
	switch kind, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(m.Type)), "/"); kind {
	case "image":
		m.Detail = r.detail
		return llm.Part{Kind: llm.ImagePart, Media: m}
	case "audio":
		return llm.Part{Kind: llm.AudioPart, Media: m}
	}
	return llm.Part{Kind: llm.FilePart, Media: m}
}

// readCall converts a call. A call without an ID gets one, because the other formats match results by ID.
func (r *requestReader) readCall(in *functionCall, signature string) llm.Part {
	call := &llm.ToolCall{ID: in.ID, Name: in.Name, Arguments: "{}", Signature: signature}
	if in.Args.Kind() == '{' {
		call.Arguments = string(in.Args)
	}
	r.calls++
	if call.ID == "" {
		call.ID = "call_" + strconv.Itoa(r.calls)
	}
	r.pending[call.Name] = append(r.pending[call.Name], call.ID)
	return llm.Part{Kind: llm.CallPart, Call: call}
}

// readResult converts the result of a function call. A result without an ID belongs to the oldest call of this function in the last model
// turn that has no result: Google's SDKs omit the ID even if the call has one.
func (r *requestReader) readResult(where func() string, in *functionResponse) llm.Part {
	result := &llm.ToolResult{ID: in.ID, Name: in.Name}
	if waiting := r.pending[result.Name]; len(waiting) > 0 && (result.ID == "" || result.ID == waiting[0]) {
		result.ID, r.pending[result.Name] = waiting[0], waiting[1:]
	}
	if result.ID == "" {
		result.ID = result.Name
	}
	text, failed := readOutcome(in.Response)
	result.Failed = failed
	result.Parts = []llm.Part{{Kind: llm.TextPart, Text: text}}
	if len(in.Parts) > 0 {
		result.Parts = append(result.Parts, r.readParts(where()+".functionResponse.parts", in.Parts)...)
	}
	return llm.Part{Kind: llm.ResultPart, Result: result}
}

// readOutcome returns the text of a function's response. If the only member is output, result or error, the text is the member's value,
// otherwise the JSON of the response. failed is true for error. Google's documentation specifies output and error; Google's clients send
// result.
func readOutcome(response jsontext.Value) (text string, failed bool) {
	if !isGiven(response) {
		return "{}", false
	}
	m, _ := readMembers(response)
	if len(m) != 1 || !slices.Contains([]string{"output", "result", "error"}, m[0].name) {
		return string(response), false
	}
	text = string(m[0].value)
	if m[0].value.Kind() == '"' {
		text = upstream.Text(m[0].value)
	}
	return text, m[0].name == "error"
}

// readTool reads one tool: functions of the client, or tools that Google runs.
func (r *requestReader) readTool(where string, t *tool) {
	r.doc.RejectLookAlikes(where+".", t.Unknown, t)
	for _, f := range t.Functions {
		tool := llm.Tool{Name: f.Name, Description: f.Description}
		if f.JSONSchema.Kind() == '{' {
			tool.Schema = json.RawMessage(f.JSONSchema)
		} else if f.Parameters.Kind() == '{' {
			tool.Schema = jsonSchema(f.Parameters)
		}
		r.conv.Tools = append(r.conv.Tools, tool)
	}
	if isGiven(t.Search) || isGiven(t.OldSearch) {
		r.conv.Tools = append(r.conv.Tools, llm.Tool{Hosted: websearch.Hosted, Search: &llm.Search{}})
	}
	list, _ := readMembers(t.Unknown)
	for _, m := range append(list, member{name: "codeExecution", value: t.Code}, member{name: "urlContext", value: t.URLs}) {
		if isGiven(m.value) {
			r.conv.Tools = append(r.conv.Tools, llm.Tool{Hosted: m.name, Raw: json.RawMessage(m.value)})
		}
	}
}

func (r *requestReader) readToolChoice(c *toolConfig) {
	r.doc.RejectLookAlikes("toolConfig.", c.Unknown, c)
	r.dropUnknown("toolConfig", c.Unknown)
	r.doc.RejectLookAlikes("toolConfig.functionCallingConfig.", c.Calling.Unknown, &c.Calling)
	switch strings.ToUpper(c.Calling.Mode) {
	case "AUTO", "VALIDATED":
		r.conv.ToolChoice.Mode = llm.ChoiceAuto
	case "ANY":
		r.conv.ToolChoice.Mode = llm.ChoiceMust
	case "NONE":
		r.conv.ToolChoice.Mode = llm.ChoiceNone
	}
	r.conv.ToolChoice.Names = c.Calling.Names
}
