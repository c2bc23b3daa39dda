package anthropic

import (
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/strict"
	"fairlead.dev/internal/wire/validate"
	"fairlead.dev/internal/wire/websearch"
)

// system decodes the instructions. They are counted as one message.
func (d *decoder) system(v rawjson.Value) {
	if d.IsKind("system", v, "a string or a list of text blocks", rawjson.Text, rawjson.List) {
		d.req.Messages++
		d.CountText(&d.req.PromptSize, v)
		first := v
		if v.IsList() {
			first = v.Get("0.text")
		}
		d.instructed = d.textAt(first)
	}
}

// tools decodes the tool definitions and counts them as text, because they are part of the prompt.
func (d *decoder) tools(v rawjson.Value) {
	if !d.IsKind("tools", v, "a list", rawjson.List) {
		return
	}
	n := 0
	v.ForEach(func(_, tool rawjson.Value) bool {
		where := "tools[" + strconv.Itoa(n) + "]"
		d.IsKind(where, tool, "an object", rawjson.Object)
		d.rejectLookAlikes(where+".", tool, toolNames)
		d.req.Needs |= llm.Tools
		d.req.Hosted = d.req.Hosted || IsHosted(tool.Get("type").String())
		if NeedsVendor(tool.Get("type").String()) {
			d.req.Needs |= llm.MessagesAPI
		}
		if websearch.Is(tool.Get("type").String()) {
			d.req.Needs |= llm.WebSearch
			d.req.MaxSearches = websearch.Read(tool).MaxUses
		}
		d.CountText(&d.req.PromptSize, tool)
		n++
		return d.Context.Err() == nil
	})
}

func (d *decoder) outputFormat(v rawjson.Value) {
	d.rejectLookAlikes("output_config.format.", v, formatNames)
	if v.Get("type").String() == "json_schema" {
		d.req.Needs |= llm.JSONSchema
		d.CountText(&d.req.PromptSize, v)
	}
}

func (d *decoder) messageList(v rawjson.Value) {
	n := 0
	v.ForEach(func(_, message rawjson.Value) bool {
		if over := strict.CheckMessages(n + 1); over != nil {
			d.Problem("messages", "%s", strict.LimitMessage(over))
			return false
		}
		where := "messages[" + strconv.Itoa(n) + "]"
		if d.IsKind(where, message, "an object", rawjson.Object) {
			d.message(where+".", message)
		}
		n++
		return d.Context.Err() == nil
	})
	d.req.Messages += n
	if n == 0 {
		d.Problem("messages", "messages is empty. Send at least one message.")
	}
}

// Names of nested members that are decoded.
var (
	messageNames = []string{"role", "content"}
	blockNames   = []string{
		"type", "text", "source", "title", "context", "citations", "thinking", "signature", "data", "id", "name", "input", "tool_use_id",
		"content", "is_error", "cache_control",
	}
	sourceNames = []string{"type", "media_type", "data", "url", "file_id", "content"}
	toolNames   = []string{"type", "name", "description", "input_schema", "strict", "cache_control"}
	formatNames = []string{"type", "schema"}
)

func (d *decoder) message(where string, v rawjson.Value) {
	d.rejectLookAlikes(where, v, messageNames)
	v.ForEach(func(key, value rawjson.Value) bool {
		if !slices.Contains(messageNames, key.String()) {
			d.req.ExtraBytes += d.CountText(&d.req.PromptSize, value) // the provider may add an unknown member to the prompt
		}
		return true
	})
	role := v.Get("role").String()
	switch role {
	case "user", "assistant", "system":
	default:
		if !d.HasProblem(where + "role") {
			d.Problem(where+"role", "%srole must be \"user\" or \"assistant\"; it is %s.", where, show.Quote(role))
		}
	}
	content := v.Get("content")
	if !content.Exists() && d.HasProblem(where+"content") {
		return
	}
	if !d.IsKind(where+"content", content, "a string or a list of blocks", rawjson.Text, rawjson.List) {
		return
	}
	first := d.content(where+"content", content, d.block)
	d.special = d.special || role == "system"
	if role == "assistant" {
		d.req.Answers++
	}
	if role == "user" && strings.TrimSpace(first.String()) != "" {
		d.asked = d.textAt(first)
	}
}

// content decodes the content of a message and returns its first text. The function read decodes one block and returns its text.
func (d *decoder) content(where string, v rawjson.Value, read func(where string, block rawjson.Value) rawjson.Value) (first rawjson.Value) {
	if v.Kind == rawjson.Text {
		d.CountText(&d.req.PromptSize, v)
		return v
	}
	n := 0
	v.ForEach(func(_, block rawjson.Value) bool {
		param := where + "[" + strconv.Itoa(n) + "]"
		n++
		if !d.IsKind(param, block, "an object", rawjson.Object) {
			return true
		}
		d.rejectLookAlikes(param+".", block, blockNames)
		d.rejectLookAlikes(param+".source.", block.Get("source"), sourceNames)
		if !d.IsKind(param+".type", block.Get("type"), "a string", rawjson.Text) {
			return true
		}
		if text := read(param, block); len(first.Raw) <= len(`""`) {
			first = text
		}
		return d.Context.Err() == nil
	})
	return first
}

// block adds the text or media of one block to the properties of the request. It returns the text of a text block, and a zero value for any
// other block.
func (d *decoder) block(where string, v rawjson.Value) rawjson.Value {
	if v.Get("type").String() != "tool_result" {
		return d.plainBlock(where, v)
	}
	if content := v.Get("content"); content.Kind == rawjson.Text || content.IsList() {
		d.content(where+".content", content, d.plainBlock)
	} else {
		d.CountText(&d.req.PromptSize, content)
	}
	return rawjson.Value{}
}

// plainBlock is like block, for a block without nested blocks. The tokens of images are estimated from their size. The tokens of
// documents, and of blocks of unknown type, can only be counted by the provider.
func (d *decoder) plainBlock(where string, v rawjson.Value) rawjson.Value {
	if v.Get("citations.enabled").Bool() {
		d.req.Needs |= llm.MessagesAPI
	}
	switch v.Get("type").String() {
	case "text":
		text := v.Get("text")
		d.special = d.special || v.Get("citations").Exists()
		if d.IsKind(where+".text", text, "a string", rawjson.Text) {
			d.CountText(&d.req.PromptSize, text)
			return text
		}
	case "image":
		d.req.Needs |= llm.Vision
		d.req.Images++
		data := v.Get("source.data")
		switch v.Get("source.type").String() {
		case "url":
			d.req.ImageURLs++
		case "base64":
			d.req.ImageBytes += len(data.Raw)
		default:
			d.storedFiles(where+".source", v.Get("source"))
		}
		d.req.AddImage(llm.ImageOf(data.String(), ""))
	case "document":
		d.req.Needs |= llm.Files
		d.attachment(where, v)
	case "thinking":
		d.CountText(&d.req.PromptSize, v.Get("thinking"))
		signature := v.Get("signature").String()
		d.special = d.special || signature == "" || strings.HasPrefix(signature, signaturePrefix)
	case "redacted_thinking":
		data := v.Get("data").String()
		d.special = d.special || data == "" || strings.HasPrefix(data, signaturePrefix)
	case "tool_use":
		d.CountText(&d.req.PromptSize, v.Get("name"))
		d.CountText(&d.req.PromptSize, v.Get("input"))
	default:
		kind := v.Get("type").String()
		if kind == "search_result" || kind == "compaction" || DescribeToolChange(v) != "" || strings.HasSuffix(kind, "_tool_use") || strings.HasSuffix(kind, "_tool_result") {
			d.CountText(&d.req.PromptSize, v) // count the strings of the block as prompt text
		} else {
			d.attachment(where, v)
		}
	}
	return rawjson.Value{}
}

// attachment counts a block whose tokens only the provider can count. Inline data does not count as text.
func (d *decoder) attachment(where string, v rawjson.Value) {
	d.req.Unsized++
	v.ForEach(func(key, value rawjson.Value) bool {
		switch key.String() {
		case "source":
			switch value.Get("type").String() {
			case "base64":
				d.req.AttachedBytes += len(value.Raw)
				return true
			case "url", "text":
			default:
				d.storedFiles(where+".source", value)
			}
		case "file_id": // ID of a file to be copied to the container of the code execution tool
			d.storedFiles(where+".file_id", v)
		}
		d.CountText(&d.req.PromptSize, value)
		return true
	})
}

// vendorFeature decodes a member that only Anthropic supports.
func (d *decoder) vendorFeature(v rawjson.Value) {
	d.req.ExtraBytes += d.CountText(&d.req.PromptSize, v) // the provider may add it to the prompt
	if v.Raw != "[]" {
		d.req.Hosted = true
		d.req.Needs |= llm.MessagesAPI
	}
}

// storedFiles records the stored files to which the source of a block refers. A source of type content contains nested blocks.
func (d *decoder) storedFiles(param string, source rawjson.Value) {
	for id := range validate.FileIDs("", source) {
		d.req.AddStoredFile(id.String(), param)
		if strings.HasPrefix(id.String(), "file_") { // OpenAI's IDs begin with file-
			d.req.Needs |= llm.MessagesAPI
		}
	}
}
