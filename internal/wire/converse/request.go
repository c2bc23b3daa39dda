package converse

import "encoding/json"

// request is the body of a Converse request. The model is part of the URL.
type request struct {
	System          []block        `json:"system,omitempty"`
	Messages        []message      `json:"messages"`
	InferenceConfig *inference     `json:"inferenceConfig,omitempty"`
	ToolConfig      *toolConfig    `json:"toolConfig,omitempty"`
	OutputConfig    *outputConfig  `json:"outputConfig,omitempty"`
	Additional      map[string]any `json:"additionalModelRequestFields,omitempty"`
	ResponsePaths   []string       `json:"additionalModelResponseFieldPaths,omitempty"`
	ServiceTier     *serviceTier   `json:"serviceTier,omitempty"`
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// block is one block of a message. Exactly one member is set.
type block struct {
	Text       string      `json:"text,omitempty"`
	Image      *media      `json:"image,omitempty"`
	Document   *media      `json:"document,omitempty"`
	Audio      *media      `json:"audio,omitempty"`
	ToolUse    *toolUse    `json:"toolUse,omitempty"`
	ToolResult *toolResult `json:"toolResult,omitempty"`
	Reasoning  *reasoning  `json:"reasoningContent,omitempty"`
	CachePoint *cachePoint `json:"cachePoint,omitempty"`
}

type media struct {
	Format string `json:"format"`
	Name   string `json:"name,omitempty"` // set only for documents
	Source source `json:"source"`
}

type source struct {
	Bytes string      `json:"bytes,omitempty"` // file content in base64
	S3    *s3Location `json:"s3Location,omitempty"`
}

type s3Location struct {
	URI string `json:"uri"`
}

type toolUse struct {
	ID    string          `json:"toolUseId"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type toolResult struct {
	ID      string  `json:"toolUseId"`
	Content []block `json:"content"`
	Status  string  `json:"status,omitempty"`
}

type reasoning struct {
	Text     *reasoningText `json:"reasoningText,omitempty"`
	Redacted string         `json:"redactedContent,omitempty"` // redacted thinking in base64
}

type reasoningText struct {
	Text      string `json:"text"`
	Signature string `json:"signature,omitempty"`
}

type cachePoint struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitempty"`
}

type inference struct {
	MaxTokens   int64       `json:"maxTokens,omitempty"`
	Temperature json.Number `json:"temperature,omitempty"`
	TopP        json.Number `json:"topP,omitempty"`
	Stop        []string    `json:"stopSequences,omitempty"`
}

type toolConfig struct {
	Tools  []tool      `json:"tools"`
	Choice *toolChoice `json:"toolChoice,omitempty"`
}

type tool struct {
	Spec       *toolSpec   `json:"toolSpec,omitempty"`
	CachePoint *cachePoint `json:"cachePoint,omitempty"`
}

type toolSpec struct {
	Name        string      `json:"name"`
	Description string      `json:"description,omitempty"`
	InputSchema inputSchema `json:"inputSchema"`
	Strict      bool        `json:"strict,omitempty"`
}

type inputSchema struct {
	JSON json.RawMessage `json:"json"`
}

// toolChoice is the tool choice. Exactly one member is set.
type toolChoice struct {
	Auto *struct{}  `json:"auto,omitempty"`
	Any  *struct{}  `json:"any,omitempty"`
	Tool *namedTool `json:"tool,omitempty"`
}

type namedTool struct {
	Name string `json:"name"`
}

type outputConfig struct {
	Effort     string      `json:"effort,omitempty"`
	TextFormat *textFormat `json:"textFormat,omitempty"`
}

type textFormat struct {
	Type      string    `json:"type"`
	Structure structure `json:"structure"`
}

type structure struct {
	JSONSchema jsonSchema `json:"jsonSchema"`
}

type jsonSchema struct {
	Schema      string `json:"schema"` // JSON schema, encoded as a string
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
}

type serviceTier struct {
	Type string `json:"type"`
}
