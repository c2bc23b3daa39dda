package simulator

import "encoding/json"

// created is the time in all responses, because they depend only on the request.
const created = 1_790_000_000

const refusal = "I can't help with that."

func readChat(call *Call) *Conversation {
	root := call.document()
	choice := root.get("tool_choice")
	c := &Conversation{
		Model: root.get("model").text(), Count: root.get("n").number(), callID: "call_",
		Limit:   max(root.get("max_completion_tokens").number(), root.get("max_tokens").number()),
		Must:    choice.text() == "required" || choice.get("function").exists() || choice.get("custom").exists() || choice.get("allowed_tools", "mode").text() == "required",
		Never:   choice.text() == "none",
		Only:    choice.get("function", "name").text() + choice.get("custom", "name").text(),
		Single:  root.get("parallel_tool_calls").isFalse(),
		JSON:    root.get("response_format", "type").text() == "json_object",
		Schema:  root.get("response_format", "json_schema", "schema").raw(),
		Think:   root.get("reasoning_effort").exists() && root.get("reasoning_effort").text() != "none",
		NoThink: root.get("reasoning_effort").text() == "none",
		Stops:   root.get("stop").texts(),
	}
	for _, t := range root.get("tools").list() {
		if custom := t.get("custom"); custom.exists() {
			c.Tools = append(c.Tools, Tool{Name: custom.get("name").text(), Custom: true})
			continue
		}
		c.Tools = append(c.Tools, Tool{Name: t.get("function", "name").text(), Schema: t.get("function", "parameters").raw()})
	}
	for _, m := range root.get("messages").list() {
		parts := chatParts(m.get("content"))
		switch role := m.get("role").text(); role {
		case "system", "developer":
			c.addSystem(parts)
		case "tool":
			c.add(false, false, Part{Kind: ResultPart, ID: m.get("tool_call_id").text(), Text: Turn{Parts: parts}.Text()})
		default:
			c.add(role == "assistant", false, append(parts, chatCalls(m.get("tool_calls"))...)...)
		}
	}
	return c
}

func chatParts(content node) []Part {
	if text := content.text(); text != "" {
		return []Part{{Kind: TextPart, Text: text}}
	}
	var list []Part
	for _, p := range content.list() {
		switch p.get("type").text() {
		case "image_url":
			list = append(list, media(p.get("image_url", "url").text()))
		case "text":
			list = append(list, Part{Kind: TextPart, Text: p.get("text").text()})
		}
	}
	return list
}

func chatCalls(calls node) []Part {
	var list []Part
	for _, call := range calls.list() {
		p := Part{Kind: CallPart, ID: call.get("id").text()}
		if custom := call.get("custom"); custom.exists() {
			p.Name, p.Custom, p.Input = custom.get("name").text(), true, json.RawMessage(custom.get("input").text())
		} else {
			p.Name, p.Input = call.get("function", "name").text(), argumentsOf(call.get("function", "arguments"))
		}
		list = append(list, p)
	}
	return list
}

// argumentsOf returns the arguments that a format sends as a string.
func argumentsOf(n node) json.RawMessage {
	if n.text() == "" {
		return json.RawMessage("{}")
	}
	return json.RawMessage(n.text())
}

var chatReasons = map[Finish]string{
	Completed: "stop", CallsTools: "tool_calls", LimitReached: "length", StopSequence: "stop", Rejected: "stop", Blocked: "content_filter",
}

func chatEnvelope(r *Reply, object string, choices ...Object) Object {
	if choices == nil {
		choices = []Object{}
	}
	return Object{
		"id": "chatcmpl-" + r.ID, "object": object, "created": created, "model": r.model, "service_tier": "default", "system_fingerprint": "simulated",
		"choices": choices,
	}
}

func chatBody(call *Call, c *Conversation, r *Reply) Object {
	var choices []Object
	for i := range max(c.Count, 1) {
		choices = append(choices, Object{"index": i, "message": chatMessage(r), "logprobs": chatLogprobs(call, r.text()), "finish_reason": chatReasons[r.Finish]})
	}
	e := chatEnvelope(r, "chat.completion", choices...)
	r.setUsage(e, "usage", chatUsage(c, r))
	return e
}

func chatMessage(r *Reply) Object {
	m := Object{"role": "assistant", "content": nil, "refusal": nil, "annotations": []any{}}
	if text := r.text(); text != "" || r.Finish != CallsTools {
		m["content"] = text
	}
	if r.Finish == Rejected {
		m["content"], m["refusal"] = nil, refusal
	}
	var calls []Object
	for _, p := range r.Parts {
		switch p.Kind {
		case ThinkingPart:
			if p.Text != "" {
				m["reasoning_content"] = p.Text
			}
		case CallPart:
			calls = append(calls, chatCall(p, string(p.Input)))
		default:
		}
	}
	if calls != nil {
		m["tool_calls"] = calls
	}
	return m
}

func chatCall(p Part, input string) Object {
	if p.Custom {
		return Object{"id": p.ID, "type": "custom", "custom": Object{"name": p.Name, "input": input}}
	}
	return Object{"id": p.ID, "type": "function", "function": Object{"name": p.Name, "arguments": input}}
}

func chatUsage(c *Conversation, r *Reply) Object {
	output := r.Usage.Output * max(c.Count, 1)
	return Object{
		"prompt_tokens": r.Usage.Input, "completion_tokens": output, "total_tokens": r.Usage.Input + output,
		"prompt_tokens_details":     Object{"cached_tokens": r.Usage.CacheRead, "audio_tokens": 0},
		"completion_tokens_details": Object{"reasoning_tokens": r.Usage.Thinking, "audio_tokens": 0},
	}
}

// chatLogprobs returns a probability of 1 for each piece of a text, or nil if the request does not ask for them.
func chatLogprobs(call *Call, texts ...string) any {
	if !call.document().get("logprobs").isTrue() {
		return nil
	}
	list := []Object{}
	for _, text := range texts {
		for _, piece := range pieces(text) {
			list = append(list, Object{"token": piece, "logprob": 0, "bytes": nil, "top_logprobs": []any{}})
		}
	}
	return Object{"content": list, "refusal": nil}
}

func chatFrames(call *Call, c *Conversation, r *Reply) [][]byte {
	var list [][]byte
	send := func(index int, delta Object, finish any) {
		text, _ := delta["content"].(string)
		choice := Object{"index": index, "delta": delta, "logprobs": chatLogprobs(call, text), "finish_reason": finish}
		list = append(list, sseEvent("", chatEnvelope(r, "chat.completion.chunk", choice)))
	}
	for i := range max(c.Count, 1) {
		send(i, Object{"role": "assistant", "content": ""}, nil)
		if r.Finish == Rejected {
			send(i, Object{"refusal": refusal}, nil)
		}
		number := 0
		for _, p := range r.Parts {
			for _, delta := range chatDeltas(p, number) {
				send(i, delta, nil)
			}
			if p.Kind == CallPart {
				number++
			}
		}
		send(i, Object{}, chatReasons[r.Finish])
	}
	if call.usage && r.usageJSON != "none" {
		e := chatEnvelope(r, "chat.completion.chunk")
		r.setUsage(e, "usage", chatUsage(c, r))
		list = append(list, sseEvent("", e))
	}
	return append(list, []byte("data: [DONE]\n\n"))
}

func chatDeltas(p Part, number int) []Object {
	var list []Object
	switch p.Kind {
	case TextPart, ThinkingPart:
		name := map[Kind]string{TextPart: "content", ThinkingPart: "reasoning_content"}[p.Kind]
		for _, piece := range p.pieces() {
			list = append(list, Object{name: piece})
		}
	case CallPart:
		first := chatCall(p, "")
		first["index"] = number
		list = append(list, Object{"tool_calls": []Object{first}})
		kind, input := "function", "arguments"
		if p.Custom {
			kind, input = "custom", "input"
		}
		for _, piece := range pieces(string(p.Input)) {
			list = append(list, Object{"tool_calls": []Object{{"index": number, kind: Object{input: piece}}}})
		}
	default: // the format does not show other parts
	}
	return list
}

// readLegacy reads a request of the legacy completions endpoint. Each prompt is a turn.
func readLegacy(call *Call) *Conversation {
	root := call.document()
	c := &Conversation{Model: root.get("model").text(), Count: root.get("n").number(), Stops: root.get("stop").texts(), Limit: 16}
	if limit := root.get("max_tokens"); limit.exists() {
		c.Limit = limit.number()
	}
	for _, prompt := range root.get("prompt").list() {
		text := prompt.text()
		if text == "" {
			text = string(prompt.raw()) // token IDs
		}
		c.add(false, false, Part{Kind: TextPart, Text: text})
	}
	return c
}

func legacyEnvelope(r *Reply, choices []Object) Object {
	return Object{
		"id": "cmpl-" + r.ID, "object": "text_completion", "created": created, "model": r.model, "system_fingerprint": "simulated", "choices": choices,
	}
}

// legacyChoices returns the number of choices: n for each prompt.
func legacyChoices(c *Conversation) int { return max(c.Count, 1) * max(len(c.Turns), 1) }

func legacyBody(call *Call, c *Conversation, r *Reply) Object {
	choices := []Object{}
	for i := range legacyChoices(c) {
		text := r.text()
		if call.document().get("echo").isTrue() {
			text = c.Turns[i/max(c.Count, 1)].Text() + text
		}
		choices = append(choices, Object{"index": i, "text": text, "logprobs": legacyLogprobs(call, text), "finish_reason": chatReasons[r.Finish]})
	}
	e := legacyEnvelope(r, choices)
	r.setUsage(e, "usage", legacyUsage(c, r))
	return e
}

func legacyUsage(c *Conversation, r *Reply) Object {
	output := r.Usage.Output * legacyChoices(c)
	return Object{"prompt_tokens": r.Usage.Input, "completion_tokens": output, "total_tokens": r.Usage.Input + output}
}

func legacyLogprobs(call *Call, text string) any {
	if !call.document().get("logprobs").exists() {
		return nil
	}
	return Object{"tokens": []string{text}, "token_logprobs": []int{0}, "top_logprobs": []Object{{text: 0}}, "text_offset": []int{0}}
}

func legacyFrames(call *Call, c *Conversation, r *Reply) [][]byte {
	var list [][]byte
	for i := range legacyChoices(c) {
		for _, p := range (Turn{Parts: r.Parts}).OfKind(TextPart) {
			for _, piece := range p.pieces() {
				choice := Object{"index": i, "text": piece, "logprobs": legacyLogprobs(call, piece), "finish_reason": nil}
				list = append(list, sseEvent("", legacyEnvelope(r, []Object{choice})))
			}
		}
		choice := Object{"index": i, "text": "", "logprobs": nil, "finish_reason": chatReasons[r.Finish]}
		list = append(list, sseEvent("", legacyEnvelope(r, []Object{choice})))
	}
	if call.usage && r.usageJSON != "none" {
		e := legacyEnvelope(r, []Object{})
		r.setUsage(e, "usage", legacyUsage(c, r))
		list = append(list, sseEvent("", e))
	}
	return append(list, []byte("data: [DONE]\n\n"))
}
