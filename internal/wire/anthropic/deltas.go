package anthropic

import (
	"bytes"
	"cmp"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/upstream"
)

// DeltaOptions holds the settings for decoding a response into deltas.
type DeltaOptions struct {
	upstream.Reading
	Signer      string   // name under which thinking signatures are recorded
	SchemaTool  string   // name of the tool whose input is the response; see SchemaTool
	CustomTools []string // names of the tools that accept free text
}

// Deltas decodes a provider's 2xx response, streamed or not. The last pair may contain an *llm.Error, or an error that
// wraps the error of the request's context.
func Deltas(r io.Reader, o DeltaOptions) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		d := deltaReader{reader: newReader(r, o.Reading), o: o, yield: yield, blocks: map[int64]*openBlock{}}
		var err error
		for err == nil && !d.gone && !d.ended {
			var ev *event
			if ev, err = d.next(); err == nil {
				d.take(ev)
			}
		}
		if d.gone {
			return
		}
		if usage := d.used(err == nil || d.finish != ""); usage != nil && !yield(llm.Delta{Kind: llm.UsageDelta, Usage: usage}, nil) {
			return
		}
		if err != nil {
			yield(llm.Delta{}, err)
		}
	}
}

// deltaReader holds the state of decoding one response.
type deltaReader struct {
	reader
	o     DeltaOptions
	yield func(llm.Delta, error) bool
	gone  bool // whether the consumer has stopped
	ended bool

	named      bool                 // whether the BeginDelta was emitted
	characters int                  // number of text characters, without thinking and arguments
	blocks     map[int64]*openBlock // open blocks by index
	calls      int                  // number of tool calls
	lost       bool                 // whether a part of the response was dropped
}

// openBlock is a content block that has begun.
type openBlock struct {
	kind      string
	index     int            // index of the tool call
	call      string         // tool name
	id        string         // ID of the tool call
	initial   jsontext.Value // input of the tool call in the start event
	held      []byte         // input received so far for a custom tool
	spoke     bool           // whether input was received after the start event
	signature strings.Builder
	redacted  string
	from      int // position of the first character of a text block
	citations []llm.Citation
}

func (d *deltaReader) emit(delta llm.Delta) {
	if d.gone {
		return
	}
	ascii, other := upstream.CountText(delta.Text)
	d.ascii += ascii
	d.other += other
	if delta.Kind == llm.TextDelta {
		d.characters += utf8.RuneCountInString(delta.Text)
	}
	d.gone = !d.yield(delta, nil)
}

// take converts one event.
func (d *deltaReader) take(ev *event) {
	index := int64(0)
	if ev.Index != nil {
		index = *ev.Index
	}
	switch ev.Type {
	case "message_start", "content_block_start":
		d.begin(ev.Message)
		if ev.ContentBlock != nil {
			d.open(index, ev.ContentBlock)
		}
	case "content_block_delta":
		d.add(index, &ev.Delta)
	case "content_block_stop":
		d.close(index)
	case "message_stop":
		d.end()
	}
}

func (d *deltaReader) begin(m *response) {
	if d.named {
		return
	}
	d.named = true
	first := llm.Delta{Kind: llm.BeginDelta}
	if m != nil {
		first.ID, first.Model = m.ID, m.Model.Text()
	}
	d.emit(first)
	if usage := d.counts.usage(); usage != nil {
		d.emit(llm.Delta{Kind: llm.UsageDelta, Usage: usage})
	}
}

// end emits the finish reason. If the model called only the schema tool, whose input became the text of the response, end emits "stop"
// instead of "tool_calls".
func (d *deltaReader) end() {
	d.ended = true
	for _, index := range slices.Sorted(maps.Keys(d.blocks)) {
		d.close(index)
	}
	if d.finish == "tool_calls" && d.calls == 0 && d.o.SchemaTool != "" {
		d.finish = "stop"
	}
	d.emit(llm.Delta{Kind: llm.FinishDelta, Finish: d.finish, StopSequence: d.stop})
}

// open begins a block with its initial content.
func (d *deltaReader) open(index int64, v *block) {
	b := &openBlock{kind: v.Type, from: d.characters}
	d.blocks[index] = b
	switch b.kind {
	case "text":
		d.text(llm.TextDelta, textOf(v.Text))
		var list struct {
			Citations []citation `json:"citations"`
		}
		if v.Citations != nil && upstream.Decode(slices.Concat([]byte(`{"citations":`), v.Citations, []byte{'}'}), &list) == nil {
			for i := range list.Citations {
				d.cite(b, &list.Citations[i])
			}
		}
	case "thinking":
		d.text(llm.ThinkingDelta, textOf(v.Thinking))
		b.signature.WriteString(textOf(v.Signature))
	case "redacted_thinking":
		b.redacted = textOf(v.Data)
	case "tool_use":
		b.id, b.call = v.ID, v.Name
		if len(bytes.Trim(v.Input, "{} \t\r\n")) > 0 {
			b.initial = v.Input
		}
		if b.call == d.o.SchemaTool && b.call != "" {
			return
		}
		b.index = d.calls
		d.calls++
		if !slices.Contains(d.o.CustomTools, b.call) {
			d.emit(llm.Delta{Kind: llm.CallDelta, Index: b.index, Call: &llm.ToolCall{ID: b.id, Name: b.call}})
		}
	case "server_tool_use", "web_search_tool_result": // dropped, because the citations contain the sources
	default:
		d.warnDropped("a block of type " + show.Quote(b.kind))
	}
}

func (d *deltaReader) text(kind llm.DeltaKind, text string) {
	if text != "" {
		d.emit(llm.Delta{Kind: kind, Text: text})
	}
}

// warnDropped warns about a part of the response that llm.Delta cannot express. It warns only once per response.
func (d *deltaReader) warnDropped(what string) {
	if !d.lost {
		d.lost = true
		d.Warn("dropped a part of the response: %s", what)
	}
}

// add converts a delta of a block.
func (d *deltaReader) add(index int64, v *delta) {
	b := d.blocks[index]
	if b == nil {
		b = &openBlock{kind: "text", from: d.characters} // some compatible servers send no content_block_start
		d.blocks[index] = b
	}
	switch v.Type {
	case "text_delta":
		d.text(llm.TextDelta, v.Text)
	case "thinking_delta":
		b.kind = "thinking"
		d.text(llm.ThinkingDelta, v.Thinking)
	case "signature_delta":
		b.signature.WriteString(v.Signature)
	case "input_json_delta":
		if b.kind == "tool_use" {
			d.input(b, v.PartialJSON)
		}
	case "citations_delta":
		var c citation
		if upstream.Decode(v.Citation, &c) == nil {
			d.cite(b, &c)
		}
	}
}

// cite adds a citation to a text block. It drops a citation whose source is not a web page, because other formats do not support it.
func (d *deltaReader) cite(b *openBlock, c *citation) {
	url := c.URL
	if url == "" && c.Type == "search_result_location" {
		url = c.Source
	}
	if !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
		d.warnDropped("a citation that does not name a web page")
		return
	}
	b.citations = append(b.citations, llm.Citation{URL: url, Title: c.Title, Quote: c.CitedText, Start: b.from})
}

// input handles a part of the input of a call. The input of the schema tool is sent as text, because it is the response. The input of a
// custom tool is held until it is complete, because incomplete JSON cannot be decoded.
func (d *deltaReader) input(b *openBlock, text string) {
	if text == "" {
		return
	}
	b.spoke = true
	switch {
	case b.call == d.o.SchemaTool:
		d.emit(llm.Delta{Kind: llm.TextDelta, Text: text})
	case slices.Contains(d.o.CustomTools, b.call):
		b.held = append(b.held, text...)
	default:
		d.emit(llm.Delta{Kind: llm.ArgumentsDelta, Index: b.index, Text: text})
	}
}

// close ends a block. It yields the citations of a text block, which apply to the whole block, the signature of a
// thinking block, and an empty object for a call without arguments.
func (d *deltaReader) close(index int64) {
	b := d.blocks[index]
	delete(d.blocks, index)
	if b == nil {
		return
	}
	switch b.kind {
	case "text":
		for i := range b.citations {
			b.citations[i].End = d.characters
			d.emit(llm.Delta{Kind: llm.CitationDelta, Citation: &b.citations[i]})
		}
	case "thinking":
		d.emit(llm.Delta{Kind: llm.SignatureDelta, Thinking: &llm.Thinking{Signature: b.signature.String(), Provider: d.o.Signer}})
	case "redacted_thinking":
		d.emit(llm.Delta{Kind: llm.SignatureDelta, Thinking: &llm.Thinking{Redacted: b.redacted, Provider: d.o.Signer}})
	case "tool_use":
		if !b.spoke {
			d.input(b, cmp.Or(string(b.initial), "{}"))
		}
		if slices.Contains(d.o.CustomTools, b.call) {
			d.emit(llm.Delta{Kind: llm.CallDelta, Index: b.index, Call: &llm.ToolCall{ID: b.id, Name: b.call, Arguments: freeTextOf(b.held), Custom: true}})
		}
	}
}

// freeTextOf returns the text in the input of a call of a custom tool. A model that does not follow the schema may send the text itself.
func freeTextOf(input []byte) string {
	var wrapped struct {
		Input *string `json:"input"`
	}
	if upstream.Decode(input, &wrapped) == nil && wrapped.Input != nil {
		return *wrapped.Input
	}
	return string(input)
}
