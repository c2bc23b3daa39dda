package chat

import (
	"encoding/json"
	"slices"
	"strconv"

	"fairlead/internal/llm"
)

// Takes says what a provider of the format understands beyond what all of them do.
type Takes struct {
	Thinking     bool // reasoning_content in messages of the assistant
	Reasoning    bool // the object reasoning, with a budget
	CacheMarks   bool // cache_control in messages, parts and tools
	AllowedTools bool // tool_choice of the type allowed_tools
	TopK         bool // top_k
}

// RenderOptions says for whom a conversation is rendered.
type RenderOptions struct {
	Model  string
	Stream bool
	Takes  Takes
	// Seals reports whether the provider wants back what one of this name has sealed. nil means none.
	Seals func(provider string) bool
	// NameSeals writes who made each seal, as our answers do. Providers do not know that.
	NameSeals bool
}

// RenderConversation writes a chat request out of a conversation that came in another format. DecodeRequest takes it, and
// Render edits it like any other. The second result names what the format has no place for.
func RenderConversation(conv *llm.Conversation, o RenderOptions) (body []byte, leftOut []string) {
	t := translator{conv: conv, o: o, leftOut: slices.Clone(conv.Unsaid), chosen: conv.ToolChoice.Includes(), custom: map[string]bool{}}
	for i := range conv.Tools {
		t.custom[conv.Tools[i].Name] = t.custom[conv.Tools[i].Name] || conv.Tools[i].Custom
	}
	if t.o.Seals == nil {
		t.o.Seals = func(string) bool { return false }
	}
	w := &t.w
	w.open()
	w.text("model", o.Model)
	t.messages()
	if o.Stream {
		w.member("stream", []byte("true"))
	}
	if t.tools() { // without tools, providers refuse what is said about them
		t.toolChoice()
		t.optionalFlag("parallel_tool_calls", conv.ParallelTools)
	}
	t.output()
	t.limits()
	t.effort()
	w.optionalText("verbosity", conv.Verbosity)
	t.sampling()
	w.optionalText("user", conv.EndUser)
	t.tier()
	w.close()
	return w.out, t.leftOut
}

type translator struct {
	conv    *llm.Conversation
	o       RenderOptions
	w       objectWriter
	waiting []llm.Part // what the user says besides results
	leftOut []string
	chosen  func(name string) bool // among the tools that the choice names
	custom  map[string]bool        // names of the tools that take free text
}

// lose notes what the format has no place for.
func (t *translator) lose(what string) {
	if len(t.leftOut) < llm.MaxUnsaid && !slices.Contains(t.leftOut, what) {
		t.leftOut = append(t.leftOut, what)
	}
}

func (t *translator) optionalFlag(name string, flag *bool) {
	if flag != nil {
		t.w.member(name, strconv.AppendBool(nil, *flag))
	}
}

func (t *translator) cache(mark *llm.CacheMark) {
	if mark == nil || !t.o.Takes.CacheMarks {
		return
	}
	t.w.key("cache_control")
	t.w.open()
	t.w.text("type", "ephemeral")
	t.w.optionalText("ttl", mark.TTL)
	t.w.close()
}

// tools lists the tools and reports whether there are any.
func (t *translator) tools() bool {
	w, listed := &t.w, 0
	for i := range t.conv.Tools {
		tool := &t.conv.Tools[i]
		switch {
		case tool.Hosted != "":
			t.lose("the tool " + tool.Hosted)
			continue
		case !t.offered(tool.Name):
			continue
		case listed == 0:
			w.key("tools")
			w.out = append(w.out, '[')
		default:
			w.out = append(w.out, ',')
		}
		listed++
		t.tool(tool)
	}
	if listed > 0 {
		w.out = append(w.out, ']')
	}
	return listed > 0
}

// offered reports whether a tool is listed: where the provider cannot be told which ones are allowed, only those are.
func (t *translator) offered(name string) bool {
	choice := t.conv.ToolChoice
	return len(choice.Names) == 0 || t.oneTool() || t.o.Takes.AllowedTools || t.chosen(name)
}

// oneTool reports whether the choice is one tool that must be called.
func (t *translator) oneTool() bool {
	return t.conv.ToolChoice.Mode == llm.ChoiceMust && len(t.conv.ToolChoice.Names) == 1
}

func (t *translator) tool(tool *llm.Tool) {
	w := &t.w
	kind := toolKind(tool.Custom)
	w.open()
	w.text("type", kind)
	w.key(kind)
	w.open()
	w.text("name", tool.Name)
	w.optionalText("description", tool.Description)
	if tool.Custom {
		w.optional("format", tool.Format)
	} else {
		w.optional("parameters", tool.Schema)
		t.optionalFlag("strict", tool.Strict)
	}
	w.close()
	t.cache(tool.Cache)
	w.close()
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
		w.key("tool_choice")
		t.toolName(choice.Names[0])
	case len(choice.Names) > 0 && t.o.Takes.AllowedTools:
		w.key("tool_choice")
		w.open()
		w.text("type", "allowed_tools")
		w.key("allowed_tools")
		w.open()
		w.text("mode", string(choice.Mode))
		w.key("tools")
		w.out = append(w.out, '[')
		for i, name := range choice.Names {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			t.toolName(name)
		}
		w.out = append(w.out, ']')
		w.close()
		w.close()
	default:
		w.text("tool_choice", string(choice.Mode))
	}
}

// toolName names one tool, with its type.
func (t *translator) toolName(name string) {
	kind := toolKind(t.custom[name])
	t.w.open()
	t.w.text("type", kind)
	t.w.key(kind)
	t.w.open()
	t.w.text("name", name)
	t.w.close()
	t.w.close()
}

func (t *translator) output() {
	w, out := &t.w, t.conv.Output
	if out.Kind == llm.OutputText {
		return
	}
	w.key("response_format")
	w.open()
	w.text("type", string(out.Kind))
	if out.Kind == llm.OutputSchema {
		w.key("json_schema")
		w.open()
		name := out.Name
		if name == "" {
			name = "answer" // the format asks for one
		}
		w.text("name", name)
		w.optionalText("description", out.Description)
		w.optional("schema", out.Schema)
		t.optionalFlag("strict", out.Strict)
		w.close()
	}
	w.close()
}

func (t *translator) limits() {
	w, conv := &t.w, t.conv
	if conv.MaxOutput > 0 {
		w.member("max_tokens", strconv.AppendInt(nil, conv.MaxOutput, 10))
	}
	if conv.Choices > 1 {
		w.member("n", strconv.AppendInt(nil, int64(conv.Choices), 10))
	}
	if len(conv.Stop) > 0 {
		w.key("stop")
		for i, stop := range conv.Stop {
			w.out = append(w.out, "[,"[min(i, 1)])
			w.out = appendQuoted(w.out, stop)
		}
		w.out = append(w.out, ']')
	}
}

// The budgets up to which an effort is called low and medium, where the provider knows efforts only.
const (
	lowBudget    = 2 << 10
	mediumBudget = 8 << 10
)

func (t *translator) effort() {
	w, e := &t.w, t.conv.Effort
	if t.o.Takes.Reasoning {
		t.reasoning(e)
		return
	}
	level := e.Level
	switch {
	case level != "" || e.Budget == 0:
	case e.Budget <= lowBudget:
		level = "low"
	case e.Budget <= mediumBudget:
		level = "medium"
	default:
		level = "high"
	}
	w.optionalText("reasoning_effort", level)
}

func (t *translator) reasoning(e llm.Effort) {
	w := &t.w
	if e == (llm.Effort{}) {
		return
	}
	w.key("reasoning")
	w.open()
	w.optionalText("effort", e.Level)
	if e.Budget > 0 {
		w.member("max_tokens", strconv.AppendInt(nil, e.Budget, 10))
	}
	if e.Adaptive && e.Level == "" && e.Budget == 0 {
		w.member("enabled", []byte("true"))
	}
	if e.Hide {
		w.member("exclude", []byte("true"))
	}
	w.close()
}

func (t *translator) sampling() {
	w, s := &t.w, t.conv.Sampling
	if s.TopK != "" && !t.o.Takes.TopK {
		t.lose("top_k")
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
			w.member(figure.name, []byte(figure.value))
		}
	}
	if s.Logprobs {
		w.member("logprobs", []byte("true"))
	}
	if s.TopLogprobs > 0 {
		w.member("top_logprobs", strconv.AppendInt(nil, int64(s.TopLogprobs), 10))
	}
}

// tier names the service tier if the format knows it: other formats have others.
func (t *translator) tier() {
	switch tier := t.conv.ServiceTier; tier {
	case "", "auto", "default", "flex", "scale", "priority", "fast":
		t.w.optionalText("service_tier", tier)
	default:
		t.lose("service_tier")
	}
}
