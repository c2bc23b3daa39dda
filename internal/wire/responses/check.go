package responses

import (
	"encoding/json"
	"slices"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/validate"
)

// requestReader validates one request, records its properties and converts it to a conversation.
type requestReader struct {
	validate.Reader
	req    *llm.Request
	conv   *llm.Conversation
	source string // request body as a string

	toolNames      map[string]string           // tool names by call ID
	callSignatures map[string]wrappedSignature // signatures by call ID

	// State of the input items read so far.
	last             llm.Role       // role of the last message
	hasText, hasCall bool           // whether the last message has text, and whether it has a tool call
	asked            rawjson.String // first text in the last user message that has text
	instructed       rawjson.String // the instructions, or the first text in the first system message
	stored           bool           // whether the request refers to stored text, which the provider adds to the input
	results          bool           // whether the input has tool results that only the Responses API accepts
	wrapped          bool           // whether the input has signatures that the gateway wrapped
}

// is reports whether the kind of v is one of the allowed kinds. If it is not, a problem is recorded unless v is null.
func (r *requestReader) is(param string, v rawjson.Value, want string, allowed ...rawjson.Kind) bool {
	return r.IsKindOrNull(param, v, want, allowed...)
}

// lookAlikes records a problem for every key of an object that differs from one of the given names only in case.
func (r *requestReader) lookAlikes(param string, v rawjson.Value, names ...string) {
	if !v.IsObject() || r.Context.Err() != nil {
		return
	}
	v.ForEach(func(key, _ rawjson.Value) bool {
		r.RejectLookAlikes(param+".", key.String(), names...)
		return true
	})
}

// Names of the members of nested objects that are decoded.
var (
	itemNames = []string{
		"type", "role", "content", "call_id", "name", "arguments", "input", "output", "encrypted_content", "summary",
		"namespace",
	}
	partNames = []string{
		"type", "text", "refusal", "image_url", "file_id", "detail", "file_url", "file_data", "filename", "input_audio",
		"prompt_cache_breakpoint",
	}
	toolMemberNames = []string{"type", "name", "description", "parameters", "strict", "format", "tools"}
)

func (r *requestReader) list(param string, v rawjson.Value) []rawjson.Value {
	if !r.is(param, v, "a list", rawjson.List) {
		return nil
	}
	return v.List()
}

func (r *requestReader) text(param string, v rawjson.Value) string {
	if !r.is(param, v, "a string", rawjson.Text) {
		return ""
	}
	return v.String()
}

func (r *requestReader) flag(param string, v rawjson.Value) *bool {
	if !r.is(param, v, "true or false", rawjson.True, rawjson.False) {
		return nil
	}
	value := v.Bool()
	return &value
}

// number returns a number as written in the request.
func (r *requestReader) number(param string, v rawjson.Value) json.Number {
	if !r.is(param, v, "a number", rawjson.Number) {
		return ""
	}
	return json.Number(v.Raw)
}

// oneOf decodes a string that must be one of the allowed values.
func (r *requestReader) oneOf(param string, v rawjson.Value, allowed ...string) string {
	s := r.text(param, v)
	if s != "" && !slices.Contains(allowed, s) {
		r.Problem(param, "%s must be one of %s; it is %s.", param, strings.Join(allowed, ", "), show.Quote(s))
		return ""
	}
	return s
}

// raw returns the JSON of a value, or nil for null.
func raw(v rawjson.Value) json.RawMessage {
	if v.Kind == rawjson.Null {
		return nil
	}
	return json.RawMessage(v.Raw)
}
