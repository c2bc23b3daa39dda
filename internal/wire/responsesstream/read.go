package responsesstream

import (
	"errors"
	"io"
	"slices"
	"strings"

	"fairlead/internal/llm"
	"fairlead/internal/rawjson"
	"fairlead/internal/wire/messagesstream"
	"fairlead/internal/wire/sse"
)

// Options says how a response is passed on to a client of the same format.
type Options struct {
	messagesstream.Reading
	Model string // name that the client sees; empty keeps the provider's
	// ResponseID returns the id that the client sees for a response that the provider stores. nil keeps the provider's.
	ResponseID func(id string) string
}

// Read reads a provider's 2xx response for a client of the same format: the provider's events as they arrive, with the model
// name and the response id replaced. A whole response to a streaming request becomes the two events that carry it.
func Read(r io.Reader, o Options) llm.Stream {
	return &responseStream{Source: messagesstream.NewSource(o.Reading), o: o, from: r}
}

// responseStream is the state of passing one response on.
type responseStream struct {
	*messagesstream.Source
	o    Options
	from io.Reader

	events   *sse.Reader // of a response that is a stream
	pending  []llm.Event // of a whole response to a streaming request
	reported string      // model name that the provider reports
	began    bool
	over     bool
	err      error // why the response is not complete, once it is over
}

// Next returns the next event.
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

// Close does nothing: the stream holds no resources.
func (s *responseStream) Close() {}

func (s *responseStream) step() (llm.Event, bool, error) {
	if !s.o.Stream {
		s.over = true
		return s.whole(s.from)
	}
	if s.events == nil {
		events := sse.NewReader(s.from, s.o.MaxLine)
		first, err := events.First()
		switch {
		case errors.Is(err, io.EOF):
			return llm.Event{}, false, messagesstream.Malformed("The provider sent an empty response.")
		case err != nil:
			return llm.Event{}, false, messagesstream.Failure(err)
		case first == '{':
			return s.split(events.Rest())
		}
		s.events = events
	}
	var ev llm.Event
	var passed bool
	err := s.Frames(s.events, func(f messagesstream.Frame) (bool, error) {
		var err error
		ev, err = s.event(f)
		passed = err == nil
		return false, err
	})
	switch {
	case err != nil:
		return llm.Event{}, false, err
	case passed:
		return ev, true, nil
	case !s.began:
		return llm.Event{}, false, messagesstream.Malformed("The provider's stream holds no response.")
	case !s.Finished:
		return llm.Event{}, false, messagesstream.Interrupted()
	}
	s.over = true
	return llm.Event{}, false, nil
}

// event passes one event on.
func (s *responseStream) event(f messagesstream.Frame) (llm.Event, error) {
	ev := llm.Event{Name: f.Name, Data: f.Data}
	switch f.Name {
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		response := f.Value.Get("response")
		if failure := Failure(response); failure != nil {
			return llm.Event{}, failure
		}
		s.began, s.Finished, s.over = true, true, true
		s.reported = response.Get("model").String()
		ev.Finish, ev.Usage = Finish(response), Usage(response)
		ev.Data = s.rewrite(f.Data, response)
	case "response.created", "response.in_progress", "response.queued":
		response := f.Value.Get("response")
		s.began = true
		s.reported = response.Get("model").String()
		ev.Data = s.rewrite(f.Data, response)
	case "response.output_item.added", "response.output_item.done":
		kind := f.Value.Get("item.type").String()
		// A message or reasoning item begins empty. Every other item is work that must not be repeated elsewhere.
		ev.Content = kind != "message" && kind != "reasoning"
		if name := f.Value.Get("item.name"); f.Name == "response.output_item.added" && name.Kind == rawjson.Text {
			ev.ASCIIBytes, ev.NonASCIIBytes = messagesstream.CountText(name.String())
		}
	default:
		if strings.HasSuffix(f.Name, ".delta") {
			ev.Content = true
			ev.ASCIIBytes, ev.NonASCIIBytes = messagesstream.CountText(f.Value.Get("delta").String())
		}
	}
	ev.Model = s.reported
	return ev, nil
}

// whole reads a response that is one JSON document.
func (s *responseStream) whole(r io.Reader) (llm.Event, bool, error) {
	response, data, err := ReadWhole(s.Source, r)
	if err != nil {
		return llm.Event{}, false, err
	}
	s.reported = response.Get("model").String()
	ev := llm.Event{Data: s.rewrite(data, response), Own: true, Content: true, Model: s.reported, Finish: Finish(response), Usage: Usage(response)}
	ev.ASCIIBytes, ev.NonASCIIBytes = countOutput(response)
	return ev, true, nil
}

// split turns a whole response to a streaming request into the events that begin and end a stream.
func (s *responseStream) split(r io.Reader) (llm.Event, bool, error) {
	whole, _, err := s.whole(r)
	if err != nil {
		return llm.Event{}, false, err
	}
	s.Warn("the provider answered a streaming request in one piece")
	s.over = true
	last := "response.completed"
	if whole.Finish == "length" || whole.Finish == "content_filter" {
		last = "response.incomplete"
	}
	end := whole
	end.Name, end.Data = last, wrap(last, whole.Data, 1)
	s.pending = []llm.Event{end}
	return llm.Event{Name: "response.created", Data: wrap("response.created", whole.Data, 0), Own: true, Model: s.reported}, true, nil
}

func wrap(name string, response []byte, number int64) []byte {
	var w rawjson.Writer
	w.Open()
	w.Str("type", name)
	w.Int("sequence_number", number)
	w.Raw("response", response)
	w.Close()
	return w.Out
}

// ReadWhole reads a response that is one JSON document and classifies one that failed.
func ReadWhole(s *messagesstream.Source, r io.Reader) (rawjson.Value, []byte, error) {
	response, data, err := s.Document(r)
	if err != nil {
		return rawjson.Value{}, nil, err
	}
	if failure := Failure(response); failure != nil {
		return rawjson.Value{}, nil, failure
	}
	if !response.Get("output").IsList() {
		return rawjson.Value{}, nil, messagesstream.Malformed("The provider's response holds no output.")
	}
	return response, data, nil
}

// countOutput counts the bytes of text that the model wrote.
func countOutput(response rawjson.Value) (ascii, other int) {
	add := func(v rawjson.Value) {
		a, o := messagesstream.CountText(v.String())
		ascii, other = ascii+a, other+o
	}
	response.Get("output").ForEach(func(_, item rawjson.Value) bool {
		add(item.Get("arguments"))
		add(item.Get("input"))
		for _, list := range []string{"content", "summary"} {
			item.Get(list).ForEach(func(_, part rawjson.Value) bool {
				add(part.Get("text"))
				add(part.Get("refusal"))
				return true
			})
		}
		return true
	})
	return ascii, other
}

// rewrite replaces the model name and the ids of a response object inside data.
func (s *responseStream) rewrite(data []byte, response rawjson.Value) []byte {
	type edit struct {
		at    rawjson.Value
		value string
	}
	var edits []edit
	if model := response.Get("model"); s.o.Model != "" && model.Kind == rawjson.Text {
		edits = append(edits, edit{model, s.o.Model})
	}
	if s.o.ResponseID != nil {
		for _, name := range []string{"id", "previous_response_id"} {
			if id := response.Get(name); id.Kind == rawjson.Text {
				edits = append(edits, edit{id, s.o.ResponseID(id.String())})
			}
		}
	}
	slices.SortFunc(edits, func(a, b edit) int { return a.at.Index - b.at.Index })
	out, from := make([]byte, 0, len(data)+64), 0
	for _, e := range edits {
		out = append(out, data[from:e.at.Index]...)
		out = rawjson.AppendString(out, e.value)
		from = e.at.Index + len(e.at.Raw)
	}
	return append(out, data[from:]...)
}
