package openai

import (
	"encoding/json"
	"slices"
	"strconv"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
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

// EncodeRequest encodes a conversation as a chat request, which chat.Render can edit. leftOut lists the content that the format or the provider
// does not support.
func EncodeRequest(conv *llm.Conversation, o EncodeOptions) (body []byte, leftOut []string) {
	t := translator{conv: conv, o: o, leftOut: slices.Clone(conv.Dropped), chosen: conv.ToolChoice.Includes(), custom: map[string]bool{}}
	for i := range conv.Tools {
		t.custom[conv.Tools[i].Name] = t.custom[conv.Tools[i].Name] || conv.Tools[i].Custom && o.Accepts.CustomTools
	}
	if t.o.Signers == nil {
		t.o.Signers = func(string) bool { return false }
	}
	w := &t.w
	w.Open()
	w.Str("model", o.Model)
	t.messages()
	if o.Stream {
		w.Raw("stream", []byte("true"))
	}
	if t.tools() { // providers reject tool settings without tools
		t.toolChoice()
		t.optionalFlag("parallel_tool_calls", conv.ParallelTools)
	}
	t.output()
	t.limits()
	t.effort()
	w.OptionalStr("verbosity", conv.Verbosity)
	t.sampling()
	w.OptionalStr("user", conv.EndUser)
	switch tier := conv.ServiceTier; tier {
	case "", "auto", "default", "flex", "scale", "priority", "fast":
		w.OptionalStr("service_tier", tier)
	default:
		t.dropField("service_tier")
	}
	w.Close()
	return w.Out, t.leftOut
}

type translator struct {
	conv    *llm.Conversation
	o       EncodeOptions
	w       rawjson.Writer
	waiting []llm.Part // user content that is written after the tool results
	leftOut []string
	chosen  func(name string) bool // reports whether the tool choice includes the named tool
	custom  map[string]bool        // names of the tools that accept free text
}

// dropField adds a description of unsupported content to leftOut.
func (t *translator) dropField(what string) {
	if len(t.leftOut) < llm.MaxDropped && !slices.Contains(t.leftOut, what) {
		t.leftOut = append(t.leftOut, what)
	}
}

func (t *translator) optionalFlag(name string, flag *bool) {
	if flag != nil {
		t.w.Raw(name, strconv.AppendBool(nil, *flag))
	}
}

func (t *translator) cache(mark *llm.CacheMark) {
	if mark == nil || !t.o.Accepts.CacheMarks {
		return
	}
	t.w.Key("cache_control")
	t.w.Open()
	t.w.Str("type", "ephemeral")
	t.w.OptionalStr("ttl", mark.TTL)
	t.w.Close()
}

// tools encodes the tools and reports whether there are any.
func (t *translator) tools() bool {
	w, listed := &t.w, 0
	for i := range t.conv.Tools {
		tool := &t.conv.Tools[i]
		switch {
		case tool.Hosted != "":
			t.dropField("the tool " + tool.Hosted)
			continue
		case len(t.conv.ToolChoice.Names) > 0 && !t.oneTool() && !t.o.Accepts.AllowedTools && !t.chosen(tool.Name):
			continue // the provider does not support allowed_tools, so only the allowed tools are sent
		case listed == 0:
			w.Key("tools")
			w.Out = append(w.Out, '[')
		default:
			w.Out = append(w.Out, ',')
		}
		listed++
		t.tool(tool)
	}
	if listed > 0 {
		w.Out = append(w.Out, ']')
	}
	return listed > 0
}

// oneTool reports whether the choice requires one specific tool.
func (t *translator) oneTool() bool {
	return t.conv.ToolChoice.Mode == llm.ChoiceMust && len(t.conv.ToolChoice.Names) == 1
}

func (t *translator) tool(tool *llm.Tool) {
	w := &t.w
	kind, description := toolKind(tool.Custom && t.o.Accepts.CustomTools), tool.Description
	if tool.Custom && !t.o.Accepts.CustomTools {
		description = tool.DescribeGrammar()
	}
	w.Open()
	w.Str("type", kind)
	w.Key(kind)
	w.Open()
	w.Str("name", tool.Name)
	w.OptionalStr("description", description)
	switch {
	case kind == "custom":
		w.OptionalRaw("format", nestGrammar(tool.Format))
	case tool.Custom:
		w.Raw("parameters", []byte(freeTextSchema))
	default:
		w.OptionalRaw("parameters", tool.Schema)
		t.optionalFlag("strict", tool.Strict)
	}
	w.Close()
	t.cache(tool.Cache)
	w.Close()
}

// nestGrammar converts the text format of a custom tool from the Responses format to the chat format. Only the chat format has the
// members of the grammar in a nested object.
func nestGrammar(format json.RawMessage) json.RawMessage {
	v := rawjson.Parse(format)
	if v.Get("type").String() != "grammar" || v.Get("grammar").IsObject() {
		return format
	}
	var w rawjson.Writer
	w.Open()
	w.Str("type", "grammar")
	w.Key("grammar")
	w.Open()
	v.ForEach(func(key, value rawjson.Value) bool {
		if key.String() != "type" {
			w.Raw(key.String(), []byte(value.Raw))
		}
		return true
	})
	w.Close()
	w.Close()
	return w.Out
}

func toolKind(custom bool) string {
	if custom {
		return "custom"
	}
	return "function"
}

func (t *translator) toolChoice() {
	w, choice := &t.w, t.conv.ToolChoice
	switch {
	case choice.Mode == llm.ChoiceUnset:
	case t.oneTool():
		w.Key("tool_choice")
		t.toolName(choice.Names[0])
	case len(choice.Names) > 0 && t.o.Accepts.AllowedTools:
		w.Key("tool_choice")
		w.Open()
		w.Str("type", "allowed_tools")
		w.Key("allowed_tools")
		w.Open()
		w.Str("mode", string(choice.Mode))
		w.Key("tools")
		w.Out = append(w.Out, '[')
		for i, name := range choice.Names {
			if i > 0 {
				w.Out = append(w.Out, ',')
			}
			t.toolName(name)
		}
		w.Out = append(w.Out, ']')
		w.Close()
		w.Close()
	default:
		w.Str("tool_choice", string(choice.Mode))
	}
}

// toolName encodes the name and type of one tool.
func (t *translator) toolName(name string) {
	kind := toolKind(t.custom[name])
	t.w.Open()
	t.w.Str("type", kind)
	t.w.Key(kind)
	t.w.Open()
	t.w.Str("name", name)
	t.w.Close()
	t.w.Close()
}

func (t *translator) output() {
	w, out := &t.w, t.conv.Output
	if out.Kind == llm.OutputText {
		return
	}
	w.Key("response_format")
	w.Open()
	w.Str("type", string(out.Kind))
	if out.Kind == llm.OutputSchema {
		w.Key("json_schema")
		w.Open()
		name := out.Name
		if name == "" {
			name = "answer" // required by the format
		}
		w.Str("name", name)
		w.OptionalStr("description", out.Description)
		w.OptionalRaw("schema", out.Schema)
		t.optionalFlag("strict", out.Strict)
		w.Close()
	}
	w.Close()
}

func (t *translator) limits() {
	w, conv := &t.w, t.conv
	if conv.MaxOutput > 0 {
		w.Raw("max_tokens", strconv.AppendInt(nil, conv.MaxOutput, 10))
	}
	if conv.Choices > 1 {
		w.Raw("n", strconv.AppendInt(nil, int64(conv.Choices), 10))
	}
	if len(conv.Stop) > 0 {
		w.Key("stop")
		for i, stop := range conv.Stop {
			w.Out = append(w.Out, "[,"[min(i, 1)])
			w.Out = rawjson.AppendString(w.Out, stop)
		}
		w.Out = append(w.Out, ']')
	}
}

func (t *translator) effort() {
	w, e := &t.w, t.conv.Effort
	switch {
	case !t.o.Accepts.Reasoning:
		w.OptionalStr("reasoning_effort", e.PortableLevel())
		return
	case e == (llm.Effort{}):
		return
	}
	w.Key("reasoning")
	w.Open()
	w.OptionalStr("effort", e.Level)
	if e.Budget > 0 {
		w.Raw("max_tokens", strconv.AppendInt(nil, e.Budget, 10))
	}
	if e.Adaptive && e.Level == "" && e.Budget == 0 {
		w.Raw("enabled", []byte("true"))
	}
	if e.Hide {
		w.Raw("exclude", []byte("true"))
	}
	w.Close()
}

func (t *translator) sampling() {
	w, s := &t.w, t.conv.Sampling
	if s.TopK != "" && !t.o.Accepts.TopK {
		t.dropField("top_k")
		s.TopK = ""
	}
	for _, figure := range []struct {
		name  string
		value json.Number
	}{
		{"temperature", s.Temperature},
		{"top_p", s.TopP},
		{"top_k", s.TopK},
		{"frequency_penalty", s.FrequencyPenalty},
		{"presence_penalty", s.PresencePenalty},
		{"seed", s.Seed},
	} {
		if figure.value != "" {
			w.Raw(figure.name, []byte(figure.value))
		}
	}
	if s.Logprobs {
		w.Raw("logprobs", []byte("true"))
	}
	if s.TopLogprobs > 0 {
		w.Raw("top_logprobs", strconv.AppendInt(nil, int64(s.TopLogprobs), 10))
	}
}
