package openai

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
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

// wholeResponse holds the members of a complete response that divide distributes among chunks.
type wholeResponse struct {
	Choices []jsontext.Value `json:"choices"`
	Usage   jsontext.Value   `json:"usage"`
}

type wholeChoice struct {
	Index    jsontext.Value `json:"index"`
	Finish   jsontext.Value `json:"finish_reason"`
	Logprobs jsontext.Value `json:"logprobs"`
	Message  struct {
		Role      jsontext.Value `json:"role"`
		ToolCalls rawList        `json:"tool_calls"`
		Rest      jsontext.Value `json:",embed"`
	} `json:"message"`
}

// readChoice reads the choice with position n in its response.
func readChoice(n int, raw []byte) (c wholeChoice) {
	_ = decodeJSON(raw, &c) // members of unexpected types stay empty
	if len(c.Index) == 0 || c.Index.Kind() != '0' {
		c.Index = strconv.AppendInt(nil, int64(n), 10)
	}
	c.Finish, c.Logprobs = jsontext.Value(rawOf(c.Finish)), jsontext.Value(rawOf(c.Logprobs))
	return c
}

// divide splits a complete response into chunks.
func (a *responseReader) divide(data []byte) [][]byte {
	var r wholeResponse
	_ = decodeJSON(data, &r) // the choices are a list of objects
	var pieces [][]byte
	for n, choice := range r.Choices {
		if a.o.Bare {
			pieces = append(pieces, a.completionChunks(n, choice)...)
		} else {
			pieces = append(pieces, a.choiceChunks(n, choice)...)
		}
	}
	if usage := rawOf(r.Usage); usage != nil {
		pieces = append(pieces, a.appendChunk(nil, `"choices":[],"usage":`, usage))
	}
	return pieces
}

// choiceChunks returns the chunks of one choice: role, content, each tool call, and finish reason.
func (a *responseReader) choiceChunks(n int, raw []byte) [][]byte {
	c := readChoice(n, raw)
	piece := func(delta, finish []byte) []byte {
		choice := fmt.Appendf(nil, `{"index":%s,"delta":%s,"finish_reason":%s}`, c.Index, delta, or(finish, "null"))
		return a.appendChunk(nil, `"choices":[`, append(choice, ']'))
	}
	pieces := [][]byte{piece([]byte(`{"role":"assistant","content":""}`), nil)}
	delta := eachMember(c.Message.Rest, func(_ string, value []byte) []byte { return rawOf(value) })
	if len(delta) > len(`{}`) {
		if c.Logprobs != nil { // logprobs is a member of the choice, like delta
			delta = fmt.Appendf(nil, `%s,"logprobs":%s`, delta, c.Logprobs)
		}
		pieces = append(pieces, piece(delta, nil))
	}
	for i, call := range c.Message.ToolCalls {
		pieces = append(pieces, piece(fmt.Appendf(nil, `{"tool_calls":[%s]}`, withIndex(i, call)), nil))
	}
	if c.Finish == nil {
		c.Finish = jsontext.Value(`"stop"`)
		if len(c.Message.ToolCalls) > 0 {
			c.Finish = jsontext.Value(`"tool_calls"`)
		}
	}
	return append(pieces, piece([]byte(`{}`), c.Finish))
}

// completionChunks returns the chunks of one choice of a legacy completion. The choice has the same form in a chunk and
// in a complete response. If the choice has no finish reason, a second chunk adds one.
func (a *responseReader) completionChunks(n int, raw []byte) [][]byte {
	pieces := [][]byte{a.appendChunk(nil, `"choices":[`, append(bytes.Clone(raw), ']'))}
	if c := readChoice(n, raw); c.Finish == nil {
		end := fmt.Appendf(nil, `{"index":%s,"text":"","logprobs":null,"finish_reason":"stop"}]`, c.Index)
		pieces = append(pieces, a.appendChunk(nil, `"choices":[`, end))
	}
	return pieces
}

// withIndex adds the index that chunks require to a tool call.
func withIndex(n int, call []byte) []byte {
	if call[0] != '{' || hasMember(call, "index") || len(call) == len(`{}`) {
		return call
	}
	return fmt.Appendf(nil, `{"index":%d,%s`, n, call[1:])
}
