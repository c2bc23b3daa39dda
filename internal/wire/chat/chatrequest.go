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
	case "prediction":
		r.Predicted += d.extra()
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

// extra counts the text of a member that this gateway does not know: a provider may read it into the prompt. It returns
// the bytes of the text.
func (d *decoder) extra() int {
	before := d.ascii + d.other
	d.counted()
	n := d.ascii + d.other - before
	d.req.ExtraBytes += n
	return n
}

// tools counts definitions as text, because the model reads them. A tool of any type but function and custom is one that
// the provider runs.
func (d *decoder) tools(name string) {
	if !d.is('[', name, "a list") {
		return
	}
	for range d.elements {
		d.req.Needs |= llm.Tools
		if d.kind() != '{' {
			d.counted()
			continue
		}
		d.count = true
		for key := range d.members {
			if string(key) == "type" && d.kind() == '"' {
				kind := string(d.decoded(d.text()))
				d.req.Hosted = d.req.Hosted || kind != "function" && kind != "custom"
			}
		}
		d.count = false
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
			if !d.null() { // an earlier answer, which the provider has stored
				d.req.Unsized++
			}
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
			d.req.Instructed = llm.RawText(d.b[first.start:first.end])
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

// part reads one piece of a message. The tokens of images are counted by their size. The tokens of all other media can
// only be counted by the provider, and so can those of a part whose type is unknown.
func (d *decoder) part(first *text) {
	var has llm.Abilities
	var plain, unsized, unknown bool
	for key := range d.members {
		switch string(key) {
		case "type":
			if d.kind() == '"' {
				kind := d.decoded(d.text())
				has |= partNeeds(kind)
				plain = textual(kind)
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
		case "input_audio", "file", "source", "image", "video_url", "audio_url", "input_video", "video", "audio", "file_url", "document":
			unsized = true
			if string(key) == "input_audio" || string(key) == "file" {
				has |= partNeeds(key)
			}
			d.req.AttachedBytes += len(d.value())
		case "cache_control":
			d.skip()
		default:
			d.only("messages.content.", key, "type", "text", "image_url", "input_audio", "file")
			unknown = true
			unsized = d.unknown() || unsized
		}
	}
	d.req.Needs |= has
	if has.Has(llm.Vision) {
		d.req.Images++
	}
	if unsized || unknown && !plain {
		d.req.Unsized++
	}
}

// unknown reads a member of a part that this gateway does not know. It reports whether the member holds inline media; all
// other strings count as text.
func (d *decoder) unknown() (media bool) {
	switch d.kind() {
	case '{':
		for range d.members {
			media = d.unknown() || media
		}
	case '[':
		for range d.elements {
			media = d.unknown() || media
		}
	case '"':
		if bytes.HasPrefix(d.b[d.i:], []byte(`"data:`)) {
			d.req.AttachedBytes += len(d.value())
			return true
		}
		d.counted()
	default:
		d.skip()
	}
	return media
}

// textual reports whether a part of this type holds text and nothing else.
func textual(kind []byte) bool {
	switch string(kind) {
	case "text", "refusal", "thinking", "reasoning", "input_text", "output_text":
		return true
	}
	return false
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
	inline, _, _ := bytes.Cut(value[at+1:], []byte(`"`))
	if !bytes.HasPrefix(inline, []byte("data:image")) { // some providers accept other media here
		d.req.Unsized++
		d.req.AttachedBytes += len(inline)
		return
	}
	d.req.ImageBytes += len(inline)
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
