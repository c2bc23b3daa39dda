package anthropic

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"iter"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/token"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/upstream"
)

// EncodeResponse implements wire.Format. If the deltas contain an error, it yields the usage so far and then the error.
func (Format) EncodeResponse(req *llm.Request, model string, deltas iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Event, error] {
	sum := sha256.Sum256(req.Body)
	e := &encoder{
		request: req, stream: req.Stream, current: -1, calls: map[int]int{}, model: model,
		fallbackID: "msg_" + hex.EncodeToString(sum[:12]),
	}
	return e.encode(deltas)
}

// encoder encodes one response: as events, or as one message.
type encoder struct {
	request *llm.Request // client's request; nil when the encoder continues an interrupted stream
	stream  bool
	yield   func(llm.Event, error) bool
	gone    bool // whether the consumer of the events has stopped
	err     error

	model      string // model name that the client sees
	reported   string // model name that the provider reports
	id         string
	fallbackID string // message ID if the provider sends none

	started      bool
	blocks       []block         // in a stream, without their text
	current      int             // index of the open block; -1 for none
	text         strings.Builder // text of the open block; not used in a stream
	cited        []citation      // citations of the last block; not used in a stream
	calls        map[int]int     // block indexes by index of the tool call
	finish, stop string
	usage        *llm.Usage
	ascii, other int // number of ASCII and of non-ASCII text bytes
}

func (e *encoder) encode(deltas iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		e.yield = yield
		for d, err := range deltas {
			if err == nil {
				e.take(d)
				err = e.err
			}
			if e.gone {
				return
			}
			if err != nil {
				used := e.usage
				if e.finish == "" {
					used = upstream.RunningUsage(used, e.ascii, e.other)
				}
				if used == nil || yield(llm.Event{Bare: true, Usage: used, Model: e.reported}, nil) {
					yield(llm.Event{}, err)
				}
				return
			}
		}
		if e.finish == "" {
			yield(llm.Event{}, upstream.Interrupted())
			return
		}
		e.start()
		e.close()
		e.end()
		if e.err != nil && !e.gone {
			yield(llm.Event{}, e.err)
		}
	}
}

// take encodes one delta. The format supports only one choice, so other choices are dropped.
func (e *encoder) take(d llm.Delta) {
	if d.Choice != 0 {
		return
	}
	switch d.Kind {
	case llm.BeginDelta:
		e.reported = d.Model
		if !e.started {
			e.id = d.ID
		}
		return
	case llm.UsageDelta:
		e.usage = d.Usage
		return
	case llm.FinishDelta:
		e.finish, e.stop = d.Finish, d.StopSequence
		return
	default:
		e.start()
	}
	switch d.Kind { //nolint:exhaustive // the other kinds are handled above
	case llm.TextDelta, llm.RefusalDelta:
		e.add("text", d.Text)
	case llm.ThinkingDelta:
		e.add("thinking", d.Text)
	case llm.SignatureDelta:
		e.addSignature(*d.Thinking)
	case llm.CitationDelta:
		e.cite(d.Citation)
	case llm.CallDelta:
		if d.Call.Signature != "" {
			e.openRedacted(wrappedSignature{Provider: d.Call.Provider, Value: d.Call.Signature, Call: true})
		}
		e.open(block{Type: "tool_use", ID: encodeID(d.Call.ID, 1), Name: d.Call.Name, Input: jsontext.Value(`{}`)})
		e.calls[d.Index] = e.current
		e.appendText(d.Call.Arguments)
	case llm.ArgumentsDelta:
		if at, known := e.calls[d.Index]; !known || at != e.current {
			e.err = upstream.Malformed("The provider mixes the arguments of several tool calls.")
			return
		}
		e.appendText(d.Text)
	}
}

// add appends text to the open block, or to a new block if the open block is not of the given kind (text or thinking).
func (e *encoder) add(kind, text string) {
	if text == "" {
		return
	}
	if e.current < 0 || e.blocks[e.current].Type != kind {
		e.open(newBlock(kind))
	}
	e.appendText(text)
}

// newBlock returns an empty block of text or thinking.
func newBlock(kind string) block {
	if kind == "thinking" {
		return block{Type: kind, Thinking: new(""), Signature: new("")}
	}
	return block{Type: kind, Text: new("")}
}

// addSignature ends a thinking block with its signature. The signature is wrapped together with the name of its provider, because the
// gateway must not send it to another provider when the client sends it back. An empty signature is also wrapped, because providers of
// this format reject thinking without a signature.
func (e *encoder) addSignature(t llm.Thinking) {
	last := len(e.blocks) - 1
	switch {
	case t.Redacted != "":
		e.openRedacted(wrappedSignature{Provider: t.Provider, Value: t.Redacted})
		return
	case e.current >= 0 && e.blocks[e.current].Type == "thinking":
	case t.Signature == "":
		return
	case last >= 0 && e.blocks[last].Type == "text": // clients would show empty thinking after the text
		e.openRedacted(wrappedSignature{Provider: t.Provider, Value: t.Signature, Text: true})
		return
	default:
		e.open(newBlock("thinking")) // the signature belongs to thinking without text
	}
	e.blocks[e.current].Signature = new(wrappedSignature{Provider: t.Provider, Value: t.Signature}.String())
	e.close()
}

// openRedacted adds a block of redacted thinking that carries a signature.
func (e *encoder) openRedacted(s wrappedSignature) {
	e.open(block{Type: "redacted_thinking", Data: new(s.String())})
	e.close()
}

// foreignCitation marks citations from a provider of another format. Providers of this format reject them, so they are
// removed when the client sends them back.
const foreignCitation = signaturePrefix + "citation"

// cite adds a citation to the last block, if it is a text block. The citation applies to the whole block. In a stream, a citation for a
// block that has ended is dropped.
func (e *encoder) cite(c *llm.Citation) {
	last := len(e.blocks) - 1
	if last < 0 || e.blocks[last].Type != "text" || e.stream && e.current != last {
		return
	}
	source := citation{Type: "web_search_result_location", URL: c.URL, Title: c.Title, CitedText: c.Quote, EncryptedIndex: foreignCitation}
	if !e.stream {
		e.cited = append(e.cited, source)
		return
	}
	e.send(event{Type: "content_block_delta", Index: e.index(), Delta: delta{Type: "citations_delta", Citation: e.raw(source)}}, llm.Event{})
}

// start sends the event message_start.
func (e *encoder) start() {
	if e.started {
		return
	}
	e.started = true
	if !e.stream {
		return
	}
	m := e.message()
	m.stopped = stopped{null, null}
	e.send(event{Type: "message_start", Message: &m}, llm.Event{})
}

// message returns the response without its content.
func (e *encoder) message() response {
	id := cmp.Or(e.id, e.fallbackID)
	if !strings.HasPrefix(id, "msg_") {
		id = "msg_" + id
	}
	return response{ID: id, Type: "message", Role: "assistant", Model: upstream.PlacedText(e.model), Usage: e.raw(tokensOf(e.usageSoFar()))}
}

// usageSoFar returns the usage that the provider has reported, or an estimate if it has not reported usage yet.
func (e *encoder) usageSoFar() llm.Usage {
	if e.usage != nil {
		return *e.usage
	}
	if e.request == nil || e.request.Messages == 0 {
		return llm.Usage{}
	}
	prompt := token.Model{Name: e.model}.Prompt(token.PromptOf(e.request))
	return *upstream.RunningUsage(&llm.Usage{Input: prompt}, e.ascii, e.other)
}

// open ends the open block, if any, and begins another one.
func (e *encoder) open(b block) {
	e.close()
	e.endCitations()
	e.current = len(e.blocks)
	e.blocks = append(e.blocks, b)
	ev := llm.Event{Content: b.Type == "tool_use" || b.Type == "redacted_thinking"}
	e.count(&ev, b.Name)
	e.send(event{Type: "content_block_start", Index: e.index(), ContentBlock: &b}, ev)
}

// appendText appends text to the open block.
func (e *encoder) appendText(text string) {
	if text == "" {
		return
	}
	if !e.stream {
		e.text.WriteString(text)
	}
	d := delta{Type: "text_delta", Text: text}
	switch e.blocks[e.current].Type {
	case "thinking":
		d = delta{Type: "thinking_delta", Thinking: text}
	case "tool_use":
		d = delta{Type: "input_json_delta", PartialJSON: text}
	}
	ev := llm.Event{Content: true}
	e.count(&ev, text)
	ev.Usage = upstream.RunningUsage(e.usage, e.ascii, e.other)
	e.send(event{Type: "content_block_delta", Index: e.index(), Delta: d}, ev)
}

// close ends the open block. A thinking block always ends with a signature: the provider's, or a placeholder if the
// provider sent none.
func (e *encoder) close() {
	if e.current < 0 {
		return
	}
	b := &e.blocks[e.current]
	text := e.text.String()
	e.text.Reset()
	switch b.Type {
	case "text":
		b.Text = &text
	case "thinking":
		b.Thinking = &text
		if *b.Signature == "" {
			b.Signature = new(wrappedSignature{}.String())
		}
		e.send(event{Type: "content_block_delta", Index: e.index(), Delta: delta{Type: "signature_delta", Signature: *b.Signature}}, llm.Event{})
	case "tool_use":
		b.Input, _ = inputOf(text)
	}
	e.send(event{Type: "content_block_stop", Index: e.index()}, llm.Event{})
	e.current = -1
}

// endCitations adds the citations to the last block of a message.
func (e *encoder) endCitations() {
	if len(e.cited) > 0 {
		e.blocks[len(e.blocks)-1].Citations = e.raw(e.cited)
		e.cited = nil
	}
}

// end sends the last events of a stream, or the message.
func (e *encoder) end() {
	stop := stopped{StopReason: e.raw(stopReason(e.finish, e.stop)), StopSequence: null}
	if e.stop != "" {
		stop.StopSequence = e.raw(e.stop)
	}
	if e.stream {
		last := llm.Event{Finish: e.finish, Usage: e.usage}
		e.send(event{Type: "message_delta", Delta: delta{stopped: stop}, Usage: e.raw(tokensOf(e.usageSoFar()))}, last)
		e.send(event{Type: "message_stop"}, llm.Event{})
		return
	}
	e.endCitations()
	m := e.message()
	m.Content, m.stopped = e.blocks, stop
	e.deliver(llm.Event{
		Data: e.raw(m), Content: true, Finish: e.finish, Usage: e.usage, Model: e.reported,
		ASCIIBytes: e.ascii, NonASCIIBytes: e.other,
	})
}

// send yields one event of a stream. ev holds the properties of the event.
func (e *encoder) send(in event, ev llm.Event) {
	if !e.stream {
		return
	}
	ev.Name, ev.Data, ev.Model = in.Type, e.raw(in), e.reported
	e.deliver(ev)
}

func (e *encoder) deliver(ev llm.Event) {
	if !e.gone && e.err == nil {
		e.gone = !e.yield(ev, nil)
	}
}

// raw encodes a value. It records an error, which ends the response.
func (e *encoder) raw(v any) jsontext.Value {
	data, err := encode(v)
	if err != nil && e.err == nil {
		e.err = llm.AsError(err)
	}
	return data
}

func (e *encoder) index() *int64 { return new(int64(e.current)) }

// count adds text to the counts of an event and of the response.
func (e *encoder) count(ev *llm.Event, text string) {
	ascii, other := upstream.CountText(text)
	ev.ASCIIBytes += ascii
	ev.NonASCIIBytes += other
	e.ascii += ascii
	e.other += other
}

// inputOf returns the arguments of a call as an object. Other JSON and invalid JSON is wrapped as text.
func inputOf(arguments string) (input jsontext.Value, wrapped bool) {
	trimmed := strings.TrimSpace(arguments)
	switch {
	case trimmed == "" || trimmed == "null":
		return jsontext.Value(`{}`), false
	case trimmed[0] == '{' && json.Valid([]byte(trimmed)):
		return jsontext.Value(trimmed), false
	}
	input, _ = encode(map[string]string{"arguments": arguments}) // strings can always be encoded
	return input, true
}

// Resume implements wire.Resumer. A stream can be continued if it consists of text and its last text block is still open.
func (Format) Resume(_ *llm.Request, sent []byte) (wire.Continuation, bool) {
	e := &encoder{started: true, current: -1, stream: true, calls: map[int]int{}}
	var text strings.Builder
	for line := range bytes.Lines(sent) {
		var ev event
		if upstream.Decode(line, &ev) != nil || !e.replay(&ev, &text) {
			return wire.Continuation{}, false
		}
	}
	if e.current < 0 || text.Len() == 0 {
		return wire.Continuation{}, false
	}
	return wire.Continuation{Text: text.String(), Encode: e.encode}, true
}

// replay applies an event that was sent before the interruption and appends its text to text. It returns false if a stream with this event
// cannot be continued.
func (e *encoder) replay(ev *event, text *strings.Builder) bool {
	switch {
	case ev.Type == "message_start" && ev.Message != nil:
		e.id, e.model = ev.Message.ID, ev.Message.Model.Text()
	case ev.Type == "content_block_start" && ev.ContentBlock != nil:
		e.current = len(e.blocks)
		e.blocks = append(e.blocks, newBlock("text"))
		text.WriteString(textOf(ev.ContentBlock.Text))
		return ev.ContentBlock.Type == "text" && ev.Index != nil && *ev.Index == int64(e.current)
	case ev.Type == "content_block_delta":
		text.WriteString(ev.Delta.Text)
		return ev.Delta.Type == "text_delta" && ev.Index != nil && *ev.Index == int64(e.current)
	case ev.Type == "content_block_stop":
		e.current = -1
	case ev.Type == "ping":
	default:
		return false
	}
	return true
}
