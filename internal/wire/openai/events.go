package openai

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/fault"
	"fairlead.dev/internal/wire/sse"
	"fairlead.dev/internal/wire/upstream"
)

// DefaultMaxResponse is the default of EventOptions.MaxResponse.
const DefaultMaxResponse = 64 << 20

// EventOptions holds the settings for decoding a provider's response.
type EventOptions struct {
	Stream         bool   // whether the request asked for a stream
	Bare           bool   // whether the response is a legacy completion
	ContentType    string // content type of the response
	Model          string // model name of every event; empty to keep the provider's name
	MaxLine        int    // maximum length of a stream line in bytes; 0 for sse.DefaultMaxLine
	MaxResponse    int64  // maximum size of the response in bytes; 0 for DefaultMaxResponse
	SizeHint       int64  // Content-Length of the response, if known
	UsagePath      string // alternative location of usage, such as "x_groq.usage"
	ReasoningOnTop bool   // whether completion_tokens excludes reasoning tokens

	// Counter estimates usage that the provider does not report. It may be nil.
	Counter llm.Counter
	// Warn receives warnings about corrected and dropped content. It may be nil.
	Warn func(string)
}

// Read decodes a provider's 2xx response. For a streaming request, it detects from the content whether the response is streamed; a
// non-streamed response becomes an equivalent stream. The data of a stream contains the usage once, at the end, in a separate event.
func Read(r io.Reader, o EventOptions) llm.Stream {
	return &responseStream{responseReader: newResponseReader(r, o)}
}

// responseReader holds the state of decoding one response.
type responseReader struct {
	source
	o          EventOptions
	model      []byte // quoted model name for the client; empty to keep the provider's
	c          *chunk // current chunk; nil while a stream waits for the next one
	size       int64
	warnedLost bool // whether a warning about dropped content was sent

	head
	progress
	usage *llm.Usage // latest usage; held contains its event until the end of the stream
	held  []byte

	ascii, other int64 // number of ASCII and of non-ASCII text bytes

	over bool
	err  error // error to return at the end of an incomplete response
}

// source reads the body of a response.
type source struct {
	from   io.Reader
	events sse.Reader // reader of a streamed response
	framed bool       // whether the response is streamed
	chunks [][]byte   // remaining chunks of a non-streamed response that is split
	whole  bool       // whether the response is non-streamed and is split into chunks
}

// head holds the members that all chunks share.
type head struct {
	reported    string // model name that the provider reports
	tier        string // service tier that the provider reports
	id, created []byte // values of the first chunk
}

// progress holds the choices that have begun and the choices that have a finish reason.
type progress struct{ seen, ended choiceSet }

func newResponseReader(r io.Reader, o EventOptions) *responseReader {
	if o.MaxResponse <= 0 {
		o.MaxResponse = DefaultMaxResponse
	}
	a := readerPool.Get().(*responseReader)
	a.from, a.o = r, o
	if o.Model != "" {
		a.model = rawjson.AppendString(a.model, o.Model)
	}
	return a
}

func malformed(message string) *llm.Error {
	return &llm.Error{Kind: llm.UpstreamMalformed, Message: message}
}

func (a *responseReader) warn(format string, args ...any) {
	if a.o.Warn != nil {
		a.o.Warn(fmt.Sprintf(format, args...))
	}
}

// Next implements llm.Stream. The last event contains the usage that the provider reported or the gateway estimated.
func (a *responseReader) Next() (llm.Event, bool, error) {
	for !a.over {
		var ev llm.Event
		var ok bool // whether ev is an event to return
		var err error
		switch {
		case a.framed:
			ev, ok, err = a.streamed()
		case len(a.chunks) > 0:
			data := a.chunks[0]
			a.chunks = a.chunks[1:]
			ev, ok, err = a.convert(sse.Event{Data: data})
		case a.whole:
			a.over = true
			err = a.complete(true)
		case a.o.Stream:
			err = a.begin()
		default:
			ev, ok, err = a.single()
		}
		if ok {
			return ev, true, nil
		}
		a.err = err
		if a.over && err == nil {
			if a.usage = a.usageOrEstimate(a.usage); a.usage != nil && len(a.held) == 0 {
				a.held = a.appendChunk(a.held, `"choices":[],"usage":`, UsageJSON(*a.usage))
			}
		}
		if a.over = a.over || err != nil; a.over && a.usage != nil {
			return llm.Event{Data: a.held, Bare: true, Usage: a.usage, Model: a.reported}, true, nil
		}
	}
	return llm.Event{}, false, a.err
}

// begin detects whether the response is a stream.
func (a *responseReader) begin() error {
	a.events.Reset(a.from, a.o.MaxLine)
	first, err := a.events.First()
	switch {
	case errors.Is(err, io.EOF):
		return malformed("The provider sent an empty response.")
	case err != nil:
		return upstream.Failure(err)
	case first == '{' || first == '[':
		return a.split(a.events.Rest())
	}
	a.framed = true
	return nil
}

// streamed decodes one event of the stream. Before it waits for the event, it returns the previous chunk to the pool.
func (a *responseReader) streamed() (llm.Event, bool, error) {
	a.leaveChunk()
	in, err := a.events.Next()
	switch {
	case errors.Is(err, io.EOF) || err == nil && bytes.Equal(bytes.TrimSpace(in.Data), []byte("[DONE]")):
		a.over = true
		return llm.Event{}, false, a.complete(err == nil)
	case err != nil && a.finished():
		a.over = true // an error after the finish reason is ignored
		return llm.Event{}, false, nil
	case err != nil:
		return llm.Event{}, false, upstream.Failure(err)
	}
	if a.size += int64(len(in.Data)); a.size > a.o.MaxResponse {
		return llm.Event{}, false, malformed(fmt.Sprintf("The provider's response is larger than %d bytes.", a.o.MaxResponse))
	}
	a.takeChunk()
	if in.Unterminated && a.c.scan(in.Data) != nil {
		in.Data = nil // the chunk was truncated by the end of the stream, so it is dropped
	}
	return a.convert(in)
}

// convert converts one event. It returns false if there is nothing to forward.
func (a *responseReader) convert(in sse.Event) (llm.Event, bool, error) {
	if len(in.Data) == 0 {
		return llm.Event{}, false, nil
	}
	// Line ends between JSON tokens become spaces, because many clients parse a stream line by line.
	for _, end := range []byte("\r\n") {
		rest := in.Data
		for i := bytes.IndexByte(rest, end); i >= 0; i = bytes.IndexByte(rest, end) {
			rest[i] = ' '
			rest = rest[i+1:]
		}
	}
	ev, ok, err := a.event(in.Data)
	if err == nil && string(in.Name) == "error" && a.c.choices < 0 {
		return llm.Event{}, false, fault.Inside(in.Data)
	}
	return ev, ok, err
}

// event converts one chunk. It returns false if there is nothing to forward.
func (a *responseReader) event(data []byte) (llm.Event, bool, error) {
	c := a.c
	data, err := c.read(data)
	switch {
	case err != nil && a.finished():
		a.over = true // the text is complete, so the invalid event is ignored
		a.warn("ignored an event after the finish reason that cannot be decoded, and the rest of the stream: %v", err)
		return llm.Event{}, false, nil
	case err != nil: // an invalid event is never skipped here, because it may contain text
		return llm.Event{}, false, &llm.Error{Kind: llm.UpstreamMalformed, Message: "The provider sent an event that cannot be decoded.", Err: err}
	}
	if c.fault != nil {
		return llm.Event{}, false, fault.Inside(c.fault)
	}
	if c.finish == "error" {
		return llm.Event{}, false, &llm.Error{Kind: llm.UpstreamServer, Message: "The provider stopped responding because of an internal error."}
	}
	a.recordHead(data)
	usage := a.parseUsage()
	if usage != nil { // hold the usage until the end of the stream, because clients add up usage that is sent more than once
		a.usage = usage
		if c.choices == 0 && c.usageOnTop && (a.id == nil || bytes.Equal(c.id, a.id)) {
			a.held = append(a.held[:0], a.rewrite(data, false)...)
		} else {
			a.held = a.appendChunk(a.held[:0], `"choices":[],"usage":`, c.usage)
		}
	}
	if c.choices <= 0 || !c.hasMessage && c.finish == "" {
		return llm.Event{}, false, nil // do not forward chunks without choices, because they crash clients that read choices[0].delta
	}
	a.seen.merge(c.seen)
	a.ended.merge(c.ended)
	ev := a.describe(a.rewrite(data, c.usageOnTop))
	ev.Usage = usage
	return ev, true, nil
}

// usageOrEstimate returns the reported usage. If it is nil and there is a counter, it returns an estimate.
func (a *responseReader) usageOrEstimate(reported *llm.Usage) *llm.Usage {
	if reported != nil || a.o.Counter == nil {
		return reported
	}
	usage := a.o.Counter.Count(a.ascii, a.other)
	return &usage
}

// describe returns an event with the given bytes and the results of the scan.
func (a *responseReader) describe(data []byte) llm.Event {
	a.ascii += int64(a.c.ascii)
	a.other += int64(a.c.other)
	return llm.Event{
		Data: data, Content: a.c.content, Finish: a.c.finish, Model: a.reported,
		ASCIIBytes: a.c.ascii, NonASCIIBytes: a.c.other,
	}
}

// recordHead stores the members that all chunks share.
func (a *responseReader) recordHead(data []byte) {
	if a.c.droppedPart && !a.warnedLost {
		a.warnedLost = true
		a.warn("dropped content that is neither text nor thinking")
	}
	m := data[a.c.model.Start:a.c.model.End]
	if a.c.model.Escaped {
		m = rawjson.Unescape(nil, m, len(m))
	}
	if len(m) > 0 && string(m) != a.reported {
		a.reported = string(m)
	}
	if tier := a.c.tier; len(tier) > len(`""`) && tier[0] == '"' && string(tier[1:len(tier)-1]) != a.tier {
		a.tier = string(tier[1 : len(tier)-1])
	}
	if a.id == nil && len(a.c.id) > len(`""`) {
		a.id = bytes.Clone(a.c.id)
		a.created = bytes.Clone(a.c.created)
	}
}

// finished reports whether every choice has a finish reason.
func (p *progress) finished() bool { return !p.ended.empty() && p.ended == p.seen }

// complete returns an error if the response is not complete. endMarker is true if the provider sent the
// end marker [DONE] or a non-streamed response.
func (p *progress) complete(endMarker bool) error {
	switch {
	case p.seen.empty() && !endMarker:
		return malformed("The provider's response has no choices.")
	case !p.finished():
		return &llm.Error{Kind: llm.StreamInterrupted, Message: "The provider's stream ended before the response was complete."}
	}
	return nil
}
