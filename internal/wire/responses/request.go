package responses

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/wire/strict"
)

// request is a Responses request, as clients send it and as providers get it. Fields whose values only the provider interprets are raw
// values.
type request struct {
	strict.Controls
	Instructions       string                      `json:"instructions,omitzero"`
	Input              strict.StringOr[items]      `json:"input,omitzero"`
	Stream             bool                        `json:"stream,omitzero"`
	Store              jsontext.Value              `json:"store,omitzero"`
	PreviousResponseID *string                     `json:"previous_response_id,omitzero"`
	Conversation       strict.StringOr[reference]  `json:"conversation,omitzero"`
	Prompt             *promptTemplate             `json:"prompt,omitzero"`
	Background         bool                        `json:"background,omitzero"`
	Tools              []tool                      `json:"tools,omitempty"`
	ToolChoice         strict.StringOr[toolChoice] `json:"tool_choice,omitzero"`
	ParallelTools      *bool                       `json:"parallel_tool_calls,omitzero"`
	MaxToolCalls       jsontext.Value              `json:"max_tool_calls,omitzero"`
	Text               *textSettings               `json:"text,omitzero"`
	Reasoning          *reasoning                  `json:"reasoning,omitzero"`
	Include            []string                    `json:"include,omitempty"`
	MaxOutput          strict.Whole                `json:"max_output_tokens,omitzero"`
	Temperature        strict.Number               `json:"temperature,omitzero"`
	TopP               strict.Number               `json:"top_p,omitzero"`
	TopLogprobs        strict.Number               `json:"top_logprobs,omitzero"`
	Truncation         string                      `json:"truncation,omitzero"`
	User               strict.Label                `json:"user,omitzero"`
	SafetyIdentifier   strict.Label                `json:"safety_identifier,omitzero"`
	Metadata           strict.Labels               `json:"metadata,omitzero"`
}

// items is a list of input items.
type items []item

// Accepts implements strict.Shape.
func (*items) Accepts(kind byte) bool { return kind == '[' }

// Description implements strict.Shape.
func (*items) Description() string { return "a list of items" }

// item is an element of the input or of the output: a message, a tool call, a tool result or reasoning. Each type of item has some of the
// members. Items of types that only the provider interprets may have any value in the members that are not strings here.
type item struct {
	strict.Position
	ID        string                          `json:"id,omitzero"`
	Type      string                          `json:"type,omitzero"`
	Summary   content                         `json:"summary,omitzero"`
	Encrypted string                          `json:"encrypted_content,omitzero"`
	Status    string                          `json:"status,omitzero"`
	Action    jsontext.Value                  `json:"action,omitzero"`
	Role      string                          `json:"role,omitzero"`
	CallID    string                          `json:"call_id,omitzero"`
	Name      string                          `json:"name,omitzero"`
	Namespace string                          `json:"namespace,omitzero"`
	Arguments strict.StringOr[jsontext.Value] `json:"arguments,omitzero"`
	Input     strict.StringOr[jsontext.Value] `json:"input,omitzero"`
	Content   content                         `json:"content,omitzero"`
	Output    content                         `json:"output,omitzero"`
	Unknown   jsontext.Value                  `json:",embed"`
}

// content is a text, a list of parts, or another value. The zero value is absent.
type content struct {
	text  *string
	list  []part
	other jsontext.Value
}

// Accepts implements strict.Shape.
func (*content) Accepts(byte) bool { return true }

// Description implements strict.Shape. It is not called, because content accepts every value.
func (*content) Description() string { return "a string or a list of parts" }

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (c *content) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case 'n':
		return dec.SkipValue()
	case '"':
		c.text = new("")
		return json.UnmarshalDecode(dec, c.text)
	case '[':
		return json.UnmarshalDecode(dec, &c.list)
	default:
		return json.UnmarshalDecode(dec, &c.other)
	}
}

// MarshalJSONTo implements json.MarshalerTo.
func (c content) MarshalJSONTo(enc *jsontext.Encoder) error {
	switch {
	case c.text != nil:
		return enc.WriteToken(jsontext.String(*c.text))
	case c.other != nil:
		return enc.WriteValue(c.other)
	default:
		return json.MarshalEncode(enc, c.list)
	}
}

// IsZero reports whether the value is absent.
func (c content) IsZero() bool { return c.text == nil && c.list == nil && c.other == nil }

// part is an element of the content of a message, of a tool result or of reasoning.
type part struct {
	strict.Position
	Type        string         `json:"type"`
	Text        *string        `json:"text,omitzero"`
	Refusal     *string        `json:"refusal,omitzero"`
	Annotations jsontext.Value `json:"annotations,omitzero"`
	Logprobs    jsontext.Value `json:"logprobs,omitzero"`
	ImageURL    string         `json:"image_url,omitzero"`
	FileURL     string         `json:"file_url,omitzero"`
	Filename    string         `json:"filename,omitzero"`
	FileData    string         `json:"file_data,omitzero"`
	FileID      string         `json:"file_id,omitzero"`
	Detail      string         `json:"detail,omitzero"`
	InputAudio  *inputAudio    `json:"input_audio,omitzero"`
	Breakpoint  jsontext.Value `json:"prompt_cache_breakpoint,omitzero"`
	Unknown     jsontext.Value `json:",embed"`
}

type inputAudio struct {
	Data    string         `json:"data"`
	Format  string         `json:"format"`
	Unknown jsontext.Value `json:",embed"`
}

// tool is a tool definition, or a namespace of tools.
type tool struct {
	strict.Position
	Type        string         `json:"type"`
	Name        string         `json:"name,omitzero"`
	Description string         `json:"description,omitzero"`
	Parameters  jsontext.Value `json:"parameters,omitzero"`
	Strict      *bool          `json:"strict,omitzero"`
	Format      jsontext.Value `json:"format,omitzero"` // text format of a custom tool
	Tools       []tool         `json:"tools,omitempty"` // tools of a namespace
	Unknown     jsontext.Value `json:",embed"`

	raw jsontext.Value // complete definition of a tool that is sent as it was received; nil for other tools
}

// MarshalJSONTo implements json.MarshalerTo.
func (t tool) MarshalJSONTo(enc *jsontext.Encoder) error {
	if t.raw != nil {
		return enc.WriteValue(t.raw)
	}
	type members tool
	return json.MarshalEncode(enc, members(t))
}

// toolChoice requires one tool or limits the choice to some tools.
type toolChoice struct {
	Type      string         `json:"type"`
	Mode      string         `json:"mode,omitzero"`
	Namespace string         `json:"namespace,omitzero"`
	Name      string         `json:"name,omitzero"`
	Tools     []toolChoice   `json:"tools,omitempty"`
	Unknown   jsontext.Value `json:",embed"`
}

type textSettings struct {
	Format    *textFormat    `json:"format,omitzero"`
	Verbosity string         `json:"verbosity,omitzero"`
	Unknown   jsontext.Value `json:",embed"`
}

type textFormat struct {
	Type        string         `json:"type"`
	Name        string         `json:"name,omitzero"`
	Description string         `json:"description,omitzero"`
	Schema      jsontext.Value `json:"schema,omitzero"`
	Strict      *bool          `json:"strict,omitzero"`
	Unknown     jsontext.Value `json:",embed"`
}

type reasoning struct {
	Effort  string         `json:"effort,omitzero"`
	Summary jsontext.Value `json:"summary,omitzero"`
	Unknown jsontext.Value `json:",embed"`
}

// reference names a conversation that the provider stores.
type reference struct {
	ID string `json:"id"`
}

// Accepts implements strict.Shape.
func (*reference) Accepts(kind byte) bool { return kind == '{' }

// Description implements strict.Shape.
func (*reference) Description() string { return "an object with the id of a conversation" }

// promptTemplate names a prompt template that the provider stores.
type promptTemplate struct {
	ID        string         `json:"id"`
	Version   jsontext.Value `json:"version,omitzero"`
	Variables jsontext.Value `json:"variables,omitzero"`
	Unknown   jsontext.Value `json:",embed"`
}
