// Package geminiapi implements the client side of the format of Google's Gemini API. It validates requests, edits them for
// providers that use the same format, converts them for other providers, and encodes responses. Package gemini implements the
// provider side.
package geminiapi

import (
	"io"
	"iter"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/gemini"
	"fairlead.dev/internal/wire/sse"
)

// Name is the format's short name. Package gemini uses the same name for the provider side.
const Name = gemini.Name

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

// EncodeResponse implements wire.Format.
func (Format) EncodeResponse(req *llm.Request, model string, deltas iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Event, error] {
	return newEncoder(req, model).write(deltas)
}

// ErrorBody implements wire.ErrorFormat with Google's error object, followed by the code and the details of the
// gateway.
func (Format) ErrorBody(e *llm.Error, requestID string) []byte {
	flat := rawjson.Parse(e.Body(requestID))
	var w rawjson.Writer
	w.Open()
	w.Key("error")
	w.Open()
	w.Int("code", int64(e.Status()))
	w.Str("message", flat.Get("error").String())
	w.Str("status", statusOf(e))
	w.OpenList("details")
	w.Open()
	w.Str("@type", "type.googleapis.com/google.rpc.ErrorInfo")
	w.Str("reason", e.Kind.Code())
	w.Str("domain", "fairlead")
	w.Close()
	if e.RetryAfter > 0 && e.Retryable() { // Google's clients ignore the Retry-After header
		w.Open()
		w.Str("@type", "type.googleapis.com/google.rpc.RetryInfo")
		w.Str("retryDelay", strconv.FormatInt(int64(math.Ceil(e.RetryAfter.Seconds())), 10)+"s")
		w.Close()
	}
	w.CloseList()
	w.Close()
	w.Str("code", e.Kind.Code())
	w.Raw("details", []byte(flat.Get("details").Raw))
	w.Close()
	return w.Out
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

// ModelName returns the name of a model without the prefix models/ that Google's clients add.
func ModelName(name string) string { return strings.TrimPrefix(name, "models/") }
