package vendormock

import "encoding/json"

// claudeReasons name how an answer ended.
var claudeReasons = map[finish]string{
	ended: "end_turn", calling: "tool_use", cutShort: "max_tokens", stopped: "stop_sequence", refused: "refusal", blocked: "refusal",
}

func (a *anthropic) whole(_ *visit, c *conversation, r reply) any {
	content := []obj{}
	for _, p := range r.parts {
		content = append(content, claudeBlock(p))
	}
	m := claudeMessage(c, r)
	m["content"], m["stop_reason"], m["usage"] = content, claudeReasons[r.finish], claudeUsage(c, r)
	m["stop_sequence"] = sequence(r)
	if r.finish == refused || r.finish == blocked {
		m["stop_details"] = obj{"type": "refusal", "category": "cyber", "explanation": "The prompt asked for a refusal."}
	}
	return m
}

func claudeMessage(c *conversation, r reply) obj {
	return obj{
		"id": "msg_" + r.id, "type": "message", "role": "assistant", "model": c.model, "content": []obj{},
		"stop_reason": nil, "stop_sequence": nil,
	}
}

func sequence(r reply) any {
	if r.finish == stopped {
		return r.stopped
	}
	return nil
}

func claudeUsage(c *conversation, r reply) obj {
	u := obj{
		"input_tokens": max(r.usage.input-r.usage.cacheRead-r.usage.cacheWrite, 1), "cache_read_input_tokens": r.usage.cacheRead,
		"cache_creation_input_tokens": r.usage.cacheWrite, "output_tokens": r.usage.output, "service_tier": "standard",
		"cache_creation": obj{"ephemeral_5m_input_tokens": r.usage.cacheWrite, "ephemeral_1h_input_tokens": 0},
	}
	if c.think {
		u["output_tokens_details"] = obj{"thinking_tokens": r.usage.thinking}
	}
	return u
}

func claudeBlock(p part) obj {
	switch p.kind {
	case called:
		return obj{"type": "tool_use", "id": p.id, "name": p.name, "input": p.input}
	case thought:
		return obj{"type": "thinking", "thinking": p.text, "signature": p.signature}
	case hidden:
		return obj{"type": "redacted_thinking", "data": p.signature}
	default:
		return obj{"type": "text", "text": p.text}
	}
}

// frames writes the events with everything that readers have to put up with: pings, comments, unknown events.
func (a *anthropic) frames(_ *visit, c *conversation, r reply) (contentType string, list [][]byte) {
	send := func(name string, event obj) {
		event["type"] = name
		list = append(list, []byte("event: "+name+"\ndata: "+string(encode(event))+"\n\n"))
	}
	start := claudeMessage(c, r)
	begun := claudeUsage(c, r)
	begun["output_tokens"] = 1
	delete(begun, "output_tokens_details")
	start["usage"] = begun
	send("message_start", obj{"message": start})
	for i, p := range r.parts {
		send("content_block_start", obj{"index": i, "content_block": claudeStart(p)})
		if i == 0 {
			send("ping", obj{})
			list = append(list, []byte(": a comment\n\n"))
		}
		for _, delta := range claudeDeltas(p) {
			send("content_block_delta", obj{"index": i, "delta": delta})
		}
		send("content_block_stop", obj{"index": i})
	}
	end := claudeUsage(c, r)
	delete(end, "service_tier")
	delete(end, "cache_creation")
	send("message_delta", obj{"delta": obj{"stop_reason": claudeReasons[r.finish], "stop_sequence": sequence(r)}, "usage": end})
	send("message_stop", obj{})
	return "text/event-stream; charset=utf-8", list
}

func claudeStart(p part) obj {
	b := claudeBlock(p)
	switch p.kind {
	case called:
		b["input"] = json.RawMessage("{}")
	case thought:
		b["thinking"], b["signature"] = "", ""
	case said:
		b["text"] = ""
	default:
	}
	return b
}

func claudeDeltas(p part) []obj {
	var list []obj
	switch p.kind {
	case called:
		list = append(list, obj{"type": "input_json_delta", "partial_json": ""})
		if string(p.input) == "{}" {
			return list
		}
		for _, piece := range pieces(string(p.input)) {
			list = append(list, obj{"type": "input_json_delta", "partial_json": piece})
		}
	case thought:
		for _, piece := range pieces(p.text) {
			list = append(list, obj{"type": "thinking_delta", "thinking": piece})
		}
		list = append(list, obj{"type": "signature_delta", "signature": p.signature})
	case said:
		for _, piece := range pieces(p.text) {
			list = append(list, obj{"type": "text_delta", "text": piece})
		}
	default:
	}
	return list
}

func (a *anthropic) broken() []byte {
	return []byte("event: error\ndata: " + `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}` + "\n\n")
}
