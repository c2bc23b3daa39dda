package gemini

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/upstream"
)

// Events reads a response from a provider that uses the same format. The response consists of one or more documents (JSON objects), in
// which Events changes only the model name. A document with a finish reason is held until the next document arrives or the response ends,
// because some models set a finish reason in every event and only the last one is final.
func Events(r io.Reader, o DeltaOptions, model string) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		p := &passing{model: model, stream: o.Stream, yield: yield}
		o.Document = p.forward
		for delta, err := range Deltas(r, o) {
			if err == nil {
				p.addDelta(delta)
				continue
			}
			// Deliver the held document, which the provider sent before the error.
			if p.stopped || errors.Is(err, errStopped) || p.stream && p.release() != nil {
				return
			}
			if p.usage == nil || yield(llm.Event{Bare: true, Usage: p.usage, Model: p.reported}, nil) {
				yield(llm.Event{}, err)
			}
			return
		}
		if p.stopped {
			return
		}
		last := llm.Event{Bare: true, Model: p.reported}
		if p.held != nil {
			last = *p.held
		}
		last.Finish, last.Usage = p.finish, p.usage
		yield(last, nil)
	}
}

// passing holds the state of forwarding one response.
type passing struct {
	model   string
	stream  bool
	yield   func(llm.Event, error) bool
	stopped bool

	next     llm.Event  // properties of the document being read
	held     *llm.Event // event of a document that may be the last one; nil for none
	reported string
	finish   string
	usage    *llm.Usage
}

// addDelta adds the properties of a delta to the event of the document that is being read. It stores the finish reason and the usage in p,
// because they are sent with the last event of the response.
func (p *passing) addDelta(d llm.Delta) {
	text := d.Text
	switch d.Kind {
	case llm.BeginDelta:
		p.reported = d.Model
	case llm.CallDelta:
		text = d.Call.Name + d.Call.Arguments
	case llm.FinishDelta:
		if p.finish == "" {
			p.finish = d.Finish
		}
		return
	case llm.UsageDelta:
		p.usage = d.Usage
		return
	case llm.CitationDelta:
		return
	default:
	}
	if d.Kind != llm.BeginDelta {
		p.next.Content = true
	}
	ascii, other := upstream.CountText(text)
	p.next.ASCIIBytes += ascii
	p.next.NonASCIIBytes += other
}

// forward forwards a document. The caller must first pass the deltas of the document to addDelta.
func (p *passing) forward(data []byte) error {
	ev := p.next
	p.next = llm.Event{}
	ev.Data, ev.Own, ev.Model = withModelName(data, p.model), true, p.reported
	ev.Content = ev.Content || bytes.Contains(data, []byte(`"inlineData"`))
	if !p.stream && p.held != nil {
		return malformed("The provider's response consists of several documents.")
	}
	if err := p.release(); err != nil {
		return err
	}
	if !p.stream || bytes.Contains(data, []byte(`"finishReason"`)) || bytes.Contains(data, []byte(`"promptFeedback"`)) {
		p.held = &ev
		return nil
	}
	return p.send(ev)
}

// release sends the held document, if any.
func (p *passing) release() error {
	if p.held == nil {
		return nil
	}
	ev := *p.held
	p.held = nil
	return p.send(ev)
}

func (p *passing) send(ev llm.Event) error {
	if !p.yield(ev, nil) {
		p.stopped = true
		return errStopped
	}
	return nil
}

// withModelName returns a copy of a document on one line, with the given model name.
func withModelName(document []byte, model string) []byte {
	data := jsontext.Value(bytes.Clone(document))
	if bytes.ContainsAny(data, "\r\n") {
		_ = data.Compact(lenient) // cannot fail, because the document was decoded
	}
	list, _ := readMembers(data)
	at := slices.IndexFunc(list, func(m member) bool { return m.name == "modelVersion" && m.value.Kind() == '"' })
	if at < 0 || model == "" {
		return data
	}
	name, _ := jsontext.AppendQuote(nil, model) // model names are valid UTF-8
	return slices.Replace(data, list[at].start, list[at].start+len(list[at].value), name...)
}
