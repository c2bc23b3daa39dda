package openai

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/strict"
	"fairlead.dev/internal/wire/validate"
	"fairlead.dev/internal/wire/websearch"
)

// sampling records the name of a sampling field, because some models reject such fields. Only the provider validates the value.
func (d *decoder) sampling(name string) {
	if !d.SkipNull() {
		d.req.Sampling = append(d.req.Sampling, name)
		d.Skip()
	}
}

// countExtra adds the text of an unknown member to the text counts, because a provider may add this text to the prompt. It returns the
// length of the text in bytes.
func (d *decoder) countExtra() int {
	before := d.ASCII + d.NonASCII
	d.SkipCounted()
	n := d.ASCII + d.NonASCII - before
	d.req.ExtraBytes += n
	return n
}

// tools decodes tool definitions and counts them as text, because they are part of the prompt. Tools of any type other than function and
// custom run at the provider.
func (d *decoder) tools(name string) {
	if !d.Is('[', name, "a list") {
		return
	}
	for range d.Elements {
		d.req.Needs |= llm.Tools
		if d.Kind() != '{' {
			d.SkipCounted()
			continue
		}
		d.Count = true
		for key := range d.Members {
			switch kind := d.Kind(); {
			case string(key) == "type" && kind == '"':
				name := string(d.Unquote(d.ReadString()))
				d.req.Hosted = d.req.Hosted || name != "function" && name != "custom"
				d.custom = d.custom || name == "custom"
				d.need(websearch.Is(name), llm.WebSearch)
			case string(key) == "max_uses" && kind == '0':
				n, _ := rawjson.ParseInteger(d.Number())
				d.req.MaxSearches = max(d.req.MaxSearches, n)
			case string(key) != "function" && string(key) != "custom" && (kind == '{' || kind == '['):
				for id := range validate.FileIDs(string(key), rawjson.Parse(d.Raw())) {
					d.req.AddStoredFile(id.String(), "tools")
				}
			}
		}
		d.Count = false
	}
}

func (d *decoder) responseFormat() {
	if !d.Is('{', "response_format", "an object") {
		return
	}
	for key := range d.Members {
		if string(key) != "type" {
			d.RejectLookAlikes("response_format.", string(key), "type", "json_schema")
			d.SkipCounted()
			continue
		}
		switch kind, _ := d.ReadText("response_format.type"); kind {
		case "json_object":
			d.req.Needs |= llm.JSONMode
		case "json_schema":
			d.req.Needs |= llm.JSONSchema
		}
	}
}

// reasoning decodes an object that controls reasoning. Its settings can enable or disable reasoning; some only select how the reasoning is
// returned.
func (d *decoder) reasoning() {
	if d.Kind() != '{' {
		return
	}
	on, off := false, false
	for key := range d.Members {
		switch string(key) {
		case "type", "effort":
			if d.Kind() == '"' {
				value := string(d.Unquote(d.ReadString()))
				on, off = on || llm.Reasons(value), off || !llm.Reasons(value)
			}
		case "enabled":
			on, off = on || d.Kind() == 't', off || d.Kind() == 'f'
		case "max_tokens", "budget_tokens":
			on = on || d.Kind() == '0'
		}
	}
	d.need(on && !off, llm.Reasoning)
	if on || off {
		d.req.Effort = cmp.Or(d.req.Effort, llm.CustomEffort)
	}
}

func (d *decoder) messageList() {
	if !d.Is('[', "messages", "a list of messages") {
		return
	}
	d.messages = true
	for n := range d.Elements {
		d.message(n)
	}
	if d.req.Messages == 0 && d.Err == nil {
		d.Problem("messages", "messages is empty. Send at least one message.")
	}
}

// message decodes the next value, which is the message with index n.
func (d *decoder) message(n int) {
	d.req.Messages++
	d.Limit(strict.CheckMessages(d.req.Messages))
	if d.Kind() != '{' {
		d.SkipWrongType(fmt.Sprintf("messages[%d]", n), "an object")
		return
	}
	var role rawjson.String
	var first rawjson.String
	for key := range d.Members {
		switch string(key) {
		case "role":
			if d.Kind() == '"' {
				role = d.ReadString()
			}
		case "content":
			d.content(&first)
		case "tool_calls":
			d.toolCalls()
		case "function_call", "refusal", "reasoning_content", "name", "tool_call_id":
			d.SkipCounted()
		case "audio":
			if !d.SkipNull() { // the ID of an earlier audio response, which the provider has stored
				d.req.Unsized++
			}
		case blocksMember:
			d.req.HasSignatures = true // the text is not counted, because reasoning_content has the same text
		default:
			d.RejectLookAlikes(messageParam(n, ""), string(key), "role", "content", "tool_calls", "function_call", "tool_call_id",
				"refusal", "reasoning_content", "name", "audio")
			d.SkipCounted()
		}
	}
	if d.Err != nil {
		return
	}
	if role.Empty() {
		d.Problem(messageParam(n, "role"), "Message %d needs a role, such as \"user\".", n+1)
	}
	switch string(d.Data[role.Start:role.End]) {
	case "user":
		if !first.Empty() {
			d.previewText = first
		}
	case "assistant":
		d.req.Answers++
	case "system", "developer":
		if d.instructed.Empty() {
			d.instructed = first
		}
	}
}

// toolCalls adds the text of tool calls to the text counts and records whether the calls have signatures.
func (d *decoder) toolCalls() {
	if d.Kind() != '[' {
		d.SkipCounted()
		return
	}
	d.Count = true
	for range d.Elements {
		if d.Kind() != '{' {
			continue
		}
		for key := range d.Members {
			d.custom = d.custom || string(key) == "custom"
			if string(key) == extraMember {
				d.req.HasSignatures = true
				d.Count = false
				d.Skip()
				d.Count = true
			}
		}
	}
	d.Count = false
}

func messageParam(n int, field string) string { return "messages[" + strconv.Itoa(n) + "]." + field }

// content decodes the content of a message and stores its first text in first.
func (d *decoder) content(first *rawjson.String) {
	switch d.Kind() {
	case '"':
		d.Count = true
		*first = d.ReadString()
		d.Count = false
	case '[':
		for range d.Elements {
			if d.Kind() == '{' {
				d.part(first)
				continue
			}
			d.SkipCounted()
		}
	default:
		d.SkipCounted()
	}
}

// part decodes one part of a message. The tokens of an image are estimated from its size. For other media and parts of unknown type, whose
// tokens only the provider can count, it records the number of parts and the length of the media.
func (d *decoder) part(first *rawjson.String) {
	var has llm.Abilities
	var plain, unsized, unknown bool
	for key := range d.Members {
		switch string(key) {
		case "type":
			if d.Kind() == '"' {
				kind := d.Unquote(d.ReadString())
				has |= partNeeds(kind)
				switch string(kind) {
				case "text", "refusal", "thinking", "reasoning", "input_text", "output_text":
					plain = true
				default:
					plain = false
				}
			}
		case "text":
			if d.Kind() != '"' {
				d.SkipCounted()
				continue
			}
			d.Count = true
			t := d.ReadString()
			d.Count = false
			if first.Empty() {
				*first = t
			}
		case "image_url":
			has |= llm.Vision
			d.image(d.Raw())
		case "input_audio", "file", "source", "image", "video_url", "audio_url", "input_video", "video", "audio", "file_url", "document":
			unsized = true
			if string(key) == "input_audio" || string(key) == "file" {
				has |= partNeeds(key)
			}
			d.attachment(string(key))
		case "file_id":
			unknown = true
			d.fileID("messages.content.file_id")
		case "cache_control":
			d.Skip()
		default:
			d.RejectLookAlikes("messages.content.", string(key), "type", "text", "image_url", "input_audio", "file", "file_id")
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

// attachment decodes the media of a part. The value is a URL, or an object with the data, the URL or the file ID.
func (d *decoder) attachment(name string) {
	from := d.Pos
	if d.Kind() != '{' {
		d.Skip()
	} else {
		for key := range d.Members {
			if string(key) == "file_id" {
				d.fileID("messages.content." + name + ".file_id")
			} else if name == "file" {
				d.RejectLookAlikes("messages.content.file.", string(key), "file_id")
			}
		}
	}
	d.req.AttachedBytes += d.Pos - from
}

// fileID decodes the ID of a file stored by the provider.
func (d *decoder) fileID(param string) {
	if d.Kind() == '"' {
		d.req.AddStoredFile(string(d.Unquote(d.ReadString())), param)
	}
}

// unknown decodes an unknown member of a part. It reports whether the member contains inline media. All other strings
// count as text.
func (d *decoder) unknown() (media bool) {
	switch d.Kind() {
	case '{':
		for key := range d.Members {
			if string(key) == "file_id" {
				d.fileID("messages.content.file_id")
				continue
			}
			media = d.unknown() || media
		}
	case '[':
		for range d.Elements {
			media = d.unknown() || media
		}
	case '"':
		if bytes.HasPrefix(d.Data[d.Pos:], []byte(`"data:`)) {
			d.req.AttachedBytes += len(d.Raw())
			return true
		}
		d.SkipCounted()
	default:
		d.Skip()
	}
	return media
}

// image records the requested detail of an image and, for inline data, its size.
func (d *decoder) image(value []byte) {
	if d.Err != nil {
		return
	}
	at := bytes.Index(value, []byte(`"data:`))
	if at < 0 {
		d.req.ImageURLs++
	}
	// Decode only the beginning, because an image may have several megabytes. JSON may escape slashes in the base64 data.
	const enough = 64 << 10
	const near = 128 // number of bytes to search at each end of the value; the detail precedes or follows the image data
	detail, begin, end := "", value[:min(len(value), near)], value[max(0, len(value)-near):]
	for _, level := range []string{"low", "high", "original"} {
		if word := []byte(`"` + level + `"`); bytes.Contains(begin, word) || bytes.Contains(end, word) {
			detail = level
		}
	}
	if at < 0 {
		d.req.AddImage(llm.Image{Detail: detail})
		return
	}
	inline, _, _ := bytes.Cut(value[at+1:], []byte(`"`))
	if !bytes.HasPrefix(inline, []byte("data:image")) { // some providers accept media other than images in an image part
		d.req.Unsized++
		d.req.AttachedBytes += len(inline)
		return
	}
	d.req.ImageBytes += len(inline)
	data := value[at+1 : min(len(value), at+enough)]
	if bytes.IndexByte(data, '\\') >= 0 {
		data = bytes.ReplaceAll(data, []byte(`\/`), []byte("/"))
	}
	d.req.AddImage(llm.ImageOf(string(data), detail))
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
