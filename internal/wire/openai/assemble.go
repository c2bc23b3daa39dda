package openai

import (
	"bytes"
	"cmp"
	"errors"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ErrNoChunks is returned when the input has no chunks.
var ErrNoChunks = errors.New("the stream contains no response chunks")

// bareObject is the object type of legacy completions and of their chunks.
const bareObject = "text_completion"

// rawResponse is a chunk that Assemble reads, and the complete response that it returns. Strings are kept as raw JSON, because a provider may
// split a surrogate pair between two chunks. Joining the raw strings restores the pair.
type rawResponse struct {
	ID          jsontext.Value `json:"id"`
	Object      jsontext.Value `json:"object"`
	Created     jsontext.Value `json:"created"`
	Model       jsontext.Value `json:"model"`
	Choices     []rawChoice    `json:"choices"`
	Usage       jsontext.Value `json:"usage,omitzero"`
	Tier        jsontext.Value `json:"service_tier,omitzero"`
	Fingerprint jsontext.Value `json:"system_fingerprint,omitzero"`
}

type rawChoice struct {
	Index   int            `json:"index"`
	Text    jsontext.Value `json:"text,omitzero"` // text of a legacy completion
	Delta   *rawMessage    `json:"delta,omitzero"`
	Message *rawMessage    `json:"message,omitzero"`
	Finish  jsontext.Value `json:"finish_reason"`
}

type rawMessage struct {
	Role             jsontext.Value `json:"role"`
	Content          jsontext.Value `json:"content"`
	ReasoningContent jsontext.Value `json:"reasoning_content,omitzero"`
	Reasoning        jsontext.Value `json:"reasoning,omitzero"`
	ThinkingBlocks   rawList        `json:"thinking_blocks,omitempty"`
	Refusal          jsontext.Value `json:"refusal,omitzero"`
	FunctionCall     *rawFunction   `json:"function_call,omitzero"`
	ToolCalls        []rawCall      `json:"tool_calls,omitempty"`
}

type rawCall struct {
	Index    *int           `json:"index,omitzero"`
	ID       jsontext.Value `json:"id"`
	Type     jsontext.Value `json:"type"`
	Function *rawFunction   `json:"function,omitzero"`
	Custom   *rawFunction   `json:"custom,omitzero"`
	Extra    jsontext.Value `json:"extra_content,omitzero"`
}

type rawFunction struct {
	Name      jsontext.Value `json:"name"`
	Arguments jsontext.Value `json:"arguments,omitzero"`
	Input     jsontext.Value `json:"input,omitzero"`
}

// rawList is a list of JSON values. A value that is not a list becomes an empty list.
type rawList []jsontext.Value

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (l *rawList) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '[' {
		return dec.SkipValue()
	}
	return json.UnmarshalDecode(dec, (*[]jsontext.Value)(l))
}

// joined holds concatenated text in the form of an encoded JSON string without quotes. It is nil if there was no text.
type joined []byte

func (j *joined) add(raw []byte) {
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
	index     int
	head      rawCall // latest value of each member except the arguments
	name      jsontext.Value
	arguments joined
	custom    bool
}

type joinedChoice struct {
	index                             int
	role, finish                      jsontext.Value
	content, reasoning, refusal, text joined
	blocks                            rawList
	function                          *joinedCall
	calls                             []*joinedCall
}

// Assemble joins the chunks of one stream, one JSON document per line, into the equivalent complete response. The
// finish_reason of an interrupted choice is null. A response that is already complete is returned unchanged.
func Assemble(events []byte) ([]byte, error) {
	var whole struct {
		Choices []struct {
			Message jsontext.Value `json:"message"`
		} `json:"choices"`
	}
	if decodeJSON(events, &whole) == nil && len(whole.Choices) > 0 && whole.Choices[0].Message != nil {
		return bytes.TrimSpace(events), nil
	}
	var head rawResponse
	var choices []*joinedChoice
	chunks := 0
	var last textChunk
	for line := range bytes.Lines(events) {
		if last.join(line) {
			continue
		}
		var chunk rawResponse
		if err := decodeJSON(line, &chunk); err != nil || chunk.Choices == nil {
			continue // skip a truncated line, or the error that ended the stream
		}
		chunks++
		for _, pair := range []struct{ into, from *jsontext.Value }{
			{&head.ID, &chunk.ID},
			{&head.Object, &chunk.Object},
			{&head.Created, &chunk.Created},
			{&head.Model, &chunk.Model},
			{&head.Usage, &chunk.Usage},
			{&head.Tier, &chunk.Tier},
			{&head.Fingerprint, &chunk.Fingerprint},
		} {
			take(pair.into, *pair.from)
		}
		for i := range chunk.Choices {
			choices = joinChoice(choices, &chunk.Choices[i])
		}
		last = newTextChunk(line, &chunk, choices)
	}
	if chunks == 0 {
		return nil, ErrNoChunks
	}
	bare := string(head.Object) == `"`+bareObject+`"`
	head.ID, head.Created, head.Model = or(head.ID, `"chatcmpl-0"`), or(head.Created, "0"), or(head.Model, `""`)
	if !bare {
		head.Object = jsontext.Value(`"chat.completion"`)
	}
	slices.SortFunc(choices, func(x, y *joinedChoice) int { return cmp.Compare(x.index, y.index) })
	for _, c := range choices {
		head.Choices = append(head.Choices, c.encode(bare))
	}
	return json.Marshal(&head, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true), jsontext.PreserveRawStrings(true))
}

// textChunk is a chunk that has nothing but text to join. Most chunks of a stream differ from the previous chunk only in their text. They
// are joined without decoding them.
type textChunk struct {
	before, after []byte        // the chunk before and after its text
	choice        *joinedChoice // choice that the text belongs to; nil for a chunk with other parts
}

// newTextChunk returns the text chunk on a line, or the zero value if the decoded chunk has other parts that are joined. choices are those
// joined so far, including the chunk.
func newTextChunk(line []byte, chunk *rawResponse, choices []*joinedChoice) textChunk {
	if len(chunk.Choices) != 1 || chunk.Choices[0].Delta == nil || bytes.Count(line, []byte(`"content"`)) != 1 {
		return textChunk{}
	}
	c, d := &chunk.Choices[0], chunk.Choices[0].Delta
	others := len(d.ToolCalls) + len(d.ThinkingBlocks)
	if others > 0 || d.FunctionCall != nil || !isNull(c.Text) || !isNull(d.Refusal) || !isNull(d.ReasoningContent) || !isNull(d.Reasoning) {
		return textChunk{}
	}
	before, after, found := bytes.Cut(line, append([]byte(`"content":`), d.Content...))
	if !found || len(d.Content) == 0 || d.Content[0] != '"' {
		return textChunk{}
	}
	at := slices.IndexFunc(choices, func(known *joinedChoice) bool { return known.index == c.Index })
	return textChunk{line[:len(before)+len(`"content":`)], after, choices[at]}
}

// join adds the text of the next chunk to the choice if the chunk differs from this one only in its text. It reports whether it does.
func (t *textChunk) join(line []byte) bool {
	text, begins := bytes.CutPrefix(line, t.before)
	text, ends := bytes.CutSuffix(text, t.after)
	if t.choice == nil || !begins || !ends || len(text) == 0 || text[0] != '"' || !jsontext.Value(text).IsValid(jsontext.AllowInvalidUTF8(true)) {
		return false
	}
	t.choice.content.add(text)
	return true
}

// joinChoice adds a part of a choice to the choices.
func joinChoice(choices []*joinedChoice, from *rawChoice) []*joinedChoice {
	i := slices.IndexFunc(choices, func(known *joinedChoice) bool { return known.index == from.Index })
	if i < 0 {
		i = len(choices)
		choices = append(choices, &joinedChoice{index: from.Index})
	}
	choice := choices[i]
	take(&choice.finish, from.Finish)
	choice.text.add(from.Text)
	d := from.Delta
	if d == nil {
		return choices
	}
	take(&choice.role, d.Role)
	choice.content.add(d.Content)
	choice.refusal.add(d.Refusal)
	if isNull(d.ReasoningContent) {
		d.ReasoningContent = d.Reasoning
	}
	choice.reasoning.add(d.ReasoningContent)
	choice.blocks = append(choice.blocks, d.ThinkingBlocks...)
	if d.FunctionCall != nil {
		if choice.function == nil {
			choice.function = &joinedCall{}
		}
		choice.function.add(&rawCall{Function: d.FunctionCall})
	}
	for i := range d.ToolCalls {
		choice.call(&d.ToolCalls[i]).add(&d.ToolCalls[i])
	}
	return choices
}

func isNull(raw []byte) bool {
	return len(raw) == 0 || string(raw) == "null" || string(raw) == `""`
}

func take(into *jsontext.Value, from jsontext.Value) {
	if !isNull(from) {
		*into = from
	}
}

// call returns the tool call that a delta belongs to. A delta without an index begins a new call if it has an ID or is the first delta of a
// call; otherwise, it belongs to the latest call.
func (c *joinedChoice) call(piece *rawCall) *joinedCall {
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

func (j *joinedCall) add(piece *rawCall) {
	take(&j.head.ID, piece.ID)
	take(&j.head.Type, piece.Type)
	take(&j.head.Extra, piece.Extra)
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

// encode returns the choice of a complete response. bare is true for a legacy completion, whose text is a member of the choice.
func (c *joinedChoice) encode(bare bool) rawChoice {
	if bare {
		return rawChoice{Index: c.index, Text: c.text.json(), Finish: c.finish}
	}
	m := &rawMessage{Role: or(c.role, `"assistant"`), Content: c.content.json(), ThinkingBlocks: c.blocks}
	if c.reasoning != nil {
		m.ReasoningContent = c.reasoning.json()
	}
	if c.refusal != nil {
		m.Refusal = c.refusal.json()
	}
	if c.function != nil {
		m.FunctionCall = c.function.encodeFunction()
	}
	slices.SortStableFunc(c.calls, func(x, y *joinedCall) int { return cmp.Compare(x.index, y.index) })
	for _, call := range c.calls {
		encoded := call.head
		encoded.ID = or(encoded.ID, `""`)
		if call.custom {
			encoded.Type, encoded.Custom = or(encoded.Type, `"custom"`), call.encodeFunction()
		} else {
			encoded.Type, encoded.Function = or(encoded.Type, `"function"`), call.encodeFunction()
		}
		m.ToolCalls = append(m.ToolCalls, encoded)
	}
	return rawChoice{Index: c.index, Message: m, Finish: c.finish}
}

func (j *joinedCall) encodeFunction() *rawFunction {
	f := &rawFunction{Name: or(j.name, `""`)}
	arguments := append(joined{}, j.arguments...).json()
	if j.custom {
		f.Input = arguments
	} else {
		f.Arguments = arguments
	}
	return f
}
