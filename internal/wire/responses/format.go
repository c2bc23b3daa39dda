// Package responses implements the client side of OpenAI's Responses format: it validates requests and encodes responses. The gateway
// does not store responses and conversations; the provider does. The response IDs that clients see identify the provider account that
// stores the response.
package responses

import (
	"bytes"
	"errors"
	"io"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/sse"
	"fairlead.dev/internal/wire/upstream"
)

// Name is the format's short name.
const Name = "responses"

// Format implements wire.Format.
type Format struct {
	// Now returns the creation time for responses. If Now is nil, responses have no creation time.
	Now func() time.Time
}

var _ wire.Format = Format{}

// Name implements wire.Format.
func (Format) Name() string { return Name }

// TokenCount implements wire.TokenCounter.
func (Format) TokenCount(tokens int64) any {
	return struct {
		Object      string `json:"object"`
		InputTokens int64  `json:"input_tokens"`
	}{"response.input_tokens", tokens}
}

// framing writes the events of a stream.
type framing struct {
	begun    bool
	response *response // response object in the first event; nil if the first event has none
}

// Framing implements wire.Format.
func (Format) Framing() wire.Framing { return &framing{} }

// WriteEvent implements wire.Framing.
func (f *framing) WriteEvent(w io.Writer, ev llm.Event) error {
	if !f.begun {
		f.begun = true
		var first event
		if upstream.Decode(ev.Data, &first) == nil {
			f.response = first.Response
		}
	}
	return sse.WriteEvent(w, ev.Name, ev.Data)
}

// WriteEnd implements wire.Framing. It writes nothing, because clients detect the end by the type of the last event.
func (*framing) WriteEnd(io.Writer) error { return nil }

// failure is the gateway's error object with the members of the format's error event. Error stays first, because several clients recognise
// an error by the first bytes of the data.
type failure struct {
	Error   jsontext.Value `json:"error"` // message, or an object with the message
	Code    string         `json:"code"`
	Details struct {
		Param   jsontext.Value `json:"param,omitzero"`
		Unknown jsontext.Value `json:",embed"`
	} `json:"details"`
	Type     string         `json:"type"`
	Message  string         `json:"message"`
	Param    jsontext.Value `json:"param"` // null if the error has no parameter
	Sequence int            `json:"sequence_number"`
}

// WriteError implements wire.Framing with the format's error event, which also has the members of the error object. The
// event response.failed follows for clients that ignore the error event, such as Codex. It is not sent for a background
// response, because such a response may still complete.
func (f *framing) WriteError(w io.Writer, body []byte, after int) error {
	e := failure{Type: "error", Sequence: after}
	_ = upstream.Decode(body, &e) // the gateway wrote it
	e.Message, e.Param = upstream.Text(e.Error), e.Details.Param
	if e.Error.Kind() == '{' {
		var nested struct {
			Message string `json:"message"`
		}
		_ = upstream.Decode(e.Error, &nested)
		e.Message = nested.Message
	}
	if err := sse.WriteEvent(w, "error", encode(e)); err != nil {
		return err
	}
	if f.response == nil || string(f.response.Background) == "true" {
		return nil
	}
	code := "server_error" // clients use the code to decide whether to retry
	switch e.Code {
	case "RATE_LIMITED", "PROVIDER_RATE_LIMITED":
		code = "rate_limit_exceeded"
	case "BUDGET_EXCEEDED":
		code = "insufficient_quota"
	case "CONTEXT_TOO_LONG":
		code = "context_length_exceeded"
	}
	failed := *f.response
	failed.Status, failed.Error = "failed", encode(struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}{code, e.Message})
	return sse.WriteEvent(w, "response.failed", encode(event{Type: "response.failed", Sequence: after + 1, Response: &failed}))
}

// ErrNoResponse is returned when the events contain no response.
var ErrNoResponse = errors.New("the event stream contains no response")

// Assemble returns the response object from the last event that contains one. events has one JSON document per line. A response that is
// already complete is returned unchanged.
func Assemble(events []byte) ([]byte, error) {
	var last []byte
	for line := range bytes.Lines(events) {
		var doc struct {
			Object   string         `json:"object"`
			Response jsontext.Value `json:"response"`
		}
		switch err := upstream.Decode(line, &doc); { // a truncated line is skipped
		case err != nil:
		case doc.Object == "response":
			last = bytes.TrimSpace(line)
		case doc.Response.Kind() == '{':
			last = doc.Response
		}
	}
	if last == nil {
		return nil, ErrNoResponse
	}
	return last, nil
}
