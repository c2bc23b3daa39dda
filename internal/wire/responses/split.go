package responses

import (
	"github.com/go-json-experiment/json/jsontext"
)

// events returns the stream that is equivalent to a complete response. The text of each part is sent in one delta. A response that the
// provider is still generating in the background, and that the client can read later, has no output yet.
func (r *response) events() []event {
	head := *r
	head.Status, head.Output = "in_progress", nil
	for _, end := range []*jsontext.Value{&head.Usage, &head.IncompleteDetails, &head.CompletedAt} {
		if *end != nil {
			*end = null
		}
	}
	s, again := splitter{}, head
	s.add(event{Type: "response.created", Response: &head})
	s.add(event{Type: "response.in_progress", Response: &again})
	finish := r.finish()
	if finish == "" {
		return s.events
	}
	for i := range r.Output {
		s.addItem(i, &r.Output[i])
	}
	end := "response.completed"
	if finish == "length" || finish == "content_filter" {
		end = "response.incomplete"
	}
	s.add(event{Type: end, Response: r})
	return s.events
}

// splitter creates the events of a stream from a complete response.
type splitter struct{ events []event }

func (s *splitter) add(ev event) {
	ev.Sequence = len(s.events)
	s.events = append(s.events, ev)
}

// addItem adds the events of one output item. An item without text has no deltas.
func (s *splitter) addItem(index int, it *item) {
	added := *it
	at := event{ItemID: it.ID, OutputIndex: &index}
	switch it.Type {
	case messageItem:
		added.Status, added.Content = "in_progress", content{list: []part{}}
	case reasoningItem:
		added.Summary = content{list: []part{}}
		if added.Content.list != nil {
			added.Content.list = []part{}
		}
	case functionItem:
		added.Arguments.String = ""
	case customItem:
		added.Input.String = ""
	}
	if added.Status != "" && (it.Type == reasoningItem || isCall(it.Type)) {
		added.Status = "in_progress"
	}
	s.add(event{Type: "response.output_item.added", OutputIndex: &index, Item: &added})
	switch it.Type {
	case messageItem, reasoningItem:
		for n := range it.Content.list {
			at.ContentIndex = &n
			s.addPart(at, &it.Content.list[n])
		}
		at.ContentIndex = nil
		for n := range it.Summary.list {
			at.SummaryIndex = &n
			s.addSummary(at, &it.Summary.list[n])
		}
	case functionItem:
		done := at
		done.Name, done.Arguments = it.Name, &it.Arguments.String
		s.addText(at, done, "response.function_call_arguments", it.Arguments.String)
	case customItem:
		done := at
		done.Input = &it.Input.String
		s.addText(at, done, "response.custom_tool_call_input", it.Input.String)
	}
	s.add(event{Type: "response.output_item.done", OutputIndex: &index, Item: it})
}

// addPart adds the events of one part of a message or of reasoning.
func (s *splitter) addPart(at event, p *part) {
	start, done := *p, at
	added, ended := at, at
	added.Type, added.Part = "response.content_part.added", &start
	ended.Type, ended.Part = "response.content_part.done", p
	switch {
	case p.Type == "reasoning_text":
		start.Text = new("")
		s.add(added)
		done.Text = p.Text
		s.addText(at, done, "response.reasoning_text", textOf(p.Text))
	case p.Text != nil:
		start.Text, start.Annotations, start.Logprobs = new(""), jsontext.Value("[]"), jsontext.Value("[]")
		s.add(added)
		delta := at
		delta.Logprobs = jsontext.Value("[]")
		if p.Logprobs.Kind() == '[' {
			delta.Logprobs = p.Logprobs
		}
		done.Logprobs, done.Text = delta.Logprobs, p.Text
		s.addText(delta, done, "response.output_text", textOf(p.Text))
		for n, annotation := range elements(p.Annotations) {
			cited := at
			cited.Type, cited.AnnotationIndex, cited.Annotation = "response.output_text.annotation.added", &n, annotation
			s.add(cited)
		}
	case p.Refusal != nil:
		start.Refusal = new("")
		s.add(added)
		done.Refusal = p.Refusal
		s.addText(at, done, "response.refusal", textOf(p.Refusal))
	default:
		added.Part = p
		s.add(added)
	}
	s.add(ended)
}

// addSummary adds the events of one part of a reasoning summary.
func (s *splitter) addSummary(at event, p *part) {
	start, done := *p, at
	start.Text, done.Text = new(""), p.Text
	added, ended := at, at
	added.Type, added.Part = "response.reasoning_summary_part.added", &start
	ended.Type, ended.Part = "response.reasoning_summary_part.done", p
	s.add(added)
	s.addText(at, done, "response.reasoning_summary_text", textOf(p.Text))
	s.add(ended)
}

// addText adds one delta event with the whole text, and the event that ends the text.
func (s *splitter) addText(delta, done event, kind, text string) {
	if text != "" {
		delta.Type, delta.Delta = kind+".delta", text
		s.add(delta)
	}
	done.Type = kind + ".done"
	s.add(done)
}

// elements returns the elements of a JSON list; nil for any other value.
func elements(list jsontext.Value) (values []jsontext.Value) {
	if list.Kind() == '[' {
		_ = unmarshal(list, &values) // it was decoded before
	}
	return values
}
