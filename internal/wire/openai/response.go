package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/validate"
)

// Encode encodes a response in the chat format: chunks for a stream, otherwise one event. Usage is sent once, at the
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
	model           string
	legacyFunctions bool // whether the client uses function_call instead of tool_calls
	nanos           int64
	stream          bool

	begun    bool
	id       string
	created  int64
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
	blocks                      [][]byte
	annotations                 [][]byte
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
	w := &responseWriter{req: req, model: model, stream: req.Stream, legacyFunctions: has(&req.Payload, "functions") && !has(&req.Payload, "tools")}
	if now != nil {
		date := now()
		w.created, w.nanos = date.Unix(), date.UnixNano()
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
		w.text(c, &c.content, "content", p.Text)
	case llm.RefusalDelta:
		w.text(c, &c.refusal, "refusal", p.Text)
	case llm.ThinkingDelta:
		c.block.WriteString(p.Text)
		w.text(c, &c.reasoning, "reasoning_content", p.Text)
	case llm.SignatureDelta:
		// A signature ends a thinking block. Only signed blocks are repeated in thinking_blocks, because clients must send the signature
		// back to the provider in later turns.
		text, t := c.block.String(), p.Thinking
		c.block.Reset()
		if t == nil || t.Signature == "" && t.Redacted == "" {
			return nil
		}
		block := encodeThinking(&llm.Thinking{Text: text + t.Text, Signature: t.Signature, Redacted: t.Redacted, Provider: t.Provider})
		if !w.stream {
			c.blocks = append(c.blocks, block)
			return nil
		}
		w.emit(c, slices.Concat([]byte(`{"thinking_blocks":[`), block, []byte(`]}`)), llm.Event{Content: true})
	case llm.CitationDelta:
		w.annotate(c, p.Citation)
	case llm.CallDelta:
		return w.call(c, p)
	case llm.ArgumentsDelta:
		return w.arguments(c, p.Index, p.Text)
	case llm.FinishDelta:
		w.end(c, p.Finish)
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
	id := show.Cut(show.OneLine(p.ID), validate.MaxName)
	if id == "" {
		sum := sha256.Sum256(strconv.AppendInt(slices.Clip(w.req.Body), w.nanos, 10))
		id = hex.EncodeToString(sum[:12])
	}
	w.id = prefix + strings.TrimPrefix(id, prefix)
}

// choice returns the choice with the given index. In a stream, a new choice begins with a chunk for the role.
func (w *responseWriter) choice(index int) *choiceWriter {
	for _, c := range w.choices {
		if c.index == index {
			return c
		}
	}
	if !w.begun {
		w.begin(&llm.Delta{})
	}
	c := &choiceWriter{index: index}
	w.choices = append(w.choices, c)
	if w.stream {
		w.emit(c, []byte(`{"role":"assistant","content":""}`), llm.Event{})
	}
	return c
}

// text appends text to the given member of the message.
func (w *responseWriter) text(c *choiceWriter, into *strings.Builder, member, text string) {
	if text == "" {
		return
	}
	if !w.stream {
		into.WriteString(text)
		return
	}
	var d rawjson.Writer
	d.Open()
	d.Str(member, text)
	d.Close()
	w.emit(c, d.Out, counted(text))
}

// annotate adds a citation to the message.
func (w *responseWriter) annotate(c *choiceWriter, cited *llm.Citation) {
	var d rawjson.Writer
	d.Open()
	d.Str("type", "url_citation")
	d.Key("url_citation")
	d.Open()
	d.Int("start_index", int64(cited.Start))
	d.Int("end_index", int64(cited.End))
	d.Str("url", cited.URL)
	d.Str("title", cited.Title)
	d.Close()
	d.Close()
	if !w.stream {
		c.annotations = append(c.annotations, d.Out)
		return
	}
	w.emit(c, slices.Concat([]byte(`{"annotations":[`), d.Out, []byte(`]}`)), llm.Event{})
}

// encodeThinking encodes thinking with its signature. Like other gateways, it writes Anthropic's thinking block and adds the name of the
// provider that signed it.
func encodeThinking(t *llm.Thinking) []byte {
	var b rawjson.Writer
	b.Open()
	if t.Redacted != "" && t.Text == "" && t.Signature == "" {
		b.Str("type", "redacted_thinking")
	} else {
		b.Str("type", "thinking")
		b.Str("thinking", t.Text)
	}
	b.OptionalStr("signature", t.Signature)
	b.OptionalStr("data", t.Redacted)
	b.OptionalStr("provider", t.Provider)
	b.Close()
	return b.Out
}

// end ends a choice. A missing finish reason becomes "stop". If the choice has calls, "stop" or a missing reason becomes "tool_calls",
// because some providers report "stop" for calls. For clients with legacy functions, "function_call" replaces "tool_calls".
func (w *responseWriter) end(c *choiceWriter, finish string) {
	for _, call := range c.calls {
		if !call.written && !call.call.Custom { // clients parse the arguments as JSON, so they must not be empty
			_ = w.arguments(c, call.index, "{}") // fails only for an unknown call
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
		w.emit(c, []byte(`{}`), llm.Event{Finish: c.finish})
	}
}

// close yields the last events: the complete response if it is not streamed, the usage if it is known, and the error if
// it is not nil.
func (w *responseWriter) close(yield func(llm.Event, error) bool, err error) {
	switch {
	case !w.stream && err == nil:
		yield(w.whole(), nil)
		return
	case w.stream && w.usage != nil:
		data := w.chunk([]byte(`[]`), UsageJSON(*w.usage))
		if !yield(llm.Event{Data: data, Bare: true, Usage: w.usage, Model: w.reported}, nil) {
			return
		}
	}
	if err != nil {
		yield(llm.Event{}, err)
	}
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
