// Package responses implements the client side of OpenAI's Responses format: it validates requests and encodes responses. The gateway
// does not store responses and conversations; the provider does. The response IDs that clients see identify the provider account that
// stores the response.
package responses

import (
	"bytes"
	"errors"
	"io"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/sse"
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
	response []byte // response object in the first event; nil if the first event has none
}

// Framing implements wire.Format.
func (Format) Framing() wire.Framing { return &framing{} }

// WriteEvent implements wire.Framing.
func (f *framing) WriteEvent(w io.Writer, ev llm.Event) error {
	if !f.begun {
		f.begun = true
		if began := rawjson.Parse(ev.Data).Get("response"); began.IsObject() {
			f.response = []byte(began.Raw)
		}
	}
	return sse.WriteEvent(w, ev.Name, ev.Data)
}

// WriteEnd implements wire.Framing. It writes nothing, because clients detect the end by the type of the last event.
func (*framing) WriteEnd(io.Writer) error { return nil }

// WriteError implements wire.Framing with the format's error event, which also has the members of the error object. The
// event response.failed follows for clients that ignore the error event, such as Codex. It is not sent for a background
// response, because such a response may still complete.
func (f *framing) WriteError(w io.Writer, body []byte, after int) error {
	ours := rawjson.Parse(body)
	var param any // encoded as null if the error has no parameter
	if value := ours.Get("details.param"); value.Kind == rawjson.Text {
		param = value.String()
	}
	event := body
	// Keep this order, because several clients recognise an error by the first bytes of the data.
	for _, m := range []struct {
		name  string
		value any
	}{{"type", "error"}, {"message", errorMessage(ours)}, {"param", param}, {"sequence_number", after}} {
		event = rawjson.AppendMember(event, m.name, encode(m.value))
	}
	if err := sse.WriteEvent(w, "error", event); err != nil {
		return err
	}
	if f.response == nil || rawjson.Get(f.response, "background").Raw == "true" {
		return nil
	}
	return sse.WriteEvent(w, "response.failed", failedEvent(f.response, ours, after+1))
}

// failedEvent returns the event response.failed, which contains the response object of the first event and the error.
func failedEvent(began []byte, ours rawjson.Value, number int) []byte {
	code := "server_error" // clients use the code to decide whether to retry
	switch ours.Get("code").String() {
	case "RATE_LIMITED", "PROVIDER_RATE_LIMITED":
		code = "rate_limit_exceeded"
	case "BUDGET_EXCEEDED":
		code = "insufficient_quota"
	case "CONTEXT_TOO_LONG":
		code = "context_length_exceeded"
	}
	var w rawjson.Writer
	w.Open()
	w.Str("type", "response.failed")
	w.Int("sequence_number", int64(number))
	w.Key("response")
	w.Open()
	rawjson.Parse(began).ForEach(func(key, value rawjson.Value) bool {
		switch name := key.String(); name {
		case "status", "error":
		default:
			w.Raw(name, []byte(value.Raw))
		}
		return true
	})
	w.Str("status", "failed")
	w.Key("error")
	w.Open()
	w.Str("code", code)
	w.Str("message", errorMessage(ours))
	w.Close()
	w.Close()
	w.Close()
	return w.Out
}

// errorMessage returns the message of an error object, flat or nested.
func errorMessage(object rawjson.Value) string {
	message := object.Get("error")
	if message.IsObject() {
		message = message.Get("message")
	}
	return message.String()
}

// ErrNoResponse is returned when the events contain no response.
var ErrNoResponse = errors.New("the event stream contains no response")

// Assemble returns the response object from the last event that contains one. events has one JSON document per line. A response that is
// already complete is returned unchanged.
func Assemble(events []byte) ([]byte, error) {
	var last []byte
	for line := range bytes.Lines(events) {
		if !rawjson.Valid(line) {
			continue // skip a truncated line
		}
		doc := rawjson.Parse(line)
		switch {
		case doc.Get("object").String() == "response":
			last = bytes.TrimSpace(line)
		case doc.Get("response").IsObject():
			last = []byte(doc.Get("response").Raw)
		}
	}
	if last == nil {
		return nil, ErrNoResponse
	}
	return last, nil
}
