package openai

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
)

func (r *reader) readMessages() {
	if !r.Is('[', "messages", "a list of messages") {
		return
	}
	for n := range r.Elements {
		if m, ok := r.object(fmt.Sprintf("messages[%d]", n)); ok {
			r.readMessage(m, fmt.Sprintf("messages[%d].", n))
		}
	}
}

func (r *reader) readMessage(m map[string]int, where string) {
	for _, name := range slices.SortedFunc(maps.Keys(m), func(a, b string) int { return m[a] - m[b] }) { // sorted by position in the document
		switch name {
		case "role", "content", "name", "tool_calls", "tool_call_id", "function_call", "refusal", "audio", "cache_control", "prompt_cache_breakpoint",
			"reasoning_content", "reasoning", "thinking_blocks":
		case "annotations": // annotations occur only in responses
		default:
			r.conv.DropField("messages." + name)
		}
	}
	message := llm.Message{Name: r.textOf(m, "name", where)}
	switch role := r.textOf(m, "role", where); role {
	case "system", "developer":
		message.Role, message.Parts = llm.System, r.contentOf(m, where)
	case "user":
		message.Role, message.Parts = llm.User, r.contentOf(m, where)
	case "assistant":
		message.Role, message.Parts = llm.Assistant, r.assistantParts(m, where)
	case "tool":
		id := r.textOf(m, "tool_call_id", where)
		name, called := r.toolNames[id]
		if !called {
			name = message.Name
		}
		message = result(llm.ToolResult{ID: id, Name: name, Parts: r.contentOf(m, where)})
	case "function": // a legacy result contains the name of the function instead of a call ID; it belongs to the last call of that function
		res := llm.ToolResult{Name: message.Name, Parts: r.contentOf(m, where)}
		if open := r.pending[res.Name]; len(open) > 0 {
			last := len(open) - 1
			res.ID, r.pending[res.Name] = open[last], open[:last]
		}
		message = result(res)
	default:
		r.Problem(where+"role", "%srole must be one of system, developer, user, assistant, tool, function; it is %s.", where, show.Quote(role))
		return
	}
	if last := len(message.Parts) - 1; last >= 0 && message.Parts[last].Cache == nil {
		message.Parts[last].Cache = r.cacheOf(m, where)
	}
	r.conv.Messages = append(r.conv.Messages, message)
}

// assistantParts decodes an assistant message. Thinking comes first, as every provider requires, and calls come last.
func (r *reader) assistantParts(m map[string]int, where string) []llm.Part {
	parts := r.thinkingParts(m, where)
	content := r.contentOf(m, where)
	for _, thinking := range []bool{true, false} {
		for _, part := range content {
			if (part.Kind == llm.ThinkingPart) == thinking {
				parts = append(parts, part)
			}
		}
	}
	if refusal := r.textOf(m, "refusal", where); refusal != "" {
		parts = append(parts, llm.Part{Kind: llm.RefusalPart, Text: refusal})
	}
	if audio, ok := r.objectOf(m, "audio", where); ok {
		parts = append(parts, llm.Part{Kind: llm.AudioPart, Media: &llm.Media{FileID: r.textOf(audio, "id", where+"audio.")}})
	}
	if pos, has := m["tool_calls"]; has {
		r.at(pos, func() { parts = append(parts, r.toolCalls(where+"tool_calls")...) })
	}
	if call, ok := r.objectOf(m, "function_call", where); ok {
		made := llm.ToolCall{
			ID:   "call_" + strconv.Itoa(len(r.conv.Messages)), // legacy calls have no ID; the position of the message identifies the call
			Name: r.textOf(call, "name", where+"function_call."), Arguments: r.argumentsOf(call, "arguments", where+"function_call."),
		}
		r.pending[made.Name] = append(r.pending[made.Name], made.ID)
		parts = append(parts, llm.Part{Kind: llm.CallPart, Call: &made})
	}
	return parts
}

// thinkingParts decodes thinking. The blocks in thinking_blocks repeat the text and add the provider's signature.
func (r *reader) thinkingParts(m map[string]int, where string) []llm.Part {
	text := r.textOf(m, "reasoning_content", where)
	if pos, has := m["reasoning"]; has && text == "" && r.Data[pos] == '"' {
		text = r.textOf(m, "reasoning", where)
	}
	var parts []llm.Part
	if pos, has := m["thinking_blocks"]; has {
		r.at(pos, func() { parts = r.thinkingBlocks(where + "thinking_blocks") })
	}
	switch {
	case len(parts) == 0 && text != "":
		return []llm.Part{{Kind: llm.ThinkingPart, Thinking: &llm.Thinking{Text: text}}}
	case len(parts) == 1 && parts[0].Thinking.Text == "" && parts[0].Thinking.Redacted == "":
		parts[0].Thinking.Text = text
	}
	return parts
}

func (r *reader) thinkingBlocks(param string) (parts []llm.Part) {
	if !r.Is('[', param, "a list") {
		return nil
	}
	for range r.Elements {
		m, ok := r.object(param)
		if !ok {
			continue
		}
		parts = append(parts, llm.Part{Kind: llm.ThinkingPart, Thinking: &llm.Thinking{
			Text: r.textOf(m, "thinking", param+"."), Signature: r.textOf(m, "signature", param+"."),
			Redacted: r.textOf(m, "data", param+"."), Provider: r.textOf(m, "provider", param+"."),
		}})
	}
	return parts
}

func (r *reader) toolCalls(param string) (parts []llm.Part) {
	if !r.Is('[', param, "a list") {
		return nil
	}
	for n := range r.Elements {
		where := param + "[" + strconv.Itoa(n) + "]"
		m, ok := r.object(where)
		if !ok {
			continue
		}
		where += "."
		call := llm.ToolCall{ID: r.textOf(m, "id", where)}
		if custom, ok := r.objectOf(m, "custom", where); ok {
			call.Custom = true
			call.Name, call.Arguments = r.textOf(custom, "name", where+"custom."), r.textOf(custom, "input", where+"custom.")
		} else if function, ok := r.objectOf(m, "function", where); ok {
			call.Name, call.Arguments = r.textOf(function, "name", where+"function."), r.argumentsOf(function, "arguments", where+"function.")
		}
		if extra, ok := r.objectOf(m, "extra_content", where); ok {
			google, _ := r.objectOf(extra, "google", where)
			ours, _ := r.objectOf(extra, "fairlead", where)
			call.Signature = r.textOf(google, "thought_signature", where)
			call.Provider = r.textOf(ours, "provider", where)
		}
		r.toolNames[call.ID] = call.Name
		parts = append(parts, llm.Part{Kind: llm.CallPart, Call: &call})
	}
	return parts
}

// argumentsOf decodes the arguments of a tool call. They should be a string, but some clients send an object.
func (r *reader) argumentsOf(m map[string]int, name, where string) string {
	if pos, has := m[name]; has && r.Data[pos] == '{' {
		return string(r.rawOf(m, name))
	}
	return r.textOf(m, name, where)
}

func result(res llm.ToolResult) llm.Message {
	return llm.Message{Role: llm.User, Parts: []llm.Part{{Kind: llm.ResultPart, Result: &res}}}
}

// contentOf decodes the content of a message. An empty string produces no part.
func (r *reader) contentOf(m map[string]int, where string) (parts []llm.Part) {
	pos, has := m["content"]
	if !has {
		return nil
	}
	param := where + "content"
	r.at(pos, func() {
		switch r.Kind() {
		case '"':
			if text, _ := r.ReadText(param); text != "" {
				parts = []llm.Part{{Kind: llm.TextPart, Text: text}}
			}
		case '[':
			parts = r.readParts(param)
		default:
			r.SkipWrongType(param, "a string or a list of parts")
		}
	})
	return parts
}
