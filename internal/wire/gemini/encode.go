package gemini

import (
	"context"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/strict"
)

// RenderOptions holds the settings for encoding a conversation.
type RenderOptions struct {
	Traits        Traits
	Provider      string // name of the provider whose signatures the target accepts
	MaxOutput     int64  // output limit for a request without one; 0 for none
	FixedSampling bool   // whether the model rejects temperature and other sampling settings
}

// Render encodes a conversation as the body of a request. Unsupported settings are dropped with a warning. Unsupported content is an
// *llm.Error of kind Untranslatable. Render returns ClientCancelled when ctx is cancelled.
func Render(ctx context.Context, conv *llm.Conversation, o RenderOptions) (body []byte, warnings []string, err error) {
	r := renderer{ctx: ctx, conv: conv, o: o, schemas: newSchemaBudget(conv), calls: map[string]llm.ToolCall{}, order: map[string]int{}}
	if err := r.render(); err != nil {
		return nil, nil, err
	}
	if err := llm.Cancelled(ctx); err != nil {
		return nil, nil, err
	}
	body, err = encode(r.out)
	return body, r.warnings, err
}

type renderer struct {
	ctx      context.Context
	conv     *llm.Conversation
	o        RenderOptions
	out      request
	schemas  *schemaBudget
	warnings show.Warnings

	calls map[string]llm.ToolCall // latest call by ID
	order map[string]int          // position of each call in the latest turn with calls
}

func (r *renderer) render() error {
	system, turns := r.conv.Turns()
	if err := r.encodeTurns(turns); err != nil {
		return err
	}
	if err := r.encodeTools(); err != nil {
		return err
	}
	instruction, err := r.encodeSettings()
	if err != nil {
		return err
	}
	r.encodeInstructions(system, instruction)
	if len(r.out.Contents) > 0 && r.out.Contents[0].Role == roleModel {
		r.out.Contents = slices.Insert(r.out.Contents, 0, content{Role: roleUser, Parts: []part{textPart("…")}})
		r.warnings.Add("a user message was added at the beginning: Gemini does not accept a model message first.")
	}
	tiers := map[string]string{"flex": "flex", "priority": "priority", "fast": "priority", "default": "standard", "standard": "standard"}
	switch asked := r.conv.ServiceTier; {
	case asked == "" || asked == "auto":
	case !r.o.Traits.Tiers || tiers[asked] == "":
		r.warnDropped("service_tier " + show.Quote(asked))
	default:
		r.out.ServiceTier = strict.Label(tiers[asked])
	}
	for _, name := range r.conv.Dropped {
		r.warnDropped(show.Name(name))
	}
	if slices.ContainsFunc(r.conv.Messages, func(m llm.Message) bool { return m.Name != "" }) {
		r.warnDropped("the name of a participant")
	}
	return nil
}

func (r *renderer) warnDropped(what string) {
	r.warnings.Add("%s was dropped: Gemini does not support it.", what)
}

func untranslatable(param, format string, args ...any) *llm.Error {
	e := llm.Errorf(llm.Untranslatable, format, args...)
	e.Param = param
	return e
}

// encodeInstructions encodes the instructions as systemInstruction. If the model does not support this member, or if the conversation has
// no other content, the instructions become the first content.
func (r *renderer) encodeInstructions(system []llm.Part, instruction string) {
	var parts []part
	for _, p := range system {
		switch {
		case p.Kind != llm.TextPart:
			r.warnings.Add("an instruction part that is not text was dropped: Gemini does not support it.")
		case p.Text != "":
			parts = append(parts, textPart(p.Text))
		}
	}
	if instruction != "" {
		parts = append(parts, textPart(instruction))
	}
	contents := r.out.Contents
	switch {
	case len(parts) == 0:
	case len(contents) == 0:
		r.out.Contents = []content{{Role: roleUser, Parts: parts}}
		r.warnings.Add("the instructions were sent as a user message: Gemini requires at least one.")
	case !r.o.Traits.NoSystem:
		r.out.System = &content{Parts: parts}
	case contents[0].Role == roleUser && contents[0].Parts[0].Response == nil:
		contents[0].Parts = slices.Concat(parts, contents[0].Parts)
	default:
		r.out.Contents = slices.Insert(contents, 0, content{Role: roleUser, Parts: parts})
	}
}

// encodeTurns encodes the conversation. The tool results of a user turn come first, as a separate element of contents.
func (r *renderer) encodeTurns(turns []llm.Message) error {
	r.out.Contents = []content{}
	for _, turn := range turns {
		if err := llm.Cancelled(r.ctx); err != nil {
			return err
		}
		if turn.Role == llm.Assistant {
			parts, err := r.encodeModelTurn(turn.Parts)
			if err != nil {
				return err
			}
			r.addContent(roleModel, parts)
			continue
		}
		results, err := r.encodeResults(turn.Parts)
		if err != nil {
			return err
		}
		parts, err := r.encodeUserParts(turn.Parts)
		if err != nil {
			return err
		}
		r.addContent(roleUser, results)
		r.addContent(roleUser, parts)
	}
	return nil
}

func (r *renderer) addContent(role string, parts []part) {
	if len(parts) > 0 {
		r.out.Contents = append(r.out.Contents, content{Role: role, Parts: parts})
	}
}

// encodeUserParts encodes user content other than results. Empty text is dropped because the API rejects it.
func (r *renderer) encodeUserParts(parts []llm.Part) (out []part, err error) {
	for _, p := range parts {
		switch p.Kind {
		case llm.TextPart, llm.RefusalPart:
			if p.Text != "" {
				out = append(out, textPart(p.Text))
			}
		case llm.ImagePart, llm.AudioPart, llm.FilePart:
			m, err := r.encodeMedia(p)
			if err != nil {
				return nil, err
			}
			out = append(out, m)
		default:
		}
	}
	return out, nil
}

// foreignSignature is the value that the API accepts in place of a signature, for a call that another model made.
const foreignSignature = "skip_thought_signature_validator"

// encodeModelTurn encodes a model turn. The text of thinking is not sent. Only its signature is sent, as a member of the following text
// part, where the model originally put it.
func (r *renderer) encodeModelTurn(turn []llm.Part) ([]part, error) {
	if slices.ContainsFunc(turn, func(p llm.Part) bool { return p.Kind == llm.CallPart }) {
		r.order = map[string]int{} // a new map, because clearing a large map is as expensive as filling it
	}
	var parts []part
	signature := "" // signature to attach to the next text
	lastText, firstCall := -1, -1
	for _, p := range turn {
		switch p.Kind {
		case llm.TextPart, llm.RefusalPart:
			if p.Text != "" {
				lastText = len(parts)
				parts = append(parts, part{Text: &p.Text, Signature: signature})
				signature = ""
			}
		case llm.ThinkingPart:
			if p.Thinking != nil && p.Thinking.Provider == r.o.Provider && p.Thinking.Signature != "" {
				signature = p.Thinking.Signature
			}
		case llm.CallPart:
			if firstCall < 0 {
				firstCall = len(parts)
			}
			parts = append(parts, r.encodeCall(*p.Call))
		case llm.ImagePart, llm.AudioPart, llm.FilePart:
			m, err := r.encodeMedia(p)
			if err != nil {
				return nil, err
			}
			parts = append(parts, m)
		case llm.ResultPart:
		}
	}
	if signature != "" { // no text followed the thinking, so attach its signature to the last text part
		if lastText < 0 {
			lastText = len(parts)
			parts = append(parts, textPart(""))
		}
		parts[lastText].Signature = signature
	}
	if firstCall >= 0 && r.o.Traits.NeedsSignatures && parts[firstCall].Signature == "" {
		parts[firstCall].Signature = foreignSignature
	}
	return parts, nil
}

func (r *renderer) encodeCall(c llm.ToolCall) part {
	r.calls[c.ID] = c
	r.order[c.ID] = len(r.order)
	out := part{Call: &functionCall{Name: c.Name, Args: encodeArguments(c.Arguments)}}
	if c.Custom {
		out.Call.Args = objectOf(customInput, c.Arguments)
	}
	if r.o.Traits.CallIDs {
		out.Call.ID = c.ID
	}
	if c.Provider == r.o.Provider || c.Provider == "" { // only clients of Google's API send a signature without a provider
		out.Signature = c.Signature
	}
	return out
}

// encodeArguments returns the arguments of a call as an object, even if the model generated a value of another type.
func encodeArguments(arguments string) jsontext.Value {
	trimmed := jsontext.Value(strings.TrimSpace(arguments))
	switch {
	case len(trimmed) == 0 || string(trimmed) == "null":
		return jsontext.Value("{}")
	case isObject(trimmed):
		return trimmed
	}
	return objectOf("arguments", arguments)
}

// objectOf returns a JSON object whose only member has the given name and text.
func objectOf(name, text string) jsontext.Value {
	raw, _ := encode(map[string]string{name: text}) // encoding a string cannot fail
	return raw
}

// encodeResults encodes tool results in the order of their calls, because models without call IDs match results and calls by their order.
func (r *renderer) encodeResults(parts []llm.Part) (out []part, err error) {
	var found []llm.ToolResult
	for _, p := range parts {
		if p.Kind == llm.ResultPart {
			found = append(found, *p.Result)
		}
	}
	positionOf := func(id string) int {
		if position, ok := r.order[id]; ok {
			return position
		}
		return len(r.order)
	}
	slices.SortStableFunc(found, func(a, b llm.ToolResult) int { return positionOf(a.ID) - positionOf(b.ID) })
	for _, result := range found {
		encoded, err := r.encodeResult(result)
		if err != nil {
			return nil, err
		}
		out = append(out, encoded...)
	}
	return out, nil
}

// encodeResult encodes one result, followed by its images and files.
func (r *renderer) encodeResult(result llm.ToolResult) ([]part, error) {
	name := result.Name
	if call, ok := r.calls[result.ID]; ok {
		name = call.Name
	}
	if name == "" {
		return nil, untranslatable("messages", "The result of tool call %s has no matching tool call in an earlier message. Send the tool call before its result.", show.Quote(result.ID))
	}
	var texts []string
	response := &functionResponse{Name: name}
	out := []part{{Response: response}}
	for _, p := range result.Parts {
		switch p.Kind {
		case llm.TextPart, llm.RefusalPart:
			texts = append(texts, p.Text)
		case llm.ImagePart, llm.AudioPart, llm.FilePart:
			m, err := r.encodeMedia(p)
			if err != nil {
				return nil, err
			}
			out = append(out, m)
		default:
		}
	}
	// A successful result that is a JSON object is sent unchanged. Any other result becomes an object with one member, whose name is given
	// in Google's documentation.
	switch text := strings.Join(texts, "\n"); {
	case result.Failed:
		response.Response = objectOf("error", text)
	case isObject(jsontext.Value(text)):
		response.Response = jsontext.Value(text)
	default:
		response.Response = objectOf("output", text)
	}
	if r.o.Traits.CallIDs {
		response.ID = result.ID
	}
	return out, nil
}

// customInput is the name of the argument that contains the text of a free-text tool. Such a tool is sent as a function, because the
// format supports only functions.
const customInput = "input"

// encodeTools encodes the tool declarations and the tool choice.
func (r *renderer) encodeTools() error {
	var declared []function
	choice := r.conv.ToolChoice
	restricted, chosen := choice.Mode == llm.ChoiceAuto && len(choice.Names) > 0, choice.Includes()
	var search *llm.Search
	for _, t := range r.conv.Tools {
		switch {
		case t.Search != nil:
			search = t.Search
			continue
		case t.Hosted != "":
			r.warnings.Add("the tool %s was dropped: it runs at another provider.", show.Quote(t.Hosted))
			continue
		case restricted && !chosen(t.Name):
			continue // send only the allowed tools, because the format can list allowed tools only if a call is required
		}
		f, err := r.encodeFunction(t)
		if err != nil {
			return err
		}
		declared = append(declared, f)
	}
	if search != nil {
		r.encodeSearch(search, len(declared) > 0)
	}
	if len(declared) == 0 {
		return nil
	}
	r.out.Tools = []tool{{Functions: declared}}
	switch choice.Mode {
	case llm.ChoiceAuto:
		r.out.Choice.Calling.Mode = "AUTO"
	case llm.ChoiceMust:
		r.out.Choice.Calling = calling{Mode: "ANY", Names: choice.Names}
	case llm.ChoiceNone:
		r.out.Choice.Calling.Mode = "NONE"
	case llm.ChoiceUnset:
	}
	if p := r.conv.ParallelTools; p != nil && !*p {
		r.warnings.Add("parallel_tool_calls was dropped: Gemini may call several tools in parallel.")
	}
	return nil
}

// encodeSearch requests web search. If the request also has functions, search is dropped with a warning, because Gemini does not support
// both.
func (r *renderer) encodeSearch(s *llm.Search, functions bool) {
	switch {
	case !r.o.Traits.Search:
		r.warnDropped("web search")
		return
	case functions:
		r.warnings.Add("web search was dropped: Gemini does not support it together with functions.")
		return
	}
	r.out.Tools = []tool{{Search: jsontext.Value("{}")}}
	for _, option := range []struct {
		name  string
		given bool
	}{
		{"allowed_domains", len(s.Allowed) > 0},
		{"blocked_domains", len(s.Blocked) > 0},
		{"max_uses", s.MaxUses > 0},
		{"search_context_size", s.ContextSize != ""},
		{"user_location", s.Place != (llm.Place{})},
	} {
		if option.given {
			r.warnDropped(option.name)
		}
	}
}

func (r *renderer) encodeFunction(t llm.Tool) (f function, err error) {
	f = function{Name: t.Name, Description: t.Description}
	schema := jsontext.Value(t.Schema)
	if t.Custom {
		schema = jsontext.Value(`{"type":"object","properties":{"` + customInput + `":{"type":"string"}},"required":["` + customInput + `"]}`)
		f.Description = t.DescribeGrammar()
	}
	switch {
	case noArguments(schema):
	case r.o.Traits.JSONSchema:
		f.JSONSchema = schema
	default:
		f.Parameters, err = r.encodeSchema("tools", schema, false)
	}
	return f, err
}

// encodeSchema converts a schema for models that support only the OpenAPI subset.
func (r *renderer) encodeSchema(param string, schema jsontext.Value, ordered bool) (jsontext.Value, error) {
	out, lost, err := convertSchema(schema, ordered, r.schemas)
	if err != nil {
		return nil, untranslatable(param, "A schema cannot be converted for this model: %v.", err)
	}
	for _, what := range lost {
		r.warnings.Add("a schema was simplified: %s.", what)
	}
	return out, nil
}
