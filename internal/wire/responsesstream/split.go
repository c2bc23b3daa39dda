package responsesstream

import (
	"io"
	"slices"
	"strconv"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/strict"
	"fairlead.dev/internal/wire/upstream"
)

// split converts a non-streamed response into the events of a stream. It sends the text of each part in one delta.
func (s *responseStream) split(r io.Reader) (llm.Event, bool, error) {
	whole, _, err := s.whole(r)
	if err == nil {
		err = strict.CheckResponse(whole.Data, 0)
	}
	if err != nil {
		return llm.Event{}, false, err
	}
	s.over = true
	response := rawjson.Parse(whole.Data)
	w := splitter{model: s.reported}
	begun := replaceMembers(response, map[string]string{
		"status": `"in_progress"`, "output": "[]", "usage": "null", "incomplete_details": "null", "completed_at": "null",
	})
	w.emit(llm.Event{Pending: whole.Pending, Content: whole.Pending != ""}, "response.created", member{"response", begun})
	w.emit(llm.Event{}, "response.in_progress", member{"response", begun})
	if whole.Finish == "" { // the provider is still generating the response in the background, and the client can read it later
		s.pending = w.events[1:]
		return w.events[0], true, nil
	}
	for i, item := range response.Get("output").List() {
		w.item(int64(i), item)
	}
	last := "response.completed"
	if whole.Finish == "length" || whole.Finish == "content_filter" {
		last = "response.incomplete"
	}
	w.emit(llm.Event{Finish: whole.Finish, Usage: whole.Usage}, last, member{"response", whole.Data})
	s.pending = w.events[1:]
	return w.events[0], true, nil
}

// splitter creates the events of a stream from a non-streamed response.
type splitter struct {
	model  string
	events []llm.Event
}

// member is a member of an event.
type member struct {
	name  string
	value []byte // JSON
}

// with returns a new slice of the members in at, followed by those in more.
func with(at []member, more ...member) []member { return slices.Concat(at, more) }

func text(name, value string) member { return member{name, rawjson.AppendString(nil, value)} }

// emit adds an event with the given type and members and the next sequence number.
func (w *splitter) emit(ev llm.Event, kind string, members ...member) {
	var out rawjson.Writer
	out.Open()
	out.Str("type", kind)
	out.Int("sequence_number", int64(len(w.events)))
	for _, m := range members {
		out.Raw(m.name, m.value)
	}
	out.Close()
	ev.Name, ev.Data, ev.Own, ev.Model = kind, out.Out, true, w.model
	w.events = append(w.events, ev)
}

// item adds the events of one output item. An item without text has no deltas.
func (w *splitter) item(index int64, item rawjson.Value) {
	id := []byte(`""`)
	if v := item.Get("id"); v.Exists() {
		id = []byte(v.Raw)
	}
	at := []member{{"item_id", id}, {"output_index", number(index)}}
	empty := map[string]string{"status": `"in_progress"`}
	kind := item.Get("type").String()
	switch kind {
	case "message":
		empty["content"] = "[]"
	case "reasoning":
		empty["summary"] = "[]"
	case "function_call":
		empty["arguments"] = `""`
	case "custom_tool_call":
		empty["input"] = `""`
	default: // other items, such as calls of hosted tools, have no deltas
		empty = nil
	}
	added := llm.Event{Content: kind != "message" && kind != "reasoning"}
	added.ASCIIBytes, added.NonASCIIBytes = upstream.CountText(item.Get("name").String())
	w.emit(added, "response.output_item.added", member{"output_index", number(index)}, member{"item", replaceMembers(item, empty)})
	switch kind {
	case "message":
		for i, part := range item.Get("content").List() {
			w.part(with(at, member{"content_index", number(int64(i))}), part)
		}
	case "reasoning":
		for i, part := range item.Get("summary").List() {
			w.summary(with(at, member{"summary_index", number(int64(i))}), part)
		}
	case "function_call":
		w.emitText(at, "response.function_call_arguments", "arguments", item.Get("arguments").String(), text("name", item.Get("name").String()))
	case "custom_tool_call":
		w.emitText(at, "response.custom_tool_call_input", "input", item.Get("input").String())
	}
	w.emit(llm.Event{}, "response.output_item.done", member{"output_index", number(index)}, member{"item", []byte(item.Raw)})
}

// part adds the events of one part of a message.
func (w *splitter) part(at []member, part rawjson.Value) {
	whole := member{"part", []byte(part.Raw)}
	switch part.Get("type").String() {
	case "output_text":
		empty := replaceMembers(part, map[string]string{"text": `""`, "annotations": "[]", "logprobs": "[]"})
		w.emit(llm.Event{}, "response.content_part.added", with(at, member{"part", empty})...)
		logprobs := member{"logprobs", []byte("[]")}
		if v := part.Get("logprobs"); v.IsList() {
			logprobs.value = []byte(v.Raw)
		}
		w.emitText(at, "response.output_text", "text", part.Get("text").String(), logprobs)
		for i, annotation := range part.Get("annotations").List() {
			w.emit(llm.Event{}, "response.output_text.annotation.added",
				with(at, member{"annotation_index", number(int64(i))}, member{"annotation", []byte(annotation.Raw)})...)
		}
	case "refusal":
		w.emit(llm.Event{}, "response.content_part.added", with(at, member{"part", replaceMembers(part, map[string]string{"refusal": `""`})})...)
		w.emitText(at, "response.refusal", "refusal", part.Get("refusal").String())
	default:
		w.emit(llm.Event{}, "response.content_part.added", with(at, whole)...)
	}
	w.emit(llm.Event{}, "response.content_part.done", with(at, whole)...)
}

// summary adds the events of one part of a reasoning summary.
func (w *splitter) summary(at []member, part rawjson.Value) {
	w.emit(llm.Event{}, "response.reasoning_summary_part.added", with(at, member{"part", replaceMembers(part, map[string]string{"text": `""`})})...)
	w.emitText(at, "response.reasoning_summary_text", "text", part.Get("text").String())
	w.emit(llm.Event{}, "response.reasoning_summary_part.done", with(at, member{"part", []byte(part.Raw)})...)
}

// emitText adds one delta event with the whole text, and the event that ends the text. It adds the members in more to the end
// event and, for output text, to the delta event.
func (w *splitter) emitText(at []member, kind, name, value string, more ...member) {
	if value != "" {
		ev := llm.Event{Content: true}
		ev.ASCIIBytes, ev.NonASCIIBytes = upstream.CountText(value)
		members := with(at, text("delta", value))
		if kind == "response.output_text" {
			members = append(members, more...)
		}
		w.emit(ev, kind+".delta", members...)
	}
	w.emit(llm.Event{}, kind+".done", append(with(at, text(name, value)), more...)...)
}

// replaceMembers returns an object with the values of some of its members replaced.
func replaceMembers(object rawjson.Value, values map[string]string) []byte {
	var w rawjson.Writer
	w.Open()
	object.ForEach(func(key, value rawjson.Value) bool {
		if replaced, ok := values[key.String()]; ok {
			w.Raw(key.String(), []byte(replaced))
		} else {
			w.Raw(key.String(), []byte(value.Raw))
		}
		return true
	})
	w.Close()
	return w.Out
}

func number(n int64) []byte { return strconv.AppendInt(nil, n, 10) }
