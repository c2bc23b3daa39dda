package chat

import (
	"bytes"
	"fmt"
	"strconv"

	"fairlead/internal/llm"
	"fairlead/internal/token"
	"fairlead/internal/wire/strict"
)

// chat reads the members of a chat request.
func (d *decoder) chat(name string) {
	r := d.req
	switch name {
	case "messages":
		d.messageList()
	case "stream":
		r.Stream = d.boolean(name)
	case "stream_options":
		d.streamOptions()
	case "n":
		if n := d.whole(name, maxChoices); n > 0 {
			r.Choices = int(n)
			d.need(n > 1, llm.ManyChoices)
		}
	case "max_tokens":
		d.maxTokens = d.whole(name, maxTokens)
	case "max_completion_tokens":
		d.maxCompletion = d.whole(name, maxTokens)
	case "tools", "functions":
		d.tools(name)
	case "web_search_options", "search_parameters", "plugins":
		r.Hosted = r.Hosted || d.kind() != 'n'
	case "parallel_tool_calls":
		d.need(d.boolean(name), llm.ParallelTools)
	case "response_format":
		d.responseFormat()
	case "modalities":
		d.modalities()
	case "reasoning_effort":
		effort, ok := d.str(name)
		d.need(ok && llm.Reasons(effort), llm.Reasoning)
	case "reasoning", "thinking":
		d.reasoning()
	case "logprobs":
		d.need(d.kind() == 't', llm.Logprobs)
		d.sampling(name)
	case "temperature", "top_p", "presence_penalty", "frequency_penalty", "top_logprobs", "logit_bias":
		d.sampling(name)
	}
}

func (d *decoder) need(yes bool, a llm.Abilities) {
	if yes {
		d.req.Needs |= a
	}
}

// sampling notes a field that some models refuse. Its value is the provider's matter.
func (d *decoder) sampling(name string) {
	if !d.null() {
		d.req.Sampling = append(d.req.Sampling, name)
		d.skip()
	}
}

func (d *decoder) streamOptions() {
	if !d.is('{', "stream_options", "an object") {
		return
	}
	for key := range d.members {
		if string(key) == "include_usage" {
			d.req.IncludeUsage = d.boolean("stream_options.include_usage")
			continue
		}
		d.only("stream_options.", key, "include_usage")
	}
}

// tools counts definitions as text, because the model reads them.
func (d *decoder) tools(name string) {
	if !d.is('[', name, "a list") {
		return
	}
	for range d.elements {
		d.req.Needs |= llm.Tools
		d.counted()
	}
}

func (d *decoder) responseFormat() {
	if !d.is('{', "response_format", "an object") {
		return
	}
	for key := range d.members {
		if string(key) != "type" {
			d.only("response_format.", key, "type", "json_schema")
			d.counted()
			continue
		}
		switch kind, _ := d.str("response_format.type"); kind {
		case "json_object":
			d.req.Needs |= llm.JSONMode
		case "json_schema":
			d.req.Needs |= llm.JSONSchema
		}
	}
}

func (d *decoder) modalities() {
	if !d.is('[', "modalities", "a list of strings") {
		return
	}
	for range d.elements {
		if d.kind() == '"' {
			d.need(string(d.decoded(d.text())) == "audio", llm.AudioOut)
		}
	}
}

// reasoning reads the objects with which providers turn reasoning on. Some of them turn it off, and some only ask how it is
// shown.
func (d *decoder) reasoning() {
	if d.kind() != '{' {
		return
	}
	on, off := false, false
	for key := range d.members {
		switch string(key) {
		case "type", "effort":
			if d.kind() == '"' {
				value := string(d.decoded(d.text()))
				on, off = on || llm.Reasons(value), off || !llm.Reasons(value)
			}
		case "enabled":
			on, off = on || d.kind() == 't', off || d.kind() == 'f'
		case "max_tokens", "budget_tokens":
			on = on || d.kind() == '0'
		}
	}
	d.need(on && !off, llm.Reasoning)
}

func (d *decoder) messageList() {
	if !d.is('[', "messages", "a list of messages") {
		return
	}
	d.messages = true
	for n := range d.elements {
		d.req.Messages++
		d.limit(strict.MessageCount(d.req.Messages))
		if d.kind() != '{' {
			d.wrong(fmt.Sprintf("messages[%d]", n), "an object")
			continue
		}
		d.message(n)
	}
	if d.req.Messages == 0 && d.err == nil {
		d.problem("messages", "messages is empty. Send at least one message.")
	}
}

func (d *decoder) message(n int) {
	var role text
	var first text
	for key := range d.members {
		switch string(key) {
		case "role":
			if d.kind() == '"' {
				role = d.text()
			}
		case "content":
			d.content(&first)
		case "tool_calls":
			d.toolCalls()
		case "function_call", "refusal", "reasoning_content", "name", "tool_call_id":
			d.counted()
		case "audio":
		case blocksMember:
			d.req.Sealed = true // and reasoning_content has the text too
		default:
			d.only(messageParam(n, ""), key, "role", "content", "tool_calls", "function_call", "tool_call_id",
				"refusal", "reasoning_content", "name", "audio")
			d.counted()
		}
	}
	if d.err != nil {
		return
	}
	if role.empty() {
		d.problem(messageParam(n, "role"), "Message %d needs a role, such as \"user\".", n+1)
	}
	switch string(d.b[role.start:role.end]) {
	case "user":
		if !first.empty() {
			d.previewText = first
		}
	case "assistant":
		d.req.Answers++
	case "system", "developer":
		if d.req.Instructed.Empty() && !first.empty() {
			d.req.Instructed = llm.RawPassage(d.b[first.start:first.end])
		}
	}
}

// toolCalls counts calls as text and notes the seals on them.
func (d *decoder) toolCalls() {
	if d.kind() != '[' {
		d.counted()
		return
	}
	d.count = true
	for range d.elements {
		if d.kind() != '{' {
			continue
		}
		for key := range d.members {
			if string(key) == extraMember {
				d.req.Sealed = true
				d.count = false
				d.skip()
				d.count = true
			}
		}
	}
	d.count = false
}

func messageParam(n int, field string) string { return "messages[" + strconv.Itoa(n) + "]." + field }

// content reads what a message says and remembers its first text.
func (d *decoder) content(first *text) {
	switch d.kind() {
	case '"':
		d.count = true
		*first = d.text()
		d.count = false
	case '[':
		for range d.elements {
			if d.kind() == '{' {
				d.part(first)
				continue
			}
			d.counted()
		}
	default:
		d.counted()
	}
}

// part reads one piece of a message. Pictures, sound and files are no text: they are counted apart or not at all.
func (d *decoder) part(first *text) {
	var has llm.Abilities
	for key := range d.members {
		switch string(key) {
		case "type":
			if d.kind() == '"' {
				has |= partNeeds(d.decoded(d.text()))
			}
		case "text":
			if d.kind() != '"' {
				d.counted()
				continue
			}
			d.count = true
			t := d.text()
			d.count = false
			if first.empty() {
				*first = t
			}
		case "image_url":
			has |= llm.Vision
			d.image(d.value())
		case "input_audio":
			has |= llm.AudioIn
			d.skip()
		case "file":
			has |= llm.Files
			d.skip()
		case "source", "image", "video_url", "cache_control":
			d.skip()
		default:
			d.only("messages.content.", key, "type", "text", "image_url", "input_audio", "file")
			d.counted()
		}
	}
	d.req.Needs |= has
	if has.Has(llm.Vision) {
		d.req.Images++
	}
}

// image notes what is known of a picture: its bytes may be there, and how closely the model is to look.
func (d *decoder) image(value []byte) {
	if d.err != nil {
		return
	}
	at := bytes.Index(value, []byte(`"data:`))
	if at < 0 {
		d.req.ImageURLs++
	}
	// Only the beginning is looked at: a picture may have megabytes, and JSON may escape the slashes of its base64.
	const enough = 64 << 10
	detail := ""
	for _, level := range []string{"low", "high", "original"} {
		if ends(value, `"`+level+`"`) {
			detail = level
		}
	}
	if at < 0 {
		d.req.AddImage(llm.Image{Detail: detail})
		return
	}
	data := value[at+1 : min(len(value), at+enough)]
	if bytes.IndexByte(data, '\\') >= 0 {
		data = bytes.ReplaceAll(data, []byte(`\/`), []byte("/"))
	}
	d.req.AddImage(token.ImageOf(string(data), detail))
}

// ends reports whether a word stands in the short part of a picture's value that is not its data: before or after it.
func ends(value []byte, word string) bool {
	const near = 128
	return bytes.Contains(value[:min(len(value), near)], []byte(word)) || bytes.Contains(value[max(0, len(value)-near):], []byte(word))
}

func partNeeds(kind []byte) llm.Abilities {
	switch string(kind) {
	case "image_url", "image", "input_image":
		return llm.Vision
	case "input_audio":
		return llm.AudioIn
	case "file":
		return llm.Files
	}
	return 0
}
