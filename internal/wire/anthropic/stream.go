package anthropic

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/fault"
	"fairlead.dev/internal/wire/sse"
	"fairlead.dev/internal/wire/upstream"
)

// reader reads a provider's response as events: the events of a stream, or the equivalent events of a complete message.
type reader struct {
	*upstream.Source
	from   io.Reader
	stream *sse.Reader // nil before the first event and for a complete message
	whole  []event     // remaining events of a complete message
	last   event       // last event of a stream

	began        bool
	finish, stop string // finish reason and stop sequence
	reported     string // model name that the provider reports
	counts       counts
	ascii, other int // number of ASCII and of non-ASCII text bytes
}

func newReader(from io.Reader, o upstream.Reading) reader {
	return reader{Source: upstream.NewSource(o), from: from}
}

// next returns the next event, which is valid until the following call. The last event is message_stop. If the response is incomplete, next
// returns an error.
func (r *reader) next() (*event, error) {
	if r.stream == nil && r.whole == nil {
		if err := r.open(); err != nil {
			return nil, err
		}
	}
	ev := &r.last
	if len(r.whole) > 0 {
		ev, r.whole = &r.whole[0], r.whole[1:]
	} else if err := r.read(); err != nil {
		return nil, err
	}
	switch ev.Type {
	case "message_start":
		r.began = true
		if m := ev.Message; m != nil {
			r.reported = m.Model.Text()
			r.counts.add(m.Usage)
		}
	case "content_block_start": // some compatible servers do not send message_start
		r.began = true
	case "message_delta":
		r.counts.end(ev.Usage)
		r.end(ev.Delta.stopped)
	case "message_stop":
		if !r.Finished {
			return nil, upstream.Interrupted()
		}
	}
	return ev, nil
}

// end records why the response ended.
func (r *reader) end(s stopped) {
	if reason := upstream.Text(s.StopReason); reason != "" {
		r.finish, r.Finished = finishReason(reason), true
	}
	if stop := upstream.Text(s.StopSequence); stop != "" {
		r.stop = stop
	}
}

// open detects whether the response is a stream.
func (r *reader) open() error {
	stream := sse.NewReader(r.from, r.Options.MaxLine)
	first, err := stream.First()
	switch {
	case errors.Is(err, io.EOF):
		return upstream.Malformed("The provider sent an empty response.")
	case err != nil:
		return upstream.Failure(err)
	case first != '{' && first != '[' && r.Options.Stream:
		r.stream = stream
		return nil
	}
	m, _, err := r.message(stream.Rest())
	if err != nil {
		return err
	}
	if r.Options.Stream {
		r.Warn("the provider sent a non-streaming response to a streaming request")
	}
	r.whole = m.events()
	return nil
}

// message reads a response that is one message.
func (r *reader) message(from io.Reader) (response, []byte, error) {
	var m response
	data, err := r.Bytes(from)
	if err != nil {
		return m, nil, err
	}
	switch err := upstream.Decode(data, &m); {
	case err != nil:
		return m, nil, r.NotObject()
	case isFault(m.Type, m.Error):
		return m, nil, fault.Inside(data)
	case m.Content == nil:
		return m, nil, upstream.Malformed("The provider's response has no content.")
	}
	return m, data, nil
}

// read reads the next event of a stream into r.last. If the provider closes the stream after the stop reason but without message_stop, read
// adds the missing event.
func (r *reader) read() error {
	for {
		in, more, err := r.NextData(r.stream)
		if err != nil {
			return err
		}
		if more {
			r.last = event{}
			if upstream.Decode(in.Data, &r.last) == nil {
				r.last.Type, r.last.data = cmp.Or(r.last.Type, string(in.Name)), in.Data
				if isFault(r.last.Type, r.last.Error) {
					return fault.Inside(in.Data)
				}
				return nil
			}
			if more, err = r.Unreadable(in); err != nil {
				return err
			}
		}
		switch {
		case more:
		case !r.began:
			return upstream.Malformed("The provider's response has no message.")
		case !r.Finished:
			return upstream.Interrupted()
		default:
			r.last = event{Type: "message_stop", data: []byte(`{"type":"message_stop"}`)}
			return nil
		}
	}
}

// used returns the usage so far. The output is estimated unless the response is complete and the provider reported it.
func (r *reader) used(complete bool) *llm.Usage {
	if complete && r.counts.final {
		return r.counts.usage()
	}
	return upstream.RunningUsage(r.counts.usage(), r.ascii, r.other)
}

// EventOptions holds the settings for forwarding a response to a client of the same format.
type EventOptions struct {
	upstream.Reading
	Model string // model name that the client sees; empty to keep the provider's name
}

// Read decodes a provider's 2xx response for a client of the same format. Events are unchanged except for the model
// name. A non-streamed response to a streaming request becomes the equivalent stream.
func Read(r io.Reader, o EventOptions) llm.Stream {
	return &forwarder{reader: newReader(r, o.Reading), model: o.Model}
}

// forwarder implements llm.Stream.
type forwarder struct {
	reader
	model string // model name that the client sees; empty to keep the provider's name
	over  bool
	err   error // error to return at the end of an incomplete response
}

// Next implements llm.Stream. Before an error, it returns an event with the usage so far, if known.
func (f *forwarder) Next() (llm.Event, bool, error) {
	if f.over {
		return llm.Event{}, false, f.err
	}
	forward := f.event
	if !f.Options.Stream {
		forward = f.document
	}
	ev, err := forward()
	if err == nil {
		return ev, true, nil
	}
	f.over, f.err = true, err
	if usage := f.used(false); usage != nil {
		return llm.Event{Bare: true, Usage: usage, Model: f.reported}, true, nil
	}
	return llm.Event{}, false, err
}

// Close implements llm.Stream. It does nothing, because the stream holds no resources.
func (f *forwarder) Close() {}

// event forwards the next event of a stream.
func (f *forwarder) event() (llm.Event, error) {
	in, err := f.next()
	if err != nil {
		return llm.Event{}, err
	}
	ev := llm.Event{Name: in.Type, Data: in.data, Model: f.reported}
	switch in.Type {
	case "message_start":
		if in.Message != nil && f.model != "" {
			ev.Data = f.replaceModel(in.data, in.Message.Model)
			in.Message.Model = upstream.PlacedText(f.model)
		}
	case "content_block_start":
		if in.ContentBlock != nil {
			in.ContentBlock.count(&ev)
		}
	case "content_block_delta":
		in.Delta.count(&ev)
	case "message_delta":
		ev.Usage = f.used(true)
		ev.Finish = finishReason(upstream.Text(in.Delta.StopReason))
	case "message_stop":
		f.over = true
	}
	if ev.Content {
		f.ascii += ev.ASCIIBytes
		f.other += ev.NonASCIIBytes
		ev.Usage = f.used(false)
	}
	if in.data == nil {
		ev.Data, err = encode(in)
	}
	return ev, err
}

// document forwards a response to a request that does not stream.
func (f *forwarder) document() (llm.Event, error) {
	m, data, err := f.message(f.from)
	if err != nil {
		return llm.Event{}, err
	}
	f.over, f.reported = true, m.Model.Text()
	f.counts.end(m.Usage)
	f.end(m.stopped)
	ev := llm.Event{Model: f.reported, Finish: f.finish, Data: f.replaceModel(data, m.Model)}
	for i := range m.Content {
		m.Content[i].count(&ev)
	}
	f.ascii, f.other = ev.ASCIIBytes, ev.NonASCIIBytes
	ev.Usage, ev.Content = f.used(true), true
	return ev, nil
}

// replaceModel returns data with the provider's model name replaced with the client's model name.
func (f *forwarder) replaceModel(data []byte, model upstream.Placed) []byte {
	if f.model == "" || model.Text() == "" || data == nil {
		return data
	}
	return upstream.Splice(data, model.With(f.model))
}

// count adds the text of a block to an event.
func (b *block) count(ev *llm.Event) {
	input := ""
	if len(b.Input) > len(`{}`) {
		input = string(b.Input)
	}
	isText := b.Type == "text" || b.Type == "thinking" // other blocks are content even if they have no text
	countTexts(ev, isText, textOf(b.Text), textOf(b.Thinking), b.Name, input)
}

// count adds the text of a delta to an event.
func (d *delta) count(ev *llm.Event) {
	isText := slices.Contains([]string{"text_delta", "thinking_delta", "input_json_delta", "signature_delta"}, d.Type)
	countTexts(ev, isText, d.Text, d.Thinking, d.PartialJSON)
}

// countTexts adds texts to the counts of an event and reports in it whether there is content: a text that is not empty, or anything that is
// not text.
func countTexts(ev *llm.Event, isText bool, texts ...string) {
	for _, text := range texts {
		ascii, other := upstream.CountText(text)
		ev.ASCIIBytes += ascii
		ev.NonASCIIBytes += other
		ev.Content = ev.Content || text != ""
	}
	ev.Content = ev.Content || !isText
}
