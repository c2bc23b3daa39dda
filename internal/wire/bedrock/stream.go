package bedrock

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/fault"
	"fairlead.dev/internal/wire/upstream"
)

const (
	preludeBytes = 12 // length of the prelude: message length, headers length and checksum
	leastMessage = 16 // length of an empty message: prelude and message checksum
	maxHeaders   = 128 << 10
)

// readStream decodes messages until the stream ends or an error occurs. Errors after the finish reason are ignored.
func (dec *responseDecoder) readStream(r *bufio.Reader) {
	decoder := eventstream.NewDecoder()
	var payload []byte
	for !dec.over {
		m, err := dec.next(decoder, r, payload)
		switch {
		case err != nil && dec.finished:
			return
		case errors.Is(err, io.EOF):
			dec.fail(cut(nil))
			return
		case err != nil:
			dec.fail(err)
			return
		}
		payload = m.Payload[:0]
		dec.message(m)
	}
}

// next decodes one message. It checks lengths before it allocates buffers.
func (dec *responseDecoder) next(decoder *eventstream.Decoder, r *bufio.Reader, payload []byte) (eventstream.Message, error) {
	prelude, err := r.Peek(preludeBytes)
	switch {
	case errors.Is(err, io.EOF) && len(prelude) == 0:
		return eventstream.Message{}, io.EOF
	case err != nil:
		return eventstream.Message{}, frameError(err)
	}
	length, headers := int64(binary.BigEndian.Uint32(prelude)), int64(binary.BigEndian.Uint32(prelude[4:]))
	if length > int64(dec.o.MaxMessage) || headers > maxHeaders || headers > length-leastMessage {
		return eventstream.Message{}, malformed("The provider sent a stream message that is longer than allowed.")
	}
	m, err := decoder.Decode(r, payload)
	if err != nil {
		return eventstream.Message{}, frameError(err)
	}
	return m, nil
}

// frameError returns the error for a broken connection or for malformed frames.
func frameError(err error) error {
	if errors.As(err, new(eventstream.ChecksumError)) || errors.As(err, new(eventstream.LengthError)) {
		return &llm.Error{Kind: llm.UpstreamMalformed, Message: "The provider sent a stream message that cannot be decoded.", Err: err}
	}
	return upstream.Failure(err)
}

func header(m eventstream.Message, name string) string {
	if v := m.Headers.Get(name); v != nil {
		return v.String()
	}
	return ""
}

// message handles one message of the stream.
func (dec *responseDecoder) message(m eventstream.Message) {
	kind := header(m, ":event-type")
	if dec.finished && kind != "metadata" {
		return
	}
	switch header(m, ":message-type") {
	case "event":
		if err := dec.event(kind, m.Payload); err != nil && !dec.finished {
			dec.fail(&llm.Error{Kind: llm.UpstreamMalformed, Message: "The provider sent an event that cannot be decoded.", Err: err})
		}
	case "exception":
		dec.fail(exception(header(m, ":exception-type"), m.Payload))
	case "error":
		body, _ := encode(map[string]string{"message": header(m, ":error-message")}) // encoding a string cannot fail
		dec.fail(exception(header(m, ":error-code"), body))
	}
}

func (dec *responseDecoder) event(kind string, payload []byte) error {
	var e streamEvent
	switch kind {
	case "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata":
		if err := decode(payload, &e); err != nil {
			return err
		}
	}
	switch kind {
	case "contentBlockStart":
		if e.Start.ToolUse != nil {
			dec.startCall(e.Index, e.Start.ToolUse.ID, e.Start.ToolUse.Name)
		}
	case "contentBlockDelta":
		dec.delta(e.Index, e.Delta)
	case "contentBlockStop":
		dec.stopBlock(e.Index)
	case "messageStop":
		dec.finish(e.StopReason, stopSequence(e.Additional))
	case "metadata":
		dec.count(e.Usage, e.ServiceTier)
	}
	return nil // other events contain no data for the client
}

func (dec *responseDecoder) delta(i int, d delta) {
	switch {
	case d.Text != nil:
		dec.text(*d.Text)
	case d.ToolUse != nil:
		dec.arguments(i, d.ToolUse.Input)
	case d.Reasoning != nil:
		dec.thinking(i, d.Reasoning.Text)
		dec.sign(i, d.Reasoning.Signature)
		dec.redact(i, d.Reasoning.Redacted)
	case d.Citation != nil: // ignored, because the cited text arrives in its own delta
	default:
		dec.warnDropped()
	}
}

// exception converts an error that arrives as an event. The payload has the same form as the body of an error response.
func exception(kind string, payload []byte) error {
	return fault.Inside(withType(payload, kind))
}
