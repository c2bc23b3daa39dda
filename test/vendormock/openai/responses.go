package openai

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"fairlead.dev/test/vendormock"
)

// responsesRules lists rules that the types of the Responses API cannot express. A rule returns the vendor's error
// message, or "".
var responsesRules = []func(q request) string{
	responsesBounds, responsesReasoning, responsesVerbosity, responsesItems, responsesPairs, responsesCalls, responsesTools, responsesChoice, responsesFormat,
}

// responsesLimits lists limits of numbers by path.
var responsesLimits = []struct {
	path     string
	min, max float64
}{
	{"temperature", 0, 2}, {"top_p", 0, 1}, {"top_logprobs", 0, 20}, {"max_output_tokens", 16, 1 << 31}, {"max_tool_calls", 1, 1 << 31},
}

func responsesBounds(q request) string {
	for _, l := range responsesLimits {
		if v := q.root.Get(l.path); v.Type == gjson.Number && (v.Float() < l.min || v.Float() > l.max) {
			return fmt.Sprintf("Invalid '%s': expected a value from %v to %v, but got %s instead.", l.path, l.min, l.max, v.Raw)
		}
	}
	switch {
	case !q.root.Get("input").Exists() && !q.root.Get("previous_response_id").Exists():
		return "Missing required parameter: 'input'."
	case q.root.Get("input").IsArray() && len(q.root.Get("input").Array()) == 0:
		return "Invalid 'input': expected at least one item."
	case q.root.Get("stream_options").IsObject() && !q.root.Get("stream").Bool():
		return "The 'stream_options' parameter is only allowed when 'stream' is enabled."
	case len(q.root.Get("safety_identifier").String()) > 128:
		return "Invalid 'safety_identifier': string too long. Expected a string with maximum length 128."
	}
	return ""
}

func responsesReasoning(q request) string {
	effort := q.root.Get("reasoning.effort").String()
	includes := q.root.Get("include").String()
	for _, name := range []string{"temperature", "top_p", "top_logprobs"} {
		value := q.root.Get(name)
		standard := value.Type == gjson.Null || name != "top_logprobs" && value.Float() == 1
		if !q.traits.samples(effort) && !standard {
			return fmt.Sprintf("Unsupported parameter: '%s' is not supported with this model.", name)
		}
	}
	switch {
	case !q.traits.samples(effort) && strings.Contains(includes, "message.output_text.logprobs"):
		return "Unsupported parameter: logprobs are not supported with reasoning models."
	case !q.traits.reasons() && q.root.Get("reasoning").IsObject() && len(q.root.Get("reasoning").Map()) > 0:
		return "Unsupported parameter: 'reasoning.effort' is not supported with this model."
	case !q.traits.reasons() && strings.Contains(includes, "reasoning.encrypted_content"):
		return "Encrypted content is not supported with this model."
	case effort != "" && !slices.Contains(q.traits.efforts, effort):
		return q.effortMessage("reasoning.effort", effort)
	}
	return ""
}

func responsesVerbosity(q request) string { return q.verbosity("text.verbosity") }

// responsesItems checks the content of messages. Each role allows different parts.
func responsesItems(q request) string {
	for i, item := range q.root.Get("input").Array() {
		at := fmt.Sprintf("input[%d]", i)
		if item.Get("role").Exists() {
			wrote := item.Get("role").String() == "assistant"
			for j, part := range item.Get("content").Array() {
				kind := part.Get("type").String()
				if part.IsObject() && wrote != (kind == "output_text" || kind == "refusal") {
					return fmt.Sprintf("Invalid value: '%s' at '%s.content[%d]'.", kind, at, j)
				}
			}
		}
		for _, list := range []string{"content", "output"} {
			for j, part := range item.Get(list).Array() {
				if message := mediaMessage(part); part.IsObject() && message != "" {
					return fmt.Sprintf("Invalid '%s.%s[%d]': %s", at, list, j, message)
				}
			}
		}
		if item.Get("type").String() == "reasoning" {
			if sealed := item.Get("encrypted_content"); sealed.Type == gjson.String && !sealedBy(q.c.Model, sealed.String()) {
				return "The encrypted content could not be verified. Reason: Encrypted content could not be decrypted or parsed."
			}
			if !q.traits.reasons() {
				return "Reasoning input items can only be provided to a reasoning or computer use model."
			}
		}
	}
	return ""
}

var callItem = regexp.MustCompile(`^(?:fc|ctc)_([0-9a-f]{24})\d+$`)

// responsesPairs checks that the client sends reasoning together with the calls that followed it, if it sends item IDs.
func responsesPairs(q request) string {
	items := q.root.Get("input").Array()
	seen := map[string]bool{}
	for i, item := range items {
		kind, id := item.Get("type").String(), item.Get("id").String()
		if kind == "reasoning" {
			seen[id] = true
			switch next := i + 1; {
			case id != "" && item.Get("encrypted_content").String() == "" && q.root.Get("store").Raw == "false":
				return fmt.Sprintf("Item with id '%s' not found. Items are not persisted when `store` is set to false. "+
					"Try again with `store` set to true, or remove this item from your input.", id)
			case next == len(items) || strings.HasSuffix(items[next].Get("type").String(), "_output") || items[next].Get("role").String() == "user":
				return fmt.Sprintf("Item '%s' of type 'reasoning' was provided without its required following item.", id)
			}
		}
		if found := callItem.FindStringSubmatch(id); found != nil && q.server.Signature(item.Get("call_id").String()) != "" && !seen["rs_"+found[1]+"0"] {
			return fmt.Sprintf("Item '%s' of type '%s' was provided without its required 'reasoning' item: 'rs_%s0'.", id, kind, found[1])
		}
	}
	return ""
}

var imageURL = regexp.MustCompile(`^(https?://.+|data:image/(png|jpeg|gif|webp);base64,.+)$`)

func mediaMessage(part gjson.Result) string {
	switch part.Get("type").String() {
	case "input_image":
		address := part.Get("image_url").String()
		if part.Get("file_id").String() == "" && !imageURL.MatchString(address) {
			return "expected a valid image URL."
		}
		if rest, found := strings.CutPrefix(address, "data:"); found {
			mediaType, data, _ := strings.Cut(rest, ";base64,")
			if _, err := vendormock.Picture(mediaType, data); err != nil {
				return err.Error()
			}
		}
	case "input_file":
		sources := 0
		for _, name := range []string{"file_data", "file_id", "file_url"} {
			if part.Get(name).String() != "" {
				sources++
			}
		}
		if sources != 1 {
			return "expected exactly one of file_data, file_id and file_url."
		}
		if part.Get("file_data").Exists() && part.Get("filename").String() == "" {
			return "filename is required with file_data."
		}
	}
	return ""
}

var callID = regexp.MustCompile(`^.{1,64}$`)

// responsesCalls checks that calls and their outputs match.
func responsesCalls(q request) string {
	open := map[string]string{}
	for i, item := range q.root.Get("input").Array() {
		kind, id := item.Get("type").String(), item.Get("call_id").String()
		if (kind == "function_call" || kind == "custom_tool_call" || strings.HasSuffix(kind, "_output")) && !callID.MatchString(id) {
			return fmt.Sprintf("Invalid 'input[%d].call_id': string too long. Expected a string with maximum length 64.", i)
		}
		switch kind {
		case "function_call":
			if !toolName.MatchString(item.Get("name").String()) {
				return fmt.Sprintf("Invalid 'input[%d].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", i)
			}
			open[id] = "function_call_output"
		case "custom_tool_call":
			open[id] = "custom_tool_call_output"
		case "function_call_output", "custom_tool_call_output":
			if open[id] != kind && !q.root.Get("previous_response_id").Exists() {
				return "No tool call found for " + strings.ReplaceAll(kind, "_", " ") + " with call_id " + id + "."
			}
			delete(open, id)
		}
	}
	for id, kind := range open {
		return "No tool output found for " + strings.ReplaceAll(strings.TrimSuffix(kind, "_output"), "_", " ") + " " + id + "."
	}
	return ""
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func responsesTools(q request) string {
	names := map[string]bool{}
	for i, t := range q.root.Get("tools").Array() {
		kind, name := t.Get("type").String(), t.Get("name").String()
		if kind != "function" && kind != "custom" {
			continue
		}
		schema := t.Get("parameters")
		switch {
		case !toolName.MatchString(name):
			return fmt.Sprintf("Invalid 'tools[%d].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", i)
		case names[name]:
			return "Duplicate tool names: " + name
		case kind == "custom" && t.Get("format.type").String() == "grammar" && t.Get("format.definition").String() == "":
			return fmt.Sprintf("Invalid 'tools[%d].format.definition': the grammar is empty.", i)
		case kind == "function" && schema.IsObject() && schema.Get("type").String() != "object":
			return fmt.Sprintf("Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"'.", name)
		case kind == "function" && t.Get("strict").Bool() && vendormock.OpenObject(schema):
			return fmt.Sprintf("Invalid schema for function '%s': 'additionalProperties' is required to be supplied and to be false.", name)
		}
		names[name] = true
	}
	return ""
}

func responsesChoice(q request) string {
	choice := q.root.Get("tool_choice")
	tools := q.root.Get("tools").Array()
	offered := func(name string) bool {
		return slices.ContainsFunc(tools, func(t gjson.Result) bool { return t.Get("name").String() == name })
	}
	switch {
	case len(tools) == 0 && choice.Exists() && choice.String() != "auto" && choice.String() != "none":
		return "Tool choices other than 'auto' require 'tools'."
	case choice.Get("name").Exists() && !offered(choice.Get("name").String()):
		return "Tool choice '" + choice.Get("name").String() + "' not found in 'tools' parameter."
	}
	for _, t := range choice.Get("tools").Array() {
		if name := t.Get("name"); name.Exists() && !offered(name.String()) {
			return "Tool choice '" + name.String() + "' not found in 'tools' parameter."
		}
	}
	return ""
}

func responsesFormat(q request) string {
	format := q.root.Get("text.format")
	switch format.Get("type").String() {
	case "json_object":
		if !strings.Contains(strings.ToLower(q.root.Get("input").Raw+q.root.Get("instructions").Raw), "json") {
			return "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'."
		}
	case "json_schema":
		switch {
		case !toolName.MatchString(format.Get("name").String()):
			return "Invalid 'text.format.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
		case format.Get("strict").Bool() && vendormock.OpenObject(format.Get("schema")):
			return "Invalid schema for response_format: 'additionalProperties' is required to be supplied and to be false."
		}
	}
	return ""
}

// sealed encodes reasoning so that the mock can recognise its own reasoning.
func sealed(model, text string) string {
	return base64.StdEncoding.EncodeToString([]byte(text)) + "." + vendormock.Sign(model, text)
}

func sealedBy(model, content string) bool {
	encoded, signature, _ := strings.Cut(content, ".")
	text, err := base64.StdEncoding.DecodeString(encoded)
	return err == nil && signature == vendormock.Sign(model, string(text))
}

// readResponses reads a request to the Responses API.
func readResponses(v *vendormock.Request) *vendormock.Conversation {
	root := gjson.ParseBytes(v.Call.Body)
	choice := root.Get("tool_choice")
	traits := findFamily(v.Model)
	c := &vendormock.Conversation{
		Model: v.Model, Stream: v.Stream, Limit: int(root.Get("max_output_tokens").Int()), CallID: "call_",
		System: root.Get("instructions").String(),
		Must:   choice.String() == "required" || choice.Get("name").Exists() || choice.Get("mode").String() == "required",
		Never:  choice.String() == "none",
		Only:   choice.Get("name").String(),
		Single: root.Get("parallel_tool_calls").Raw == "false",
		JSON:   root.Get("text.format.type").String() == "json_object",
		Think:  traits.reasons() && root.Get("reasoning.effort").String() != "none",
		Omit:   !root.Get("reasoning.summary").Exists(),
	}
	if schema := root.Get("text.format.schema"); schema.Exists() {
		c.Schema = json.RawMessage(schema.Raw)
	}
	for _, t := range root.Get("tools").Array() {
		if kind := t.Get("type").String(); kind == "function" || kind == "custom" {
			c.Tools = append(c.Tools, vendormock.Tool{Name: t.Get("name").String(), Schema: json.RawMessage(t.Get("parameters").Raw), Custom: kind == "custom"})
		}
	}
	input := root.Get("input")
	if input.Type == gjson.String {
		c.Turns = []vendormock.Turn{{Parts: []vendormock.Part{{Kind: vendormock.TextPart, Text: input.String()}}}}
		return c
	}
	for _, item := range input.Array() {
		readItem(c, item)
	}
	return c
}

// readItem adds an item to the turn it belongs to.
func readItem(c *vendormock.Conversation, item gjson.Result) {
	parts, assistant := []vendormock.Part{}, false
	switch item.Get("type").String() {
	case "function_call":
		assistant = true
		parts = append(parts, vendormock.Part{
			Kind: vendormock.CallPart, ID: item.Get("call_id").String(), Name: item.Get("name").String(),
			Input: json.RawMessage(cmp.Or(item.Get("arguments").String(), "{}")),
		})
	case "custom_tool_call":
		assistant = true
		parts = append(parts, vendormock.Part{
			Kind: vendormock.CallPart, ID: item.Get("call_id").String(), Name: item.Get("name").String(), Custom: true,
			Input: json.RawMessage(item.Get("input").String()),
		})
	case "function_call_output", "custom_tool_call_output":
		text := vendormock.Turn{Parts: itemParts(item.Get("output"))}.Text()
		parts = append(parts, vendormock.Part{Kind: vendormock.ResultPart, ID: item.Get("call_id").String(), Text: text})
	case "reasoning":
		assistant = true
		parts = append(parts, vendormock.Part{Kind: vendormock.ThinkingPart, Text: item.Get("summary.0.text").String(), Signature: item.Get("encrypted_content").String()})
	case "", "message":
		parts = itemParts(item.Get("content"))
		switch item.Get("role").String() {
		case "system", "developer":
			c.System = strings.TrimSpace(c.System + " " + vendormock.Turn{Parts: parts}.Text())
			return
		case "assistant":
			assistant = true
		}
	default:
		return
	}
	if n := len(c.Turns); n > 0 && assistant && c.Turns[n-1].Assistant {
		c.Turns[n-1].Parts = append(c.Turns[n-1].Parts, parts...)
		return
	}
	c.Turns = append(c.Turns, vendormock.Turn{Assistant: assistant, Parts: parts})
}

func itemParts(content gjson.Result) []vendormock.Part {
	if content.Type == gjson.String {
		return []vendormock.Part{{Kind: vendormock.TextPart, Text: content.String()}}
	}
	var list []vendormock.Part
	for _, p := range content.Array() {
		switch p.Get("type").String() {
		case "input_text", "output_text":
			list = append(list, vendormock.Part{Kind: vendormock.TextPart, Text: p.Get("text").String()})
		case "input_image":
			address := p.Get("image_url").String()
			m := vendormock.Part{Kind: vendormock.MediaPart, MediaType: address}
			if rest, found := strings.CutPrefix(address, "data:"); found {
				mediaType, data, _ := strings.Cut(rest, ";base64,")
				if decoded, err := vendormock.Picture(mediaType, data); err == nil {
					m = decoded
				}
			}
			list = append(list, m)
		}
	}
	return list
}

// outputItems returns the items of a response.
func outputItems(v *vendormock.Request, c *vendormock.Conversation, r vendormock.Reply) []vendormock.Object {
	encrypts := strings.Contains(gjson.GetBytes(v.Call.Body, "include").String(), "reasoning.encrypted_content")
	items := []vendormock.Object{}
	for i, p := range r.Parts {
		id := fmt.Sprintf("_%s%d", r.ID, i)
		switch p.Kind {
		case vendormock.ThinkingPart:
			summary := []vendormock.Object{}
			if p.Text != "" {
				summary = append(summary, vendormock.Object{"type": "summary_text", "text": p.Text})
			}
			item := vendormock.Object{"type": "reasoning", "id": "rs" + id, "summary": summary}
			if encrypts {
				item["encrypted_content"] = sealed(c.Model, p.Text)
			}
			items = append(items, item)
		case vendormock.TextPart:
			items = append(items, messageItem(id, vendormock.Object{"type": "output_text", "text": p.Text, "annotations": []vendormock.Object{}, "logprobs": []vendormock.Object{}}))
		case vendormock.CallPart:
			item := vendormock.Object{"type": "function_call", "id": "fc" + id, "call_id": p.ID, "name": p.Name, "arguments": string(p.Input), "status": "completed"}
			if p.Custom {
				item = vendormock.Object{"type": "custom_tool_call", "id": "ctc" + id, "call_id": p.ID, "name": p.Name, "input": string(p.Input), "status": "completed"}
			}
			items = append(items, item)
		default: // the API does not show other parts
		}
	}
	if r.Finish == vendormock.Rejected {
		items = append(items, messageItem("_"+r.ID+"r", vendormock.Object{"type": "refusal", "refusal": refusalText}))
	}
	return items
}

func messageItem(id string, part vendormock.Object) vendormock.Object {
	return vendormock.Object{"type": "message", "id": "msg" + id, "role": "assistant", "status": "completed", "content": []vendormock.Object{part}}
}

// responseObject returns a complete response.
func responseObject(v *vendormock.Request, c *vendormock.Conversation, r vendormock.Reply) vendormock.Object {
	o := responseEnvelope(c, r, "completed")
	switch r.Finish {
	case vendormock.LimitReached:
		o["status"], o["incomplete_details"] = "incomplete", vendormock.Object{"reason": "max_output_tokens"}
	case vendormock.Blocked:
		o["status"], o["incomplete_details"] = "incomplete", vendormock.Object{"reason": "content_filter"}
	default:
	}
	o["output"] = outputItems(v, c, r)
	o["usage"] = vendormock.Object{
		"input_tokens": r.Usage.Input, "input_tokens_details": vendormock.Object{"cached_tokens": r.Usage.CacheRead},
		"output_tokens": r.Usage.Output, "output_tokens_details": vendormock.Object{"reasoning_tokens": r.Usage.Thinking},
		"total_tokens": r.Usage.Input + r.Usage.Output,
	}
	return o
}

func responseEnvelope(c *vendormock.Conversation, r vendormock.Reply, status string) vendormock.Object {
	return vendormock.Object{
		"id": "resp_" + r.ID, "object": "response", "created_at": 1_790_000_000, "status": status, "error": nil, "incomplete_details": nil,
		"model": c.Model, "output": []vendormock.Object{}, "parallel_tool_calls": !c.Single, "store": false, "usage": nil, "metadata": vendormock.Object{},
	}
}

// responseEvents returns the events of a streamed response.
func responseEvents(v *vendormock.Request, c *vendormock.Conversation, r vendormock.Reply) (contentType string, list [][]byte) {
	send := func(name string, event vendormock.Object) {
		event["type"], event["sequence_number"] = name, len(list)
		list = append(list, []byte("event: "+name+"\ndata: "+string(vendormock.Encode(event))+"\n\n"))
	}
	send("response.created", vendormock.Object{"response": responseEnvelope(c, r, "in_progress")})
	send("response.in_progress", vendormock.Object{"response": responseEnvelope(c, r, "in_progress")})
	whole := responseObject(v, c, r)
	for index, item := range whole["output"].([]vendormock.Object) {
		itemEvents(send, index, item)
	}
	send("response."+whole["status"].(string), vendormock.Object{"response": whole})
	return "text/event-stream; charset=utf-8", list
}

// itemEvents sends the events of one item: its beginning without content, the pieces, and the complete item.
func itemEvents(send func(name string, event vendormock.Object), index int, item vendormock.Object) {
	begun := maps.Clone(item)
	at := func(more vendormock.Object) vendormock.Object {
		more["item_id"], more["output_index"] = item["id"], index
		return more
	}
	switch item["type"] {
	case "message":
		begun["content"], begun["status"] = []vendormock.Object{}, "in_progress"
		send("response.output_item.added", vendormock.Object{"output_index": index, "item": begun})
		part := item["content"].([]vendormock.Object)[0]
		kind, member := "output_text", "text"
		if part["type"] == "refusal" {
			kind, member = "refusal", "refusal"
		}
		empty := vendormock.Object{"type": part["type"], member: ""}
		send("response.content_part.added", at(vendormock.Object{"content_index": 0, "part": empty}))
		for _, piece := range vendormock.Pieces(part[member].(string)) {
			send("response."+kind+".delta", at(vendormock.Object{"content_index": 0, "delta": piece}))
		}
		send("response."+kind+".done", at(vendormock.Object{"content_index": 0, member: part[member]}))
		send("response.content_part.done", at(vendormock.Object{"content_index": 0, "part": part}))
	case "reasoning":
		begun["summary"] = []vendormock.Object{}
		send("response.output_item.added", vendormock.Object{"output_index": index, "item": begun})
		for i, part := range item["summary"].([]vendormock.Object) {
			send("response.reasoning_summary_part.added", at(vendormock.Object{"summary_index": i, "part": vendormock.Object{"type": "summary_text", "text": ""}}))
			for _, piece := range vendormock.Pieces(part["text"].(string)) {
				send("response.reasoning_summary_text.delta", at(vendormock.Object{"summary_index": i, "delta": piece}))
			}
			send("response.reasoning_summary_text.done", at(vendormock.Object{"summary_index": i, "text": part["text"]}))
			send("response.reasoning_summary_part.done", at(vendormock.Object{"summary_index": i, "part": part}))
		}
	default:
		kind, member := "function_call_arguments", "arguments"
		if item["type"] == "custom_tool_call" {
			kind, member = "custom_tool_call_input", "input"
		}
		begun[member], begun["status"] = "", "in_progress"
		send("response.output_item.added", vendormock.Object{"output_index": index, "item": begun})
		for _, piece := range vendormock.Pieces(item[member].(string)) {
			send("response."+kind+".delta", at(vendormock.Object{"delta": piece}))
		}
		send("response."+kind+".done", at(vendormock.Object{member: item[member], "name": item["name"]}))
	}
	send("response.output_item.done", vendormock.Object{"output_index": index, "item": item})
}
