package responses

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/strict"
	"fairlead.dev/internal/wire/websearch"
)

// RenderOptions holds the settings for encoding a conversation.
type RenderOptions struct {
	Model     string
	Stream    bool
	MaxOutput int64 // output limit for a request without one; 0 for none
	Reasoning bool  // whether the model supports reasoning; if so, encrypted reasoning is requested for use in later turns
	// SamplingRejected is set if the model rejects all sampling parameters.
	SamplingRejected bool
	// Breakpoints is set if the model accepts explicit prompt-cache breakpoints.
	Breakpoints bool
	// Signer is the provider whose encrypted reasoning the target accepts.
	Signer string
}

const (
	maxIdentifier = 64 // maximum length of safety_identifier according to OpenAI's documentation
	minOutput     = 16 // smallest max_output_tokens that OpenAI accepts
)

// Render encodes a conversation as a Responses request. dropped lists the content and settings that the format does not support, starting
// with conv.Dropped.
func Render(conv *llm.Conversation, o RenderOptions) (body []byte, dropped []string) {
	r := renderer{conv: conv, o: o, dropped: slices.Clone(conv.Dropped), custom: map[string]bool{}}
	out := &r.out
	out.Model, out.Stream = strict.Name(o.Model), o.Stream
	out.Store = jsontext.Value("false") // every request contains the whole conversation, so nothing needs to be stored
	r.addInput()
	if r.addTools(); len(out.Tools) > 0 {
		r.addToolChoice()
		out.ParallelTools = conv.ParallelTools
	}
	r.addText()
	r.addReasoning()
	if limit := cmp.Or(conv.MaxOutput, o.MaxOutput); limit > 0 {
		out.MaxOutput = strict.WholeOf(max(limit, minOutput))
	}
	r.addSampling()
	user := conv.EndUser
	if len(user) > maxIdentifier { // hash an identifier that is too long; Claude Code, for example, sends a JSON document
		sum := sha256.Sum256([]byte(user))
		user = hex.EncodeToString(sum[:])
	}
	out.SafetyIdentifier = strict.Label(user)
	switch conv.ServiceTier {
	case "", "auto", "default", "flex", "scale", "priority", "fast":
		out.ServiceTier = strict.Label(conv.ServiceTier)
	default:
		r.drop("service_tier")
	}
	return encode(out), r.dropped
}

type renderer struct {
	conv    *llm.Conversation
	o       RenderOptions
	out     request
	input   items
	dropped []string
	custom  map[string]bool // IDs of the calls to tools that accept free text
}

// drop records a member that the format does not support.
func (r *renderer) drop(name string) {
	if len(r.dropped) < llm.MaxDropped && !slices.Contains(r.dropped, name) {
		r.dropped = append(r.dropped, name)
	}
}

// addInput writes the conversation as a list of items.
func (r *renderer) addInput() {
	r.input = make(items, 0, len(r.conv.Messages))
	for i := range r.conv.Messages {
		m := &r.conv.Messages[i]
		switch m.Role {
		case llm.Assistant:
			r.addAssistant(m.Parts)
		case llm.System:
			r.addMessage("developer", m.Parts)
		default: // each tool result becomes an item, and the content before and after it becomes user messages
			start := 0
			for i := range m.Parts {
				if m.Parts[i].Kind == llm.ResultPart {
					r.addMessage("user", m.Parts[start:i])
					r.addResult(m.Parts[i].Result)
					start = i + 1
				}
			}
			r.addMessage("user", m.Parts[start:])
		}
	}
	r.out.Input = strict.OtherOf(r.input)
}

// addMessage writes the parts as an input message. It writes nothing if there are no parts.
func (r *renderer) addMessage(role string, parts []llm.Part) {
	if len(parts) > 0 {
		r.input = append(r.input, item{Type: messageItem, Role: role, Content: content{list: r.parts(parts)}})
	}
}

// parts returns a list of input parts.
func (r *renderer) parts(list []llm.Part) []part {
	parts := make([]part, 0, len(list))
	for i := range list {
		if p, ok := r.part(&list[i]); ok {
			parts = append(parts, p)
		}
	}
	return parts
}

func (r *renderer) part(p *llm.Part) (out part, ok bool) {
	switch p.Kind {
	case llm.TextPart, llm.RefusalPart:
		out.Type, out.Text = "input_text", &p.Text
	case llm.ImagePart:
		out.Type, out.ImageURL, out.FileID, out.Detail = "input_image", address(p.Media), p.Media.FileID, p.Media.Detail
	case llm.FilePart:
		out.Type = "input_file"
		if p.Media.Data != "" {
			out.Filename, out.FileData = cmp.Or(p.Media.Name, "file"), address(p.Media) // the API requires a name with file_data
		} else {
			out.FileURL, out.FileID = p.Media.URL, p.Media.FileID
		}
	case llm.AudioPart:
		format := strings.NewReplacer("audio/", "", "mpeg", "mp3", "x-wav", "wav").Replace(p.Media.Type)
		out.Type, out.InputAudio = "input_audio", &inputAudio{Data: p.Media.Data, Format: format}
	default:
		r.drop("a part of type " + string(p.Kind))
		return out, false
	}
	if p.Cache != nil && r.o.Breakpoints {
		out.Breakpoint = jsontext.Value(`{"mode":"explicit"}`)
	}
	return out, true
}

// address returns the URL of media, or a data URL of its bytes.
func address(m *llm.Media) string {
	if m.Data == "" {
		return m.URL
	}
	return "data:" + cmp.Or(m.Type, "application/octet-stream") + ";base64," + m.Data
}

// addAssistant writes one item for each message, reasoning and call, in the order in which the model produced them.
func (r *renderer) addAssistant(parts []llm.Part) {
	for i := range parts {
		p := &parts[i]
		switch p.Kind {
		case llm.TextPart, llm.RefusalPart:
			spoken := part{Type: "output_text", Text: &p.Text}
			if p.Kind == llm.RefusalPart {
				spoken = part{Type: "refusal", Refusal: &p.Text}
			}
			if i > 0 && (parts[i-1].Kind == llm.TextPart || parts[i-1].Kind == llm.RefusalPart) {
				last := &r.input[len(r.input)-1].Content
				last.list = append(last.list, spoken)
			} else {
				r.input = append(r.input, item{Type: messageItem, Role: "assistant", Content: content{list: []part{spoken}}})
			}
		case llm.ThinkingPart:
			r.addThinking(p.Thinking)
		case llm.CallPart:
			call := item{Type: functionItem, CallID: p.Call.ID, Name: p.Call.Name}
			if arguments := strict.StringOf[jsontext.Value](p.Call.Arguments); p.Call.Custom {
				r.custom[p.Call.ID] = true
				call.Type, call.Input = customItem, arguments
			} else {
				call.Arguments = arguments
			}
			r.input = append(r.input, call)
		default:
			r.drop("a part of type " + string(p.Kind) + " of the assistant")
		}
	}
}

// addThinking writes encrypted reasoning that the provider itself created. It drops any other reasoning, because the provider does not
// accept it as input.
func (r *renderer) addThinking(t *llm.Thinking) {
	id, encrypted, _ := strings.Cut(t.Signature, ":")
	if encrypted == "" || t.Provider != r.o.Signer {
		return
	}
	it := item{Type: reasoningItem, ID: id, Summary: content{list: []part{}}, Encrypted: encrypted}
	if t.Text != "" {
		it.Summary.list = append(it.Summary.list, summaryPart(t.Text))
	}
	r.input = append(r.input, it)
}

func (r *renderer) addResult(result *llm.ToolResult) {
	it := item{Type: "function_call_output", CallID: result.ID}
	if r.custom[result.ID] {
		it.Type = "custom_tool_call_output"
	}
	switch {
	case len(result.Parts) == 0:
		it.Output.text = new("")
	case len(result.Parts) == 1 && result.Parts[0].Kind == llm.TextPart:
		it.Output.text = &result.Parts[0].Text
	default:
		it.Output.list = r.parts(result.Parts)
	}
	r.input = append(r.input, it)
}

func (r *renderer) addTools() {
	for i := range r.conv.Tools {
		t := &r.conv.Tools[i]
		switch {
		case t.Search != nil:
			r.out.Tools = append(r.out.Tools, searchTool(t.Search))
			if t.Search.MaxUses > 0 {
				r.drop("max_uses")
			}
		case isDated(t.Hosted):
			r.drop("the tool " + t.Hosted)
		case t.Hosted != "":
			r.out.Tools = append(r.out.Tools, tool{raw: jsontext.Value(t.Raw)})
		case t.Custom:
			r.out.Tools = append(r.out.Tools, tool{Type: "custom", Name: t.Name, Description: t.Description, Format: flatGrammar(t.Format)})
		default:
			made := tool{Type: "function", Name: t.Name, Description: t.Description, Parameters: null}
			if t.Schema != nil {
				made.Parameters = jsontext.Value(t.Schema)
			}
			made.Strict = new(t.Strict != nil && *t.Strict) // always, because the Responses API enables strict mode by default, unlike the other formats
			r.out.Tools = append(r.out.Tools, made)
		}
	}
}

// isDated reports whether kind is a hosted tool type of the Messages format. These types end in an eight-digit date.
func isDated(kind string) bool {
	i := strings.LastIndexByte(kind, '_')
	return i > 0 && len(kind)-i == len("_20250305") && strings.Trim(kind[i+1:], "0123456789") == ""
}

// searchTool returns the web search tool.
func searchTool(s *llm.Search) tool {
	options := websearch.Options{ContextSize: s.ContextSize, Location: websearch.LocationOf(s.Place)}
	if len(s.Allowed) > 0 || len(s.Blocked) > 0 {
		options.Filters = &websearch.Filters{Allowed: s.Allowed, Blocked: s.Blocked}
	}
	return tool{Type: websearch.Hosted, Unknown: encode(options)}
}

// flatGrammar converts the text format of a custom tool from the chat format to the Responses format. Only the chat format has the
// members of the grammar in a nested object.
func flatGrammar(format json.RawMessage) jsontext.Value {
	var nested struct {
		Grammar jsontext.Value `json:"grammar"`
	}
	if format == nil || unmarshal(format, &nested) != nil || nested.Grammar.Kind() != '{' {
		return jsontext.Value(format)
	}
	return encode(struct {
		Type    string         `json:"type"`
		Members jsontext.Value `json:",embed"`
	}{"grammar", nested.Grammar})
}

func (r *renderer) addToolChoice() {
	choice := r.conv.ToolChoice
	switch {
	case choice.Mode == llm.ChoiceUnset:
	case len(choice.Names) == 1 && choice.Mode == llm.ChoiceMust:
		r.out.ToolChoice = strict.OtherOf(r.toolName(choice.Names[0]))
	case len(choice.Names) > 0:
		allowed := toolChoice{Type: "allowed_tools", Mode: string(choice.Mode)}
		for _, name := range choice.Names {
			allowed.Tools = append(allowed.Tools, r.toolName(name))
		}
		r.out.ToolChoice = strict.OtherOf(allowed)
	default:
		r.out.ToolChoice = strict.StringOf[toolChoice](string(choice.Mode))
	}
}

func (r *renderer) toolName(name string) toolChoice {
	if slices.ContainsFunc(r.conv.Tools, func(t llm.Tool) bool { return t.Name == name && t.Custom }) {
		return toolChoice{Type: "custom", Name: name}
	}
	return toolChoice{Type: "function", Name: name}
}

// addText writes the output format and the verbosity.
func (r *renderer) addText() {
	out := r.conv.Output
	if out.Kind == llm.OutputText && r.conv.Verbosity == "" {
		return
	}
	r.out.Text = &textSettings{Verbosity: r.conv.Verbosity}
	switch out.Kind {
	case llm.OutputText:
	case llm.OutputSchema:
		r.out.Text.Format = &textFormat{
			Type: string(out.Kind), Name: cmp.Or(out.Name, "answer"), // the API requires a name
			Description: out.Description, Schema: jsontext.Value(out.Schema), Strict: new(out.Strict != nil && *out.Strict),
		}
	default:
		r.out.Text.Format = &textFormat{Type: string(out.Kind)}
	}
}

func (r *renderer) addReasoning() {
	if !r.o.Reasoning {
		return
	}
	e := r.conv.Effort
	settings := reasoning{Effort: e.PortableLevel()}
	if !e.Hide && (e.Adaptive || e.Budget > 0) {
		// Request summaries only for clients that show reasoning, because OpenAI returns summaries only to verified organisations.
		settings.Summary = jsontext.Value(`"auto"`)
	}
	if settings.Effort != "" || settings.Summary != nil {
		r.out.Reasoning = &settings
	}
	r.out.Include = []string{"reasoning.encrypted_content"}
}

// addSampling writes the sampling parameters that the format supports.
func (r *renderer) addSampling() {
	s := r.conv.Sampling
	for _, p := range []struct {
		name  string
		value json.Number
		into  *strict.Number // nil if the format does not support the parameter
	}{
		{"temperature", s.Temperature, &r.out.Temperature},
		{"top_p", s.TopP, &r.out.TopP},
		{"top_k", s.TopK, nil},
		{"frequency_penalty", s.FrequencyPenalty, nil},
		{"presence_penalty", s.PresencePenalty, nil},
		{"seed", s.Seed, nil},
	} {
		switch {
		case p.value == "":
		case p.into != nil && (!r.o.SamplingRejected || r.conv.Effort.Level == "none"):
			*p.into = strict.Number(p.value)
		case !llm.IsDefaultSampling(p.name, p.value):
			r.drop(p.name)
		}
	}
	if s.Logprobs {
		r.drop("logprobs")
	}
	if len(r.conv.Stop) > 0 {
		r.drop("stop")
	}
	if r.conv.Choices > 1 {
		r.drop("n")
	}
}
