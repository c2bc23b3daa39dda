package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"fairlead.dev/internal/rawjson"
)

// ErrNoChunks is returned when the input has no chunks.
var ErrNoChunks = errors.New("the stream contains no response chunks")

// bareObject is the object type of legacy completions and of their chunks.
const bareObject = "text_completion"

// streamed holds the members of a chunk that Assemble decodes. Strings are kept as raw JSON, because a provider may split a surrogate pair
// between two chunks. Joining the raw strings restores the pair.
type streamed struct {
	ID, Created, Model, Usage, Tier, Fingerprint json.RawMessage

	Bare    bool // whether the chunk belongs to a legacy completion
	Choices []streamedChoice
}

type streamedChoice struct {
	Index   int
	Finish  json.RawMessage
	Message json.RawMessage
	Text    json.RawMessage // text of a legacy completion
	Delta   *streamedDelta
}

type streamedDelta struct {
	Role, Content, ReasoningContent, Reasoning, Refusal json.RawMessage

	Blocks       rawList
	FunctionCall *streamedFunc
	ToolCalls    []streamedCall
}

type streamedCall struct {
	Index    *int            `json:"index"`
	ID       json.RawMessage `json:"id"`
	Type     json.RawMessage `json:"type"`
	Function *streamedFunc   `json:"function"`
	Custom   *streamedFunc   `json:"custom"`
	Extra    json.RawMessage `json:"extra_content"`
}

// rawList is a list of JSON values. A value that is not a list becomes an empty list.
type rawList [][]byte

// UnmarshalJSON implements json.Unmarshaler.
func (l *rawList) UnmarshalJSON(data []byte) error {
	s := rawjson.Scanner{Data: data}
	if s.Kind() != '[' {
		return nil
	}
	for range s.Elements {
		*l = append(*l, bytes.Clone(s.Raw()))
	}
	return nil
}

type streamedFunc struct {
	Name      json.RawMessage `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Input     json.RawMessage `json:"input"`
}

// joined holds concatenated text in the form of an encoded JSON string without quotes. It is nil if there was no text.
type joined []byte

func (j *joined) add(raw json.RawMessage) {
	if len(raw) < 2 || raw[0] != '"' {
		return
	}
	if *j == nil {
		*j = joined{}
	}
	*j = append(*j, raw[1:len(raw)-1]...)
}

// json returns the text as a JSON string, or null.
func (j joined) json() []byte {
	if j == nil {
		return []byte("null")
	}
	return slices.Concat([]byte{'"'}, j, []byte{'"'})
}

type joinedCall struct {
	index          int
	id, kind, name json.RawMessage
	extra          json.RawMessage
	arguments      joined
	custom         bool
}

type joinedChoice struct {
	index                       int
	role, finish                json.RawMessage
	content, reasoning, refusal joined
	blocks                      [][]byte
	function                    *joinedCall
	calls                       []*joinedCall
}

type joinedAnswer struct {
	head    streamed // latest value of each member that the chunks share, such as the ID
	bare    bool     // whether the response is a legacy completion
	choices []*joinedChoice
	chunks  int
}

// Assemble joins the chunks of one stream, one JSON document per line, into the equivalent complete response. The
// finish_reason of an interrupted choice is null. A response that is already complete is returned unchanged.
func Assemble(events []byte) ([]byte, error) {
	var one streamed
	if err := one.read(events); err == nil && len(one.Choices) > 0 && one.Choices[0].Message != nil {
		return bytes.TrimSpace(events), nil
	}
	var a joinedAnswer
	for line := range bytes.Lines(events) {
		var chunk streamed
		if err := chunk.read(line); err != nil || chunk.Choices == nil {
			continue // skip a truncated line, or the error that ended the stream
		}
		a.add(&chunk)
	}
	if a.chunks == 0 {
		return nil, ErrNoChunks
	}
	return a.json(), nil
}

func (a *joinedAnswer) add(c *streamed) {
	a.chunks++
	a.bare = a.bare || c.Bare
	for _, pair := range []struct{ into, from *json.RawMessage }{
		{&a.head.ID, &c.ID},
		{&a.head.Created, &c.Created},
		{&a.head.Model, &c.Model},
		{&a.head.Usage, &c.Usage},
		{&a.head.Tier, &c.Tier},
		{&a.head.Fingerprint, &c.Fingerprint},
	} {
		take(pair.into, *pair.from)
	}
	for _, from := range c.Choices {
		i := slices.IndexFunc(a.choices, func(known *joinedChoice) bool { return known.index == from.Index })
		if i < 0 {
			i = len(a.choices)
			a.choices = append(a.choices, &joinedChoice{index: from.Index})
		}
		choice := a.choices[i]
		take(&choice.finish, from.Finish)
		if a.bare {
			choice.content.add(from.Text)
			continue
		}
		d := from.Delta
		if d == nil {
			continue
		}
		take(&choice.role, d.Role)
		choice.content.add(d.Content)
		choice.refusal.add(d.Refusal)
		reasoning := d.ReasoningContent
		if isNull(reasoning) {
			reasoning = d.Reasoning
		}
		choice.reasoning.add(reasoning)
		choice.blocks = append(choice.blocks, d.Blocks...)
		if d.FunctionCall != nil {
			if choice.function == nil {
				choice.function = &joinedCall{}
			}
			choice.function.add(streamedCall{Function: d.FunctionCall})
		}
		for _, call := range d.ToolCalls {
			choice.call(call).add(call)
		}
	}
}

func isNull(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "null" || string(raw) == `""`
}

func take(into *json.RawMessage, from json.RawMessage) {
	if !isNull(from) {
		*into = from
	}
}

// call returns the tool call that a delta belongs to. A delta without an index begins a new call if it has an ID or is the first delta of a
// call; otherwise, it belongs to the latest call.
func (c *joinedChoice) call(piece streamedCall) *joinedCall {
	index := 0
	switch {
	case piece.Index != nil:
		index = *piece.Index
	case len(c.calls) > 0 && isNull(piece.ID):
		return c.calls[len(c.calls)-1]
	default:
		for _, call := range c.calls {
			index = max(index, call.index+1)
		}
	}
	for _, call := range c.calls {
		if call.index == index {
			return call
		}
	}
	call := &joinedCall{index: index}
	c.calls = append(c.calls, call)
	return call
}

func (j *joinedCall) add(piece streamedCall) {
	take(&j.id, piece.ID)
	take(&j.kind, piece.Type)
	take(&j.extra, piece.Extra)
	f := piece.Function
	if piece.Custom != nil {
		f, j.custom = piece.Custom, true
	}
	if f != nil {
		take(&j.name, f.Name)
		j.arguments.add(f.Arguments)
		j.arguments.add(f.Input)
	}
}

// json encodes the response with the usual member order.
func (a *joinedAnswer) json() []byte {
	slices.SortFunc(a.choices, func(x, y *joinedChoice) int { return cmp.Compare(x.index, y.index) })
	var w rawjson.Writer
	object := "chat.completion"
	if a.bare {
		object = bareObject
	}
	w.Open()
	w.Raw("id", or(a.head.ID, `"chatcmpl-0"`))
	w.Str("object", object)
	w.Raw("created", or(a.head.Created, "0"))
	w.Raw("model", or(a.head.Model, `""`))
	w.Key("choices")
	w.Out = append(w.Out, '[')
	for i, c := range a.choices {
		if i > 0 {
			w.Out = append(w.Out, ',')
		}
		c.write(&w, a.bare)
	}
	w.Out = append(w.Out, ']')
	w.OptionalRaw("usage", a.head.Usage)
	w.OptionalRaw("service_tier", a.head.Tier)
	w.OptionalRaw("system_fingerprint", a.head.Fingerprint)
	w.Close()
	return w.Out
}
