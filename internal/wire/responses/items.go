package responses

import (
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/strict"
	"fairlead.dev/internal/wire/validate"
)

// instructions decodes the instructions, which form a system message before the input.
func (r *requestReader) instructions() {
	if !r.Is('"', "instructions", "a string") {
		return
	}
	v := r.value()
	if r.Err != nil || v.text.Empty() {
		return
	}
	r.req.Messages++
	r.count(v)
	r.conv.Messages = append([]llm.Message{{Role: llm.System, Parts: []llm.Part{{Kind: llm.TextPart, Text: v.String()}}}}, r.conv.Messages...)
	r.instructed = v.text // the instructions take precedence over a system message in the input
}

// readInput decodes the conversation: a string or a list of items.
func (r *requestReader) readInput() {
	switch r.Kind() {
	case '"':
		if v := r.value(); r.Err == nil && !v.text.Empty() {
			var c content
			r.addText(&c, llm.TextPart, v, nil)
			r.add(llm.User, c)
		}
	case '[':
		for n := range r.Elements {
			r.item(n)
		}
	default:
		r.SkipWrongType("input", "a string or a list of items")
	}
}

// item decodes the next value, which is the input item with index n. If the type of the item comes before its parts, as in the requests of
// most clients, the parts are decoded in the same pass.
func (r *requestReader) item(n int) {
	r.Limit(strict.CheckMessages(n + 1))
	at := place{list: "input", n: n}
	if r.Kind() != '{' {
		r.SkipWrongType(at.String(), "an object")
		return
	}
	o, from := object{at: at, names: itemNames}, r.Pos
	var c content
	inline := false
	for key := range r.Members {
		if name := r.partList(&o, key); name != "" {
			c, inline = r.parts(place{list: at.list, n: at.n, inner: name}), true
			continue
		}
		r.member(&o, key)
	}
	if r.Err != nil {
		return
	}
	switch kind := r.str(&o, "type"); kind {
	case "", "message":
		if !inline {
			c = r.contentOf(&o, "content")
		}
		r.message(&o, c)
	case "function_call":
		r.call(&o, "arguments")
	case "custom_tool_call":
		r.call(&o, "input")
	case "function_call_output", "custom_tool_call_output":
		if !inline {
			c = r.contentOf(&o, "output")
		}
		r.result(&o, c)
	case "reasoning":
		r.reasoning(&o)
	case "item_reference":
		r.reference(at.String(), rawjson.Value{Kind: rawjson.Object, Raw: r.source[from:r.Pos], Index: from})
	case "compaction", "compaction_trigger": // only the provider can read or create an encrypted summary
		r.req.Needs |= llm.ResponsesAPI
		r.req.Unsized++
		r.results = true
	default:
		// The results of tools that the client runs must reach the model. The types of these results are specific to the Responses API.
		// Items of other types record calls of hosted tools. They can be dropped, because the model's answer contains the results.
		if strings.HasSuffix(kind, "_output") || kind == "mcp_approval_response" {
			r.req.Needs |= llm.ResponsesAPI
			r.req.Unsized++ // the result may be media, such as a screenshot
			r.storedFiles(at.member("output"), "output", o.get("output").Value)
			r.results = true
			if strings.HasSuffix(kind, "_output") { // only for the properties of the request; its format stays the same
				result := llm.ToolResult{ID: o.get("call_id").String()}
				if v := o.get("output"); v.Kind == rawjson.Text {
					result.Parts = []llm.Part{{Kind: llm.TextPart, Text: v.String()}}
				}
				r.add(llm.User, content{parts: []llm.Part{{Kind: llm.ResultPart, Result: &result}}})
			}
			return
		}
		r.conv.DropField("input." + show.Cut(kind, validate.MaxName))
	}
}

// partList returns the name of the current member if it holds the list of parts of the item. It returns an empty string for other members,
// and if the members read so far do not determine the type of the item.
func (r *requestReader) partList(o *object, key []byte) string {
	if r.Kind() != '[' {
		return ""
	}
	kind := o.get("type")
	switch string(key) {
	case "content":
		if kind.Raw == `"message"` || !kind.Exists() && o.get("role").Kind == rawjson.Text {
			return "content"
		}
	case "output":
		if kind.Raw == `"function_call_output"` || kind.Raw == `"custom_tool_call_output"` {
			return "output"
		}
	}
	return ""
}

// add adds the parts of an item to the conversation. A model turn consists of several items and becomes one message.
func (r *requestReader) add(role llm.Role, c content) {
	// If the last message has text but no tool call, further text begins a new message.
	again := c.speaks && r.hasText && !r.hasCall
	if role == llm.Assistant && r.last == role && !again {
		r.hasText, r.hasCall = r.hasText || c.speaks, r.hasCall || c.calls
		last := &r.conv.Messages[len(r.conv.Messages)-1]
		last.Parts = append(last.Parts, c.parts...)
		return
	}
	r.last, r.hasText, r.hasCall = role, c.speaks, c.calls
	r.req.Messages++
	r.conv.Messages = append(r.conv.Messages, llm.Message{Role: role, Parts: c.parts})
	switch {
	case role == llm.Assistant:
		r.req.Answers++
	case c.first.Empty():
	case role == llm.User:
		r.asked = c.first
	case r.instructed.Empty():
		r.instructed = c.first
	}
}

func (r *requestReader) message(o *object, c content) {
	switch role := o.get("role").String(); role {
	case "user":
		r.add(llm.User, c)
	case "assistant":
		r.add(llm.Assistant, c)
	case "system", "developer":
		r.add(llm.System, c)
	default:
		r.Problem(o.at.member("role"), "%s.role must be one of user, assistant, system, developer; it is %s.", o.at, show.Quote(role))
	}
}

// call decodes a tool call. arguments is the name of the member that contains the arguments: arguments for a function, input for a custom
// tool.
func (r *requestReader) call(o *object, arguments string) {
	id, name, sent := r.textOf(o, "call_id"), r.requireName(o), r.textOf(o, arguments)
	if id.text.Empty() {
		r.Problem(o.at.member("call_id"), "%s.call_id is missing. Send the id that the model gave the call.", o.at)
	}
	namespace := r.str(o, "namespace")
	r.count(id)
	r.count(o.get("name"))
	r.count(sent)
	call := llm.ToolCall{ID: id.String(), Name: joinNamespace(namespace, name), Arguments: sent.String(), Custom: arguments == "input"}
	s := r.callSignatures[call.ID]
	call.Signature, call.Provider = s.Signature, s.Provider
	if r.toolNames == nil {
		r.toolNames = map[string]string{}
	}
	r.toolNames[call.ID] = call.Name
	r.add(llm.Assistant, content{calls: true, parts: []llm.Part{{Kind: llm.CallPart, Call: &call}}})
}

func (r *requestReader) result(o *object, c content) {
	id := r.textOf(o, "call_id")
	if id.text.Empty() {
		r.Problem(o.at.member("call_id"), "%s.call_id is missing. Send the ID of the call that the result belongs to.", o.at)
	}
	r.count(id)
	var result content // contains no text, because the text of a tool result must not become the text of the user message
	name, called := r.toolNames[id.String()]
	if !called {
		name = r.str(o, "name")
	}
	result.parts = []llm.Part{{Kind: llm.ResultPart, Result: &llm.ToolResult{ID: id.String(), Name: name, Parts: c.parts}}}
	r.add(llm.User, result)
}

// reasoning decodes a reasoning item. It unwraps signatures that the gateway has wrapped. It drops encrypted data of OpenAI or of another
// gateway and uses only the text of the item.
func (r *requestReader) reasoning(o *object) {
	var thinking *llm.Thinking
	if s, ours := unwrapSignature(r.str(o, "encrypted_content")); ours {
		r.wrapped = true
		if s.Call != "" {
			if r.callSignatures == nil {
				r.callSignatures = map[string]wrappedSignature{}
			}
			r.callSignatures[s.Call] = s
			return
		}
		r.countText(s.Text)
		thinking = &llm.Thinking{Text: s.Text, Signature: s.Signature, Redacted: s.Redacted, Provider: s.Provider}
	} else {
		var texts []string
		for _, name := range []string{"content", "summary"} {
			if v := o.get(name); r.is(o.at.member(name), v.Value, "a list", rawjson.List) {
				r.reread(v.Value, func() { texts = r.thoughts(o.at.member(name)) })
			}
			if len(texts) > 0 {
				break // the summary is used only if the item has no reasoning text
			}
		}
		if len(texts) == 0 {
			return
		}
		thinking = &llm.Thinking{Text: strings.Join(texts, "\n\n")}
	}
	r.add(llm.Assistant, content{parts: []llm.Part{{Kind: llm.ThinkingPart, Thinking: thinking}}})
}

// thoughts returns the text of each reasoning part in a list and counts it.
func (r *requestReader) thoughts(param string) (texts []string) {
	for range r.Elements {
		if r.Kind() != '{' {
			continue
		}
		for key := range r.Members {
			if string(key) != "text" {
				continue
			}
			if v := r.value(); r.is(param, v.Value, "a string", rawjson.Text) && !v.text.Empty() {
				r.count(v)
				texts = append(texts, v.String())
			}
		}
	}
	return texts
}
