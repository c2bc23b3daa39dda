package geminiapi

import (
	"strconv"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

func (r *reader) parts(v rawjson.Value) (parts []llm.Part) {
	list(v, func(one rawjson.Value) bool {
		if part, ok := r.part(one); ok {
			parts = append(parts, part)
		}
		return r.ctx.Err() == nil
	})
	return parts
}

// part converts one part. It returns false for a part that other formats do not have. Of the thought signatures, which are valid only at
// Google, it keeps only those of calls.
func (r *reader) part(v rawjson.Value) (part llm.Part, ok bool) {
	thought, signature := false, ""
	members(v, func(name string, value rawjson.Value) {
		switch name {
		case "text":
			part, ok = llm.Part{Kind: llm.TextPart, Text: value.String()}, true
		case "thought":
			thought = value.Bool()
		case "thoughtSignature":
			signature = value.String()
		case "inlineData", "fileData":
			part, ok = r.media(name, value), true
		case "functionCall":
			part, ok = r.call(value), true
		case "functionResponse":
			part, ok = r.result(value), true
		default:
			r.conv.DropField("parts." + name)
		}
	})
	switch {
	case ok && thought && part.Kind == llm.TextPart:
		part = llm.Part{Kind: llm.ThinkingPart, Thinking: &llm.Thinking{Text: part.Text}}
	case ok && part.Kind == llm.CallPart:
		part.Call.Signature = signature
	}
	return part, ok
}

// media converts a file from the member with the given name. inlineData contains the bytes of the file; fileData contains the URI of a
// file that is public or stored at Google.
func (r *reader) media(name string, v rawjson.Value) llm.Part {
	media := &llm.Media{Type: get(v, "mimeType").String(), Name: get(v, "displayName").String()}
	uri := get(v, "fileUri").String()
	public := strings.HasPrefix(uri, "https://") || strings.HasPrefix(uri, "http://")
	switch {
	case name == "inlineData":
		media.Data = standardBase64(v.Get("data").String())
	case public && !strings.HasPrefix(uri, "https://generativelanguage.googleapis.com/"):
		media.URL = uri
	default:
		media.FileID = uri // only Google can read the file
	}
	part := llm.Part{Kind: mediaKind(media.Type), Media: media}
	if part.Kind == llm.ImagePart {
		media.Detail = r.detail
	}
	return part
}

// call converts a call. A call without an ID gets one, because the other formats match results by ID.
func (r *reader) call(v rawjson.Value) llm.Part {
	call := &llm.ToolCall{ID: v.Get("id").String(), Name: v.Get("name").String(), Arguments: "{}"}
	if args := v.Get("args"); args.IsObject() {
		call.Arguments = args.Raw
	}
	r.calls++
	if call.ID == "" {
		call.ID = "call_" + strconv.Itoa(r.calls)
	}
	r.pending[call.Name] = append(r.pending[call.Name], call.ID)
	return llm.Part{Kind: llm.CallPart, Call: call}
}

// result converts the result of a function call. A result without an ID belongs to the oldest call of this function in the last model turn
// that has no result: Google's SDKs omit the ID even if the call has one.
func (r *reader) result(v rawjson.Value) llm.Part {
	result := &llm.ToolResult{ID: v.Get("id").String(), Name: v.Get("name").String()}
	if waiting := r.pending[result.Name]; len(waiting) > 0 && (result.ID == "" || result.ID == waiting[0]) {
		result.ID, r.pending[result.Name] = waiting[0], waiting[1:]
	}
	if result.ID == "" {
		result.ID = result.Name
	}
	text, failed := outcome(v.Get("response"))
	result.Failed = failed
	result.Parts = append([]llm.Part{{Kind: llm.TextPart, Text: text}}, r.parts(v.Get("parts"))...)
	return llm.Part{Kind: llm.ResultPart, Result: result}
}

// outcome returns the text of a function's response. If the only member is output, result or error, the text is the member's value,
// otherwise the JSON of the response. failed is true for error. Google's documentation specifies output and error; Google's clients send
// result.
func outcome(response rawjson.Value) (text string, failed bool) {
	count := 0
	response.ForEach(func(_, _ rawjson.Value) bool {
		count++
		return count < 2
	})
	if count == 1 {
		if v := response.Get("error"); v.Exists() {
			return v.String(), true
		}
		for _, name := range []string{"output", "result"} {
			if v := response.Get(name); v.Exists() {
				return v.String(), false
			}
		}
	}
	if !response.Exists() {
		return "{}", false
	}
	return response.Raw, false
}
