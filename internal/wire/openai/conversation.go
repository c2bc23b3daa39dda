package openai

import (
	"context"
	"encoding/json"
	"strconv"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/strict"
	"fairlead.dev/internal/wire/validate"
	"fairlead.dev/internal/wire/websearch"
)

// reader converts a validated request. It does not read the members in order, because the meaning of a member may
// depend on a later member.
type reader struct {
	validate.Reader
	conv *llm.Conversation

	toolNames map[string]string   // tool names by call ID
	pending   map[string][]string // IDs of legacy function calls without a result, by function name
}

// Conversation converts a validated chat request. It returns an error of kind Untranslatable for content that a
// conversation cannot express.
func readConversation(ctx context.Context, req *llm.Request) (*llm.Conversation, error) {
	r := reader{
		Reader: validate.Reader{Scanner: rawjson.Scanner{Context: ctx, Data: req.Body}},
		conv: &llm.Conversation{
			Choices: max(req.Choices, 1), MaxOutput: req.MaxOutput, EndUser: req.EndUser, ServiceTier: req.ServiceTier,
		},
		toolNames: map[string]string{},
		pending:   map[string][]string{},
	}
	for _, f := range req.Fields {
		r.Pos = f.Value
		if !r.SkipNull() {
			r.readMember(f.Name)
		}
	}
	if r.Err != nil {
		return nil, strict.Error(&r.Scanner, "")
	}
	if err := r.Reject(); err != nil {
		err.Kind = llm.Untranslatable // a provider that uses the chat format may accept the content
		return nil, err
	}
	return r.conv, llm.Cancelled(ctx)
}

func (r *reader) readMember(name string) {
	c := r.conv
	switch name {
	case "messages":
		r.readMessages()
	case "tools":
		r.readTools()
	case "functions":
		r.readFunctions()
	case "tool_choice":
		r.readToolChoice()
	case "function_call":
		r.readFunctionChoice()
	case "parallel_tool_calls":
		c.ParallelTools = r.ReadOptionalBool(name)
	case "response_format":
		r.readOutput()
	case "stop":
		r.readStop()
	case "verbosity":
		c.Verbosity, _ = r.ReadText(name)
	case "reasoning_effort":
		c.Effort.Level, _ = r.ReadText(name)
	case "reasoning":
		r.readReasoning()
	case "thinking":
		r.readThinking()
	case "web_search_options":
		c.Tools = append(c.Tools, llm.Tool{Hosted: websearch.Hosted, Search: websearch.Read(rawjson.Parse(r.Raw()))})
	case "modalities":
		if string(r.Raw()) != `["text"]` {
			c.DropField(name)
		}
	case "model", "models", "provider", "session_id", "stream", "stream_options", "n", "max_tokens", "max_completion_tokens",
		"user", "safety_identifier", "metadata", "service_tier", "store", "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options":
		// These fields are not part of the conversation: they concern the gateway, the account or the stream, or they are already decoded.
	default:
		if !r.readSampling(name) {
			c.DropField(name)
		}
	}
}

func (r *reader) readSampling(name string) bool {
	s := &r.conv.Sampling
	switch name {
	case "temperature":
		s.Temperature = r.numberText(name)
	case "top_p":
		s.TopP = r.numberText(name)
	case "top_k":
		s.TopK = r.numberText(name)
	case "frequency_penalty":
		s.FrequencyPenalty = r.numberText(name)
	case "presence_penalty":
		s.PresencePenalty = r.numberText(name)
	case "seed":
		s.Seed = r.numberText(name)
	case "logprobs":
		s.Logprobs = r.ReadBool(name)
	case "top_logprobs":
		n, _ := strconv.Atoi(string(r.numberText(name)))
		s.TopLogprobs = n
	default:
		return false
	}
	return true
}

// numberText returns the text of a number, unchanged.
func (r *reader) numberText(param string) json.Number {
	if !r.Is('0', param, "a number") {
		return ""
	}
	return json.Number(r.Number())
}

func (r *reader) readStop() {
	if r.Kind() == '"' {
		stop, _ := r.ReadText("stop")
		r.conv.Stop = []string{stop}
		return
	}
	if !r.Is('[', "stop", "a string or a list of strings") {
		return
	}
	for range r.Elements {
		if stop, ok := r.ReadText("stop"); ok {
			r.conv.Stop = append(r.conv.Stop, stop)
		}
	}
}

// readReasoning decodes the object that clients of other gateways use to request thinking.
func (r *reader) readReasoning() {
	e := &r.conv.Effort
	m, ok := r.object("reasoning")
	if !ok {
		return
	}
	if level := r.textOf(m, "effort", "reasoning."); level != "" {
		e.Level = level
	}
	e.Budget = max(e.Budget, r.integerOf(m, "max_tokens", "reasoning."))
	if enabled := r.flagOf(m, "enabled", "reasoning."); enabled != nil {
		r.setThinking(*enabled)
	}
	if exclude := r.flagOf(m, "exclude", "reasoning."); exclude != nil {
		e.Hide = *exclude
	}
}

// readThinking decodes the thinking object of Anthropic's API, which several vendors have adopted.
func (r *reader) readThinking() {
	e := &r.conv.Effort
	m, ok := r.object("thinking")
	if !ok {
		return
	}
	e.Budget = max(e.Budget, r.integerOf(m, "budget_tokens", "thinking."))
	switch r.textOf(m, "type", "thinking.") {
	case "disabled":
		r.setThinking(false)
	case "adaptive", "auto":
		e.Adaptive = true
	case "enabled":
		r.setThinking(true)
	}
	e.Hide = e.Hide || r.textOf(m, "display", "thinking.") == "omitted"
}

// setThinking disables thinking if on is false. If on is true and the request has no level and no budget, the model decides how much to
// think.
func (r *reader) setThinking(on bool) {
	e := &r.conv.Effort
	switch {
	case !on:
		e.Level = "none"
	case e.Level == "" && e.Budget == 0:
		e.Adaptive = true
	}
}

// object decodes an object and returns the positions of its members' values by name. Members that are null are omitted. If the value is
// not an object, object records a problem and returns false.
func (r *reader) object(param string) (map[string]int, bool) {
	if !r.Is('{', param, "an object") {
		return nil, false
	}
	at := map[string]int{}
	for key := range r.Members {
		from := r.Pos
		if name := string(key); !r.SkipNull() {
			at[name] = from
			r.Skip()
		}
	}
	return at, r.Err == nil
}

// at moves to the given position, calls read, and then restores the current position.
func (r *reader) at(pos int, read func()) {
	back := r.Pos
	r.Pos = pos
	read()
	r.Pos = back
}

// objectOf decodes the member with the given name, which must be an object. m holds the positions of the members. In error messages, the
// name is prefixed with where.
func (r *reader) objectOf(m map[string]int, name, where string) (inner map[string]int, ok bool) {
	if pos, has := m[name]; has {
		r.at(pos, func() { inner, ok = r.object(where + name) })
	}
	return inner, ok
}

func (r *reader) textOf(m map[string]int, name, where string) (s string) {
	if pos, has := m[name]; has {
		r.at(pos, func() { s, _ = r.ReadText(where + name) })
	}
	return s
}

func (r *reader) integerOf(m map[string]int, name, where string) (n int64) {
	if pos, has := m[name]; has {
		r.at(pos, func() { n, _ = r.ReadInt(where+name, 1, validate.MaxTokens) })
	}
	return n
}

func (r *reader) flagOf(m map[string]int, name, where string) (flag *bool) {
	if pos, has := m[name]; has {
		r.at(pos, func() { flag = r.ReadOptionalBool(where + name) })
	}
	return flag
}

// rawOf returns the bytes of a member unchanged.
func (r *reader) rawOf(m map[string]int, name string) (raw json.RawMessage) {
	if pos, has := m[name]; has {
		r.at(pos, func() { raw = r.Raw() })
	}
	return raw
}

// cacheOf decodes a prompt-cache breakpoint in Anthropic's or OpenAI's form.
func (r *reader) cacheOf(m map[string]int, where string) *llm.CacheMark {
	if inner, ok := r.objectOf(m, "cache_control", where); ok {
		return &llm.CacheMark{TTL: r.textOf(inner, "ttl", where+"cache_control.")}
	}
	if _, has := m["prompt_cache_breakpoint"]; has {
		return &llm.CacheMark{}
	}
	return nil
}
