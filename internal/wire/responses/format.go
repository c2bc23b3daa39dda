// Package responses is the wire format of OpenAI's Responses, for callers: it checks what they send and writes answers for
// them. It keeps no state, so a request brings its whole conversation. No provider is called in this format.
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

// Format reads Responses requests and writes their answers.
type Format struct {
	// Now dates answers; they have no date when it is nil.
	Now func() time.Time
}

var _ wire.Format = Format{}

// Name is the format's short name.
func (Format) Name() string { return Name }

// WriteEvent frames one event of a stream under its name.
func (Format) WriteEvent(w io.Writer, ev llm.Event) error { return writeNamed(w, ev.Name, ev.Data) }

// WriteEnd writes nothing: the last event says by its type that the answer is over.
func (Format) WriteEnd(io.Writer) error { return nil }

// WriteError ends a stream that is not complete. The event is the format's own with the members of our error object.
func (Format) WriteError(w io.Writer, body []byte, after int) error {
	return writeNamed(w, "error", errorEvent(body, after))
}

// errorEvent is our error object with the members of the format's error event behind it. The order matters: several clients
// know an error by how the data begins.
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

func writeNamed(w io.Writer, name string, data []byte) error {
	if name != "" {
		if _, err := io.WriteString(w, "event: "+name+"\n"); err != nil {
			return err
		}
	}
	return sse.WriteData(w, data)
}

// Attach implements wire.Format.
func (Format) Attach(data []byte, name string, value []byte) []byte {
	return rawjson.AppendMember(data, name, value)
}

// ErrNoResponse is returned when the events contain no response.
var ErrNoResponse = errors.New("no response among the events")

// Assemble returns the response in the last event that contains one. events has one JSON document per line. A whole response
// is returned unchanged.
func Assemble(events []byte) ([]byte, error) {
	var last []byte
	for line := range bytes.Lines(events) {
		if !rawjson.Valid(line) {
			continue // what a cut left
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
