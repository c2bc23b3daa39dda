package anthropic

import (
	"encoding/json"

	"fairlead.dev/test/vendormock"
)

// claudeReasons maps finish reasons to stop reasons.
var claudeReasons = map[vendormock.Finish]string{
	vendormock.Completed: "end_turn", vendormock.CallsTools: "tool_use", vendormock.LimitReached: "max_tokens", vendormock.StopSequence: "stop_sequence", vendormock.Rejected: "refusal", vendormock.Blocked: "refusal",
}

func (a *anthropic) Whole(_ *vendormock.Request, c *vendormock.Conversation, r vendormock.Reply) any {
	content := []vendormock.Object{}
	for _, p := range r.Parts {
		content = append(content, claudeBlock(p))
	}
	m := claudeMessage(c, r)
	m["content"], m["stop_reason"], m["usage"] = content, claudeReasons[r.Finish], claudeUsage(c, r)
	m["stop_sequence"] = sequence(r)
	if r.Finish == vendormock.Rejected || r.Finish == vendormock.Blocked {
		m["stop_details"] = vendormock.Object{"type": "refusal", "category": "cyber", "explanation": "The prompt asked for a refusal."}
	}
	return m
}

func claudeMessage(c *vendormock.Conversation, r vendormock.Reply) vendormock.Object {
	return vendormock.Object{
		"id": "msg_" + r.ID, "type": "message", "role": "assistant", "model": c.Model, "content": []vendormock.Object{},
		"stop_reason": nil, "stop_sequence": nil,
	}
}

func sequence(r vendormock.Reply) any {
	if r.Finish == vendormock.StopSequence {
		return r.Stopped
	}
	return nil
}

func claudeUsage(c *vendormock.Conversation, r vendormock.Reply) vendormock.Object {
	u := vendormock.Object{
		"input_tokens": max(r.Usage.Input-r.Usage.CacheRead-r.Usage.CacheWrite, 1), "cache_read_input_tokens": r.Usage.CacheRead,
		"cache_creation_input_tokens": r.Usage.CacheWrite, "output_tokens": r.Usage.Output, "service_tier": "standard",
		"cache_creation": vendormock.Object{"ephemeral_5m_input_tokens": r.Usage.CacheWrite, "ephemeral_1h_input_tokens": 0},
	}
	if c.Think {
		u["output_tokens_details"] = vendormock.Object{"thinking_tokens": r.Usage.Thinking}
	}
	return u
}

func claudeBlock(p vendormock.Part) vendormock.Object {
	switch p.Kind {
	case vendormock.CallPart:
		return vendormock.Object{"type": "tool_use", "id": p.ID, "name": p.Name, "input": p.Input}
	case vendormock.ThinkingPart:
		return vendormock.Object{"type": "thinking", "thinking": p.Text, "signature": p.Signature}
	case vendormock.RedactedPart:
		return vendormock.Object{"type": "redacted_thinking", "data": p.Signature}
	default:
		return vendormock.Object{"type": "text", "text": p.Text}
	}
}

// Frames returns the events, including everything that readers must tolerate: pings, comments, unknown events.
func (a *anthropic) Frames(_ *vendormock.Request, c *vendormock.Conversation, r vendormock.Reply) (contentType string, list [][]byte) {
	send := func(name string, event vendormock.Object) {
		event["type"] = name
		list = append(list, []byte("event: "+name+"\ndata: "+string(vendormock.Encode(event))+"\n\n"))
	}
	start := claudeMessage(c, r)
	begun := claudeUsage(c, r)
	begun["output_tokens"] = 1
	delete(begun, "output_tokens_details")
	start["usage"] = begun
	send("message_start", vendormock.Object{"message": start})
	for i, p := range r.Parts {
		send("content_block_start", vendormock.Object{"index": i, "content_block": claudeStart(p)})
		if i == 0 {
			send("ping", vendormock.Object{})
			list = append(list, []byte(": a comment\n\n"))
		}
		for _, delta := range claudeDeltas(p) {
			send("content_block_delta", vendormock.Object{"index": i, "delta": delta})
		}
		send("content_block_stop", vendormock.Object{"index": i})
	}
	end := claudeUsage(c, r)
	delete(end, "service_tier")
	delete(end, "cache_creation")
	send("message_delta", vendormock.Object{"delta": vendormock.Object{"stop_reason": claudeReasons[r.Finish], "stop_sequence": sequence(r)}, "usage": end})
	send("message_stop", vendormock.Object{})
	return "text/event-stream; charset=utf-8", list
}

func claudeStart(p vendormock.Part) vendormock.Object {
	b := claudeBlock(p)
	switch p.Kind {
	case vendormock.CallPart:
		b["input"] = json.RawMessage("{}")
	case vendormock.ThinkingPart:
		b["thinking"], b["signature"] = "", ""
	case vendormock.TextPart:
		b["text"] = ""
	default:
	}
	return b
}

func claudeDeltas(p vendormock.Part) []vendormock.Object {
	var list []vendormock.Object
	switch p.Kind {
	case vendormock.CallPart:
		list = append(list, vendormock.Object{"type": "input_json_delta", "partial_json": ""})
		if string(p.Input) == "{}" {
			return list
		}
		for _, piece := range vendormock.Pieces(string(p.Input)) {
			list = append(list, vendormock.Object{"type": "input_json_delta", "partial_json": piece})
		}
	case vendormock.ThinkingPart:
		for _, piece := range vendormock.Pieces(p.Text) {
			list = append(list, vendormock.Object{"type": "thinking_delta", "thinking": piece})
		}
		list = append(list, vendormock.Object{"type": "signature_delta", "signature": p.Signature})
	case vendormock.TextPart:
		for _, piece := range vendormock.Pieces(p.Text) {
			list = append(list, vendormock.Object{"type": "text_delta", "text": piece})
		}
	default:
	}
	return list
}

func (a *anthropic) Broken(*vendormock.Request) []byte {
	return []byte("event: error\ndata: " + `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}` + "\n\n")
}
