package llm

import (
	"bytes"
	"encoding/json"
	"maps"
)

// Body returns the error object for JSON responses: {"error": message, "code": CODE, "details": {…}}. It never contains
// the cause.
func (e *Error) Body(requestID string) []byte {
	var b bytes.Buffer
	b.WriteString(`{"error":`)
	b.Write(encode(e.Message))
	return e.rest(&b, requestID)
}

// OpenAIBody returns the error object with `error` as an object, for clients that do not accept a string.
func (e *Error) OpenAIBody(requestID string) []byte {
	var param any
	if e.Param != "" {
		param = e.Param
	}
	var b bytes.Buffer
	b.WriteString(`{"error":`)
	b.Write(encode(struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Param   any    `json:"param"`
		Code    string `json:"code"`
	}{e.Message, string(e.Kind), param, e.Kind.Code()}))
	return e.rest(&b, requestID)
}

func (e *Error) rest(b *bytes.Buffer, requestID string) []byte {
	details := map[string]any{}
	for name, value := range e.Details {
		if raw := encode(value); raw != nil { // a detail that cannot be encoded is omitted; the other details are still sent
			details[name] = json.RawMessage(raw)
		}
	}
	details["request_id"] = requestID
	details["origin"] = e.Kind.Origin()
	details["retryable"] = e.Retryable()
	if e.Param != "" {
		details["param"] = e.Param
	}
	if e.UpstreamStatus != 0 {
		details["upstream_status"] = e.UpstreamStatus
	}
	if e.UpstreamCode != "" {
		details["upstream_code"] = e.UpstreamCode
	}
	b.WriteString(`,"code":`)
	b.Write(encode(e.Kind.Code()))
	b.WriteString(`,"details":`)
	b.Write(encode(details))
	b.WriteByte('}')
	return b.Bytes()
}

// Linked returns a copy of the error with links in its details: doc_url to the documentation of the code and, unless entryID is empty,
// log_url to the log entry with this ID. base is the address of the gateway; without it the links are paths.
func (e *Error) Linked(base, entryID string) *Error {
	linked := *e
	linked.Details = map[string]any{"doc_url": base + "/docs/errors#" + e.Kind.Code()}
	if entryID != "" {
		linked.Details["log_url"] = base + "/requests/" + entryID
	}
	maps.Copy(linked.Details, e.Details)
	return &linked
}

// Retryable reports whether the same request may succeed later. It depends on the kind, and is false for a final error.
func (e *Error) Retryable() bool {
	if e.Final {
		return false
	}
	return e.Kind.Retryable()
}

// encode returns JSON on one line without escaping <, > and &, so that messages stay readable. It returns nil for values that
// JSON cannot express.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
