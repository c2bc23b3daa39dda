package simulator

import (
	"encoding/json"
	"strings"
)

func readMessages(call *Call) *Conversation {
	root := call.document()
	thinking, choice := root.get("thinking", "type").text(), root.get("tool_choice")
	c := &Conversation{
		Model: root.get("model").text(), callID: "toolu_", Limit: root.get("max_tokens").number(), Marks: true,
		Think:  thinking != "" && thinking != "disabled",
		Must:   choice.get("type").text() == "any" || choice.get("type").text() == "tool",
		Only:   choice.get("name").text(),
		Never:  choice.get("type").text() == "none",
		Single: choice.get("disable_parallel_tool_use").isTrue(),
		Schema: root.get("output_config", "format", "schema").raw(),
		Stops:  root.get("stop_sequences").texts(),
	}
	c.addSystem(messagesParts(root.get("system")))
	for _, t := range root.get("tools").list() {
		c.Tools = append(c.Tools, Tool{Name: t.get("name").text(), Schema: t.get("input_schema").raw()})
	}
	for _, m := range root.get("messages").list() {
		parts := messagesParts(m.get("content"))
		if m.get("role").text() == "system" {
			c.addSystem(parts)
			continue
		}
		c.add(m.get("role").text() == "assistant", false, parts...)
	}
	c.Prefix = markedPrefix(root, "cache_control", root.get("tools"), root.get("system"))
	return c
}

// markedPrefix returns the request up to the last block with a mark for caching.
func markedPrefix(root node, mark string, lists ...node) string {
	var read strings.Builder
	marked := 0
	for _, m := range root.get("messages").list() {
		lists = append(lists, m.get("content"))
	}
	for _, list := range lists {
		for _, b := range list.list() {
			read.Write(b.raw())
			if b.get(mark).exists() {
				marked = read.Len()
			}
		}
	}
	if root.get(mark).exists() {
		marked = read.Len()
	}
	return read.String()[:marked]
}

func messagesParts(content node) []Part {
	if !content.isList() {
		if !content.exists() {
			return nil
		}
		return []Part{{Kind: TextPart, Text: content.text()}}
	}
	var list []Part
	for _, b := range content.list() {
		list = append(list, messagesPart(b))
	}
	return list
}

func messagesPart(b node) Part {
	switch b.get("type").text() {
	case "tool_use":
		return Part{Kind: CallPart, ID: b.get("id").text(), Name: b.get("name").text(), Input: b.get("input").raw()}
	case "tool_result":
		text := Turn{Parts: messagesParts(b.get("content"))}.Text()
		return Part{Kind: ResultPart, ID: b.get("tool_use_id").text(), Text: text, Failed: b.get("is_error").isTrue()}
	case "thinking":
		return Part{Kind: ThinkingPart, Text: b.get("thinking").text(), Signature: b.get("signature").text()}
	case "redacted_thinking":
		return Part{Kind: RedactedPart, Signature: b.get("data").text()}
	case "search_result":
		return Part{Kind: TextPart, Text: Turn{Parts: messagesParts(b.get("content"))}.Text()}
	case "image", "document":
		source := b.get("source")
		if source.get("type").text() == "url" {
			return media(source.get("url").text())
		}
		return inlineMedia(source.get("media_type").text(), source.get("data").text())
	}
	return Part{Kind: TextPart, Text: b.get("text").text()}
}

var messagesKinds = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large",
	429: "rate_limit_error", 504: "timeout_error", 529: "overloaded_error",
}

func messagesError(status int, message, _ string) Object {
	return Object{"type": "error", "error": Object{"type": kindOf(status, messagesKinds, "api_error"), "message": message}}
}

var messagesReasons = map[Finish]string{
	Completed: "end_turn", CallsTools: "tool_use", LimitReached: "max_tokens", StopSequence: "stop_sequence", Rejected: "refusal", Blocked: "refusal",
}

func messagesBody(_ *Call, c *Conversation, r *Reply) Object {
	content := []Object{}
	for _, p := range r.Parts {
		content = append(content, messagesBlock(p))
	}
	m := messagesEnvelope(r)
	m["content"], m["stop_reason"], m["stop_sequence"] = content, messagesReasons[r.Finish], stopped(r)
	r.setUsage(m, "usage", messagesUsage(c, r))
	if r.Finish == Rejected || r.Finish == Blocked {
		m["stop_details"] = Object{"type": "refusal", "category": "cyber", "explanation": "The prompt asked for a refusal."}
	}
	return m
}

func messagesEnvelope(r *Reply) Object {
	return Object{
		"id": "msg_" + r.ID, "type": "message", "role": "assistant", "model": r.model, "content": []any{}, "stop_reason": nil, "stop_sequence": nil,
	}
}

func stopped(r *Reply) any {
	if r.Finish == StopSequence {
		return r.Stopped
	}
	return nil
}

func messagesUsage(c *Conversation, r *Reply) Object {
	u := Object{
		"input_tokens": max(r.Usage.Input-r.Usage.CacheRead-r.Usage.CacheWrite, 1), "cache_read_input_tokens": r.Usage.CacheRead,
		"cache_creation_input_tokens": r.Usage.CacheWrite, "output_tokens": r.Usage.Output, "service_tier": "standard",
		"cache_creation": Object{"ephemeral_5m_input_tokens": r.Usage.CacheWrite, "ephemeral_1h_input_tokens": 0},
	}
	if c.Think {
		u["output_tokens_details"] = Object{"thinking_tokens": r.Usage.Thinking}
	}
	return u
}

func messagesBlock(p Part) Object {
	switch p.Kind {
	case CallPart:
		return Object{"type": "tool_use", "id": p.ID, "name": p.Name, "input": p.Input}
	case ThinkingPart:
		return Object{"type": "thinking", "thinking": p.Text, "signature": p.Signature}
	case RedactedPart:
		return Object{"type": "redacted_thinking", "data": p.Signature}
	default:
		return Object{"type": "text", "text": p.Text}
	}
}

// messagesFrames returns the events, including a ping and a comment, which readers must ignore.
func messagesFrames(_ *Call, c *Conversation, r *Reply) [][]byte {
	var list [][]byte
	send := func(name string, event Object) {
		event["type"] = name
		list = append(list, sseEvent(name, event))
	}
	start, begun := messagesEnvelope(r), messagesUsage(c, r)
	begun["output_tokens"] = 1
	delete(begun, "output_tokens_details")
	r.setUsage(start, "usage", begun)
	send("message_start", Object{"message": start})
	for i, p := range r.Parts {
		first := messagesBlock(p)
		for _, name := range []string{"text", "thinking", "signature"} {
			if first[name] != nil {
				first[name] = ""
			}
		}
		if p.Kind == CallPart {
			first["input"] = json.RawMessage("{}")
		}
		send("content_block_start", Object{"index": i, "content_block": first})
		if i == 0 {
			send("ping", Object{})
			list = append(list, []byte(": a comment\n\n"))
		}
		for _, delta := range messagesDeltas(p) {
			send("content_block_delta", Object{"index": i, "delta": delta})
		}
		send("content_block_stop", Object{"index": i})
	}
	last := Object{"delta": Object{"stop_reason": messagesReasons[r.Finish], "stop_sequence": stopped(r)}}
	r.setUsage(last, "usage", messagesUsage(c, r))
	send("message_delta", last)
	send("message_stop", Object{})
	return list
}

func messagesDeltas(p Part) []Object {
	var list []Object
	switch p.Kind {
	case CallPart:
		list = append(list, Object{"type": "input_json_delta", "partial_json": ""})
		if string(p.Input) == "{}" {
			return list
		}
		for _, piece := range pieces(string(p.Input)) {
			list = append(list, Object{"type": "input_json_delta", "partial_json": piece})
		}
	case ThinkingPart:
		for _, piece := range pieces(p.Text) {
			list = append(list, Object{"type": "thinking_delta", "thinking": piece})
		}
		list = append(list, Object{"type": "signature_delta", "signature": p.Signature})
	case TextPart:
		for _, piece := range p.pieces() {
			list = append(list, Object{"type": "text_delta", "text": piece})
		}
	default:
	}
	return list
}
