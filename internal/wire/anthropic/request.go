package anthropic

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/wire/strict"
	"fairlead.dev/internal/wire/websearch"
)

// request is a Messages request, as clients send it and as providers get it.
type request struct {
	strict.Controls
	MaxTokens     strict.Whole   `json:"max_tokens,omitzero"`
	Stream        bool           `json:"stream,omitzero"`
	Tools         []tool         `json:"tools,omitempty"`
	ToolChoice    *toolChoice    `json:"tool_choice,omitzero"`
	System        content        `json:"system,omitzero"`
	Messages      messageList    `json:"messages"`
	Thinking      *thinking      `json:"thinking,omitzero"`
	OutputConfig  *outputConfig  `json:"output_config,omitzero"`
	OutputFormat  *outputFormat  `json:"output_format,omitzero"` // earlier name of output_config.format
	StopSequences []string       `json:"stop_sequences,omitempty"`
	Temperature   strict.Number  `json:"temperature,omitzero"`
	TopP          strict.Number  `json:"top_p,omitzero"`
	TopK          strict.Number  `json:"top_k,omitzero"`
	Metadata      *metadata      `json:"metadata,omitzero"`
	MCPServers    jsontext.Value `json:"mcp_servers,omitzero"`
	Container     jsontext.Value `json:"container,omitzero"`
}

// message is a message of the prompt.
type message struct {
	Role    string         `json:"role"`
	Content content        `json:"content"`
	Unknown jsontext.Value `json:",embed"`
}

// messageList is the list of messages.
type messageList []message

// Accepts implements strict.Shape.
func (*messageList) Accepts(kind byte) bool { return kind == '[' }

// Description implements strict.Shape.
func (*messageList) Description() string { return "a list of messages" }

// content is a text or a list of blocks.
type content struct {
	text *string
	list []part
}

// Accepts implements strict.Shape.
func (*content) Accepts(kind byte) bool { return kind == '"' || kind == '[' }

// Description implements strict.Shape.
func (*content) Description() string { return "a string or a list of blocks" }

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (c *content) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case '"':
		c.text = new("")
		return json.UnmarshalDecode(dec, c.text)
	case '[':
		return json.UnmarshalDecode(dec, &c.list)
	default:
		return dec.SkipValue()
	}
}

// MarshalJSONTo implements json.MarshalerTo.
func (c content) MarshalJSONTo(enc *jsontext.Encoder) error {
	if c.text != nil {
		return enc.WriteToken(jsontext.String(*c.text))
	}
	return json.MarshalEncode(enc, c.list)
}

func (c *content) isZero() bool { return c.text == nil && c.list == nil }

// texts returns the texts of the blocks, each after the separator.
func (c *content) texts(separator string) string {
	var all strings.Builder
	for i := range c.list {
		all.WriteString(separator)
		all.WriteString(textOf(c.list[i].Text))
	}
	return all.String()
}

// part is a content block of a request.
type part struct {
	block
	ToolUseID    string                  `json:"tool_use_id,omitzero"`
	Content      blockContent            `json:"content,omitzero"`
	IsError      bool                    `json:"is_error,omitzero"`
	Source       strict.StringOr[source] `json:"source,omitzero"` // a string in a search result
	Title        string                  `json:"title,omitzero"`
	Context      string                  `json:"context,omitzero"`
	CacheControl *cacheControl           `json:"cache_control,omitzero"`
}

// blockContent is the content of a block: that of a tool result, or any value in a block of another type.
type blockContent struct{ content }

// Accepts implements strict.Shape.
func (*blockContent) Accepts(byte) bool { return true }

// source is the content of an image or a document.
type source struct {
	Type      string         `json:"type,omitzero"`
	MediaType string         `json:"media_type,omitzero"`
	Data      string         `json:"data,omitzero"`
	URL       string         `json:"url,omitzero"`
	FileID    string         `json:"file_id,omitzero"`
	Content   blockContent   `json:"content,omitzero"`
	Unknown   jsontext.Value `json:",embed"`
}

// cacheControl marks the end of a prefix of the prompt that the provider should cache.
type cacheControl struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitzero"`
}

// IsZero reports whether there is no mark.
func (c *cacheControl) IsZero() bool { return c == nil || c.Type == "" }

// tool is the definition of a tool.
type tool struct {
	Type           string              `json:"type,omitzero"`
	Name           string              `json:"name,omitzero"`
	Description    string              `json:"description,omitzero"`
	InputSchema    jsontext.Value      `json:"input_schema,omitzero"`
	Strict         *bool               `json:"strict,omitzero"`
	MaxUses        strict.Whole        `json:"max_uses,omitzero"`
	AllowedDomains []string            `json:"allowed_domains,omitempty"`
	BlockedDomains []string            `json:"blocked_domains,omitempty"`
	UserLocation   *websearch.Location `json:"user_location,omitzero"`
	CacheControl   *cacheControl       `json:"cache_control,omitzero"`
	Unknown        jsontext.Value      `json:",embed"`
}

type toolChoice struct {
	Type                   string         `json:"type"`
	Name                   string         `json:"name,omitzero"`
	DisableParallelToolUse *bool          `json:"disable_parallel_tool_use,omitzero"`
	Unknown                jsontext.Value `json:",embed"`
}

// thinking determines whether and how much the model thinks.
type thinking struct {
	Type         string         `json:"type"`
	BudgetTokens strict.Whole   `json:"budget_tokens,omitzero"`
	Display      string         `json:"display,omitzero"`
	Unknown      jsontext.Value `json:",embed"`
}

type outputConfig struct {
	Effort  string         `json:"effort,omitzero"`
	Format  *outputFormat  `json:"format,omitzero"`
	Unknown jsontext.Value `json:",embed"`
}

type outputFormat struct {
	Type    string         `json:"type"`
	Schema  jsontext.Value `json:"schema,omitzero"`
	Unknown jsontext.Value `json:",embed"`
}

type metadata struct {
	UserID  strict.Label   `json:"user_id,omitzero"`
	Unknown jsontext.Value `json:",embed"`
}
