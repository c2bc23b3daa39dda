package responsesstream

import (
	"errors"
	"io"
	"strings"
	"sync"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/fault"
	"fairlead.dev/internal/wire/sse"
	"fairlead.dev/internal/wire/upstream"
)

// Options holds the settings for forwarding a response to a client of the same format.
type Options struct {
	upstream.Reading
	Model string // model name that the client sees; empty to use ModelName
	// ModelName converts the provider's model name to the name that the client sees. If it is nil, the provider's name is kept.
	ModelName func(reported string) string
	// ResponseID converts the provider's ID of a stored response to the ID that the client sees. If it is nil, the provider's ID is kept.
	ResponseID func(id string) string
	// Split converts a non-streamed response into a stream. It is set if the client requested a stream, but the gateway requested a
	// non-streamed response from the provider.
	Split bool
	// Background is set if the provider continues to generate the response when the connection ends.
	Background bool
}

// Read reads a provider's 2xx response for a client of the same format. It forwards the provider's events as they arrive and replaces the
// model name and the response ID. A non-streamed response to a streaming request becomes a stream.
func Read(r io.Reader, o Options) llm.Stream {
	return &responseStream{Source: upstream.NewSource(o.Reading), o: o, from: r}
}

// responseStream holds the state of forwarding one response.
type responseStream struct {
	*upstream.Source
	o      Options
	from   io.Reader
	stored bool // whether the response was created by an earlier request; see ReadStored

	events   *sse.Reader // reader of a streamed response
	pending  []llm.Event // remaining events of a non-streamed response to a streaming request
	reported string      // model name that the provider reports
	id       string      // response ID that the provider reports
	sealed   string      // response ID that the client sees
	name     string      // name of the last event that was read
	searches int64       // number of web searches so far
	began    bool
	over     bool
	err      error // error to return at the end of an incomplete response
}

// Next implements llm.Stream.
func (s *responseStream) Next() (llm.Event, bool, error) {
	if len(s.pending) > 0 {
		ev := s.pending[0]
		s.pending = s.pending[1:]
		return ev, true, nil
	}
	if s.over {
		return llm.Event{}, false, s.err
	}
	ev, ok, err := s.step()
	if err != nil {
		s.over, s.err = true, err
	}
	return ev, ok && err == nil, s.err
}

// Close implements llm.Stream. It does nothing, because the stream holds no resources.
func (s *responseStream) Close() {}

func (s *responseStream) step() (llm.Event, bool, error) {
	switch {
	case !s.o.Stream && s.o.Split:
		return s.split(s.from)
	case !s.o.Stream:
		s.over = true
		return s.whole(s.from)
	}
	if s.events == nil {
		events := sse.NewReader(s.from, s.o.MaxLine)
		first, err := events.First()
		switch {
		case errors.Is(err, io.EOF):
			return llm.Event{}, false, upstream.Malformed("The provider sent an empty response.")
		case err != nil:
			return llm.Event{}, false, upstream.Failure(err)
		case first == '{' && s.stored:
			return llm.Event{}, false, upstream.Malformed("The provider did not send a stream.")
		case first == '{':
			s.Warn("the provider sent a non-streaming response to a streaming request")
			return s.split(events.Rest())
		}
		s.events = events
	}
	f, ok, err := s.next()
	switch {
	case err != nil:
		return llm.Event{}, false, err
	case ok:
		ev, err := s.event(f)
		return ev, err == nil, err
	case !s.began && !s.stored:
		return llm.Event{}, false, upstream.Malformed("The provider's stream contains no response.")
	case !s.Finished:
		return llm.Event{}, false, upstream.Interrupted()
	}
	s.over = true
	return llm.Event{}, false, nil
}

// next returns the next event that is a JSON object. It returns false when the provider has closed the stream.
func (s *responseStream) next() (frame, bool, error) {
	for {
		in, ok, err := s.NextData(s.events)
		if err != nil || !ok {
			return frame{}, false, err
		}
		f, ok := readFrame(in)
		if ok && f.fault {
			return frame{}, false, fault.Inside(in.Data)
		}
		if ok {
			return f, true, nil
		}
		if more, err := s.Unreadable(in); !more {
			return frame{}, false, err
		}
	}
}

// event forwards one event.
func (s *responseStream) event(f frame) (llm.Event, error) {
	if string(f.name) != s.name { // reuse the string, because most events have the same name as the previous one
		s.name = string(f.name)
	}
	ev := llm.Event{Name: s.name, Data: f.data}
	switch s.name {
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		o, _ := readObject(f.data, f.response)
		if failure := o.err(); failure != nil && !s.stored {
			return llm.Event{}, failure
		}
		s.began, s.Finished, s.over = true, true, true
		o.searches = max(o.searches, s.searches) // some providers send an empty output list in the last event
		ev.Finish, ev.Usage = o.finishReason(), o.usageCounts()
		ev.Data, ev.Own = s.rewrite(f.data, &o), true
	case "response.created", "response.in_progress", "response.queued":
		o, _ := readObject(f.data, f.response)
		s.began = true
		ev.Data, ev.Own = s.rewrite(f.data, &o), true
		if s.o.Background { // the provider generates and charges for the response even if the connection ends now
			ev.Content, ev.Pending = true, s.id
		}
	case "response.output_item.added", "response.output_item.done":
		item := rawjson.Parse(f.item.of(f.data))
		kind := item.Get("type").String()
		// Every item except a message or reasoning, which begin empty, may have side effects. Setting Content prevents a fallback to
		// another provider afterwards.
		ev.Content = kind != "message" && kind != "reasoning"
		if name := item.Get("name"); s.name == "response.output_item.added" && name.Kind == rawjson.Text {
			ev.ASCIIBytes, ev.NonASCIIBytes = upstream.CountText(name.String())
		}
		if s.name == "response.output_item.done" {
			s.searches += Searches(item)
		}
	default:
		if strings.HasSuffix(s.name, ".delta") {
			ev.Content = true
			ev.ASCIIBytes, ev.NonASCIIBytes = f.ascii, f.other
		}
	}
	ev.Model = s.reported
	return ev, nil
}

// responseBuffers pools the buffers into which whole responses are read. Events do not share memory with a buffer.
var responseBuffers = sync.Pool{New: func() any { return new([]byte) }}

// maxPooledBuffer is the maximum capacity of a pooled buffer.
const maxPooledBuffer = 64 << 10

// whole reads a response that is one JSON document.
func (s *responseStream) whole(r io.Reader) (llm.Event, bool, error) {
	buffer := responseBuffers.Get().(*[]byte)
	data, err := s.Append((*buffer)[:0], r)
	if err != nil {
		return llm.Event{}, false, err
	}
	ev, err := s.document(data)
	if err != nil {
		return llm.Event{}, false, err // do not reuse the buffer, because the error may refer to it
	}
	if cap(data) <= maxPooledBuffer {
		*buffer = data
		responseBuffers.Put(buffer)
	}
	return ev, true, nil
}

// document converts a non-streamed response. The event does not share memory with data.
func (s *responseStream) document(data []byte) (llm.Event, error) {
	o, ok := readObject(data, span{0, len(data)})
	failure := o.err()
	switch {
	case !ok:
		return llm.Event{}, s.NotObject()
	case failure != nil && !s.stored:
		return llm.Event{}, failure
	case (o.fault || o.failure != nil && rawjson.Parse(o.failure).IsObject()) && !s.stored:
		return llm.Event{}, fault.Inside(data)
	case !o.hasOutput && !s.stored:
		return llm.Event{}, upstream.Malformed("The provider's response has no output.")
	}
	ev := llm.Event{Data: s.rewrite(data, &o), Own: true, Content: true, Finish: o.finishReason(), Usage: o.usageCounts(), ASCIIBytes: o.ascii, NonASCIIBytes: o.other}
	if s.stored {
		ev.Finish = storedFinish(&o)
	}
	ev.Model = s.reported
	if s.o.Background && ev.Finish == "" {
		ev.Pending = s.id
	}
	return ev, nil
}

// ReadWhole reads a response that is one JSON document. It returns an error for a failed response.
func ReadWhole(s *upstream.Source, r io.Reader) (rawjson.Value, []byte, error) {
	response, data, err := s.Document(r)
	if err != nil {
		return rawjson.Value{}, nil, err
	}
	if failure := Failure(response); failure != nil {
		return rawjson.Value{}, nil, failure
	}
	if !response.Get("output").IsList() {
		return rawjson.Value{}, nil, upstream.Malformed("The provider's response has no output.")
	}
	return response, data, nil
}

// rewrite returns data with the model name and the IDs in the response object replaced. It stores the provider's values in s.
func (s *responseStream) rewrite(data []byte, o *object) []byte {
	out, from := make([]byte, 0, len(data)+idSpace), 0
	for _, e := range o.edits[:o.count] {
		if value, changed := s.replace(e); changed {
			out = rawjson.AppendString(append(out, data[from:e.at.from]...), value)
			from = e.at.to
		}
	}
	return append(out, data[from:]...)
}

// idSpace is the number of bytes reserved for client IDs, which are longer than the provider's IDs.
const idSpace = 192

// replace returns the value that the client sees for a member of the response.
func (s *responseStream) replace(e edit) (replaced string, changed bool) {
	switch e.kind {
	case editModel:
		if string(e.value) != s.reported {
			s.reported = string(e.value)
		}
		switch {
		case s.o.Model != "":
			return s.o.Model, true
		case s.o.ModelName != nil:
			return s.o.ModelName(s.reported), true
		}
		return "", false
	case editID:
		if string(e.value) != s.id || s.sealed == "" { // convert the ID only once, because all events of a stream have the same ID
			s.id = string(e.value)
			if s.o.ResponseID != nil {
				s.sealed = s.o.ResponseID(s.id)
			}
		}
		return s.sealed, s.o.ResponseID != nil
	default:
		if s.o.ResponseID == nil {
			return "", false
		}
		return s.o.ResponseID(string(e.value)), true
	}
}
