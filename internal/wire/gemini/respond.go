package gemini

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/upstream"
)

// responseEncoder encodes one response for a client, as many events if it is streamed, otherwise as one event.
type responseEncoder struct {
	model    string
	id       string
	stream   bool
	thoughts bool // whether the client asked for thoughts
	cites    bool // whether to keep the text, which is needed to compute the positions of citations
	emit     func(llm.Event) bool
	stopped  bool // whether the consumer of the events has stopped

	began    bool
	reported string
	choices  []*encodedChoice
	usage    *llm.Usage

	ascii, other int
}

// encodedChoice holds the state of encoding one candidate.
type encodedChoice struct {
	parts   []part          // complete parts of a response that is not streamed
	open    strings.Builder // text that follows the parts
	thought bool            // whether open is a thought
	calls   []*openCall
	sent    int             // number of calls that were sent
	text    strings.Builder // text so far, for citations
	sources []llm.Citation
	finish  string
}

// openCall is a function call. It is sent when it is complete, because the format does not have partial calls.
type openCall struct {
	llm.ToolCall
	arguments strings.Builder
}

// Limits of a response for a client.
const (
	maxCalls   = 1024 // maximum number of calls per choice
	maxSources = 1000 // maximum number of sources per choice
)

func newResponseEncoder(req *llm.Request, model string) *responseEncoder {
	sum := sha256.Sum256(req.Body)
	return &responseEncoder{
		model: model, id: hex.EncodeToString(sum[:12]), stream: req.Stream, cites: req.Needs.Has(llm.WebSearch) || !req.Stream,
		thoughts: req.Conversation != nil && !req.Conversation.Effort.Hide,
	}
}

// EncodeResponse implements wire.Format. If the deltas contain an error, it yields the usage so far and then the error.
func (Format) EncodeResponse(req *llm.Request, model string, deltas iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Event, error] {
	return newResponseEncoder(req, model).encodeDeltas(deltas)
}

func (e *responseEncoder) encodeDeltas(deltas iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		e.emit = func(ev llm.Event) bool { return yield(ev, nil) }
		for delta, err := range deltas {
			if err == nil {
				err = e.addDelta(delta)
			}
			if err != nil {
				used := e.usage
				if !e.isComplete() {
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
		if !e.isComplete() {
			yield(llm.Event{}, upstream.Interrupted())
			return
		}
		e.sendEnd()
	}
}

func (e *responseEncoder) isComplete() bool {
	return len(e.choices) > 0 && !slices.ContainsFunc(e.choices, func(c *encodedChoice) bool { return c.finish == "" })
}

func (e *responseEncoder) addDelta(d llm.Delta) error {
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
		return malformed("The provider sent a choice with index %d.", d.Choice)
	}
	for len(e.choices) <= d.Choice {
		e.choices = append(e.choices, &encodedChoice{})
	}
	c := e.choices[d.Choice]
	switch d.Kind {
	case llm.TextDelta, llm.RefusalDelta:
		e.sendCalls(c, d.Choice)
		if e.cites {
			c.text.WriteString(d.Text)
		}
		e.sendText(c, d.Choice, false, d.Text)
	case llm.ThinkingDelta:
		e.sendCalls(c, d.Choice)
		if e.thoughts {
			e.sendText(c, d.Choice, true, d.Text)
		} else {
			e.sendProgress(d.Text)
		}
	case llm.CitationDelta:
		c.sources = append(c.sources, *d.Citation)
	case llm.CallDelta:
		call := &openCall{ToolCall: *d.Call}
		call.arguments.WriteString(d.Call.Arguments)
		for len(c.calls) <= d.Index && d.Index < maxCalls {
			c.calls = append(c.calls, nil)
		}
		if d.Index < 0 || d.Index >= maxCalls || c.calls[d.Index] != nil {
			return malformed("The provider sent a tool call with index %d.", d.Index)
		}
		c.calls[d.Index] = call
		e.sendProgress(d.Call.Name + d.Call.Arguments)
	case llm.ArgumentsDelta:
		if d.Index < c.sent || d.Index >= len(c.calls) || c.calls[d.Index] == nil {
			return malformed("The provider mixes the arguments of several tool calls.")
		}
		c.calls[d.Index].arguments.WriteString(d.Text)
		e.sendProgress(d.Text)
	case llm.FinishDelta:
		e.sendCalls(c, d.Choice)
		c.finish = d.Finish
	default: // signatures of other providers are not sent to the client
	}
	return nil
}

// sendText sends text if the response is streamed, otherwise it adds the text to the response.
func (e *responseEncoder) sendText(c *encodedChoice, n int, thought bool, text string) {
	switch {
	case text == "":
	case e.stream:
		e.sendPart(n, part{Text: &text, Thought: thought}, text)
	default:
		if c.thought != thought {
			c.closeText()
		}
		c.thought = thought
		c.open.WriteString(text)
		e.countText(&llm.Event{}, text)
	}
}

// closeText adds the open text to the parts.
func (c *encodedChoice) closeText() {
	if c.open.Len() > 0 {
		text := c.open.String()
		c.parts = append(c.parts, part{Text: &text, Thought: c.thought})
		c.open = strings.Builder{}
	}
}

// sendProgress counts generated text that is held back or never sent to the client. In a stream, it also yields an event without data,
// because otherwise the gateway would assume that the provider has stopped sending.
func (e *responseEncoder) sendProgress(text string) {
	ev := llm.Event{Content: true, Model: e.reported}
	e.countText(&ev, text)
	if e.stream && !e.stopped {
		e.stopped = !e.emit(ev)
	}
}

func (e *responseEncoder) countText(ev *llm.Event, text string) {
	ev.ASCIIBytes, ev.NonASCIIBytes = upstream.CountText(text)
	e.ascii += ev.ASCIIBytes
	e.other += ev.NonASCIIBytes
	ev.Usage = upstream.RunningUsage(e.usage, e.ascii, e.other)
}

// sendCalls sends the complete calls. A call is complete when the model continues with other content.
func (e *responseEncoder) sendCalls(c *encodedChoice, n int) {
	for ; c.sent < len(c.calls); c.sent++ {
		call := c.calls[c.sent]
		if call == nil {
			continue
		}
		encoded := part{
			Call:      &functionCall{ID: call.ID, Name: call.Name, Args: encodeArguments(call.arguments.String())},
			Signature: call.Signature,
		}
		if e.stream {
			e.sendPart(n, encoded, "")
			continue
		}
		c.closeText()
		c.parts = append(c.parts, encoded)
	}
}

// sendPart sends one part of a stream, whose text is counted.
func (e *responseEncoder) sendPart(n int, p part, text string) {
	if e.stopped {
		return
	}
	ev := llm.Event{Own: true, Content: true, Model: e.reported}
	ev.Data = e.encodeCandidates(nil, candidate{Content: content{Role: roleModel, Parts: []part{p}}, Index: n})
	e.countText(&ev, text)
	e.stopped = !e.emit(ev)
}

// encodeCandidates encodes one event of the response.
func (e *responseEncoder) encodeCandidates(usage *usageMetadata, candidates ...candidate) []byte {
	data, _ := encode(response{Candidates: candidates, Usage: usage, Model: e.model, ID: e.id}) // cannot fail, because encodeArguments returns valid JSON
	return data
}

// sendEnd sends the last event: the whole response, or the finish reasons of a stream. Google's clients drop a turn from the history of a
// chat if an event has no part, so the last event of a stream has an empty text part.
func (e *responseEncoder) sendEnd() {
	var candidates []candidate
	for n, c := range e.choices {
		c.closeText()
		parts := c.parts
		if len(parts) == 0 {
			parts = []part{textPart("")}
		}
		reason := "STOP" // also the reason of responses with calls
		switch c.finish {
		case "length":
			reason = "MAX_TOKENS"
		case contentFilter:
			reason = "SAFETY"
		}
		candidates = append(candidates, candidate{Content: content{Role: roleModel, Parts: parts}, Finish: reason, Index: n, Grounding: c.encodeSources()})
	}
	ev := llm.Event{
		Data: e.encodeCandidates(encodeUsage(e.usage), candidates...), Own: true, Content: !e.stream, Model: e.reported, Finish: e.choices[0].finish, Usage: e.usage,
	}
	if !e.stream {
		ev.ASCIIBytes, ev.NonASCIIBytes = e.ascii, e.other
	}
	e.emit(ev)
}

// encodeUsage encodes a usage. Google's prompt count includes cached tokens, and its candidates count excludes thoughts.
func encodeUsage(u *llm.Usage) *usageMetadata {
	if u == nil {
		return nil
	}
	prompt, output := count(u.Prompt()), count(max(0, u.Output-u.Reasoning))
	return &usageMetadata{Prompt: &prompt, Candidates: &output, Total: count(u.Total()), Cached: count(u.CacheRead), Thoughts: count(u.Reasoning)}
}

// encodeSources encodes the sources of the text. It converts positions from characters to bytes.
func (c *encodedChoice) encodeSources() *grounding {
	sources := c.sources[:min(len(c.sources), maxSources)]
	if len(sources) == 0 {
		return nil
	}
	text := c.text.String()
	offsets := make([]int, 0, utf8.RuneCountInString(text)+1) // byte offsets of all characters and of the end of the text
	for i := range text {
		offsets = append(offsets, i)
	}
	offsets = append(offsets, len(text))
	out := &grounding{}
	for i, s := range sources {
		start := offsets[min(max(s.Start, 0), len(offsets)-1)]
		end := max(start, offsets[min(max(s.End, 0), len(offsets)-1)])
		out.Chunks = append(out.Chunks, groundingChunk{webPage{URI: s.URL, Title: s.Title}})
		out.Supports = append(out.Supports, support{Segment: segment{Start: start, End: end, Text: text[start:end]}, Chunks: []int{i}})
	}
	return out
}
