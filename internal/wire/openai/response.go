package openai

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/strict"
)

// completion is a response, or one chunk of a streamed response.
type completion struct {
	ID          string         `json:"id"`
	Object      string         `json:"object"`
	Created     int64          `json:"created"`
	Model       string         `json:"model"`
	Choices     []choice       `json:"choices"`
	Usage       jsontext.Value `json:"usage,omitzero"`
	ServiceTier string         `json:"service_tier,omitzero"`
}

// choice is one of the requested responses. A chunk has a delta, a complete response has a message.
type choice struct {
	Index    int            `json:"index"`
	Delta    *answer        `json:"delta,omitzero"`
	Message  *answer        `json:"message,omitzero"`
	Logprobs jsontext.Value `json:"logprobs"`
	Finish   *string        `json:"finish_reason"`
}

// answer is a message of the model, or a part of it.
type answer struct {
	Role             string          `json:"role,omitzero"`
	Content          **string        `json:"content,omitzero"` // absent, null or a string
	Refusal          **string        `json:"refusal,omitzero"`
	Annotations      annotations     `json:"annotations,omitempty"`
	ReasoningContent string          `json:"reasoning_content,omitzero"`
	Reasoning        jsontext.Value  `json:"reasoning,omitzero"` // only in responses of providers; text if it is a string
	ThinkingBlocks   []thinkingBlock `json:"thinking_blocks,omitempty"`
	FunctionCall     *functionCall   `json:"function_call,omitzero"`
	ToolCalls        []toolCall      `json:"tool_calls,omitempty"`
}

type annotation struct {
	Type        string      `json:"type"`
	URLCitation urlCitation `json:"url_citation"`
}

type urlCitation struct {
	Start int    `json:"start_index"`
	End   int    `json:"end_index"`
	URL   string `json:"url"`
	Title string `json:"title"`
}

// nullable returns a member that is a string; null if s is empty and null is set.
func nullable(s string, null bool) **string {
	p := &s
	if s == "" && null {
		p = nil
	}
	return &p
}

// encodeResponse encodes a response in the chat format: chunks for a stream, otherwise one event. Usage is sent once, at the
// end. now returns the creation time and may be nil. A response that ends before every choice has a finish reason is an
// error of kind llm.StreamInterrupted.
func encodeResponse(req *llm.Request, model string, now func() time.Time, deltas iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Event, error] {
	return newResponseWriter(req, model, now).write(deltas)
}

// write encodes the deltas as events.
func (w *responseWriter) write(deltas iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for p, err := range deltas {
			if err == nil {
				err = w.add(&p)
			}
			if err != nil {
				w.close(yield, err)
				return
			}
			for ; len(w.ready) > 0; w.ready = w.ready[1:] {
				if !yield(w.ready[0], nil) {
					return
				}
			}
		}
		if len(w.choices) == 0 || slices.ContainsFunc(w.choices, func(c *choiceWriter) bool { return c.finish == "" }) {
			w.close(yield, &llm.Error{Kind: llm.StreamInterrupted, Message: "The provider's response ended before it was complete."})
			return
		}
		w.close(yield, nil)
	}
}

// responseWriter holds the state of encoding one response.
type responseWriter struct {
	req             *llm.Request
	legacyFunctions bool // whether the client uses function_call instead of tool_calls
	nanos           int64
	stream          bool

	begun    bool
	head     completion // members that all chunks share
	reported string
	usage    *llm.Usage
	choices  []*choiceWriter
	ready    []llm.Event // events of the current delta
}

// choiceWriter holds the content of one choice so far. For a stream, it holds only the data that later chunks need.
type choiceWriter struct {
	index                       int
	content, refusal, reasoning strings.Builder
	block                       strings.Builder // text of the current thinking block, whose signature has not been received
	blocks                      []thinkingBlock
	annotations                 annotations
	calls                       []*callWriter
	byIndex                     map[int]*callWriter // calls by index
	finish                      string
}

type callWriter struct {
	index     int
	call      llm.ToolCall // call without its arguments
	arguments strings.Builder
	written   bool // whether arguments were sent
}

func newResponseWriter(req *llm.Request, model string, now func() time.Time) *responseWriter {
	w := &responseWriter{req: req, stream: req.Stream, legacyFunctions: has(&req.Payload, "functions") && !has(&req.Payload, "tools")}
	w.head = completion{Object: "chat.completion", Model: model}
	if w.stream {
		w.head.Object = "chat.completion.chunk"
	}
	if now != nil {
		date := now()
		w.head.Created, w.nanos = date.Unix(), date.UnixNano()
	}
	return w
}

func has(p *llm.Payload, name string) bool {
	return slices.ContainsFunc(p.Fields, func(f llm.Field) bool { return f.Name == name })
}

// add adds one delta to the response.
func (w *responseWriter) add(p *llm.Delta) error {
	switch p.Kind {
	case llm.BeginDelta:
		w.begin(p)
		return nil
	case llm.UsageDelta:
		if p.Usage != nil {
			usage := *p.Usage
			w.usage = &usage
		}
		return nil
	default:
	}
	if p.Choice < 0 || p.Choice >= maxChoices {
		return malformed("The provider's response has a choice that was not requested.")
	}
	c := w.choice(p.Choice)
	if c.finish != "" {
		return nil // content after the finish reason is ignored
	}
	return w.addContent(c, p)
}

func (w *responseWriter) addContent(c *choiceWriter, p *llm.Delta) error {
	switch p.Kind {
	case llm.TextDelta:
		w.addText(c, &c.content, p.Text, answer{Content: nullable(p.Text, false)})
	case llm.RefusalDelta:
		w.addText(c, &c.refusal, p.Text, answer{Refusal: nullable(p.Text, false)})
	case llm.ThinkingDelta:
		c.block.WriteString(p.Text)
		w.addText(c, &c.reasoning, p.Text, answer{ReasoningContent: p.Text})
	case llm.SignatureDelta:
		// A signature ends a thinking block. Only signed blocks are repeated in thinking_blocks, because clients must send the signature
		// back to the provider in later turns.
		text, t := c.block.String(), p.Thinking
		c.block.Reset()
		if t == nil || t.Signature == "" && t.Redacted == "" {
			return nil
		}
		block := blockOf(&llm.Thinking{Text: text + t.Text, Signature: t.Signature, Redacted: t.Redacted, Provider: t.Provider})
		if !w.stream {
			c.blocks = append(c.blocks, block)
			return nil
		}
		w.emit(c, &answer{ThinkingBlocks: []thinkingBlock{block}}, llm.Event{Content: true})
	case llm.CitationDelta:
		cited := annotation{"url_citation", urlCitation{p.Citation.Start, p.Citation.End, p.Citation.URL, p.Citation.Title}}
		if !w.stream {
			c.annotations = append(c.annotations, cited)
			return nil
		}
		w.emit(c, &answer{Annotations: annotations{cited}}, llm.Event{})
	case llm.CallDelta:
		return w.beginCall(c, p)
	case llm.ArgumentsDelta:
		return w.addArguments(c, p.Index, p.Text)
	case llm.FinishDelta:
		w.endChoice(c, p.Finish)
	default:
	}
	return nil
}

// begin stores the ID and model that all chunks share. The ID is the provider's ID with the prefix of this format. If
// the provider sends no ID, the ID is derived from the request and the time.
func (w *responseWriter) begin(p *llm.Delta) {
	if w.reported == "" {
		w.reported = p.Model
	}
	if w.begun {
		return
	}
	w.begun = true
	const prefix = "chatcmpl-"
	id := show.Cut(show.OneLine(p.ID), strict.MaxName)
	if id == "" {
		sum := sha256.Sum256(strconv.AppendInt(slices.Clip(w.req.Body), w.nanos, 10))
		id = hex.EncodeToString(sum[:12])
	}
	w.head.ID = prefix + strings.TrimPrefix(id, prefix)
}

// choice returns the choice with the given index. In a stream, a new choice begins with a chunk for the role.
func (w *responseWriter) choice(index int) *choiceWriter {
	for _, c := range w.choices {
		if c.index == index {
			return c
		}
	}
	c := &choiceWriter{index: index}
	w.choices = append(w.choices, c)
	if w.stream {
		w.emit(c, &answer{Role: "assistant", Content: nullable("", false)}, llm.Event{})
	}
	return c
}

// addText adds text to a choice: to the builder for a complete response, as the given delta for a stream.
func (w *responseWriter) addText(c *choiceWriter, into *strings.Builder, text string, delta answer) {
	switch {
	case text == "":
	case w.stream:
		w.emit(c, &delta, counted(text))
	default:
		into.WriteString(text)
	}
}

// beginCall begins a tool call. If the call has already begun, the delta's arguments are appended.
func (w *responseWriter) beginCall(c *choiceWriter, p *llm.Delta) error {
	if p.Call == nil {
		return malformed("The provider's response has a tool call without a name.")
	}
	if c.byIndex[p.Index] != nil {
		return w.addArguments(c, p.Index, p.Call.Arguments)
	}
	if !w.begun {
		w.begin(&llm.Delta{})
	}
	call := &callWriter{index: p.Index, call: *p.Call, written: p.Call.Arguments != ""}
	call.call.Arguments = ""
	if call.call.ID == "" {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", w.head.ID, c.index, p.Index))
		call.call.ID = "call_" + hex.EncodeToString(sum[:12])
	}
	c.calls = append(c.calls, call)
	if c.byIndex == nil {
		c.byIndex = map[int]*callWriter{}
	}
	c.byIndex[p.Index] = call
	if !w.stream {
		call.arguments.WriteString(p.Call.Arguments)
		return nil
	}
	ev := counted(call.call.Name + p.Call.Arguments)
	ev.Content = true
	encoded := call.encode(p.Call.Arguments)
	encoded.Index = &call.index
	w.emitCall(c, encoded, ev)
	return nil
}

func (w *responseWriter) addArguments(c *choiceWriter, index int, text string) error {
	call := c.byIndex[index]
	switch {
	case call == nil:
		return malformed("The provider's response continues a tool call that never began.")
	case text == "":
		return nil
	}
	call.written = true
	if !w.stream {
		call.arguments.WriteString(text)
		return nil
	}
	encoded := callOf(&llm.ToolCall{Custom: call.call.Custom, Arguments: text})
	encoded.Index, encoded.Type = &call.index, "" // only the first delta identifies the call
	w.emitCall(c, encoded, counted(text))
	return nil
}

// encode returns the call with the given arguments.
func (call *callWriter) encode(arguments string) toolCall {
	complete := call.call
	complete.Arguments = arguments
	return callOf(&complete)
}

func (w *responseWriter) emitCall(c *choiceWriter, call toolCall, ev llm.Event) {
	if w.legacyFunctions {
		w.emit(c, &answer{FunctionCall: call.Function}, ev)
		return
	}
	w.emit(c, &answer{ToolCalls: []toolCall{call}}, ev)
}

// endChoice ends a choice. A missing finish reason becomes "stop". If the choice has calls, "stop" or a missing reason becomes "tool_calls",
// because some providers report "stop" for calls. For clients with legacy functions, "function_call" replaces "tool_calls".
func (w *responseWriter) endChoice(c *choiceWriter, finish string) {
	for _, call := range c.calls {
		if !call.written && !call.call.Custom { // clients parse the arguments as JSON, so they must not be empty
			_ = w.addArguments(c, call.index, "{}") // fails only for an unknown call
		}
	}
	c.finish = finish
	switch {
	case len(c.calls) > 0 && (finish == "" || finish == "stop" || finish == "tool_calls"):
		c.finish = "tool_calls"
		if w.legacyFunctions {
			c.finish = "function_call"
		}
	case finish == "":
		c.finish = "stop"
	}
	if w.stream {
		w.emit(c, &answer{}, llm.Event{Finish: c.finish})
	}
}

// emit encodes the delta of one choice as a chunk. ev holds the other properties of the event.
func (w *responseWriter) emit(c *choiceWriter, delta *answer, ev llm.Event) {
	encoded := choice{Index: c.index, Delta: delta}
	if ev.Finish != "" {
		encoded.Finish = &ev.Finish
	}
	ev.Data, ev.Model = w.encode([]choice{encoded}, nil), w.reported
	w.ready = append(w.ready, ev)
}

// encode encodes a chunk or a complete response.
func (w *responseWriter) encode(choices []choice, usage []byte) []byte {
	if !w.begun {
		w.begin(&llm.Delta{})
	}
	c := w.head
	c.Choices, c.Usage = choices, usage
	if usage != nil && !w.stream {
		c.ServiceTier = w.usage.ServiceTier
	}
	return encodeJSON(&c)
}

// close yields the last events: the complete response if it is not streamed, the usage if it is known, and the error if
// it is not nil.
func (w *responseWriter) close(yield func(llm.Event, error) bool, err error) {
	switch {
	case !w.stream && err == nil:
		yield(w.whole(), nil)
		return
	case w.stream && w.usage != nil:
		data := w.encode(nil, UsageJSON(*w.usage))
		if !yield(llm.Event{Data: data, Bare: true, Usage: w.usage, Model: w.reported}, nil) {
			return
		}
	}
	if err != nil {
		yield(llm.Event{}, err)
	}
}

// whole encodes the response as one event.
func (w *responseWriter) whole() llm.Event {
	slices.SortFunc(w.choices, func(a, b *choiceWriter) int { return cmp.Compare(a.index, b.index) })
	ev := llm.Event{Content: true, Usage: w.usage, Model: w.reported, Finish: w.choices[0].finish}
	var choices []choice
	for _, c := range w.choices {
		choices = append(choices, choice{Index: c.index, Message: w.message(c), Finish: &c.finish})
		texts := []string{c.content.String(), c.refusal.String(), c.reasoning.String()}
		for _, call := range c.calls {
			texts = append(texts, call.call.Name, call.arguments.String())
		}
		for _, text := range texts {
			one := counted(text)
			ev.ASCIIBytes += one.ASCIIBytes
			ev.NonASCIIBytes += one.NonASCIIBytes
		}
	}
	var usage []byte
	if w.usage != nil {
		usage = UsageJSON(*w.usage)
	}
	ev.Data = w.encode(choices, usage)
	return ev
}

// message returns the complete message of a choice.
func (w *responseWriter) message(c *choiceWriter) *answer {
	m := &answer{
		Role: "assistant", Content: nullable(c.content.String(), len(c.calls) > 0 || c.refusal.Len() > 0), Refusal: nullable(c.refusal.String(), true),
		Annotations: c.annotations, ReasoningContent: c.reasoning.String(), ThinkingBlocks: c.blocks,
	}
	slices.SortStableFunc(c.calls, func(a, b *callWriter) int { return cmp.Compare(a.index, b.index) })
	for _, call := range c.calls {
		encoded := call.encode(call.arguments.String())
		if w.legacyFunctions {
			m.FunctionCall = encoded.Function
			break
		}
		m.ToolCalls = append(m.ToolCalls, encoded)
	}
	return m
}

// counted returns an event with the byte counts of the given text.
func counted(text string) llm.Event {
	ev := llm.Event{Content: text != ""}
	for i := range len(text) {
		if text[i] < utf8.RuneSelf {
			ev.ASCIIBytes++
		}
	}
	ev.NonASCIIBytes = len(text) - ev.ASCIIBytes
	return ev
}
