package responses

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/strict"
	"fairlead.dev/internal/wire/upstream"
)

// EncodeResponse implements wire.Format. The format supports only one choice, so other choices are dropped. A response that ends without a
// finish reason is an error of kind llm.StreamInterrupted.
func (f Format) EncodeResponse(req *llm.Request, model string, deltas iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Event, error] {
	return newWriter(f, req, model).write(deltas)
}

// writer holds the state of encoding one response.
type writer struct {
	stream   bool
	response response
	body     []byte // request body, from which IDs are derived
	nanos    int64

	namespaced map[string]*item // tools of the request that are in a namespace, by joined name

	begun    bool // whether the response has an ID
	started  bool // whether the first events were sent
	sequence int
	items    []*output
	calls    map[int]*output // tool calls by index
	open     []*output       // open items that are not calls
	reported string
	usage    *llm.Usage
	finish   string

	ascii, other int // number of ASCII and of non-ASCII bytes in the response text
	characters   int // number of characters in the response text
	ready        []llm.Event
}

// output is an output item. Its text is collected while it is open.
type output struct {
	item
	index  int
	place  int             // index of the tool call in the deltas
	spoken bool            // whether the summary of a reasoning item has begun
	text   strings.Builder // summary of reasoning, arguments of a call, or text of the last part of a message
	parts  []*outputPart
}

// outputPart is an element of a message's content.
type outputPart struct {
	part
	from      int // offset of the part's first character in the text of the response
	citations []citation
	done      bool
}

type citation struct {
	Type       string `json:"type"`
	StartIndex int    `json:"start_index"`
	EndIndex   int    `json:"end_index"`
	URL        string `json:"url"`
	Title      string `json:"title"`
}

func newWriter(f Format, req *llm.Request, model string) *writer {
	w := &writer{stream: req.Stream, response: newResponse(&req.Payload, model), body: req.Body, namespaced: namespacedTools(&req.Payload)}
	seconds := int64(0)
	if f.Now != nil {
		now := f.Now()
		seconds, w.nanos = now.Unix(), now.UnixNano()
	}
	w.response.CreatedAt = strconv.AppendInt(nil, seconds, 10)
	return w
}

// newResponse returns a response object for a request, without output.
func newResponse(p *llm.Payload, model string) response {
	or := func(name, otherwise string) jsontext.Value {
		for _, f := range p.Fields {
			if value := p.Body[f.Value:f.End]; f.Name == name && string(value) != "null" {
				return jsontext.Value(value)
			}
		}
		if otherwise == "" {
			return nil
		}
		return jsontext.Value(otherwise)
	}
	return response{
		ID: upstream.PlacedText(""), Object: "response", Status: "in_progress", Background: jsontext.Value("false"), Error: null, IncompleteDetails: null,
		Instructions: or("instructions", "null"), MaxOutputTokens: or("max_output_tokens", "null"), Model: upstream.PlacedText(model),
		ParallelToolCalls: or("parallel_tool_calls", "true"), PreviousResponseID: upstream.Placed{Value: null},
		Reasoning: or("reasoning", `{"effort":null,"summary":null}`), ServiceTier: or("service_tier", ""),
		Store:       jsontext.Value("false"), // always, because the response is not stored
		Temperature: or("temperature", "null"), Text: or("text", `{"format":{"type":"text"}}`), ToolChoice: or("tool_choice", `"auto"`),
		Tools: or("tools", "[]"), TopP: or("top_p", "null"), Truncation: jsontext.Value(`"disabled"`), Usage: null, User: or("user", ""),
		Metadata: or("metadata", "{}"),
	}
}

// namespacedTools returns the names and namespaces of the tools of a request that are in a namespace. The keys are the names that
// joinNamespace returns.
func namespacedTools(p *llm.Payload) map[string]*item {
	var groups struct {
		Tools []tool `json:"tools"`
	}
	for _, f := range p.Fields {
		if raw := string(p.Body[f.Value:f.End]); f.Name == "tools" && strings.Contains(raw, `"namespace"`) {
			_ = upstream.Decode([]byte(`{"tools":`+raw+`}`), &groups) // a request that was decoded before
		}
	}
	tools := map[string]*item{}
	for _, group := range groups.Tools {
		for _, tool := range group.Tools {
			tools[joinNamespace(group.Name, tool.Name)] = &item{Name: tool.Name, Namespace: group.Name}
		}
	}
	return tools
}

// write encodes the deltas as events.
func (w *writer) write(deltas iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for p, err := range deltas {
			if err == nil {
				err = w.add(&p)
			}
			if err != nil {
				w.fail(yield, err)
				return
			}
			if !w.flush(yield) {
				return
			}
		}
		if w.finish == "" {
			w.fail(yield, &llm.Error{Kind: llm.StreamInterrupted, Message: "The provider's response ended before it was complete."})
			return
		}
		w.complete()
		w.flush(yield)
	}
}

// fail yields err. In a stream, it first yields the usage so far, in an event that is not sent to the client.
func (w *writer) fail(yield func(llm.Event, error) bool, err error) {
	if w.stream && w.usage != nil {
		if !yield(llm.Event{Data: []byte("{}"), Bare: true, Usage: w.usage, Model: w.reported}, nil) {
			return
		}
	}
	yield(llm.Event{}, err)
}

func (w *writer) flush(yield func(llm.Event, error) bool) bool {
	for ; len(w.ready) > 0; w.ready = w.ready[1:] {
		if !yield(w.ready[0], nil) {
			return false
		}
	}
	return true
}

// send adds an event to the ready events of a stream. ev holds the properties of the event. Without streaming, send does nothing.
func (w *writer) send(out event, ev llm.Event) {
	if !w.stream {
		return
	}
	out.Sequence = w.sequence
	w.sequence++
	ev.Name, ev.Data, ev.Model = out.Type, encode(out), w.reported
	w.ready = append(w.ready, ev)
}

// sendAt is like send for an event that belongs to an output item.
func (w *writer) sendAt(o *output, out event, ev llm.Event) {
	out.ItemID, out.OutputIndex = o.ID, &o.index
	w.send(out, ev)
}

// content adds the length of text to the size of the response and returns an event with this length. Do not call it for text that is
// repeated in an end event.
func (w *writer) content(text string) llm.Event {
	ascii, other := upstream.CountText(text)
	w.ascii += ascii
	w.other += other
	return llm.Event{Content: true, ASCIIBytes: ascii, NonASCIIBytes: other}
}

func (w *writer) add(p *llm.Delta) error {
	switch {
	case p.Kind == llm.BeginDelta:
		w.begin(p)
		return nil
	case p.Kind == llm.UsageDelta:
		if p.Usage != nil {
			reported := *p.Usage
			w.usage = &reported
		}
		return nil
	case p.Choice != 0 || w.finish != "":
		return nil
	}
	if !w.begun {
		w.begin(&llm.Delta{})
	}
	if !w.started {
		w.started = true
		w.send(event{Type: "response.created", Response: &w.response}, llm.Event{})
		w.send(event{Type: "response.in_progress", Response: &w.response}, llm.Event{})
	}
	switch p.Kind {
	case llm.TextDelta:
		w.addText(p.Text, false)
	case llm.RefusalDelta:
		w.addText(p.Text, true)
	case llm.CitationDelta:
		w.cite(p.Citation)
	case llm.ThinkingDelta:
		w.think(p.Text)
	case llm.SignatureDelta:
		w.addSignature(p.Thinking)
	case llm.CallDelta:
		return w.call(p)
	case llm.ArgumentsDelta:
		return w.arguments(p.Index, p.Text)
	case llm.FinishDelta:
		w.end(p.Finish)
	default:
	}
	return nil
}

// begin sets the ID of the response to the ID of the first delta, or to a generated ID if the delta has none.
func (w *writer) begin(p *llm.Delta) {
	w.reported = cmp.Or(w.reported, p.Model)
	if !w.begun {
		w.begun = true
		const prefix = "resp_"
		id := show.Cut(show.OneLine(p.ID), strict.MaxName)
		if id == "" {
			id = w.newID("response")
		}
		w.response.ID = upstream.PlacedText(prefix + strings.TrimPrefix(id, prefix))
	}
}

// newID derives an ID from the time and the ID of the response. Before the response has an ID, newID uses the request body instead. parts
// must differ for every ID in a response.
func (w *writer) newID(parts ...any) string {
	h := sha256.New() // writes to h never fail
	id := w.response.ID.Text()
	if id == "" {
		_, _ = h.Write(w.body)
	}
	_, _ = fmt.Fprint(h, w.nanos, id, parts)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// openItem begins an item. prefix is the prefix of its ID. A call before it ends if its arguments are complete, because pi 0.73 adds
// arguments to the latest item, whichever they belong to. A call with incomplete arguments stays open: the arguments of several calls may
// arrive interleaved.
func (w *writer) openItem(o *output, prefix string, ev llm.Event) *output {
	if n := len(w.items); n > 0 && w.items[n-1].Type == functionItem && jsontext.Value(w.items[n-1].text.String()).IsValid() {
		w.close(w.items[n-1], "completed")
	}
	o.index, o.Status = len(w.items), "in_progress"
	o.ID = prefix + w.newID(o.Type, o.index)
	w.items = append(w.items, o)
	if !isCall(o.Type) {
		w.open = append(w.open, o)
	}
	w.send(event{Type: "response.output_item.added", OutputIndex: &o.index, Item: o.value()}, ev)
	return o
}

// value returns the item with the text so far.
func (o *output) value() *item {
	text := o.text.String()
	switch o.Type {
	case messageItem:
		o.Content.list = make([]part, 0, len(o.parts))
		for _, p := range o.parts {
			o.Content.list = append(o.Content.list, p.part)
		}
	case reasoningItem:
		o.Summary.list = []part{}
		if o.spoken {
			o.Summary.list = append(o.Summary.list, summaryPart(text))
		}
	case customItem:
		o.Input = strict.StringOf[jsontext.Value](text)
	default:
		o.Arguments = strict.StringOf[jsontext.Value](text)
	}
	return &o.item
}

func summaryPart(text string) part { return part{Type: "summary_text", Text: &text} }

// current returns the last item if it is open and of the given kind, otherwise nil.
func (w *writer) current(kind string) *output {
	if n := len(w.items); n > 0 && w.items[n-1].Type == kind && w.items[n-1].Status == "in_progress" {
		return w.items[n-1]
	}
	return nil
}

// closeText closes open text or thinking before another item begins.
func (w *writer) closeText() {
	for _, o := range w.open {
		w.close(o, "completed")
	}
	w.open = w.open[:0]
}

// close ends an open item with the given status.
func (w *writer) close(o *output, status string) {
	if o.Status != "in_progress" {
		return
	}
	switch o.Type {
	case messageItem:
		w.closePart(o)
	case reasoningItem:
		if o.spoken {
			text := o.text.String()
			w.sendAt(o, event{Type: "response.reasoning_summary_text.done", SummaryIndex: new(0), Text: &text}, llm.Event{})
			w.sendAt(o, event{Type: "response.reasoning_summary_part.done", SummaryIndex: new(0), Part: new(summaryPart(text))}, llm.Event{})
		}
	case customItem:
		w.sendAt(o, event{Type: o.argumentsEvent() + ".done", Input: new(o.text.String())}, llm.Event{})
	default:
		if o.text.Len() == 0 { // clients parse the arguments as JSON, so they must not be empty
			_ = w.arguments(o.place, "{}") // fails only for a call that has not started
		}
		w.sendAt(o, event{Type: o.argumentsEvent() + ".done", Name: o.Name, Arguments: new(o.text.String())}, llm.Event{})
	}
	o.Status = status
	w.send(event{Type: "response.output_item.done", OutputIndex: &o.index, Item: o.value()}, llm.Event{})
}

// addText appends text to the current message, or to its refusal.
func (w *writer) addText(text string, refusal bool) {
	if text == "" {
		return
	}
	o := w.current(messageItem)
	if o == nil {
		w.closeText()
		o = w.openItem(&output{item: item{Type: messageItem, Role: "assistant"}}, "msg_", llm.Event{})
	}
	n := len(o.parts) - 1
	if n < 0 || (o.parts[n].Type == "refusal") != refusal {
		w.closePart(o)
		opened := newTextPart(w.characters)
		if refusal {
			opened.part = part{Type: "refusal", Refusal: new("")}
		}
		o.parts = append(o.parts, opened)
		o.text.Reset()
		n++
		w.sendAt(o, event{Type: "response.content_part.added", ContentIndex: &n, Part: &opened.part}, llm.Event{})
	}
	o.text.WriteString(text)
	delta := event{Type: "response.refusal.delta", ContentIndex: &n, Delta: text}
	if !refusal {
		w.characters += utf8.RuneCountInString(text)
		delta.Type, delta.Logprobs = "response.output_text.delta", jsontext.Value("[]")
	}
	w.sendAt(o, delta, w.content(text))
}

// newTextPart returns a text part that begins at the given offset in the text of the response.
func newTextPart(from int) *outputPart {
	return &outputPart{from: from, part: part{Type: "output_text", Text: new(""), Annotations: jsontext.Value("[]"), Logprobs: jsontext.Value("[]")}}
}

// cite adds a citation to the text part in which its range begins. If this part has ended, no event is sent, and only the final response
// object contains the citation.
func (w *writer) cite(c *llm.Citation) {
	for _, o := range slices.Backward(w.items) {
		for n, p := range slices.Backward(o.parts) {
			if p.Type == "refusal" || p.from > c.Start {
				continue
			}
			p.citations = append(p.citations, citation{
				Type: "url_citation", StartIndex: c.Start - p.from, EndIndex: max(c.End, c.Start) - p.from, URL: c.URL, Title: c.Title,
			})
			p.Annotations = encode(p.citations)
			if last := len(p.citations) - 1; !p.done {
				w.sendAt(o, event{
					Type: "response.output_text.annotation.added", ContentIndex: &n, AnnotationIndex: &last, Annotation: encode(p.citations[last]),
				}, llm.Event{})
			}
			return
		}
	}
}

// closePart ends the last part of a message.
func (w *writer) closePart(o *output) {
	n := len(o.parts) - 1
	if n < 0 || o.parts[n].done {
		return
	}
	p := o.parts[n]
	p.done = true
	text := o.text.String()
	done := event{Type: "response.refusal.done", ContentIndex: &n}
	if p.Type == "refusal" {
		p.Refusal, done.Refusal = &text, &text
	} else {
		p.Text, done.Type, done.Text, done.Logprobs = &text, "response.output_text.done", &text, jsontext.Value("[]")
	}
	w.sendAt(o, done, llm.Event{})
	w.sendAt(o, event{Type: "response.content_part.done", ContentIndex: &n, Part: &p.part}, llm.Event{})
}

// think sends thinking as the summary of a reasoning item, where clients expect it.
func (w *writer) think(text string) {
	if text == "" {
		return
	}
	o := w.thinking()
	if !o.spoken {
		o.spoken = true
		w.sendAt(o, event{Type: "response.reasoning_summary_part.added", SummaryIndex: new(0), Part: new(summaryPart(""))}, llm.Event{})
	}
	o.text.WriteString(text)
	w.sendAt(o, event{Type: "response.reasoning_summary_text.delta", SummaryIndex: new(0), Delta: text}, w.content(text))
}

func (w *writer) thinking() *output {
	if o := w.current(reasoningItem); o != nil {
		return o
	}
	w.closeText()
	return w.openItem(&output{item: item{Type: reasoningItem}}, "rs_", llm.Event{})
}

// addSignature ends a thinking block. The signature is sent in encrypted_content, which clients send back unchanged.
func (w *writer) addSignature(t *llm.Thinking) {
	if t == nil || t.Signature == "" && t.Redacted == "" {
		w.closeText()
		return
	}
	o := w.thinking()
	o.Encrypted = wrappedSignature{Text: o.text.String() + t.Text, Signature: t.Signature, Redacted: t.Redacted, Provider: t.Provider}.String()
	w.close(o, "completed")
}

// call begins a tool call. If the call has already begun, the delta's arguments are appended.
func (w *writer) call(p *llm.Delta) error {
	if p.Call == nil {
		return upstream.Malformed("The provider's response has a tool call without a name.")
	}
	if w.calls[p.Index] != nil {
		return w.arguments(p.Index, p.Call.Arguments)
	}
	w.closeText()
	o, prefix := &output{item: item{Type: functionItem, CallID: p.Call.ID, Name: p.Call.Name}, place: p.Index}, "fc_"
	if p.Call.Custom {
		o.Type, prefix = customItem, "ctc_"
	}
	if tool := w.namespaced[o.Name]; tool != nil {
		o.Name, o.Namespace = tool.Name, tool.Namespace
	}
	if o.CallID == "" {
		o.CallID = "call_" + w.newID("call", p.Index)
	}
	if p.Call.Signature != "" {
		// Clients drop unknown members of a call, so the signature is sent in a reasoning item before the call.
		signed := w.openItem(&output{item: item{Type: reasoningItem}}, "rs_", llm.Event{})
		signed.Encrypted = wrappedSignature{Signature: p.Call.Signature, Provider: p.Call.Provider, Call: o.CallID}.String()
		w.close(signed, "completed")
	}
	if w.calls == nil {
		w.calls = map[int]*output{}
	}
	w.calls[p.Index] = o
	w.openItem(o, prefix, w.content(p.Call.Name))
	return w.arguments(p.Index, p.Call.Arguments)
}

// argumentsEvent returns the common prefix of the event names for the arguments of a call.
func (o *output) argumentsEvent() string {
	if o.Type == customItem {
		return "response.custom_tool_call_input"
	}
	return "response.function_call_arguments"
}

func (w *writer) arguments(place int, text string) error {
	o := w.calls[place]
	switch {
	case o == nil:
		return upstream.Malformed("The provider's response continues a tool call that never began.")
	case text == "" || o.Status != "in_progress": // only white space can follow complete arguments
		return nil
	}
	o.text.WriteString(text)
	w.sendAt(o, event{Type: o.argumentsEvent() + ".delta", Delta: text}, w.content(text))
	return nil
}

// end closes the open items. After a length limit or a content filter, the last item is incomplete.
func (w *writer) end(finish string) {
	called := slices.ContainsFunc(w.items, func(o *output) bool { return isCall(o.Type) })
	switch {
	case called && (finish == "" || finish == "stop"):
		finish = "tool_calls"
	case finish == "":
		finish = "stop"
	}
	w.finish = finish
	for i, o := range w.items {
		if i == len(w.items)-1 && !w.whole() {
			w.close(o, "incomplete")
		} else {
			w.close(o, "completed")
		}
	}
}

// whole reports whether the response is complete.
func (w *writer) whole() bool { return w.finish != "length" && w.finish != "content_filter" }

// complete adds the last event of a stream, or the only event of a non-streamed response.
func (w *writer) complete() {
	r := &w.response
	r.Status = "completed"
	if !w.whole() {
		r.Status = "incomplete"
		r.IncompleteDetails = encode(incomplete{map[string]string{"length": "max_output_tokens", "content_filter": "content_filter"}[w.finish]})
	}
	for _, o := range w.items {
		r.Output = append(r.Output, *o.value())
	}
	if u := w.usage; u != nil {
		r.Usage = encode(usageOf(u))
		if u.ServiceTier != "" {
			r.ServiceTier = encode(u.ServiceTier)
		}
	}
	ev := llm.Event{Finish: w.finish, Usage: w.usage, Model: w.reported}
	if w.stream {
		w.send(event{Type: "response." + r.Status, Response: r}, ev)
		return
	}
	ev.Data, ev.Content = encode(r), true
	ev.ASCIIBytes, ev.NonASCIIBytes = w.ascii, w.other
	w.ready = append(w.ready, ev)
}
