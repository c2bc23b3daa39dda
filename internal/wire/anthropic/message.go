package anthropic

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/wire/upstream"
)

// response is a complete message of a model. Like the other types of responses, it keeps the members that the gateway does not use.
type response struct {
	ID      string          `json:"id"`
	Type    string          `json:"type,omitzero"`
	Role    string          `json:"role,omitzero"`
	Model   upstream.Placed `json:"model"`
	Content []block         `json:"content"`
	stopped                 // null until the end
	Usage   jsontext.Value  `json:"usage,omitzero"`
	Error   jsontext.Value  `json:"error,omitzero"`
	Unknown jsontext.Value  `json:",embed"`
}

// stopped says why a response ended. The values are strings or null.
type stopped struct {
	StopReason   jsontext.Value `json:"stop_reason,omitzero"`
	StopSequence jsontext.Value `json:"stop_sequence,omitzero"`
}

// block is a content block of a response.
type block struct {
	Type      string         `json:"type"`
	Text      *string        `json:"text,omitzero"`
	Citations jsontext.Value `json:"citations,omitzero"`
	Thinking  *string        `json:"thinking,omitzero"`
	Signature *string        `json:"signature,omitzero"`
	Data      *string        `json:"data,omitzero"` // redacted thinking
	ID        string         `json:"id,omitzero"`
	Name      string         `json:"name,omitzero"`
	Input     jsontext.Value `json:"input,omitzero"`
	Unknown   jsontext.Value `json:",embed"`
}

// citation is a source of a text block.
type citation struct {
	Type           string `json:"type"`
	URL            string `json:"url"`
	Source         string `json:"source,omitzero"` // URL of a search result that the client sent
	Title          string `json:"title"`
	CitedText      string `json:"cited_text"`
	EncryptedIndex string `json:"encrypted_index"`
}

// event is an event of a stream.
type event struct {
	Type         string         `json:"type"`
	Message      *response      `json:"message,omitzero"`
	Index        *int64         `json:"index,omitzero"`
	ContentBlock *block         `json:"content_block,omitzero"`
	Delta        delta          `json:"delta,omitzero"`
	Usage        jsontext.Value `json:"usage,omitzero"`
	Error        jsontext.Value `json:"error,omitzero"`

	data []byte // bytes from the provider; nil for an event that the gateway creates
}

// delta is an increment of a block, or the end of the message.
type delta struct {
	Type        string         `json:"type,omitzero"`
	Text        string         `json:"text,omitzero"`
	Thinking    string         `json:"thinking,omitzero"`
	Signature   string         `json:"signature,omitzero"`
	PartialJSON string         `json:"partial_json,omitzero"`
	Citation    jsontext.Value `json:"citation,omitzero"`
	stopped
}

// events returns the stream that is equivalent to the message.
func (m *response) events() []event {
	head := *m
	head.Content, head.stopped = []block{}, stopped{null, null}
	list := []event{{Type: "message_start", Message: &head}}
	reason := `"end_turn"`
	for i := range m.Content {
		start, deltas := m.Content[i].split()
		list = append(list, event{Type: "content_block_start", Index: new(int64(i)), ContentBlock: &start})
		for _, d := range deltas {
			list = append(list, event{Type: "content_block_delta", Index: new(int64(i)), Delta: d})
		}
		list = append(list, event{Type: "content_block_stop", Index: new(int64(i))})
		if start.Type == "tool_use" {
			reason = `"tool_use"`
		}
	}
	end := m.stopped
	if upstream.Text(end.StopReason) == "" {
		end.StopReason = jsontext.Value(reason)
	}
	if end.StopSequence == nil {
		end.StopSequence = null
	}
	used := m.Usage
	if used == nil {
		used = jsontext.Value(`{"output_tokens":0}`)
	}
	return append(list, event{Type: "message_delta", Delta: delta{stopped: end}, Usage: used}, event{Type: "message_stop"})
}

// isFault reports whether an event or a complete response reports an error.
func isFault(kind string, failure jsontext.Value) bool {
	return kind == "error" || failure.Kind() == '{'
}

// split returns the start of a block and its content as deltas. A block of an unknown type consists only of its start.
func (b *block) split() (start block, deltas []delta) {
	start = *b
	switch b.Type {
	case "text":
		start.Text, deltas = splitText(b.Text, deltas, func(text string) delta { return delta{Type: "text_delta", Text: text} })
	case "thinking":
		start.Thinking, deltas = splitText(b.Thinking, deltas, func(text string) delta { return delta{Type: "thinking_delta", Thinking: text} })
		start.Signature, deltas = splitText(b.Signature, deltas, func(text string) delta { return delta{Type: "signature_delta", Signature: text} })
	case "tool_use":
		if b.Input != nil {
			start.Input = jsontext.Value(`{}`)
			deltas = []delta{{Type: "input_json_delta", PartialJSON: string(b.Input)}}
		}
	}
	return start, deltas
}

// splitText returns the initial text of a block, and deltas with a delta of the whole text added.
func splitText(text *string, deltas []delta, deltaOf func(text string) delta) (*string, []delta) {
	if textOf(text) == "" {
		return text, deltas
	}
	return new(""), append(deltas, deltaOf(*text))
}

var null = jsontext.Value("null")

// textOf returns the text that s points to, or an empty string.
func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

var encoding = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true))

// encode encodes a value of the format.
func encode(v any) ([]byte, error) { return json.Marshal(v, encoding) }
