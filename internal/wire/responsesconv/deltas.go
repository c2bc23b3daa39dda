package responsesconv

import (
	"errors"
	"io"
	"iter"
	"unicode/utf8"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/responsesstream"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/sse"
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
		d := deltaReader{Source: upstream.NewSource(o.Reading), o: o, calls: map[int64]*openCall{}}
		d.emit = func(delta llm.Delta) {
			d.stopped = d.stopped || !yield(delta, nil)
		}
		if err := d.read(r); err != nil && !d.stopped {
			yield(llm.Delta{}, err)
		}
	}
}

// deltaReader holds the state of reading one response.
type deltaReader struct {
	*upstream.Source
	o       DeltaOptions
	emit    func(llm.Delta)
	stopped bool // whether the consumer has stopped

	began    bool
	calls    map[int64]*openCall // calls by output index
	thinking int64               // output index + 1 of the reasoning item whose text was emitted last; 0 for none

	characters int      // number of text characters so far
	part       [2]int64 // output index + 1 and content index + 1 of the current text part
	partStart  int      // offset of the current text part in the text, in characters
	searches   int64    // number of web searches so far
}

// openCall is a tool call whose arguments are arriving.
type openCall struct {
	index     int  // index of the tool call in the deltas
	arguments bool // whether any arguments were emitted
}

func (d *deltaReader) read(r io.Reader) error {
	if !d.o.Stream {
		return d.whole(r)
	}
	events := sse.NewReader(r, d.o.MaxLine)
	first, err := events.First()
	switch {
	case errors.Is(err, io.EOF):
		return upstream.Malformed("The provider sent an empty response.")
	case err != nil:
		return upstream.Failure(err)
	case first == '{':
		d.Warn("the provider sent a non-streaming response to a streaming request")
		return d.whole(events.Rest())
	}
	if err := d.Frames(events, d.event); err != nil {
		return err
	}
	switch {
	case d.stopped || d.Finished:
		return nil
	case !d.began:
		return upstream.Malformed("The provider's stream contains no response.")
	}
	return upstream.Interrupted()
}

// event handles one event and reports whether to continue reading.
func (d *deltaReader) event(f upstream.Frame) (more bool, err error) {
	v, output := f.Value, f.Value.Get("output_index").Int()
	switch f.Name {
	case "response.created":
		d.begin(v.Get("response"))
	case "response.output_item.added":
		d.openItem(output, v.Get("item"))
	case "response.output_text.delta":
		d.addText(output, v.Get("content_index").Int(), v.Get("delta").String())
	case "response.output_text.annotation.added":
		d.cite(v.Get("annotation"))
	case "response.refusal.delta":
		d.emit(llm.Delta{Kind: llm.RefusalDelta, Text: v.Get("delta").String()})
	case "response.reasoning_summary_part.added":
		if d.thinking == output+1 {
			d.emit(llm.Delta{Kind: llm.ThinkingDelta, Text: "\n\n"})
		}
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		d.thinking = output + 1
		d.emit(llm.Delta{Kind: llm.ThinkingDelta, Text: v.Get("delta").String()})
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		d.addArguments(output, v.Get("delta").String())
	case "response.output_item.done":
		d.closeItem(output, v.Get("item"))
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		return false, d.end(v.Get("response"))
	}
	return !d.stopped, nil
}

// whole reads a response that is one JSON document.
func (d *deltaReader) whole(r io.Reader) error {
	response, _, err := responsesstream.ReadWhole(d.Source, r)
	if err != nil {
		return err
	}
	d.begin(response)
	output := int64(0)
	response.Get("output").ForEach(func(_, item rawjson.Value) bool {
		d.openItem(output, item)
		switch item.Get("type").String() {
		case "message":
			content := int64(0)
			item.Get("content").ForEach(func(_, part rawjson.Value) bool {
				if text := part.Get("refusal").String(); text != "" {
					d.emit(llm.Delta{Kind: llm.RefusalDelta, Text: text})
				}
				if text := part.Get("text").String(); text != "" {
					d.addText(output, content, text)
				}
				part.Get("annotations").ForEach(func(_, annotation rawjson.Value) bool {
					d.cite(annotation)
					return true
				})
				content++
				return true
			})
		case "reasoning":
			if text := reasoningText(item); text != "" {
				d.emit(llm.Delta{Kind: llm.ThinkingDelta, Text: text})
			}
		}
		d.closeItem(output, item)
		output++
		return !d.stopped
	})
	return d.end(response)
}

// begin emits the ID and the model of the response.
func (d *deltaReader) begin(response rawjson.Value) {
	if d.began {
		return
	}
	d.began = true
	d.emit(llm.Delta{Kind: llm.BeginDelta, ID: response.Get("id").String(), Model: response.Get("model").String()})
}

// openItem begins a tool call if the item is one. Other items need no delta until their text arrives.
func (d *deltaReader) openItem(output int64, item rawjson.Value) {
	kind := item.Get("type").String()
	if kind != "function_call" && kind != "custom_tool_call" {
		return
	}
	call := &openCall{index: len(d.calls)}
	d.calls[output] = call
	d.emit(llm.Delta{Kind: llm.CallDelta, Index: call.index, Call: &llm.ToolCall{
		ID: item.Get("call_id").String(), Name: item.Get("name").String(), Custom: kind == "custom_tool_call",
	}})
}

// addText emits text of the message part with the given output and content indexes.
func (d *deltaReader) addText(output, content int64, text string) {
	if at := [2]int64{output + 1, content + 1}; d.part != at {
		d.part, d.partStart = at, d.characters
	}
	d.characters += utf8.RuneCountInString(text)
	d.emit(llm.Delta{Kind: llm.TextDelta, Text: text})
}

// cite emits a citation for the current text part. It drops a citation whose source is not a web page, because other formats do not support
// it.
func (d *deltaReader) cite(v rawjson.Value) {
	if v.Get("type").String() != "url_citation" || v.Get("url").String() == "" {
		d.Warn("dropped an annotation of type %s", show.Quote(v.Get("type").String()))
		return
	}
	start, end := max(v.Get("start_index").Int(), 0), max(v.Get("end_index").Int(), 0)
	cited := llm.Citation{
		URL: v.Get("url").String(), Title: v.Get("title").String(),
		Start: d.partStart + int(min(start, maxIndex)), End: d.partStart + int(min(max(start, end), maxIndex)),
	}
	d.emit(llm.Delta{Kind: llm.CitationDelta, Citation: &cited})
}

// maxIndex is the maximum position of a citation, larger than the length of any response. Larger values are reduced to it.
const maxIndex = 1 << 30

func (d *deltaReader) addArguments(output int64, text string) {
	if call := d.calls[output]; call != nil && text != "" {
		call.arguments = true
		d.emit(llm.Delta{Kind: llm.ArgumentsDelta, Index: call.index, Text: text})
	}
}

// closeItem emits the data that only the complete item contains: arguments that were not streamed, and encrypted reasoning.
func (d *deltaReader) closeItem(output int64, item rawjson.Value) {
	switch kind := item.Get("type").String(); kind {
	case "function_call", "custom_tool_call":
		if call := d.calls[output]; call != nil && !call.arguments {
			d.addArguments(output, item.Get("arguments").String()+item.Get("input").String())
		}
	case "reasoning":
		if encrypted := item.Get("encrypted_content").String(); encrypted != "" {
			d.emit(llm.Delta{Kind: llm.SignatureDelta, Thinking: &llm.Thinking{
				Signature: item.Get("id").String() + ":" + encrypted, Provider: d.o.Signer,
			}})
		}
	case "message":
	case "web_search_call": // only counted, because the citations contain the sources
		d.searches += responsesstream.Searches(item)
	default:
		d.Warn("the output item %s cannot be expressed in the client's format", kind)
	}
}

// end emits the usage and the finish reason. It returns an error if the response failed or has no finish reason.
func (d *deltaReader) end(response rawjson.Value) error {
	if usage := responsesstream.Usage(response); usage != nil {
		usage.Searches = max(usage.Searches, d.searches) // some providers send an empty output list in the last event
		d.emit(llm.Delta{Kind: llm.UsageDelta, Usage: usage})
	}
	if failure := responsesstream.Failure(response); failure != nil {
		return failure
	}
	finish := responsesstream.Finish(response)
	if finish == "" {
		return upstream.Interrupted()
	}
	d.Finished = true
	if finish == "stop" && len(d.calls) > 0 { // some providers send an empty output list in the last event
		finish = "tool_calls"
	}
	d.emit(llm.Delta{Kind: llm.FinishDelta, Finish: finish})
	return nil
}

// reasoningText returns the reasoning text of an item, or its summary if the item has no text.
func reasoningText(item rawjson.Value) string {
	for _, name := range []string{"content", "summary"} {
		text := ""
		item.Get(name).ForEach(func(_, part rawjson.Value) bool {
			if t := part.Get("text").String(); t != "" {
				if text != "" {
					text += "\n\n"
				}
				text += t
			}
			return true
		})
		if text != "" {
			return text
		}
	}
	return ""
}
