package simulator

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

func readResponses(call *Call) *Conversation {
	root := call.document()
	choice := root.get("tool_choice")
	effort := root.get("reasoning", "effort")
	c := &Conversation{
		Model: root.get("model").text(), Limit: root.get("max_output_tokens").number(), callID: "call_", System: root.get("instructions").text(),
		Must:    choice.text() == "required" || choice.get("name").exists() || choice.get("mode").text() == "required",
		Never:   choice.text() == "none",
		Only:    choice.get("name").text(),
		Single:  root.get("parallel_tool_calls").isFalse(),
		JSON:    root.get("text", "format", "type").text() == "json_object",
		Schema:  root.get("text", "format", "schema").raw(),
		Think:   effort.exists() && effort.text() != "none",
		NoThink: effort.text() == "none",
	}
	for _, t := range root.get("tools").list() {
		if kind := t.get("type").text(); kind == "function" || kind == "custom" {
			c.Tools = append(c.Tools, Tool{Name: t.get("name").text(), Schema: t.get("parameters").raw(), Custom: kind == "custom"})
		}
	}
	input := root.get("input")
	if text := input.text(); text != "" {
		c.add(false, false, Part{Kind: TextPart, Text: text})
		return c
	}
	for _, item := range input.list() {
		readItem(c, item)
	}
	return c
}

// readItem adds an item to the turn it belongs to.
func readItem(c *Conversation, item node) {
	kind := item.get("type").text()
	call := Part{ID: item.get("call_id").text(), Name: item.get("name").text()}
	switch kind {
	case "function_call":
		call.Kind, call.Input = CallPart, argumentsOf(item.get("arguments"))
		c.add(true, true, call)
	case "custom_tool_call":
		call.Kind, call.Custom, call.Input = CallPart, true, json.RawMessage(item.get("input").text())
		c.add(true, true, call)
	case "function_call_output", "custom_tool_call_output":
		call.Kind, call.Text = ResultPart, Turn{Parts: itemParts(item.get("output"))}.Text()
		c.add(false, false, call)
	case "reasoning":
		c.add(true, true, Part{Kind: ThinkingPart, Text: item.get("summary", "0", "text").text(), Signature: item.get("encrypted_content").text()})
	case "", "message":
		parts := itemParts(item.get("content"))
		switch role := item.get("role").text(); role {
		case "system", "developer":
			c.addSystem(parts)
		default:
			c.add(role == "assistant", role == "assistant", parts...)
		}
	}
}

func itemParts(content node) []Part {
	if text := content.text(); text != "" {
		return []Part{{Kind: TextPart, Text: text}}
	}
	var list []Part
	for _, p := range content.list() {
		switch p.get("type").text() {
		case "input_text", "output_text":
			list = append(list, Part{Kind: TextPart, Text: p.get("text").text()})
		case "input_image":
			list = append(list, media(p.get("image_url").text()))
		}
	}
	return list
}

// Seal encrypts reasoning for the client. Sealed reports whether Seal returned the content.
func Seal(model, text string) string {
	return base64.StdEncoding.EncodeToString([]byte(text)) + "." + Sign(model, text)
}

// Sealed reports whether the content is reasoning that Seal encrypted for the model.
func Sealed(model, content string) bool {
	encoded, _, _ := strings.Cut(content, ".")
	text, err := base64.StdEncoding.DecodeString(encoded)
	return err == nil && content == Seal(model, string(text))
}

// outputItems returns the items of a response.
func outputItems(call *Call, r *Reply) []Object {
	root := call.document()
	encrypts := strings.Contains(strings.Join(root.get("include").texts(), " "), "reasoning.encrypted_content")
	items := []Object{}
	for i, p := range r.Parts {
		id := fmt.Sprintf("_%s%d", r.ID, i)
		switch p.Kind {
		case ThinkingPart:
			text, summary := "", []Object{}
			if root.get("reasoning", "summary").exists() {
				text = p.Text
				summary = append(summary, Object{"type": "summary_text", "text": text})
			}
			item := Object{"type": "reasoning", "id": "rs" + id, "summary": summary}
			if encrypts {
				item["encrypted_content"] = Seal(r.model, text)
			}
			items = append(items, item)
		case TextPart:
			items = append(items, messageItem(id, Object{"type": "output_text", "text": p.Text, "annotations": []any{}, "logprobs": []any{}}))
		case CallPart:
			item := Object{"type": "function_call", "id": "fc" + id, "call_id": p.ID, "name": p.Name, "arguments": string(p.Input), "status": "completed"}
			if p.Custom {
				item = Object{"type": "custom_tool_call", "id": "ctc" + id, "call_id": p.ID, "name": p.Name, "input": string(p.Input), "status": "completed"}
			}
			items = append(items, item)
		default: // the format does not show other parts
		}
	}
	if r.Finish == Rejected {
		items = append(items, messageItem("_"+r.ID+"r", Object{"type": "refusal", "refusal": refusal}))
	}
	return items
}

func messageItem(id string, part Object) Object {
	return Object{"type": "message", "id": "msg" + id, "role": "assistant", "status": "completed", "content": []Object{part}}
}

func responsesBody(call *Call, c *Conversation, r *Reply) Object {
	o := responsesEnvelope(c, r, "completed")
	switch r.Finish {
	case LimitReached:
		o["status"], o["incomplete_details"] = "incomplete", Object{"reason": "max_output_tokens"}
	case Blocked:
		o["status"], o["incomplete_details"] = "incomplete", Object{"reason": "content_filter"}
	default:
	}
	o["output"] = outputItems(call, r)
	r.setUsage(o, "usage", Object{
		"input_tokens": r.Usage.Input, "input_tokens_details": Object{"cached_tokens": r.Usage.CacheRead},
		"output_tokens": r.Usage.Output, "output_tokens_details": Object{"reasoning_tokens": r.Usage.Thinking},
		"total_tokens": r.Usage.Input + r.Usage.Output,
	})
	return o
}

func responsesEnvelope(c *Conversation, r *Reply, status string) Object {
	return Object{
		"id": "resp_" + r.ID, "object": "response", "created_at": created, "status": status, "error": nil, "incomplete_details": nil,
		"model": r.model, "output": []any{}, "parallel_tool_calls": !c.Single, "store": false, "usage": nil, "metadata": Object{},
	}
}

func responsesFrames(call *Call, c *Conversation, r *Reply) [][]byte {
	var list [][]byte
	send := func(name string, event Object) {
		event["type"], event["sequence_number"] = name, len(list)
		list = append(list, sseEvent(name, event))
	}
	send("response.created", Object{"response": responsesEnvelope(c, r, "in_progress")})
	send("response.in_progress", Object{"response": responsesEnvelope(c, r, "in_progress")})
	whole := responsesBody(call, c, r)
	for index, item := range whole["output"].([]Object) {
		itemEvents(send, index, item)
	}
	send("response."+whole["status"].(string), Object{"response": whole})
	return list
}

// itemEvents sends the events of one item: its beginning without content, the pieces, and the complete item.
func itemEvents(send func(name string, event Object), index int, item Object) {
	begun := maps.Clone(item)
	at := func(more Object) Object {
		more["item_id"], more["output_index"] = item["id"], index
		return more
	}
	switch item["type"] {
	case "message":
		begun["content"], begun["status"] = []any{}, "in_progress"
		send("response.output_item.added", Object{"output_index": index, "item": begun})
		part := item["content"].([]Object)[0]
		kind, member := "output_text", "text"
		if part["type"] == "refusal" {
			kind, member = "refusal", "refusal"
		}
		send("response.content_part.added", at(Object{"content_index": 0, "part": Object{"type": part["type"], member: ""}}))
		for _, piece := range pieces(part[member].(string)) {
			send("response."+kind+".delta", at(Object{"content_index": 0, "delta": piece}))
		}
		send("response."+kind+".done", at(Object{"content_index": 0, member: part[member]}))
		send("response.content_part.done", at(Object{"content_index": 0, "part": part}))
	case "reasoning":
		begun["summary"] = []any{}
		send("response.output_item.added", Object{"output_index": index, "item": begun})
		for i, part := range item["summary"].([]Object) {
			send("response.reasoning_summary_part.added", at(Object{"summary_index": i, "part": Object{"type": "summary_text", "text": ""}}))
			for _, piece := range pieces(part["text"].(string)) {
				send("response.reasoning_summary_text.delta", at(Object{"summary_index": i, "delta": piece}))
			}
			send("response.reasoning_summary_text.done", at(Object{"summary_index": i, "text": part["text"]}))
			send("response.reasoning_summary_part.done", at(Object{"summary_index": i, "part": part}))
		}
	default:
		kind, member := "function_call_arguments", "arguments"
		if item["type"] == "custom_tool_call" {
			kind, member = "custom_tool_call_input", "input"
		}
		begun[member], begun["status"] = "", "in_progress"
		send("response.output_item.added", Object{"output_index": index, "item": begun})
		for _, piece := range pieces(item[member].(string)) {
			send("response."+kind+".delta", at(Object{"delta": piece}))
		}
		send("response."+kind+".done", at(Object{member: item[member], "name": item["name"]}))
	}
	send("response.output_item.done", Object{"output_index": index, "item": item})
}
