package responses

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/validate"
)

// EncodeResponse implements wire.Format. The format supports only one choice, so other choices are dropped. A response that ends without a
// finish reason is an error of kind llm.StreamInterrupted.
func (f Format) EncodeResponse(req *llm.Request, model string, deltas iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Event, error] {
	return newResponseWriter(f, req, model).write(deltas)
}

// write encodes the deltas as events.
func (w *responseWriter) write(deltas iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Event, error] {
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

// responseWriter holds the state of encoding one response.
type responseWriter struct {
	stream   bool
	response response
	body     []byte // request body, from which IDs are derived
	nanos    int64

	namespaced map[string]namespacedTool // tools of the request that are in a namespace, by joined name

	begun    bool
	started  bool // whether the first events were sent
	sequence int
	outputItems
	reported string
	usage    *llm.Usage
	finish   string

	textSize
	ready []llm.Event
}

// outputItems holds the output items of a response.
type outputItems struct {
	items     []*item
	calls     map[int]*item // tool calls by index
	openItems []*item       // open items that are not calls
}

// textSize holds the length of the response text.
type textSize struct {
	ascii, other int // number of ASCII and of non-ASCII bytes
	characters   int
}

func newResponseWriter(f Format, req *llm.Request, model string) *responseWriter {
	w := &responseWriter{stream: req.Stream, response: newResponse(&req.Payload, model), body: req.Body, namespaced: namespacedTools(&req.Payload)}
	if f.Now != nil {
		now := f.Now()
		w.response.CreatedAt, w.nanos = now.Unix(), now.UnixNano()
	}
	return w
}

func (w *responseWriter) add(p *llm.Delta) error {
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
		w.emit(llm.Event{}, "response.created", "response", w.response)
		w.emit(llm.Event{}, "response.in_progress", "response", w.response)
	}
	switch p.Kind {
	case llm.TextDelta:
		w.addText(p.Text)
	case llm.RefusalDelta:
		w.addRefusal(p.Text)
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
func (w *responseWriter) begin(p *llm.Delta) {
	if w.reported == "" {
		w.reported = p.Model
	}
	if !w.begun {
		w.begun = true
		const prefix = "resp_"
		id := show.Cut(show.OneLine(p.ID), validate.MaxName)
		if id == "" {
			id = w.newID("response")
		}
		w.response.ID = prefix + strings.TrimPrefix(id, prefix)
	}
}

// newID derives an ID from the time and the ID of the response. Before the response has an ID, newID uses the request body instead. parts
// must differ for every ID in a response.
func (w *responseWriter) newID(parts ...any) string {
	h := sha256.New() // writes to h never fail
	if w.response.ID == "" {
		_, _ = h.Write(w.body)
	}
	_, _ = fmt.Fprint(h, w.nanos, w.response.ID, parts)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func malformed(message string) error {
	return &llm.Error{Kind: llm.UpstreamMalformed, Message: message}
}

// end closes the open items. After a length limit or a content filter, the last item is incomplete.
func (w *responseWriter) end(finish string) {
	calls := false
	for _, it := range w.items {
		calls = calls || it.isCall()
	}
	switch {
	case calls && (finish == "" || finish == "stop"):
		finish = "tool_calls"
	case finish == "":
		finish = "stop"
	}
	w.finish = finish
	for i, it := range w.items {
		if i == len(w.items)-1 && !w.whole() {
			w.closeAs(it, "incomplete")
		} else {
			w.close(it)
		}
	}
}

// whole reports whether the response is complete.
func (w *responseWriter) whole() bool { return w.finish != "length" && w.finish != "content_filter" }

// complete adds the last event of a stream, or the only event of a non-streamed response.
func (w *responseWriter) complete() {
	w.response.Status = "completed"
	if !w.whole() {
		w.response.Status = "incomplete"
		w.response.IncompleteDetails = &incomplete{Reason: map[string]string{"length": "max_output_tokens", "content_filter": "content_filter"}[w.finish]}
	}
	for _, it := range w.items {
		w.response.Output = append(w.response.Output, it.json())
	}
	if u := w.usage; u != nil {
		counts := &usage{InputTokens: u.Prompt(), OutputTokens: u.Output, TotalTokens: u.Total()}
		counts.InputTokensDetails.CachedTokens = u.CacheRead
		counts.InputTokensDetails.CacheWriteTokens = u.CacheWrite
		counts.OutputTokensDetails.ReasoningTokens = u.Reasoning
		w.response.Usage = counts
		if u.ServiceTier != "" {
			w.response.ServiceTier = encode(u.ServiceTier)
		}
	}
	ev := llm.Event{Finish: w.finish, Usage: w.usage, Model: w.reported}
	if w.stream {
		w.emit(ev, "response."+w.response.Status, "response", w.response)
		return
	}
	ev.Data, ev.Content = encode(w.response), true
	ev.ASCIIBytes, ev.NonASCIIBytes = w.ascii, w.other
	w.ready = append(w.ready, ev)
}

// fail yields err. In a stream, it first yields the usage so far, in an event that is not sent to the client.
func (w *responseWriter) fail(yield func(llm.Event, error) bool, err error) {
	if w.stream && w.usage != nil {
		if !yield(llm.Event{Data: []byte("{}"), Bare: true, Usage: w.usage, Model: w.reported}, nil) {
			return
		}
	}
	yield(llm.Event{}, err)
}

func (w *responseWriter) flush(yield func(llm.Event, error) bool) bool {
	for ; len(w.ready) > 0; w.ready = w.ready[1:] {
		if !yield(w.ready[0], nil) {
			return false
		}
	}
	return true
}
