// Package responsesconv translates between conversations and the Responses format of providers: it renders requests and reads
// responses for clients of another format.
package responsesconv

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
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

// Render encodes a conversation as a Responses request. dropped lists the content and settings that the format does not support, starting
// with conv.Dropped.
func Render(conv *llm.Conversation, o RenderOptions) (body []byte, dropped []string) {
	r := renderer{conv: conv, o: o, dropped: slices.Clone(conv.Dropped), custom: map[string]bool{}}
	w := &r.w
	w.Open()
	w.Str("model", o.Model)
	r.input()
	if o.Stream {
		w.Bool("stream", true)
	}
	w.Bool("store", false) // every request contains the whole conversation, so nothing needs to be stored
	if r.tools() {
		r.toolChoice()
		if conv.ParallelTools != nil {
			w.Bool("parallel_tool_calls", *conv.ParallelTools)
		}
	}
	r.text()
	r.reasoning()
	if limit := conv.MaxOutput; limit > 0 || o.MaxOutput > 0 {
		if limit == 0 {
			limit = o.MaxOutput
		}
		w.Int("max_output_tokens", max(limit, minOutput))
	}
	r.sampling()
	user := conv.EndUser
	if len(user) > maxIdentifier { // hash an identifier that is too long; Claude Code, for example, sends a JSON document
		sum := sha256.Sum256([]byte(user))
		user = hex.EncodeToString(sum[:])
	}
	w.OptionalStr("safety_identifier", user)
	switch conv.ServiceTier {
	case "", "auto", "default", "flex", "scale", "priority", "fast":
		w.OptionalStr("service_tier", conv.ServiceTier)
	default:
		r.drop("service_tier")
	}
	w.Close()
	return w.Out, r.dropped
}

// maxIdentifier is the maximum length of safety_identifier according to OpenAI's documentation.
const maxIdentifier = 64

// minOutput is the smallest max_output_tokens that OpenAI accepts.
const minOutput = 16

type renderer struct {
	conv    *llm.Conversation
	o       RenderOptions
	w       rawjson.Writer
	dropped []string
	custom  map[string]bool // IDs of the calls to tools that accept free text
}

// drop records a member that the format does not support.
func (r *renderer) drop(name string) {
	if len(r.dropped) < llm.MaxDropped && !slices.Contains(r.dropped, name) {
		r.dropped = append(r.dropped, name)
	}
}

// input writes the conversation as a list of items.
func (r *renderer) input() {
	r.w.OpenList("input")
	for i := range r.conv.Messages {
		m := &r.conv.Messages[i]
		switch m.Role {
		case llm.Assistant:
			r.assistant(m.Parts)
		case llm.System:
			r.message("developer", m.Parts)
		default: // each tool result becomes an item, and the content before and after it becomes user messages
			start := 0
			for i := range m.Parts {
				if m.Parts[i].Kind == llm.ResultPart {
					r.message("user", m.Parts[start:i])
					r.result(m.Parts[i].Result)
					start = i + 1
				}
			}
			r.message("user", m.Parts[start:])
		}
	}
	r.w.CloseList()
}

// message writes the parts as an input message. It writes nothing if there are no parts.
func (r *renderer) message(role string, parts []llm.Part) {
	if len(parts) == 0 {
		return
	}
	w := &r.w
	w.Open()
	w.Str("type", "message")
	w.Str("role", role)
	r.content("content", parts)
	w.Close()
}

// content writes a list of input parts.
func (r *renderer) content(name string, parts []llm.Part) {
	r.w.OpenList(name)
	for i := range parts {
		r.part(&parts[i])
	}
	r.w.CloseList()
}

func (r *renderer) part(p *llm.Part) {
	w := &r.w
	switch p.Kind {
	case llm.TextPart, llm.RefusalPart:
		w.Open()
		w.Str("type", "input_text")
		w.Str("text", p.Text)
	case llm.ImagePart:
		w.Open()
		w.Str("type", "input_image")
		w.OptionalStr("image_url", address(p.Media))
		w.OptionalStr("file_id", p.Media.FileID)
		w.OptionalStr("detail", p.Media.Detail)
	case llm.FilePart:
		w.Open()
		w.Str("type", "input_file")
		if p.Media.Data != "" {
			name := p.Media.Name
			if name == "" {
				name = "file" // the API requires a name with file_data
			}
			w.Str("filename", name)
			w.Str("file_data", address(p.Media))
		} else {
			w.OptionalStr("file_url", p.Media.URL)
			w.OptionalStr("file_id", p.Media.FileID)
		}
	case llm.AudioPart:
		w.Open()
		w.Str("type", "input_audio")
		w.Key("input_audio")
		w.Open()
		w.Str("data", p.Media.Data)
		w.Str("format", strings.NewReplacer("audio/", "", "mpeg", "mp3", "x-wav", "wav").Replace(p.Media.Type))
		w.Close()
	default:
		r.drop("a part of type " + string(p.Kind))
		return
	}
	if p.Cache != nil && r.o.Breakpoints {
		w.Raw("prompt_cache_breakpoint", []byte(`{"mode":"explicit"}`))
	}
	w.Close()
}

// address returns the URL of media, or a data URL of its bytes.
func address(m *llm.Media) string {
	if m.Data == "" {
		return m.URL
	}
	kind := m.Type
	if kind == "" {
		kind = "application/octet-stream"
	}
	return "data:" + kind + ";base64," + m.Data
}

// assistant writes one item for each message, reasoning and call, in the order in which the model produced them.
func (r *renderer) assistant(parts []llm.Part) {
	w := &r.w
	for i := 0; i < len(parts); i++ {
		p := &parts[i]
		switch p.Kind {
		case llm.TextPart, llm.RefusalPart:
			w.Open()
			w.Str("type", "message")
			w.Str("role", "assistant")
			w.OpenList("content")
			for ; i < len(parts) && (parts[i].Kind == llm.TextPart || parts[i].Kind == llm.RefusalPart); i++ {
				w.Open()
				if parts[i].Kind == llm.RefusalPart {
					w.Str("type", "refusal")
					w.Str("refusal", parts[i].Text)
				} else {
					w.Str("type", "output_text")
					w.Str("text", parts[i].Text)
				}
				w.Close()
			}
			i--
			w.CloseList()
			w.Close()
		case llm.ThinkingPart:
			r.thinking(p.Thinking)
		case llm.CallPart:
			kind, arguments := "function_call", "arguments"
			if p.Call.Custom {
				r.custom[p.Call.ID] = true
				kind, arguments = "custom_tool_call", "input"
			}
			w.Open()
			w.Str("type", kind)
			w.Str("call_id", p.Call.ID)
			w.Str("name", p.Call.Name)
			w.Str(arguments, p.Call.Arguments)
			w.Close()
		default:
			r.drop("a part of type " + string(p.Kind) + " of the assistant")
		}
	}
}

// thinking writes encrypted reasoning that the provider itself created. It drops any other reasoning, because the provider does not accept
// it as input.
func (r *renderer) thinking(t *llm.Thinking) {
	id, encrypted, _ := strings.Cut(t.Signature, ":")
	if encrypted == "" || t.Provider != r.o.Signer {
		return
	}
	w := &r.w
	w.Open()
	w.Str("type", "reasoning")
	w.OptionalStr("id", id)
	w.OpenList("summary")
	if t.Text != "" {
		w.Open()
		w.Str("type", "summary_text")
		w.Str("text", t.Text)
		w.Close()
	}
	w.CloseList()
	w.Str("encrypted_content", encrypted)
	w.Close()
}

func (r *renderer) result(result *llm.ToolResult) {
	w := &r.w
	w.Open()
	if r.custom[result.ID] {
		w.Str("type", "custom_tool_call_output")
	} else {
		w.Str("type", "function_call_output")
	}
	w.Str("call_id", result.ID)
	switch {
	case len(result.Parts) == 0:
		w.Str("output", "")
	case len(result.Parts) == 1 && result.Parts[0].Kind == llm.TextPart:
		w.Str("output", result.Parts[0].Text)
	default:
		r.content("output", result.Parts)
	}
	w.Close()
}

// tools writes the tools and reports whether there are any.
func (r *renderer) tools() bool {
	w, listed := &r.w, 0
	for i := range r.conv.Tools {
		tool := &r.conv.Tools[i]
		if tool.Search == nil && isDated(tool.Hosted) {
			r.drop("the tool " + tool.Hosted)
			continue
		}
		if listed == 0 {
			w.OpenList("tools")
		}
		listed++
		switch {
		case tool.Search != nil:
			r.search(tool.Search)
			continue
		case tool.Hosted != "":
			w.Element(tool.Raw)
			continue
		case tool.Custom:
			w.Open()
			w.Str("type", "custom")
			w.Str("name", tool.Name)
			w.OptionalStr("description", tool.Description)
			w.OptionalRaw("format", flatGrammar(tool.Format))
		default:
			w.Open()
			w.Str("type", "function")
			w.Str("name", tool.Name)
			w.OptionalStr("description", tool.Description)
			if tool.Schema != nil {
				w.Raw("parameters", tool.Schema)
			} else {
				w.Raw("parameters", []byte("null"))
			}
			// Always send strict, because the Responses API enables strict mode by default. The other formats do not.
			w.Bool("strict", tool.Strict != nil && *tool.Strict)
		}
		w.Close()
	}
	if listed > 0 {
		w.CloseList()
	}
	return listed > 0
}

// isDated reports whether kind is a hosted tool type of the Messages format. These types end in an eight-digit date.
func isDated(kind string) bool {
	i := strings.LastIndexByte(kind, '_')
	return i > 0 && len(kind)-i == len("_20250305") && strings.Trim(kind[i+1:], "0123456789") == ""
}

// search writes the web search tool.
func (r *renderer) search(s *llm.Search) {
	w := &r.w
	w.Open()
	w.Str("type", websearch.Hosted)
	if len(s.Allowed) > 0 || len(s.Blocked) > 0 {
		w.Key("filters")
		w.Open()
		websearch.WriteDomains(w, "allowed_domains", s.Allowed)
		websearch.WriteDomains(w, "blocked_domains", s.Blocked)
		w.Close()
	}
	w.OptionalStr("search_context_size", s.ContextSize)
	websearch.WritePlace(w, s.Place)
	w.Close()
	if s.MaxUses > 0 {
		r.drop("max_uses")
	}
}

// flatGrammar converts the text format of a custom tool from the chat format to the Responses format. Only the chat format has the
// members of the grammar in a nested object.
func flatGrammar(format json.RawMessage) json.RawMessage {
	grammar := rawjson.Parse(format).Get("grammar")
	if !grammar.IsObject() {
		return format
	}
	var w rawjson.Writer
	w.Open()
	w.Str("type", "grammar")
	grammar.ForEach(func(key, value rawjson.Value) bool {
		w.Raw(key.String(), []byte(value.Raw))
		return true
	})
	w.Close()
	return w.Out
}

func (r *renderer) toolChoice() {
	w, choice := &r.w, r.conv.ToolChoice
	switch {
	case choice.Mode == llm.ChoiceUnset:
	case len(choice.Names) == 1 && choice.Mode == llm.ChoiceMust:
		w.Key("tool_choice")
		r.toolName(choice.Names[0])
	case len(choice.Names) > 0:
		w.Key("tool_choice")
		w.Open()
		w.Str("type", "allowed_tools")
		w.Str("mode", string(choice.Mode))
		w.OpenList("tools")
		for _, name := range choice.Names {
			r.toolName(name)
		}
		w.CloseList()
		w.Close()
	default:
		w.Str("tool_choice", string(choice.Mode))
	}
}

func (r *renderer) toolName(name string) {
	kind := "function"
	if slices.ContainsFunc(r.conv.Tools, func(t llm.Tool) bool { return t.Name == name && t.Custom }) {
		kind = "custom"
	}
	r.w.Open()
	r.w.Str("type", kind)
	r.w.Str("name", name)
	r.w.Close()
}

// text writes the output format and the verbosity.
func (r *renderer) text() {
	w, out := &r.w, r.conv.Output
	if out.Kind == llm.OutputText && r.conv.Verbosity == "" {
		return
	}
	w.Key("text")
	w.Open()
	if out.Kind != llm.OutputText {
		w.Key("format")
		w.Open()
		w.Str("type", string(out.Kind))
		if out.Kind == llm.OutputSchema {
			name := out.Name
			if name == "" {
				name = "answer" // the API requires a name
			}
			w.Str("name", name)
			w.OptionalStr("description", out.Description)
			w.OptionalRaw("schema", out.Schema)
			w.Bool("strict", out.Strict != nil && *out.Strict)
		}
		w.Close()
	}
	w.OptionalStr("verbosity", r.conv.Verbosity)
	w.Close()
}

func (r *renderer) reasoning() {
	if !r.o.Reasoning {
		return
	}
	w, e := &r.w, r.conv.Effort
	// Request summaries only for clients that show reasoning, because OpenAI returns summaries only to verified organisations.
	summary := !e.Hide && (e.Adaptive || e.Budget > 0)
	if level := e.PortableLevel(); level != "" || summary {
		w.Key("reasoning")
		w.Open()
		w.OptionalStr("effort", level)
		if summary {
			w.Str("summary", "auto")
		}
		w.Close()
	}
	w.OpenList("include")
	w.Element([]byte(`"reasoning.encrypted_content"`))
	w.CloseList()
}

// sampling writes the sampling parameters that the format supports.
func (r *renderer) sampling() {
	s := r.conv.Sampling
	for _, p := range []struct {
		name  string
		value json.Number
		known bool
	}{
		{"temperature", s.Temperature, true},
		{"top_p", s.TopP, true},
		{"top_k", s.TopK, false},
		{"frequency_penalty", s.FrequencyPenalty, false},
		{"presence_penalty", s.PresencePenalty, false},
		{"seed", s.Seed, false},
	} {
		switch {
		case p.value == "":
		case p.known && (!r.o.SamplingRejected || r.conv.Effort.Level == "none"):
			r.w.Raw(p.name, []byte(p.value))
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
