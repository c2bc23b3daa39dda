// Package responses is the client side of OpenAI's Responses format. It validates requests and encodes responses. It is
// stateless, so a request must contain its whole conversation.
package responses

import (
	"bytes"
	"errors"
	"io"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/rawjson"
	"fairlead/internal/wire"
	"fairlead/internal/wire/sse"
)

// Name is the format's short name.
const Name = "responses"

// Format implements wire.Format.
type Format struct {
	// Now returns the date of responses. They have no date when it is nil.
	Now func() time.Time
}

var _ wire.Format = Format{}

// Name implements wire.Format.
func (Format) Name() string { return Name }

// framing writes the events of a stream.
type framing struct{}

// Framing implements wire.Format.
func (Format) Framing() wire.Framing { return framing{} }

// WriteEvent implements wire.Framing.
func (framing) WriteEvent(w io.Writer, ev llm.Event) error {
	return sse.WriteEvent(w, ev.Name, ev.Data)
}

// WriteEnd implements wire.Framing. It writes nothing: the type of the last event ends a stream.
func (framing) WriteEnd(io.Writer) error { return nil }

// WriteError implements wire.Framing with the format's error event, which also has the members of the error object.
func (framing) WriteError(w io.Writer, body []byte, after int) error {
	return sse.WriteEvent(w, "error", errorEvent(body, after))
}

// errorEvent appends the members of the format's error event to the error object. The order matters: several clients
// recognize an error by the first bytes of the data.
func errorEvent(body []byte, number int) []byte {
	ours := rawjson.Parse(body)
	message := ours.Get("error")
	if message.IsObject() {
		message = message.Get("message")
	}
	var param any // null when there is none
	if value := ours.Get("details.param"); value.Kind == rawjson.Text {
		param = value.String()
	}
	for _, m := range []struct {
		name  string
		value any
	}{{"type", "error"}, {"message", message.String()}, {"param", param}, {"sequence_number", number}} {
		body = rawjson.AppendMember(body, m.name, encode(m.value))
	}
	return body
}

// ErrNoResponse is returned when the events contain no response.
var ErrNoResponse = errors.New("no response among the events")

// Assemble returns the response in the last event that contains one. events has one JSON document per line. A whole response
// is returned unchanged.
func Assemble(events []byte) ([]byte, error) {
	var last []byte
	for line := range bytes.Lines(events) {
		if !rawjson.Valid(line) {
			continue // a line that was cut
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
