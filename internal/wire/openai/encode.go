package openai

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/strict"
)

// Accepts lists the extensions of the format that a provider supports.
type Accepts struct {
	Thinking     bool // whether reasoning_content is accepted in assistant messages
	Reasoning    bool // whether the reasoning object, with a budget, is accepted
	CacheMarks   bool // whether cache_control is accepted in messages, parts and tools
	AllowedTools bool // whether tool_choice of type allowed_tools is accepted
	CustomTools  bool // whether free-text tools are accepted; otherwise, they are sent as functions
	TopK         bool // whether the top_k setting is accepted
}

// EncodeOptions holds the settings for encoding a conversation.
type EncodeOptions struct {
	Model   string
	Stream  bool
	Accepts Accepts
	// Signers reports whether the provider accepts signatures of the named provider. If it is nil, no signatures are sent.
	Signers func(provider string) bool
	// NameSigners adds the name of the provider to each signature, as in the gateway's own responses. Providers do not accept these names.
	NameSigners bool
}

// EncodeRequest encodes a conversation as a chat request, which Render can edit. leftOut lists the content that the format or the provider
// does not support.
func EncodeRequest(conv *llm.Conversation, o EncodeOptions) (body []byte, leftOut []string) {
	e := encoder{conv: conv, o: o, leftOut: slices.Clone(conv.Dropped), custom: map[string]bool{}}
	for i := range conv.Tools {
		e.custom[conv.Tools[i].Name] = e.custom[conv.Tools[i].Name] || conv.Tools[i].Custom && o.Accepts.CustomTools
	}
	if e.o.Signers == nil {
		e.o.Signers = func(string) bool { return false }
	}
	s := conv.Sampling
	r := chatRequest{
		Messages: e.encodeMessages(), Stream: o.Stream, Tools: e.encodeTools(), ResponseFormat: encodeOutput(&conv.Output),
		MaxTokens: strict.WholeOf(conv.MaxOutput), Verbosity: conv.Verbosity,
		Temperature: strict.Number(s.Temperature), TopP: strict.Number(s.TopP), Frequency: strict.Number(s.FrequencyPenalty),
		Presence: strict.Number(s.PresencePenalty), Seed: strict.Number(s.Seed), Logprobs: s.Logprobs,
	}
	r.Model, r.User = strict.Name(o.Model), strict.Label(conv.EndUser)
	if len(r.Tools) > 0 { // providers reject tool settings without tools
		r.ToolChoice, r.ParallelTools = e.encodeToolChoice(), conv.ParallelTools
	}
	if conv.Choices > 1 {
		r.N = strict.WholeOf(int64(conv.Choices))
	}
	if len(conv.Stop) > 0 {
		r.Stop = strict.OtherOf(conv.Stop)
	}
	e.encodeEffort(&r)
	if s.TopK != "" && !o.Accepts.TopK {
		e.dropField("top_k")
	} else {
		r.TopK = strict.Number(s.TopK)
	}
	if s.TopLogprobs > 0 {
		r.TopLogprobs = strict.Number(strconv.Itoa(s.TopLogprobs))
	}
	switch conv.ServiceTier {
	case "", "auto", "default", "flex", "scale", "priority", "fast":
		r.ServiceTier = strict.Label(conv.ServiceTier)
	default:
		e.dropField("service_tier")
	}
	return encodeJSON(&r), e.leftOut
}

// encodeJSON encodes a value of this package. Raw values in it are valid JSON.
func encodeJSON(v any) []byte {
	data, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if err != nil {
		panic(err) // unreachable: raw values come from decoded documents
	}
	return data
}

type encoder struct {
	conv    *llm.Conversation
	o       EncodeOptions
	out     messages
	waiting []llm.Part // user content that follows the tool results
	leftOut []string
	custom  map[string]bool // names of the tools that accept free text
}

// dropField adds a description of unsupported content to leftOut.
func (e *encoder) dropField(what string) {
	if len(e.leftOut) < llm.MaxDropped && !slices.Contains(e.leftOut, what) {
		e.leftOut = append(e.leftOut, what)
	}
}

func (e *encoder) encodeMark(mark *llm.CacheMark) cacheMark {
	if mark == nil || !e.o.Accepts.CacheMarks {
		return cacheMark{}
	}
	return cacheMark{CacheControl: &cacheControl{Type: "ephemeral", TTL: mark.TTL}}
}

func (e *encoder) encodeTools() (tools []tool) {
	chosen := e.conv.ToolChoice.Includes()
	for i := range e.conv.Tools {
		t := &e.conv.Tools[i]
		switch {
		case t.Hosted != "":
			e.dropField("the tool " + t.Hosted)
			continue
		case len(e.conv.ToolChoice.Names) > 0 && !e.requiresOneTool() && !e.o.Accepts.AllowedTools && !chosen(t.Name):
			continue // the provider does not support allowed_tools, so only the allowed tools are sent
		}
		sent := tool{Type: "function", cacheMark: e.encodeMark(t.Cache)}
		switch {
		case t.Custom && e.o.Accepts.CustomTools:
			sent.Type, sent.Custom = "custom", &customTool{Name: t.Name, Description: t.Description, Format: nestGrammar(t.Format)}
		case t.Custom:
			sent.Function = &function{Name: t.Name, Description: t.DescribeGrammar(), Parameters: jsontext.Value(freeTextSchema)}
		default:
			sent.Function = &function{Name: t.Name, Description: t.Description, Parameters: jsontext.Value(t.Schema), Strict: t.Strict}
		}
		tools = append(tools, sent)
	}
	return tools
}

// requiresOneTool reports whether the choice requires one specific tool.
func (e *encoder) requiresOneTool() bool {
	return e.conv.ToolChoice.Mode == llm.ChoiceMust && len(e.conv.ToolChoice.Names) == 1
}

// nestGrammar converts the text format of a custom tool from the Responses format to the chat format. Only the chat format has the
// members of the grammar in a nested object.
func nestGrammar(format []byte) jsontext.Value {
	v := rawjson.Parse(format)
	if v.Get("type").String() != "grammar" || v.Get("grammar").IsObject() {
		return format
	}
	grammar := jsontext.Value{'{'}
	v.ForEach(func(key, value rawjson.Value) bool {
		if key.String() != "type" {
			grammar = append(append(append(comma(grammar, '{'), key.Raw...), ':'), value.Raw...)
		}
		return true
	})
	return encodeJSON(struct {
		Type    string         `json:"type"`
		Grammar jsontext.Value `json:"grammar"`
	}{"grammar", append(grammar, '}')})
}

func (e *encoder) encodeToolChoice() (encoded strict.StringOr[toolChoice]) {
	choice := e.conv.ToolChoice
	switch {
	case choice.Mode == llm.ChoiceUnset:
		return encoded
	case e.requiresOneTool():
		named := e.nameTool(choice.Names[0])
		return strict.OtherOf(toolChoice{Type: named.Type, Function: named.Function, Custom: named.Custom})
	case len(choice.Names) > 0 && e.o.Accepts.AllowedTools:
		allowed := &allowedTools{Mode: string(choice.Mode)}
		for _, name := range choice.Names {
			allowed.Tools = append(allowed.Tools, e.nameTool(name))
		}
		return strict.OtherOf(toolChoice{Type: "allowed_tools", AllowedTools: allowed})
	default:
		return strict.StringOf[toolChoice](string(choice.Mode))
	}
}

// nameTool returns a reference to a tool.
func (e *encoder) nameTool(name string) tool {
	if e.custom[name] {
		return tool{Type: "custom", Custom: &customTool{Name: name}}
	}
	return tool{Type: "function", Function: &function{Name: name}}
}

func encodeOutput(out *llm.Output) *responseFormat {
	switch out.Kind {
	case llm.OutputText:
		return nil
	case llm.OutputSchema:
		return &responseFormat{Type: string(out.Kind), JSONSchema: &jsonSchema{
			Name:        cmp.Or(out.Name, "answer"), // required by the format
			Description: out.Description, Schema: jsontext.Value(out.Schema), Strict: out.Strict,
		}}
	default:
		return &responseFormat{Type: string(out.Kind)}
	}
}

func (e *encoder) encodeEffort(r *chatRequest) {
	effort := e.conv.Effort
	switch {
	case !e.o.Accepts.Reasoning:
		r.Effort = effort.PortableLevel()
	case effort != llm.Effort{}:
		r.Reasoning = &reasoning{Effort: effort.Level, MaxTokens: strict.WholeOf(effort.Budget)}
		if effort.Adaptive && effort.Level == "" && effort.Budget == 0 {
			r.Reasoning.Enabled = new(true)
		}
		if effort.Hide {
			r.Reasoning.Exclude = new(true)
		}
	}
}

func (e *encoder) encodeMessages() messages {
	e.out = make(messages, 0, len(e.conv.Messages))
	for i := range e.conv.Messages {
		m := &e.conv.Messages[i]
		results := slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.Kind == llm.ResultPart })
		if !results {
			e.flush()
		}
		switch {
		case results && m.Role == llm.User:
			// Each result becomes one message. Other user content and images follow the last result, because no other
			// message may come between a call and its result.
			for i := range m.Parts {
				if p := &m.Parts[i]; p.Kind == llm.ResultPart {
					e.waiting = append(e.waiting, e.encodeResult(p)...)
				} else {
					e.waiting = append(e.waiting, *p)
				}
			}
		case m.Role == llm.Assistant:
			e.encodeAssistant(m)
		case m.Role == llm.System:
			e.out = append(e.out, message{Role: "system", Name: m.Name, Content: e.encodeContent(m.Parts)})
		default:
			e.out = append(e.out, message{Role: "user", Name: m.Name, Content: e.encodeContent(m.Parts)})
		}
	}
	e.flush()
	return e.out
}

// flush adds the user content that was held back until after the last result.
func (e *encoder) flush() {
	if len(e.waiting) > 0 {
		e.out = append(e.out, message{Role: "user", Content: e.encodeContent(e.waiting)})
		e.waiting = nil
	}
}

// encodeResult adds a tool message and returns the parts that a tool message cannot contain.
func (e *encoder) encodeResult(p *llm.Part) (others []llm.Part) {
	var texts []llm.Part
	for _, part := range p.Result.Parts {
		if part.Kind == llm.TextPart {
			texts = append(texts, part)
		} else {
			others = append(others, part)
		}
	}
	e.out = append(e.out, message{Role: "tool", ToolCallID: p.Result.ID, Content: e.encodeContent(texts), cacheMark: e.encodeMark(p.Cache)})
	return others
}

func (e *encoder) encodeAssistant(m *llm.Message) {
	sent := message{Role: "assistant", Name: m.Name}
	var content []llm.Part
	var thoughts []*llm.Thinking
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Kind {
		case llm.TextPart, llm.RefusalPart:
			content = append(content, *p)
		case llm.ThinkingPart:
			thoughts = append(thoughts, p.Thinking)
		case llm.CallPart:
			sent.ToolCalls = append(sent.ToolCalls, e.encodeCall(p.Call))
		case llm.AudioPart:
			if p.Media.FileID != "" {
				sent.Audio = &audio{ID: p.Media.FileID}
			}
		default:
			e.dropField("assistant content of kind " + string(p.Kind))
		}
	}
	if len(thoughts) > 0 && !e.o.Accepts.Thinking && len(content) == 0 && len(sent.ToolCalls) == 0 && sent.Audio == nil {
		return // many providers reject an empty message
	}
	e.encodeThinking(&sent, thoughts)
	text, refusal, simple := simply(content)
	switch {
	case !simple:
		sent.Content = e.encodeContent(content)
	case text != "" || len(sent.ToolCalls) == 0 && refusal == "":
		sent.Content = strict.StringOf[parts](text)
	}
	sent.Refusal = refusal
	if last := len(m.Parts) - 1; last >= 0 {
		kind := m.Parts[last].Kind
		if simple || kind != llm.TextPart && kind != llm.RefusalPart { // text and refusal parts in a list have their own cache breakpoints
			sent.cacheMark = e.encodeMark(m.Parts[last].Cache)
		}
	}
	e.out = append(e.out, sent)
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

// encodeThinking adds the text of earlier thinking, and the blocks whose signatures the provider accepts. It adds nothing if the provider
// does not accept thinking.
func (e *encoder) encodeThinking(m *message, thoughts []*llm.Thinking) {
	if !e.o.Accepts.Thinking {
		return
	}
	var text strings.Builder
	for _, thought := range thoughts {
		text.WriteString(thought.Text)
		if e.o.Signers(thought.Provider) {
			block := *thought
			block.Provider = e.signer(block.Provider)
			m.ThinkingBlocks = append(m.ThinkingBlocks, blockOf(&block))
		}
	}
	m.ReasoningContent = text.String()
}

// blockOf returns the block with which clients send a signature back.
func blockOf(t *llm.Thinking) thinkingBlock {
	block := thinkingBlock{Type: "thinking", Thinking: &t.Text, Signature: t.Signature, Data: t.Redacted, Provider: t.Provider}
	if t.Redacted != "" && t.Text == "" && t.Signature == "" {
		block.Type, block.Thinking = "redacted_thinking", nil
	}
	return block
}

// signer returns provider if NameSigners is set, otherwise an empty string.
func (e *encoder) signer(provider string) string {
	if e.o.NameSigners {
		return provider
	}
	return ""
}

func (e *encoder) encodeCall(call *llm.ToolCall) toolCall {
	made := *call
	if made.Custom && !e.o.Accepts.CustomTools {
		made.Custom, made.Arguments = false, wrapFreeText(made.Arguments)
	}
	made.Signature = ""
	if e.o.Signers(call.Provider) {
		made.Signature, made.Provider = call.Signature, e.signer(call.Provider)
	}
	return callOf(&made)
}

// callOf returns a call with its signature.
func callOf(call *llm.ToolCall) toolCall {
	encoded := toolCall{ID: call.ID, Type: "function"}
	if call.Custom {
		encoded.Type, encoded.Custom = "custom", &customCall{Name: call.Name, Input: call.Arguments}
	} else {
		encoded.Function = &functionCall{Name: call.Name, Arguments: strict.StringOf[jsontext.Value](call.Arguments)}
	}
	if call.Signature != "" {
		encoded.Extra = &extraContent{Google: &signature{Thought: call.Signature}}
		if call.Provider != "" {
			encoded.Extra.Fairlead = &signer{Provider: call.Provider}
		}
	}
	return encoded
}

// encodeContent encodes parts. A single text part without a cache breakpoint becomes a string, which every provider accepts. An empty list
// becomes an empty string, and any other parts become a list.
func (e *encoder) encodeContent(list []llm.Part) strict.StringOr[parts] {
	marked := e.o.Accepts.CacheMarks && slices.ContainsFunc(list, func(p llm.Part) bool { return p.Cache != nil })
	switch {
	case len(list) == 0:
		return strict.StringOf[parts]("")
	case len(list) == 1 && list[0].Kind == llm.TextPart && list[0].Text != "" && !marked:
		return strict.StringOf[parts](list[0].Text)
	}
	encoded := parts{}
	for i := range list {
		if part, ok := e.encodePart(&list[i]); ok {
			encoded = append(encoded, strict.OtherOf(part))
		}
	}
	return strict.OtherOf(encoded)
}

func (e *encoder) encodePart(p *llm.Part) (encoded part, ok bool) {
	encoded.cacheMark = e.encodeMark(p.Cache)
	m := p.Media
	var address string
	if m != nil {
		if address = m.URL; m.Data != "" {
			address = "data:" + m.Type + ";base64," + m.Data
		}
	}
	switch p.Kind {
	case llm.TextPart:
		encoded.Type, encoded.Text = "text", &p.Text
	case llm.RefusalPart:
		encoded.Type, encoded.Refusal = "refusal", &p.Text
	case llm.ImagePart:
		if address == "" {
			e.dropField("an image that is stored at another provider")
		}
		encoded.Type, encoded.ImageURL = "image_url", strict.OtherOf(imageURL{URL: address, Detail: m.Detail})
	case llm.AudioPart:
		format := strings.TrimPrefix(m.Type, "audio/")
		switch format {
		case "mpeg":
			format = "mp3"
		case "x-wav", "wave":
			format = "wav"
		}
		encoded.Type, encoded.InputAudio = "input_audio", &inputAudio{Data: m.Data, Format: format}
	case llm.FilePart:
		encoded.Type, encoded.File = "file", &file{FileID: m.FileID, Filename: m.Name, FileData: address}
	default:
		e.dropField("a part of the kind " + string(p.Kind))
		return encoded, false
	}
	return encoded, true
}
