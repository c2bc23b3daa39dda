package gemini

import (
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/sse"
)

// Format implements wire.Format. In this API, the path of a request contains the model and determines whether the response is streamed, so
// each request has its own Format, which ForModel returns.
type Format struct {
	Model  string // model in the path; empty to read the model from the body
	Stream bool   // whether the method in the path returns a stream
	Array  bool   // whether a stream is sent as one JSON list instead of server-sent events
	Batch  bool   // whether the body of an embeddings request is a list of requests
}

var (
	_ wire.Format        = Format{}
	_ wire.ModelPath     = Format{}
	_ wire.ErrorFormat   = Format{}
	_ wire.Resumer       = Format{}
	_ wire.OutputLimiter = Format{}
	_ wire.TokenCounter  = Format{}
	_ wire.VectorEncoder = Format{}
)

// Name implements wire.Format.
func (Format) Name() string { return Name }

// Vendor implements wire.VendorFormat.
func (Format) Vendor() string { return "Google" }

// ForModel implements wire.ModelPath. Without the query parameter alt=sse, a stream is sent as one JSON list.
func (f Format) ForModel(model string, query url.Values) wire.Format {
	f.Model = model
	f.Array = f.Stream && query.Get("alt") != "sse"
	return f
}

// TokenCount implements wire.TokenCounter.
func (Format) TokenCount(tokens int64) any {
	return struct {
		TotalTokens int64 `json:"totalTokens"`
	}{tokens}
}

// Framing implements wire.Format.
func (f Format) Framing() wire.Framing {
	if f.Array {
		return &listFraming{}
	}
	return eventFraming{}
}

// eventFraming writes server-sent events. The stream ends when the connection is closed.
type eventFraming struct{}

// WriteEvent implements wire.Framing.
func (eventFraming) WriteEvent(w io.Writer, ev llm.Event) error { return sse.WriteData(w, ev.Data) }

// WriteEnd implements wire.Framing. The format has no end marker.
func (eventFraming) WriteEnd(io.Writer) error { return nil }

// WriteError implements wire.Framing.
func (eventFraming) WriteError(w io.Writer, body []byte, _ int) error { return sse.WriteData(w, body) }

// listFraming writes the events of a stream as the elements of one JSON list.
type listFraming struct{ open bool }

var _ wire.StreamType = &listFraming{}

// ContentType implements wire.StreamType.
func (*listFraming) ContentType() string { return "application/json; charset=utf-8" }

// KeepAlive implements wire.StreamType. White space is allowed between elements and before the list.
func (*listFraming) KeepAlive() string { return "\n" }

// WriteEvent implements wire.Framing.
func (f *listFraming) WriteEvent(w io.Writer, ev llm.Event) error {
	before := "["
	if f.open {
		before = ",\n"
	}
	f.open = true
	if _, err := io.WriteString(w, before); err != nil {
		return err
	}
	_, err := w.Write(ev.Data)
	return err
}

// WriteEnd implements wire.Framing.
func (f *listFraming) WriteEnd(w io.Writer) error {
	end := "]"
	if !f.open {
		end = "[]"
	}
	_, err := io.WriteString(w, end)
	return err
}

// WriteError implements wire.Framing. The error becomes the last element of the list.
func (f *listFraming) WriteError(w io.Writer, body []byte, _ int) error {
	if err := f.WriteEvent(w, llm.Event{Data: body}); err != nil {
		return err
	}
	return f.WriteEnd(w)
}

// errorBody is Google's error object, followed by the code and the details of the gateway.
type errorBody struct {
	Error struct {
		Code    int           `json:"code"`
		Message string        `json:"message"`
		Status  string        `json:"status"`
		Details []errorDetail `json:"details"`
	} `json:"error"`
	Code    string         `json:"code"`
	Details jsontext.Value `json:"details"`
}

type errorDetail struct {
	Type       string `json:"@type"`
	Reason     string `json:"reason,omitzero"`
	Domain     string `json:"domain,omitzero"`
	RetryDelay string `json:"retryDelay,omitzero"`
}

// ErrorBody implements wire.ErrorFormat.
func (Format) ErrorBody(e *llm.Error, requestID string) []byte {
	var flat struct {
		Error   string         `json:"error"`
		Details jsontext.Value `json:"details"`
	}
	_ = json.Unmarshal(e.Body(requestID), &flat, lenient) // cannot fail, because Body returns an object of this form
	out := errorBody{Code: e.Kind.Code(), Details: flat.Details}
	out.Error.Code, out.Error.Message, out.Error.Status = e.Status(), flat.Error, statusOf(e)
	out.Error.Details = []errorDetail{{Type: "type.googleapis.com/google.rpc.ErrorInfo", Reason: e.Kind.Code(), Domain: "fairlead"}}
	if e.RetryAfter > 0 && e.Retryable() { // Google's clients ignore the Retry-After header
		delay := strconv.FormatInt(int64(math.Ceil(e.RetryAfter.Seconds())), 10) + "s"
		out.Error.Details = append(out.Error.Details, errorDetail{Type: "type.googleapis.com/google.rpc.RetryInfo", RetryDelay: delay})
	}
	body, _ := encode(out) // cannot fail
	return body
}

// statusOf returns the canonical status name that Google's APIs use for the error, such as INVALID_ARGUMENT.
func statusOf(e *llm.Error) string {
	switch e.Kind {
	case llm.NoRoute, llm.Untranslatable:
		return "FAILED_PRECONDITION"
	case llm.ClientCancelled:
		return "CANCELLED"
	case llm.BudgetExceeded:
		return "RESOURCE_EXHAUSTED"
	default:
	}
	switch status := e.Status(); {
	case status == http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case status == http.StatusForbidden:
		return "PERMISSION_DENIED"
	case status == http.StatusNotFound:
		return "NOT_FOUND"
	case status == http.StatusTooManyRequests:
		return "RESOURCE_EXHAUSTED"
	case status == http.StatusGatewayTimeout:
		return "DEADLINE_EXCEEDED"
	case status == http.StatusServiceUnavailable, status == http.StatusBadGateway:
		return "UNAVAILABLE"
	case status >= http.StatusInternalServerError:
		return "INTERNAL"
	}
	return "INVALID_ARGUMENT"
}
