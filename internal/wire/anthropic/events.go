package anthropic

import (
	"errors"
	"io"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/sse"
	"fairlead.dev/internal/wire/upstream"
)

// EventOptions holds the settings for forwarding a response to a client of the same format.
type EventOptions struct {
	upstream.Reading
	Model string // model name that the client sees; empty to keep the provider's name
}

// Read decodes a provider's 2xx response for a client of the same format. Events are unchanged except for the model
// name. A non-streamed response to a streaming request becomes the equivalent stream.
func Read(r io.Reader, o EventOptions) llm.Stream {
	return &responseStream{Source: upstream.NewSource(o.Reading), from: r, model: o.Model}
}

// responseStream holds the state of forwarding one response.
type responseStream struct {
	*upstream.Source
	from   io.Reader
	model  string
	counts Counts

	events *sse.Reader // reader of a streamed response
	pieces []llm.Event // remaining events of a non-streamed response that is split
	split  bool        // whether the response is non-streamed and is split into events

	ascii, other int    // number of ASCII and of non-ASCII text bytes
	reported     string // model name that the provider reports
	began, over  bool
	err          error // error to return at the end of an incomplete response
}

// Next implements llm.Stream. Before an error, it returns an event with the usage so far, if known.
func (p *responseStream) Next() (llm.Event, bool, error) {
	for !p.over {
		var ev llm.Event
		var ok bool // whether ev is an event to return
		var err error
		switch {
		case p.events != nil:
			ev, ok, err = p.streamed()
		case len(p.pieces) > 0:
			ev, p.pieces, ok = p.pieces[0], p.pieces[1:], true
		case p.split:
			p.over = true
		case p.Options.Stream:
			err = p.begin()
		default:
			ev, ok, err = p.single()
		}
		if ok {
			return ev, true, nil
		}
		if err == nil {
			continue
		}
		p.over, p.err = true, err
		if usage := upstream.RunningUsage(p.counts.Usage(), p.ascii, p.other); usage != nil {
			return llm.Event{Bare: true, Usage: usage, Model: p.reported}, true, nil
		}
	}
	return llm.Event{}, false, p.err
}

// Close implements llm.Stream. It does nothing, because the stream holds no resources.
func (p *responseStream) Close() {}

// begin detects whether the response is a stream.
func (p *responseStream) begin() error {
	events := sse.NewReader(p.from, p.Options.MaxLine)
	first, err := events.First()
	switch {
	case errors.Is(err, io.EOF):
		return upstream.Malformed("The provider sent an empty response.")
	case err != nil:
		return upstream.Failure(err)
	case first == '{' || first == '[':
		return p.divide(events.Rest())
	}
	p.events = events
	return nil
}

// streamed forwards one event of the stream. If the provider closes the stream after the stop reason but without
// message_stop, streamed adds the missing event.
func (p *responseStream) streamed() (llm.Event, bool, error) {
	f, more, err := p.NextFrame(p.events)
	if err != nil {
		return llm.Event{}, false, err
	}
	if more {
		return p.convert(f)
	}
	switch {
	case !p.began:
		return llm.Event{}, false, upstream.Malformed("The provider's response has no message.")
	case !p.Finished:
		return llm.Event{}, false, upstream.Interrupted()
	}
	p.over = true
	return llm.Event{Name: "message_stop", Data: []byte(`{"type":"message_stop"}`), Model: p.reported}, true, nil
}

// convert forwards one event.
func (p *responseStream) convert(f upstream.Frame) (llm.Event, bool, error) {
	ev := llm.Event{Name: f.Name, Data: f.Data}
	switch f.Name {
	case "message_start":
		message := f.Value.Get("message")
		p.began = true
		p.reported = message.Get("model").String()
		p.counts.Add(message.Get("usage"))
		ev.Data = p.replaceModel(f.Data, f.Value.Get("message.model"))
	case "content_block_start":
		count(&ev, f.Value.Get("content_block"))
	case "content_block_delta":
		count(&ev, f.Value.Get("delta"))
	case "message_delta":
		p.counts.End(f.Value.Get("usage"))
		ev.Usage = p.total()
		if reason := f.Value.Get("delta.stop_reason").String(); reason != "" {
			ev.Finish = FinishReason(reason)
			p.Finished = true
		}
	case "message_stop":
		if !p.Finished {
			return llm.Event{}, false, upstream.Interrupted()
		}
		p.over = true
	}
	ev.Model = p.reported
	if ev.Content {
		p.ascii += ev.ASCIIBytes
		p.other += ev.NonASCIIBytes
		ev.Usage = upstream.RunningUsage(p.counts.Usage(), p.ascii, p.other)
	}
	return ev, true, nil
}

// replaceModel returns data with the value model, which is the provider's model name, replaced with the client's model name.
func (p *responseStream) replaceModel(data []byte, model rawjson.Value) []byte {
	if p.model == "" || model.Kind != rawjson.Text || model.Index <= 0 {
		return data
	}
	out := make([]byte, 0, len(data)+len(p.model))
	out = append(out, data[:model.Index]...)
	out = rawjson.AppendString(out, p.model)
	return append(out, data[model.Index+len(model.Raw):]...)
}

// count adds the text lengths of a block or delta to ev. If the block or delta has content, count sets ev.Content.
func count(ev *llm.Event, v rawjson.Value) {
	before, kind := ev.ASCIIBytes+ev.NonASCIIBytes, ""
	v.ForEach(func(key, value rawjson.Value) bool {
		var text string
		switch key.String() {
		case "type":
			kind = value.String()
		case "text", "thinking", "partial_json", "name":
			if value.Kind == rawjson.Text {
				text = value.String()
			}
		case "input":
			if len(value.Raw) > len(`{}`) {
				text = value.Raw
			}
		}
		ascii, other := upstream.CountText(text)
		ev.ASCIIBytes += ascii
		ev.NonASCIIBytes += other
		return true
	})
	switch kind {
	case "text", "thinking", "text_delta", "thinking_delta", "input_json_delta", "signature_delta":
		ev.Content = ev.Content || ev.ASCIIBytes+ev.NonASCIIBytes > before
	default:
		ev.Content = true // a call, redacted thinking, or a block of unknown type
	}
}

// single forwards a non-streamed response to a non-streaming request.
func (p *responseStream) single() (llm.Event, bool, error) {
	message, data, err := readWhole(p.Source, p.from)
	if err != nil {
		return llm.Event{}, false, err
	}
	p.over = true
	ev := p.describe(message)
	ev.Data = p.replaceModel(data, message.Get("model"))
	message.Get("content").ForEach(func(_, block rawjson.Value) bool {
		count(&ev, block)
		return true
	})
	p.ascii, p.other = ev.ASCIIBytes, ev.NonASCIIBytes
	ev.Usage, ev.Content = p.total(), true
	return ev, true, nil
}

func (p *responseStream) describe(message rawjson.Value) llm.Event {
	p.counts.End(message.Get("usage"))
	p.reported = message.Get("model").String()
	return llm.Event{Model: p.reported, Finish: FinishReason(message.Get("stop_reason").String())}
}

// total returns the final usage. If the provider did not report a final output count, the output is estimated.
func (p *responseStream) total() *llm.Usage {
	if p.counts.Final {
		return p.counts.Usage()
	}
	return upstream.RunningUsage(p.counts.Usage(), p.ascii, p.other)
}

// divide splits a complete response into the events of the equivalent stream.
func (p *responseStream) divide(r io.Reader) error {
	message, data, err := readWhole(p.Source, r)
	if err != nil {
		return err
	}
	p.Warn("the provider sent a non-streaming response to a streaming request")
	end := p.describe(message)
	for _, f := range splitMessage(rawjson.Parse(p.replaceModel(data, message.Get("model")))) {
		ev := llm.Event{Name: f.Name, Data: f.Data, Model: p.reported}
		switch f.Name {
		case "content_block_start":
			count(&ev, rawjson.Get(f.Data, "content_block"))
		case "content_block_delta":
			count(&ev, rawjson.Get(f.Data, "delta"))
		case "message_delta":
			ev.Finish, ev.Usage = end.Finish, p.total()
		}
		p.ascii += ev.ASCIIBytes
		p.other += ev.NonASCIIBytes
		p.pieces = append(p.pieces, ev)
	}
	p.split = true
	return nil
}

// readWhole reads a response that is one message.
func readWhole(s *upstream.Source, r io.Reader) (rawjson.Value, []byte, error) {
	message, data, err := s.Document(r)
	if err == nil && !message.Get("content").IsList() {
		return rawjson.Value{}, nil, upstream.Malformed("The provider's response has no content.")
	}
	return message, data, err
}
