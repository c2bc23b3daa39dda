package messages

import (
	"errors"
	"io"
	"iter"

	"github.com/tidwall/gjson"

	"fairlead/internal/llm"
	"fairlead/internal/wire/sse"
)

// EventOptions says how an answer is passed on to a caller of the same format.
type EventOptions struct {
	Reading
	Model string // the name that the client is told; empty keeps the provider's
}

// Events reads a provider's 2xx answer for a caller of the same format: the provider's events as they came, with the
// model's name replaced. A whole answer to a streaming request becomes the equivalent stream. The last pair may hold an
// *llm.Error, or an error that wraps the end of the request's context.
func Events(r io.Reader, o EventOptions) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		p := passage{source: newSource(o.Reading), model: o.Model, yield: yield}
		err := p.read(r)
		if err == nil || p.gone {
			return
		}
		if usage := running(p.counts.usage(), p.ascii, p.other); usage == nil || p.pass(llm.Event{Bare: true, Usage: usage, Model: p.reported}) {
			yield(llm.Event{}, err)
		}
	}
}

// passage is the state of passing one answer on.
type passage struct {
	*source
	model  string
	yield  func(llm.Event, error) bool
	gone   bool // nobody listens any more
	counts counts

	ascii, other int    // bytes of what was said
	reported     string // the model name that the provider tells
	began, done  bool
}

func (p *passage) read(r io.Reader) error {
	if !p.o.Stream {
		return p.single(r)
	}
	events := sse.NewReader(r, p.o.MaxLine)
	first, err := events.First()
	switch {
	case errors.Is(err, io.EOF):
		return malformed("The provider sent an empty answer.")
	case err != nil:
		return failure(err)
	case first == '{' || first == '[':
		return p.split(events.Rest())
	}
	if err := p.frames(events, p.take); err != nil {
		return err
	}
	switch {
	case p.gone || p.done:
		return nil
	case !p.began:
		return malformed("The provider's answer holds no message.")
	case !p.finished:
		return cut()
	}
	p.pass(llm.Event{Name: "message_stop", Data: []byte(`{"type":"message_stop"}`), Model: p.reported})
	return nil
}

func (p *passage) pass(ev llm.Event) bool {
	p.gone = p.gone || !p.yield(ev, nil)
	return !p.gone
}

// take passes one event on; false ends the stream.
func (p *passage) take(f frame) (bool, error) {
	ev := llm.Event{Name: f.name, Data: f.data}
	switch f.name {
	case "message_start":
		message := f.v.Get("message")
		p.began = true
		p.reported = message.Get("model").String()
		p.counts.add(message.Get("usage"))
		ev.Data = p.renamed(f.data, f.v.Get("message.model"))
	case "content_block_start":
		count(&ev, f.v.Get("content_block"))
	case "content_block_delta":
		count(&ev, f.v.Get("delta"))
	case "message_delta":
		p.counts.end(f.v.Get("usage"))
		ev.Usage = p.total()
		if reason := f.v.Get("delta.stop_reason").String(); reason != "" {
			ev.Finish = finishReason(reason)
			p.finished = true
		}
	case "message_stop":
		p.done = true
		if !p.finished {
			return false, cut()
		}
	}
	ev.Model = p.reported
	if ev.Content {
		p.ascii += ev.ASCIIBytes
		p.other += ev.NonASCIIBytes
		ev.Usage = running(p.counts.usage(), p.ascii, p.other)
	}
	return p.pass(ev) && !p.done, nil
}

// renamed returns data with our model name in the place of the provider's.
func (p *passage) renamed(data []byte, model gjson.Result) []byte {
	if p.model == "" || model.Type != gjson.String || model.Index <= 0 {
		return data
	}
	out := make([]byte, 0, len(data)+len(p.model))
	out = append(out, data[:model.Index]...)
	out = quoted(out, p.model)
	return append(out, data[model.Index+len(model.Raw):]...)
}

// count notes the text of a block or delta, and whether the client could show something of it.
func count(ev *llm.Event, v gjson.Result) {
	before := ev.ASCIIBytes + ev.NonASCIIBytes
	for _, name := range []string{"text", "thinking", "partial_json", "name"} {
		if text := v.Get(name); text.Type == gjson.String {
			ascii, other := countText(text.String())
			ev.ASCIIBytes += ascii
			ev.NonASCIIBytes += other
		}
	}
	if input := v.Get("input").Raw; len(input) > len(`{}`) {
		ascii, other := countText(input)
		ev.ASCIIBytes += ascii
		ev.NonASCIIBytes += other
	}
	switch v.Get("type").String() {
	case "text", "thinking", "text_delta", "thinking_delta", "input_json_delta", "signature_delta":
		ev.Content = ev.Content || ev.ASCIIBytes+ev.NonASCIIBytes > before
	default:
		ev.Content = true // a call, sealed thinking, or something that only the caller knows
	}
}

// single passes on the answer to a request that wanted no stream.
func (p *passage) single(r io.Reader) error {
	message, data, err := p.whole(r)
	if err != nil {
		return err
	}
	ev := p.describe(message)
	ev.Data = p.renamed(data, message.Get("model"))
	message.Get("content").ForEach(func(_, block gjson.Result) bool {
		count(&ev, block)
		return true
	})
	p.ascii, p.other = ev.ASCIIBytes, ev.NonASCIIBytes
	ev.Usage, ev.Content = p.total(), true
	p.pass(ev)
	return nil
}

func (p *passage) describe(message gjson.Result) llm.Event {
	p.counts.end(message.Get("usage"))
	p.reported = message.Get("model").String()
	return llm.Event{Model: p.reported, Finish: finishReason(message.Get("stop_reason").String())}
}

// total is what the answer has used at its end: where the provider does not tell the output, our own count of it.
func (p *passage) total() *llm.Usage {
	if p.counts.whole {
		return p.counts.usage()
	}
	return running(p.counts.usage(), p.ascii, p.other)
}

// split makes the stream that a whole answer stands for.
func (p *passage) split(r io.Reader) error {
	message, data, err := p.whole(r)
	if err != nil {
		return err
	}
	p.warn("the provider answered a streaming request in one piece")
	end := p.describe(message)
	for _, f := range splitMessage(gjson.ParseBytes(p.renamed(data, message.Get("model")))) {
		ev := llm.Event{Name: f.name, Data: f.data, Model: p.reported}
		switch f.name {
		case "content_block_start":
			count(&ev, gjson.GetBytes(f.data, "content_block"))
		case "content_block_delta":
			count(&ev, gjson.GetBytes(f.data, "delta"))
		case "message_delta":
			ev.Finish, ev.Usage = end.Finish, p.total()
		}
		p.ascii += ev.ASCIIBytes
		p.other += ev.NonASCIIBytes
		if !p.pass(ev) {
			return nil
		}
	}
	return nil
}
