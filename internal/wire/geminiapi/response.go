package geminiapi

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/upstream"
)

// maxChoices is the maximum number of choices in a response.
const maxChoices = 128

// encoder encodes one response, as many events if it is streamed, otherwise as one event.
type encoder struct {
	model    string
	id       string
	stream   bool
	thoughts bool // whether the client asked for thoughts
	cites    bool // whether to keep the text, which is needed to compute the positions of citations
	emit     func(llm.Event) bool
	stopped  bool // whether the consumer of the events has stopped

	began    bool
	reported string
	choices  []*choice
	usage    *llm.Usage

	ascii, other int
}

// choice holds the state of one candidate of the response.
type choice struct {
	parts   []part // complete parts of a response that is not streamed
	calls   []*call
	sent    int             // number of calls that were sent
	text    strings.Builder // text so far, for citations
	sources []llm.Citation
	finish  string
}

// part is text or a call in a response that is not streamed.
type part struct {
	thought bool
	text    strings.Builder
	call    *call // function call; nil for text
}

// call is a function call. It is sent when it is complete, because the format does not have partial calls.
type call struct {
	llm.ToolCall
	arguments strings.Builder
}

func newEncoder(req *llm.Request, model string) *encoder {
	sum := sha256.Sum256(req.Body)
	e := &encoder{
		model: model, id: hex.EncodeToString(sum[:12]), stream: req.Stream, cites: req.Needs.Has(llm.WebSearch) || !req.Stream,
	}
	for _, f := range req.Fields {
		if canonical(f.Name) == "generationConfig" {
			e.thoughts = get(get(rawjson.Parse(req.Body[f.Value:f.End]), "thinkingConfig"), "includeThoughts").Bool()
		}
	}
	return e
}

// write encodes the deltas. If the deltas contain an error, write yields the usage so far and then the error.
func (e *encoder) write(deltas iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		e.emit = func(ev llm.Event) bool { return yield(ev, nil) }
		for delta, err := range deltas {
			if err == nil {
				err = e.add(delta)
			}
			if err != nil {
				used := e.usage
				if !e.complete() {
					used = upstream.RunningUsage(used, e.ascii, e.other)
				}
				if used == nil || yield(llm.Event{Bare: true, Usage: used, Model: e.reported}, nil) {
					yield(llm.Event{}, err)
				}
				return
			}
			if e.stopped {
				return
			}
		}
		if !e.complete() {
			yield(llm.Event{}, upstream.Interrupted())
			return
		}
		e.end()
	}
}

func (e *encoder) complete() bool {
	return len(e.choices) > 0 && !slices.ContainsFunc(e.choices, func(c *choice) bool { return c.finish == "" })
}

func (e *encoder) add(d llm.Delta) error {
	switch d.Kind {
	case llm.BeginDelta:
		e.reported = d.Model
		if !e.began {
			e.began, e.id = true, cmp.Or(d.ID, e.id)
		}
		return nil
	case llm.UsageDelta:
		e.usage = d.Usage
		return nil
	default:
	}
	if d.Choice < 0 || d.Choice >= maxChoices {
		return upstream.Malformed("The provider sent a choice with index %d.", d.Choice)
	}
	for len(e.choices) <= d.Choice {
		e.choices = append(e.choices, &choice{})
	}
	return e.addTo(e.choices[d.Choice], d)
}

func (e *encoder) addTo(c *choice, d llm.Delta) error {
	switch d.Kind {
	case llm.TextDelta, llm.RefusalDelta:
		e.flush(c, d.Choice)
		if e.cites {
			c.text.WriteString(d.Text)
		}
		e.addText(c, d.Choice, plainText, d.Text)
	case llm.ThinkingDelta:
		e.flush(c, d.Choice)
		if e.thoughts {
			e.addText(c, d.Choice, thoughtText, d.Text)
		} else {
			e.progress(d.Text)
		}
	case llm.CitationDelta:
		c.sources = append(c.sources, *d.Citation)
	case llm.CallDelta:
		one := &call{ToolCall: *d.Call}
		one.arguments.WriteString(d.Call.Arguments)
		for len(c.calls) <= d.Index && d.Index < maxCalls {
			c.calls = append(c.calls, nil)
		}
		if d.Index < 0 || d.Index >= maxCalls || c.calls[d.Index] != nil {
			return upstream.Malformed("The provider sent a tool call with index %d.", d.Index)
		}
		c.calls[d.Index] = one
		e.progress(d.Call.Name + d.Call.Arguments)
	case llm.ArgumentsDelta:
		if d.Index < c.sent || d.Index >= len(c.calls) || c.calls[d.Index] == nil {
			return upstream.Malformed("The provider mixes the arguments of several tool calls.")
		}
		c.calls[d.Index].arguments.WriteString(d.Text)
		e.progress(d.Text)
	case llm.FinishDelta:
		e.flush(c, d.Choice)
		c.finish = d.Finish
	default: // signatures of other providers are not sent to the client
	}
	return nil
}

// maxCalls is the maximum number of calls per choice.
const maxCalls = 1024

// Values for the parameter thought of addText.
const (
	plainText   = false
	thoughtText = true
)

// addText sends text if the response is streamed, otherwise it adds the text to the response.
func (e *encoder) addText(c *choice, n int, thought bool, text string) {
	if text == "" {
		return
	}
	if e.stream {
		var w rawjson.Writer
		writeText(&w, thought, text)
		e.send(n, w.Out, text)
		return
	}
	last := len(c.parts) - 1
	if last < 0 || c.parts[last].call != nil || c.parts[last].thought != thought {
		c.parts = append(c.parts, part{thought: thought})
		last++
	}
	c.parts[last].text.WriteString(text)
	e.count(&llm.Event{}, text)
}

func writeText(w *rawjson.Writer, thought bool, text string) {
	w.Open()
	w.Str("text", text)
	if thought {
		w.Bool("thought", true)
	}
	w.Close()
}

// progress counts generated text that is held back or never sent to the client. In a stream, it also yields an event without data,
// because otherwise the gateway would assume that the provider has stopped sending.
func (e *encoder) progress(text string) {
	ev := llm.Event{Content: true, Model: e.reported}
	e.count(&ev, text)
	if e.stream && !e.stopped {
		e.stopped = !e.emit(ev)
	}
}

func (e *encoder) count(ev *llm.Event, text string) {
	ev.ASCIIBytes, ev.NonASCIIBytes = upstream.CountText(text)
	e.ascii += ev.ASCIIBytes
	e.other += ev.NonASCIIBytes
	ev.Usage = upstream.RunningUsage(e.usage, e.ascii, e.other)
}

// flush sends the complete calls. A call is complete when the model continues with other content.
func (e *encoder) flush(c *choice, n int) {
	for ; c.sent < len(c.calls); c.sent++ {
		one := c.calls[c.sent]
		switch {
		case one == nil:
		case e.stream:
			var w rawjson.Writer
			one.write(&w)
			e.send(n, w.Out, "")
		default:
			c.parts = append(c.parts, part{call: one})
		}
	}
}

func (c *call) write(w *rawjson.Writer) {
	w.Open()
	w.Key("functionCall")
	w.Open()
	w.OptionalStr("id", c.ID)
	w.Str("name", c.Name)
	w.Raw("args", arguments(c.arguments.String()))
	w.Close()
	w.OptionalStr("thoughtSignature", c.Signature)
	w.Close()
}

// arguments returns the arguments as an object, as the format requires, even if the model generated another value.
func arguments(text string) []byte {
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "" || trimmed == "null":
		return []byte("{}")
	case trimmed[0] == '{' && json.Valid([]byte(trimmed)):
		return []byte(trimmed)
	}
	var w rawjson.Writer
	w.Open()
	w.Str("arguments", text)
	w.Close()
	return w.Out
}

// send sends one part of a stream.
func (e *encoder) send(n int, part []byte, text string) {
	if e.stopped {
		return
	}
	var w rawjson.Writer
	w.Open()
	w.OpenList("candidates")
	w.Open()
	writeContent(&w, part)
	w.Int("index", int64(n))
	w.Close()
	w.CloseList()
	e.tail(&w)
	w.Close()
	ev := llm.Event{Data: w.Out, Own: true, Content: true, Model: e.reported}
	e.count(&ev, text)
	e.stopped = !e.emit(ev)
}

// writeContent writes the content of a candidate.
func writeContent(w *rawjson.Writer, parts ...[]byte) {
	w.Key("content")
	w.Open()
	w.OpenList("parts")
	for _, one := range parts {
		w.Element(one)
	}
	w.CloseList()
	w.Str("role", "model")
	w.Close()
}

// tail writes the last members of an event.
func (e *encoder) tail(w *rawjson.Writer) {
	w.Str("modelVersion", e.model)
	w.Str("responseId", e.id)
}

// end sends the last event: the whole response, or the finish reasons of a stream. Google's clients drop a turn from the history of a chat
// if an event has no part, so the last event of a stream has an empty text part.
func (e *encoder) end() {
	ev := llm.Event{Own: true, Content: !e.stream, Model: e.reported, Finish: e.choices[0].finish, Usage: e.usage}
	if !e.stream {
		ev.ASCIIBytes, ev.NonASCIIBytes = e.ascii, e.other
	}
	var w rawjson.Writer
	w.Open()
	w.OpenList("candidates")
	for n, c := range e.choices {
		w.Open()
		writeContent(&w, c.content(e.stream)...)
		reason := "STOP" // also the reason of responses with calls
		switch c.finish {
		case "length":
			reason = "MAX_TOKENS"
		case "content_filter":
			reason = "SAFETY"
		}
		w.Str("finishReason", reason)
		w.Int("index", int64(n))
		c.writeSources(&w)
		w.Close()
	}
	w.CloseList()
	if u := e.usage; u != nil { // Google's prompt count includes cached tokens, and its candidates count excludes thoughts
		w.Key("usageMetadata")
		w.Open()
		w.Int("promptTokenCount", u.Prompt())
		w.Int("candidatesTokenCount", max(0, u.Output-u.Reasoning))
		w.Int("totalTokenCount", u.Total())
		if u.CacheRead > 0 {
			w.Int("cachedContentTokenCount", u.CacheRead)
		}
		if u.Reasoning > 0 {
			w.Int("thoughtsTokenCount", u.Reasoning)
		}
		w.Close()
	}
	e.tail(&w)
	w.Close()
	ev.Data = w.Out
	e.emit(ev)
}

// content returns the parts of the last event.
func (c *choice) content(stream bool) (parts [][]byte) {
	for i := range c.parts {
		var w rawjson.Writer
		if p := &c.parts[i]; p.call != nil {
			p.call.write(&w)
		} else {
			writeText(&w, p.thought, p.text.String())
		}
		parts = append(parts, w.Out)
	}
	if stream || len(parts) == 0 {
		parts = append(parts, []byte(`{"text":""}`))
	}
	return parts
}
