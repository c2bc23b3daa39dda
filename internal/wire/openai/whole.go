package openai

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"sync"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/fault"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/strict"
	"fairlead.dev/internal/wire/upstream"
)

const (
	maxPooledBuffer = 64 << 10 // maximum capacity of a pooled buffer
)

// responseBuffers pools the buffers into which complete responses are read. Events do not share memory with a buffer.
var responseBuffers = sync.Pool{New: func() any { return new([]byte) }}

// withoutMark removes a byte order mark.
func withoutMark(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) }

// document validates a complete response and returns it with known deviations corrected.
func (a *responseReader) document(data []byte) ([]byte, error) {
	a.takeChunk()
	a.c.whole = true
	data, err := a.c.read(withoutMark(data))
	switch c := a.c; {
	case len(bytes.TrimSpace(data)) == 0:
		return nil, malformed("The provider sent an empty response.")
	case err != nil:
		return nil, &llm.Error{Kind: llm.UpstreamMalformed, Message: "The provider's response is not a JSON object" + a.contentType() + ".", Err: err}
	case c.fault != nil:
		return nil, fault.Inside(c.fault)
	case c.choices <= 0:
		return nil, malformed("The provider's response has no choices.")
	case !c.hasMessage && c.finish != "content_filter": // some providers omit the message if its content was filtered
		return nil, malformed("The provider's response has no message.")
	case c.finish == "error":
		return nil, &llm.Error{Kind: llm.UpstreamServer, Message: "The provider stopped responding because of an internal error."}
	}
	a.recordHead(data)
	return data, nil
}

func (a *responseReader) contentType() string {
	if a.o.ContentType == "" {
		return ""
	}
	return " but " + show.Cut(show.OneLine(a.o.ContentType), 60)
}

// single decodes the response to a non-streaming request.
func (a *responseReader) single() (llm.Event, bool, error) {
	room := responseBuffers.Get().(*[]byte)
	read, err := upstream.ReadAll(a.from, (*room)[:0], a.o.MaxResponse, a.o.SizeHint)
	if err != nil {
		return llm.Event{}, false, err
	}
	data, err := a.document(read)
	if err != nil {
		return llm.Event{}, false, err
	}
	a.over = true
	a.c.out = nil // rewrite must allocate a new buffer for the event
	if len(a.c.fields) == 0 {
		data = bytes.Clone(data) // the buffer of data is reused
	}
	ev := a.describe(a.rewrite(data, false))
	ev.Content, ev.Own = true, true // the only event contains the complete response
	ev.Usage = a.usageOrEstimate(a.parseUsage())
	a.c.out = nil // the event keeps the buffer
	if cap(read) <= maxPooledBuffer {
		*room = read
		responseBuffers.Put(room)
	}
	return ev, true, nil
}

// split converts a non-streamed response to a streaming request into the equivalent chunks.
func (a *responseReader) split(r io.Reader) error {
	read, err := upstream.ReadAll(r, nil, a.o.MaxResponse, a.o.SizeHint)
	if err != nil {
		return err
	}
	data, err := a.document(read)
	if err != nil {
		return err
	}
	if err := strict.CheckResponse(data, 0); err != nil {
		return err
	}
	a.warn("the provider sent a non-streaming response to a streaming request")
	if a.id == nil {
		a.created = bytes.Clone(a.c.created)
	}
	a.chunks, a.whole = a.divide(data), true
	a.c.whole = false
	return nil
}

// divide splits a complete response into chunks.
func (a *responseReader) divide(data []byte) [][]byte {
	s := rawjson.Scanner{Data: data}
	var pieces [][]byte
	var usage []byte
	for key := range s.Members {
		switch string(key) {
		case "choices":
			for n := range s.Elements {
				if a.o.Bare {
					pieces = append(pieces, a.completionChunks(n, s.Raw())...)
					continue
				}
				pieces = append(pieces, a.choiceChunks(n, s.Raw())...)
			}
		case "usage":
			usage = s.RawOrNil()
		}
	}
	if usage != nil {
		pieces = append(pieces, a.appendChunk(nil, `"choices":[],"usage":`, usage))
	}
	return pieces
}

// choiceChunks returns the chunks of one choice: role, content, each tool call, and finish reason.
func (a *responseReader) choiceChunks(n int, choice []byte) [][]byte {
	index, finish, logprobs := []byte(strconv.Itoa(n)), []byte(nil), []byte(nil)
	var message []byte
	s := rawjson.Scanner{Data: choice}
	for key := range s.Members {
		switch string(key) {
		case "index":
			if s.Kind() == '0' {
				index = s.Number()
			}
		case "finish_reason":
			finish = s.RawOrNil()
		case "logprobs":
			logprobs = s.RawOrNil()
		case "message":
			message = s.RawOrNil()
		}
	}
	delta, calls := splitMessage(message)
	piece := func(delta, finish []byte) []byte {
		choice := fmt.Appendf(nil, `{"index":%s,"delta":%s,"finish_reason":%s}`, index, delta, or(finish, "null"))
		return a.appendChunk(nil, `"choices":[`, append(choice, ']'))
	}
	pieces := [][]byte{piece([]byte(`{"role":"assistant","content":""}`), nil)}
	if len(delta) > len(`{}`) {
		if logprobs != nil { // logprobs is a member of the choice, like delta
			delta = fmt.Appendf(nil, `%s,"logprobs":%s`, delta, logprobs)
		}
		pieces = append(pieces, piece(delta, nil))
	}
	for _, call := range calls {
		pieces = append(pieces, piece(fmt.Appendf(nil, `{"tool_calls":[%s]}`, call), nil))
	}
	if finish == nil {
		finish = []byte(`"stop"`)
		if len(calls) > 0 {
			finish = []byte(`"tool_calls"`)
		}
	}
	return append(pieces, piece([]byte(`{}`), finish))
}

// completionChunks returns the chunks of one choice of a legacy completion. The choice has the same form in a chunk and
// in a complete response. If the choice has no finish reason, a second chunk adds one.
func (a *responseReader) completionChunks(n int, choice []byte) [][]byte {
	pieces := [][]byte{a.appendChunk(nil, `"choices":[`, append(bytes.Clone(choice), ']'))}
	index, ended := []byte(strconv.Itoa(n)), false
	s := rawjson.Scanner{Data: choice}
	if s.Kind() != '{' {
		return pieces
	}
	for key := range s.Members {
		switch string(key) {
		case "index":
			if s.Kind() == '0' {
				index = s.Number()
			}
		case "finish_reason":
			ended = s.RawOrNil() != nil
		}
	}
	if !ended {
		end := fmt.Appendf(nil, `{"index":%s,"text":"","logprobs":null,"finish_reason":"stop"}]`, index)
		pieces = append(pieces, a.appendChunk(nil, `"choices":[`, end))
	}
	return pieces
}

// splitMessage returns the tool calls of a message, each with an index, and a delta with its other members, except role and null members.
func splitMessage(message []byte) (delta []byte, calls [][]byte) {
	delta = []byte{'{'}
	s := rawjson.Scanner{Data: message}
	if s.Kind() != '{' {
		return []byte(`{}`), nil
	}
	for key := range s.Members {
		at := s.KeyStart
		switch string(key) {
		case "role":
			continue
		case "tool_calls":
			if s.Kind() != '[' {
				continue
			}
			for n := range s.Elements {
				calls = append(calls, withIndex(n, s.Raw()))
			}
		default:
			if s.RawOrNil() == nil {
				continue
			}
			if len(delta) > 1 {
				delta = append(delta, ',')
			}
			delta = append(delta, message[at:s.Pos]...)
		}
	}
	return append(delta, '}'), calls
}

// withIndex adds the index that chunks require to a tool call.
func withIndex(n int, call []byte) []byte {
	s := rawjson.Scanner{Data: call}
	if s.Kind() != '{' {
		return call
	}
	has, empty := false, true
	for key := range s.Members {
		empty = false
		has = has || string(key) == "index"
	}
	if has || empty {
		return call
	}
	return fmt.Appendf(nil, `{"index":%d,%s`, n, call[1:])
}
