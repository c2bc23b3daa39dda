// Package anthropic implements Anthropic's Messages format: requests, responses and event streams, for clients that send it and for
// providers that accept it.
package anthropic

import (
	"cmp"
	"io"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/sse"
)

// Name is the format's short name.
const Name = "messages"

// Format implements wire.Format.
type Format struct{}

var _ wire.Format = Format{}

// Name implements wire.Format.
func (Format) Name() string { return Name }

// FeatureHeader implements wire.FeatureHeader.
func (Format) FeatureHeader() string { return "Anthropic-Beta" }

// Vendor implements wire.VendorFormat.
func (Format) Vendor() string { return "Anthropic" }

// framing writes the events of a stream.
type framing struct{}

// Framing implements wire.Format.
func (Format) Framing() wire.Framing { return framing{} }

// WriteEvent implements wire.Framing.
func (framing) WriteEvent(w io.Writer, ev llm.Event) error {
	return sse.WriteEvent(w, ev.Name, ev.Data)
}

// WriteEnd implements wire.Framing. It writes nothing, because the event message_stop ends a stream.
func (framing) WriteEnd(io.Writer) error { return nil }

// WriteError implements wire.Framing with the format's error event.
func (framing) WriteError(w io.Writer, body []byte, _ int) error {
	return sse.WriteEvent(w, "error", body)
}

// ErrorBody implements wire.ErrorFormat. The gateway's error code and details follow the members that the format defines.
func (Format) ErrorBody(e *llm.Error, requestID string) []byte {
	flat, kind := rawjson.Parse(e.Body(requestID)), cmp.Or(errorTypes[e.Kind.Code()], "api_error")
	// Claude Code detects an overloaded provider by this type or by status 529. The type is sufficient, so the gateway
	// can keep its own status.
	if e.Kind == llm.UpstreamOverloaded || e.Kind == llm.NoTargetAvailable {
		kind = "overloaded_error"
	}
	var w rawjson.Writer
	w.Open()
	w.Str("type", "error")
	w.Key("error")
	w.Open()
	w.Str("type", kind)
	w.Str("message", flat.Get("error").String())
	w.Close()
	w.Str("code", e.Kind.Code())
	w.Raw("details", []byte(flat.Get("details").Raw))
	w.Close()
	return w.Out
}

var errorTypes = map[string]string{
	"MISSING_API_KEY": "authentication_error", "INVALID_API_KEY": "authentication_error",
	"EXPIRED_API_KEY": "authentication_error", "REVOKED_API_KEY": "authentication_error",
	"SCOPE_DENIED": "permission_error", "MODEL_NOT_ALLOWED": "permission_error",
	"BROWSER_NOT_ALLOWED": "permission_error", "POLICY_REJECTED": "permission_error",
	"INVALID_JSON": "invalid_request_error", "INVALID_REQUEST": "invalid_request_error",
	"UNSUPPORTED_MEDIA_TYPE": "invalid_request_error", "METHOD_NOT_ALLOWED": "invalid_request_error",
	"UPGRADE_REQUIRED": "invalid_request_error",
	"CONTEXT_TOO_LONG": "invalid_request_error", "NO_ROUTE": "invalid_request_error",
	"PAYLOAD_TOO_LARGE": "request_too_large",
	"NOT_FOUND":         "not_found_error", "MODEL_NOT_FOUND": "not_found_error",
	"RATE_LIMITED": "rate_limit_error", "PROVIDER_RATE_LIMITED": "rate_limit_error",
	"BUDGET_EXCEEDED": "billing_error",
	"OVERLOADED":      "overloaded_error", "SERVER_SHUTDOWN": "overloaded_error",
	"PROVIDER_TIMEOUT": "timeout_error",
}
