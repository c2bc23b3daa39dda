package responses

import (
	"cmp"
	"errors"
	"io"
	"strings"
	"sync"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/fault"
	"fairlead.dev/internal/wire/sse"
	"fairlead.dev/internal/wire/strict"
	"fairlead.dev/internal/wire/upstream"
)

// reader reads a provider's response as events: the events of a stream, or the equivalent events of a complete response.
type reader struct {
	*upstream.Source
	from   io.Reader
	stream *sse.Reader // nil before the first event and for a complete response
	stored bool        // whether the response was created by an earlier request; see ReadStored

	whole    []event // remaining events of a complete response
	last     event   // last event of a stream
	began    bool
	searches int64 // number of web searches so far
}

// open detects whether the response is a stream. A complete response is split into events.
func (r *reader) open() error {
	if !r.Options.Stream {
		return r.split(r.from)
	}
	stream := sse.NewReader(r.from, r.Options.MaxLine)
	first, err := stream.First()
	switch {
	case errors.Is(err, io.EOF):
		return upstream.Malformed("The provider sent an empty response.")
	case err != nil:
		return upstream.Failure(err)
	case first == '{' && r.stored:
		return upstream.Malformed("The provider did not send a stream.")
	case first == '{':
		r.Warn("the provider sent a non-streaming response to a streaming request")
		return r.split(stream.Rest())
	}
	r.stream = stream
	return nil
}

// split reads a complete response as the equivalent events.
func (r *reader) split(from io.Reader) error {
	data, err := r.Append(nil, from)
	if err != nil {
		return err
	}
	if err := strict.CheckResponse(data, 0); err != nil {
		return err
	}
	var whole response
	if err := r.decode(data, &whole); err != nil {
		return err
	}
	r.began, r.whole = true, whole.events()
	return nil
}

// decode decodes a complete response. It returns an error for a failed response, unless the response is stored: then the operation on it has
// succeeded.
func (r *reader) decode(data []byte, into *response) error {
	if upstream.Decode(data, into) != nil {
		return r.NotObject()
	}
	failure := into.failure()
	switch {
	case r.stored:
		return nil
	case failure != nil:
		return failure
	case into.Type == "error" || into.Error.Kind() == '{':
		return fault.Inside(data)
	case into.Output == nil:
		return upstream.Malformed("The provider's response has no output.")
	}
	return nil
}

// next returns the next event, which is valid until the following call. It returns nil after the last event of a complete response, and
// after the end of a stream that is complete.
func (r *reader) next() (*event, error) {
	if r.stream == nil && r.whole == nil {
		if err := r.open(); err != nil {
			return nil, err
		}
	}
	ev := &r.last
	switch {
	case len(r.whole) > 0:
		ev, r.whole = &r.whole[0], r.whole[1:]
	case r.stream == nil:
		return nil, nil
	default:
		if more, err := r.read(); err != nil || !more {
			return nil, err
		}
	}
	switch ev.Type {
	case "response.created", "response.in_progress", "response.queued":
		r.began = true
	case "response.output_item.done":
		if ev.Item != nil {
			r.searches += ev.Item.searches()
		}
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		r.began = true
		if ev.Response == nil {
			ev.Response = &response{}
		}
		if failure := ev.Response.failure(); failure != nil && !r.stored {
			return ev, failure
		}
		r.Finished = true
	}
	return ev, nil
}

// read reads the next event of a stream into r.last. It returns false if the provider has closed a complete stream.
func (r *reader) read() (more bool, err error) {
	for {
		in, more, err := r.NextData(r.stream)
		if err != nil {
			return false, err
		}
		if more {
			r.last = event{}
			if upstream.Decode(in.Data, &r.last) == nil {
				r.last.Type, r.last.data = cmp.Or(r.last.Type, string(in.Name)), in.Data
				if r.last.Type == "error" || r.last.Error.Kind() == '{' {
					return false, fault.Inside(in.Data)
				}
				return true, nil
			}
			if more, err = r.Unreadable(in); err != nil {
				return false, err
			}
		}
		switch {
		case more:
		case r.Finished:
			return false, nil
		case !r.began && !r.stored:
			return false, upstream.Malformed("The provider's stream contains no response.")
		default:
			return false, upstream.Interrupted()
		}
	}
}

// used returns the usage that the last event of a response reports.
func (r *reader) used(end *response) *llm.Usage {
	usage := end.readUsage()
	if usage != nil {
		usage.Searches = max(usage.Searches, r.searches) // some providers send an empty output list in the last event
	}
	return usage
}

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
	return &forwarder{reader: reader{Source: upstream.NewSource(o.Reading), from: r}, o: o}
}

// ReadStored reads the provider's reply to an operation on a stored response, such as reading or deleting it. The reply is a stream of
// events, or one document: a response, a list of items, or the confirmation of a deletion. Unlike Read, ReadStored forwards a failed or
// cancelled response, because the operation itself has succeeded.
func ReadStored(r io.Reader, o Options) llm.Stream {
	return &forwarder{reader: reader{Source: upstream.NewSource(o.Reading), from: r, stored: true}, o: o}
}

// forwarder implements llm.Stream.
type forwarder struct {
	reader
	o        Options
	reported string // model name that the provider reports
	id       string // response ID that the provider reports
	sealed   string // response ID that the client sees
	over     bool
	err      error // error to return at the end of an incomplete response
}

// Next implements llm.Stream.
func (f *forwarder) Next() (llm.Event, bool, error) {
	if f.over {
		return llm.Event{}, false, f.err
	}
	var ev llm.Event
	var err error
	if f.o.Stream || f.o.Split {
		var in *event
		if in, err = f.next(); err == nil && in == nil {
			f.over = true
			return llm.Event{}, false, nil
		}
		if err == nil {
			ev = f.event(in)
		}
	} else {
		f.over = true
		ev, err = f.document()
	}
	if err != nil {
		f.over, f.err = true, err
	}
	return ev, err == nil, f.err
}

// Close implements llm.Stream. It does nothing, because the stream holds no resources.
func (f *forwarder) Close() {}

// event forwards one event.
func (f *forwarder) event(in *event) llm.Event {
	ev := llm.Event{Name: in.Type, Data: in.data}
	if in.Response != nil {
		ev.Data, ev.Own = f.adapt(in.data, in.Response), true
	}
	switch in.Type {
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		f.over = true
		ev.Finish, ev.Usage = in.Response.finish(), f.used(in.Response)
	case "response.created", "response.in_progress", "response.queued":
		if f.o.Background { // the provider generates and charges for the response even if the connection ends now
			ev.Content, ev.Pending = true, f.id
		}
	case "response.output_item.added", "response.output_item.done":
		if in.Item == nil {
			in.Item = &item{}
		}
		// Every item except a message or reasoning, which begin empty, may have side effects. Setting Content prevents a fallback to
		// another provider afterwards.
		ev.Content = in.Item.Type != messageItem && in.Item.Type != reasoningItem
		if in.Type == "response.output_item.added" {
			ev.ASCIIBytes, ev.NonASCIIBytes = upstream.CountText(in.Item.Name)
		}
	default:
		if strings.HasSuffix(in.Type, ".delta") {
			ev.Content = true
			ev.ASCIIBytes, ev.NonASCIIBytes = upstream.CountText(in.Delta)
		}
	}
	if in.data == nil {
		ev.Data, ev.Own = encode(in), true
	}
	ev.Model = f.reported
	return ev
}

// responseBuffers pools the buffers into which whole responses are read. Events do not share memory with a buffer.
var responseBuffers = sync.Pool{New: func() any { return new([]byte) }}

// maxPooledBuffer is the maximum capacity of a pooled buffer.
const maxPooledBuffer = 64 << 10

// document forwards a response that is one JSON document to a client that does not stream.
func (f *forwarder) document() (llm.Event, error) {
	buffer := responseBuffers.Get().(*[]byte)
	data, err := f.Append((*buffer)[:0], f.from)
	if err != nil {
		return llm.Event{}, err
	}
	var whole response
	if err := f.decode(data, &whole); err != nil {
		return llm.Event{}, err // do not reuse the buffer, because the error may refer to it
	}
	ev := llm.Event{Data: f.adapt(data, &whole), Own: true, Content: true, Finish: whole.finish(), Usage: f.used(&whole), Model: f.reported}
	whole.count(&ev)
	if f.stored && (whole.Status == "" || whole.Status == "failed" || whole.Status == "cancelled") {
		ev.Finish = whole.Status // a document that is not a response has no status
	}
	if f.o.Background && ev.Finish == "" {
		ev.Pending = f.id
	}
	if cap(data) <= maxPooledBuffer {
		*buffer = data
		responseBuffers.Put(buffer)
	}
	return ev, nil
}

// count adds the text that the model wrote to an event.
func (r *response) count(ev *llm.Event) {
	add := func(text string) {
		ascii, other := upstream.CountText(text)
		ev.ASCIIBytes += ascii
		ev.NonASCIIBytes += other
	}
	for i := range r.Output {
		it := &r.Output[i]
		add(it.Arguments.String)
		add(it.Input.String)
		for _, list := range [][]part{it.Content.list, it.Summary.list} {
			for j := range list {
				add(textOf(list[j].Text))
				add(textOf(list[j].Refusal))
			}
		}
	}
}

// adapt replaces the model name and the IDs of a response with those that the client sees, in the response and in data, from which it was
// decoded. data may be nil. The provider's values are stored in f.
func (f *forwarder) adapt(data []byte, r *response) []byte {
	if model := r.Model.Text(); model != "" {
		f.reported = model
		if f.o.Model != "" {
			r.Model = r.Model.With(f.o.Model)
		} else if f.o.ModelName != nil {
			r.Model = r.Model.With(f.o.ModelName(model))
		}
	}
	if id := r.ID.Text(); id != "" {
		if id != f.id { // convert the ID only once, because all events of a stream have the same ID
			f.id = id
			if f.o.ResponseID != nil {
				f.sealed = f.o.ResponseID(id)
			}
		}
		if f.o.ResponseID != nil {
			r.ID = r.ID.With(f.sealed)
		}
	}
	if id := r.PreviousResponseID.Text(); id != "" && f.o.ResponseID != nil {
		r.PreviousResponseID = r.PreviousResponseID.With(f.o.ResponseID(id))
	}
	if data == nil {
		return nil
	}
	return upstream.Splice(data, r.Model, r.ID, r.PreviousResponseID)
}
