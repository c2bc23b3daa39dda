package responses

import (
	"io"
	"iter"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/upstream"
)

// DeltaOptions holds the settings for decoding a response into deltas.
type DeltaOptions struct {
	upstream.Reading
	Signer string // provider that is recorded as the signer of encrypted reasoning, which is sent back only to this provider
}

// Deltas reads a provider's 2xx response, streamed or not. The last pair may contain an *llm.Error, or an error that wraps the error of
// the request's context.
func Deltas(r io.Reader, o DeltaOptions) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		d := deltaReader{reader: reader{Source: upstream.NewSource(o.Reading), from: r}, o: o, calls: map[int]*openCall{}}
		d.emit = func(delta llm.Delta) {
			d.stopped = d.stopped || !yield(delta, nil)
		}
		if err := d.readAll(); err != nil && !d.stopped {
			yield(llm.Delta{}, err)
		}
	}
}

// deltaReader holds the state of decoding one response.
type deltaReader struct {
	reader
	o       DeltaOptions
	emit    func(llm.Delta)
	stopped bool // whether the consumer has stopped

	named bool
	calls map[int]*openCall // calls by output index

	thinking int // output index + 1 of the reasoning item whose text was emitted last; 0 for none
	thought  int // output index + 1 of the reasoning item with text that is not a summary
	piece    int // content index of this text

	characters int    // number of text characters so far
	part       [2]int // output index + 1 and content index + 1 of the current text part
	partStart  int    // offset of the current text part in the text, in characters
}

// openCall is a tool call whose arguments are arriving.
type openCall struct {
	index     int  // index of the tool call in the deltas
	arguments bool // whether any arguments were emitted
}

func (d *deltaReader) readAll() error {
	for !d.stopped && !d.Finished {
		ev, err := d.next()
		if ev != nil {
			d.event(ev) // a failed response may report its usage
		}
		switch {
		case err != nil:
			return err
		case ev == nil: // the provider is still generating the response
			return upstream.Interrupted()
		}
	}
	return nil
}

// event converts one event.
func (d *deltaReader) event(ev *event) {
	output := valueOf(ev.OutputIndex)
	switch ev.Type {
	case "response.created":
		d.begin(ev.Response)
	case "response.output_item.added":
		d.openItem(output, ev.Item)
	case "response.output_text.delta":
		d.addText(output, valueOf(ev.ContentIndex), ev.Delta)
	case "response.output_text.annotation.added":
		d.cite(ev.Annotation)
	case "response.refusal.delta":
		d.emit(llm.Delta{Kind: llm.RefusalDelta, Text: ev.Delta})
	case "response.reasoning_summary_part.added":
		if d.thinking == output+1 && d.thought != output+1 {
			d.emit(llm.Delta{Kind: llm.ThinkingDelta, Text: "\n\n"})
		}
	case "response.reasoning_text.delta":
		if d.thought == output+1 && d.piece != valueOf(ev.ContentIndex) {
			d.emit(llm.Delta{Kind: llm.ThinkingDelta, Text: "\n\n"})
		}
		d.thinking, d.thought, d.piece = output+1, output+1, valueOf(ev.ContentIndex)
		d.emit(llm.Delta{Kind: llm.ThinkingDelta, Text: ev.Delta})
	case "response.reasoning_summary_text.delta":
		if d.thought != output+1 { // the summary is used only if the item has no text
			d.thinking = output + 1
			d.emit(llm.Delta{Kind: llm.ThinkingDelta, Text: ev.Delta})
		}
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		d.addArguments(output, ev.Delta)
	case "response.output_item.done":
		d.closeItem(output, ev.Item)
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		d.end(ev.Response)
	}
}

func valueOf(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// begin emits the ID and the model of the response.
func (d *deltaReader) begin(r *response) {
	if d.named {
		return
	}
	d.named = true
	first := llm.Delta{Kind: llm.BeginDelta}
	if r != nil {
		first.ID, first.Model = r.ID.Text(), r.Model.Text()
	}
	d.emit(first)
}

// openItem begins a tool call if the item is one. Other items need no delta until their text arrives.
func (d *deltaReader) openItem(output int, it *item) {
	if it == nil || it.Type != functionItem && it.Type != customItem {
		return
	}
	call := &openCall{index: len(d.calls)}
	d.calls[output] = call
	d.emit(llm.Delta{Kind: llm.CallDelta, Index: call.index, Call: &llm.ToolCall{ID: it.CallID, Name: it.Name, Custom: it.Type == customItem}})
}

// addText emits text of the message part with the given output and content indexes.
func (d *deltaReader) addText(output, content int, text string) {
	if at := [2]int{output + 1, content + 1}; d.part != at {
		d.part, d.partStart = at, d.characters
	}
	d.characters += utf8.RuneCountInString(text)
	d.emit(llm.Delta{Kind: llm.TextDelta, Text: text})
}

// cite emits a citation for the current text part. It drops a citation whose source is not a web page, because other formats do not support
// it.
func (d *deltaReader) cite(annotation jsontext.Value) {
	var c citation
	if upstream.Decode(annotation, &c) != nil || c.Type != "url_citation" || c.URL == "" {
		d.Warn("dropped an annotation of type %s", show.Quote(c.Type))
		return
	}
	start := min(max(c.StartIndex, 0), maxIndex)
	end := min(max(c.EndIndex, start), maxIndex)
	d.emit(llm.Delta{Kind: llm.CitationDelta, Citation: &llm.Citation{URL: c.URL, Title: c.Title, Start: d.partStart + start, End: d.partStart + end}})
}

// maxIndex is the maximum position of a citation, larger than the length of any response. Larger values are reduced to it.
const maxIndex = 1 << 30

func (d *deltaReader) addArguments(output int, text string) {
	if call := d.calls[output]; call != nil && text != "" {
		call.arguments = true
		d.emit(llm.Delta{Kind: llm.ArgumentsDelta, Index: call.index, Text: text})
	}
}

// closeItem emits the data that only the complete item contains: arguments that were not streamed, and encrypted reasoning.
func (d *deltaReader) closeItem(output int, it *item) {
	if it == nil {
		return
	}
	switch it.Type {
	case functionItem, customItem:
		if call := d.calls[output]; call != nil && !call.arguments {
			d.addArguments(output, it.Arguments.String+it.Input.String)
		}
	case reasoningItem:
		if it.Encrypted != "" {
			d.emit(llm.Delta{Kind: llm.SignatureDelta, Thinking: &llm.Thinking{Signature: it.ID + ":" + it.Encrypted, Provider: d.o.Signer}})
		}
	case messageItem, searchItem: // the citations contain the sources of a search
	default:
		d.Warn("the output item %s cannot be expressed in the client's format", it.Type)
	}
}

// end emits the usage and the finish reason.
func (d *deltaReader) end(r *response) {
	if usage := d.used(r); usage != nil {
		d.emit(llm.Delta{Kind: llm.UsageDelta, Usage: usage})
	}
	finish := r.finish()
	if finish == "" {
		d.Finished = false // the response has failed, or is not complete
		return
	}
	if finish == "stop" && len(d.calls) > 0 { // some providers send an empty output list in the last event
		finish = "tool_calls"
	}
	d.emit(llm.Delta{Kind: llm.FinishDelta, Finish: finish})
}
