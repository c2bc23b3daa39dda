package responses

import (
	"slices"
	"strconv"
	"strings"

	"fairlead/internal/llm"
	"fairlead/internal/rawjson"
	"fairlead/internal/wire/show"
	"fairlead/internal/wire/strict"
	"fairlead/internal/wire/validate"
)

// readInput decodes the conversation: a string or a list of items.
func (r *requestReader) readInput(v rawjson.Value) {
	if v.Kind == rawjson.Text {
		if text := v.String(); text != "" {
			r.add(llm.User, llm.Part{Kind: llm.TextPart, Text: text})
		}
		return
	}
	if !r.is("input", v, "a text or a list of items", rawjson.List) {
		return
	}
	n := 0
	v.ForEach(func(_, item rawjson.Value) bool {
		param := "input[" + strconv.Itoa(n) + "]"
		n++
		if over := strict.CheckMessages(n); over != nil {
			r.Problem("input", "%s", strict.LimitMessage(over))
			return false
		}
		if item.Kind == rawjson.Null || !r.object(param, item) {
			r.rejectNull(param, item)
			return true
		}
		r.lookAlikes(param, item, itemNames)
		r.item(param, item)
		return r.Context.Err() == nil
	})
}

// rejectNull rejects a null item.
func (r *requestReader) rejectNull(param string, v rawjson.Value) {
	if v.Kind == rawjson.Null {
		r.Problem(param, "%s must be an object; it is null.", param)
	}
}

func (r *requestReader) item(param string, v rawjson.Value) {
	switch kind := r.text(param+".type", v.Get("type")); kind {
	case "", "message":
		r.message(param, v)
	case "function_call":
		r.call(v, llm.ToolCall{Name: r.toolName(param, v), Arguments: r.text(param+".arguments", v.Get("arguments"))}, param)
	case "custom_tool_call":
		r.call(v, llm.ToolCall{Name: r.toolName(param, v), Arguments: r.text(param+".input", v.Get("input")), Custom: true}, param)
	case "function_call_output", "custom_tool_call_output":
		r.result(param, v)
	case "reasoning":
		r.reasoning(param, v)
	case "item_reference":
		r.reference(param, v)
	case "compaction", "compaction_trigger":
		r.Problem(param+".type", "An item of type %s is not supported. Send the items of the conversation.", show.Quote(kind))
	default:
		// Results of client-side tools must reach the model, and only the Responses API accepts those of its own tools. Records of
		// hosted tools are part of the response anyway.
		if strings.HasSuffix(kind, "_output") || kind == "mcp_approval_response" {
			r.req.Needs |= llm.ResponsesAPI
			r.req.Unsized++ // such as a screenshot
			r.results = true
			return
		}
		r.dropField("input." + show.Cut(kind, validate.MaxName))
	}
}

// add adds parts to the conversation. A turn of the model comes in several items and becomes one message.
func (r *requestReader) add(role llm.Role, parts ...llm.Part) {
	speaks := slices.ContainsFunc(parts, func(p llm.Part) bool { return p.Kind == llm.TextPart || p.Kind == llm.RefusalPart })
	calls := slices.ContainsFunc(parts, func(p llm.Part) bool { return p.Kind == llm.CallPart })
	last := len(r.conv.Messages) - 1
	// A text after a message that has a text and no call begins another message.
	again := speaks && r.hasText && !r.hasCall
	if role == llm.Assistant && last >= 0 && r.conv.Messages[last].Role == role && !again {
		r.conv.Messages[last].Parts = append(r.conv.Messages[last].Parts, parts...)
		r.hasText, r.hasCall = r.hasText || speaks, r.hasCall || calls
		return
	}
	r.conv.Messages = append(r.conv.Messages, llm.Message{Role: role, Parts: parts})
	r.hasText, r.hasCall = speaks, calls
}

func (r *requestReader) message(param string, v rawjson.Value) {
	roles := map[string]llm.Role{"user": llm.User, "assistant": llm.Assistant, "system": llm.System, "developer": llm.System}
	role, ok := roles[v.Get("role").String()]
	if !ok {
		r.Problem(param+".role", "%s.role must be one of user, assistant, system, developer; it is %s.", param, show.Quote(v.Get("role").String()))
		return
	}
	r.add(role, r.content(param+".content", v.Get("content"))...)
}

func (r *requestReader) call(v rawjson.Value, call llm.ToolCall, param string) {
	call.ID = r.text(param+".call_id", v.Get("call_id"))
	if call.ID == "" {
		r.Problem(param+".call_id", "%s.call_id is missing. Send the id that the model gave the call.", param)
	}
	call.Name = joinNamespace(r.text(param+".namespace", v.Get("namespace")), call.Name)
	s := r.callSignatures[call.ID]
	call.Signature, call.Provider = s.Signature, s.Provider
	if r.toolNames == nil {
		r.toolNames = map[string]string{}
	}
	r.toolNames[call.ID] = call.Name
	r.add(llm.Assistant, llm.Part{Kind: llm.CallPart, Call: &call})
}

func (r *requestReader) result(param string, v rawjson.Value) {
	id := r.text(param+".call_id", v.Get("call_id"))
	if id == "" {
		r.Problem(param+".call_id", "%s.call_id is missing. Name the call whose result this is.", param)
	}
	name, called := r.toolNames[id]
	if !called {
		name = r.text(param+".name", v.Get("name"))
	}
	r.add(llm.User, llm.Part{Kind: llm.ResultPart, Result: &llm.ToolResult{
		ID: id, Name: name, Parts: r.content(param+".output", v.Get("output")),
	}})
}

// reasoning decodes thinking. The gateway wrapped its own signatures; data that OpenAI or another gateway encrypted is
// dropped.
func (r *requestReader) reasoning(param string, v rawjson.Value) {
	encrypted := r.text(param+".encrypted_content", v.Get("encrypted_content"))
	if s, ours := unwrapSignature(encrypted); ours {
		if s.Call != "" {
			if r.callSignatures == nil {
				r.callSignatures = map[string]wrappedSignature{}
			}
			r.callSignatures[s.Call] = s
			return
		}
		r.add(llm.Assistant, llm.Part{Kind: llm.ThinkingPart, Thinking: &llm.Thinking{
			Text: s.Text, Signature: s.Signature, Redacted: s.Redacted, Provider: s.Provider,
		}})
		return
	}
	var texts []string
	for _, name := range []string{"content", "summary"} {
		for _, part := range r.list(param+"."+name, v.Get(name)) {
			if text := r.text(param+"."+name, part.Get("text")); text != "" {
				texts = append(texts, text)
			}
		}
		if len(texts) > 0 {
			break // the thinking, otherwise its summary
		}
	}
	if len(texts) > 0 {
		r.add(llm.Assistant, llm.Part{Kind: llm.ThinkingPart, Thinking: &llm.Thinking{Text: strings.Join(texts, "\n\n")}})
	}
}
