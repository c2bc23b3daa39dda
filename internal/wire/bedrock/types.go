package bedrock

import (
	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
)

// request is the body of a Converse request. The model is part of the URL.
type request struct {
	System          []block      `json:"system,omitzero"`
	Messages        []message    `json:"messages"`
	InferenceConfig inference    `json:"inferenceConfig,omitempty"`
	ToolConfig      *toolConfig  `json:"toolConfig,omitzero"`
	OutputConfig    outputConfig `json:"outputConfig,omitempty"`
	Additional      additional   `json:"additionalModelRequestFields,omitempty"`
	ResponsePaths   []string     `json:"additionalModelResponseFieldPaths,omitzero"`
	ServiceTier     *serviceTier `json:"serviceTier,omitzero"`
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// additional holds the settings that only some model families have. The API passes them to the model.
type additional struct {
	Inference       *novaInference   `json:"inferenceConfig,omitzero"`
	K               jsontext.Value   `json:"k,omitzero"`
	Reasoning       *novaReasoning   `json:"reasoningConfig,omitzero"`
	ReasoningEffort string           `json:"reasoning_effort,omitzero"`
	Thinking        *thinking        `json:"thinking,omitzero"`
	ToolChoice      *modelToolChoice `json:"tool_choice,omitzero"`
	TopK            jsontext.Value   `json:"top_k,omitzero"`
}

type novaInference struct {
	TopK jsontext.Value `json:"topK"`
}

type novaReasoning struct {
	Effort string `json:"maxReasoningEffort"`
	Type   string `json:"type"`
}

type thinking struct {
	Budget  int64  `json:"budget_tokens,omitzero"`
	Display string `json:"display,omitzero"`
	Type    string `json:"type"`
}

// modelToolChoice is the tool choice in the form of Anthropic's models.
type modelToolChoice struct {
	OneCall bool   `json:"disable_parallel_tool_use"`
	Name    string `json:"name,omitzero"`
	Type    string `json:"type"`
}

// block is one block of a message, in requests and in responses that are not streamed. Exactly one member is set.
type block struct {
	Text       string         `json:"text,omitzero"`
	Image      *media         `json:"image,omitzero"`
	Document   *media         `json:"document,omitzero"`
	Audio      *media         `json:"audio,omitzero"`
	ToolUse    *toolUse       `json:"toolUse,omitzero"`
	ToolResult *toolResult    `json:"toolResult,omitzero"`
	Reasoning  *reasoning     `json:"reasoningContent,omitzero"`
	CachePoint *cachePoint    `json:"cachePoint,omitzero"`
	Citations  *citations     `json:"citationsContent,omitzero"`
	Unknown    jsontext.Value `json:",embed"` // content that the gateway does not know
}

// citations is text of a response with its sources.
type citations struct {
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
}

type media struct {
	Format string `json:"format"`
	Name   string `json:"name,omitzero"` // set only for documents
	Source source `json:"source"`
}

type source struct {
	Bytes string      `json:"bytes,omitzero"` // file content in base64
	S3    *s3Location `json:"s3Location,omitzero"`
}

type s3Location struct {
	URI string `json:"uri"`
}

type toolUse struct {
	ID    string         `json:"toolUseId"`
	Name  string         `json:"name"`
	Input jsontext.Value `json:"input"`
}

type toolResult struct {
	ID      string  `json:"toolUseId"`
	Content []block `json:"content"`
	Status  string  `json:"status,omitzero"`
}

type reasoning struct {
	Text     *reasoningText `json:"reasoningText,omitzero"`
	Redacted string         `json:"redactedContent,omitzero"` // redacted thinking in base64
}

type reasoningText struct {
	Text      string `json:"text"`
	Signature string `json:"signature,omitzero"`
}

type cachePoint struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitzero"`
}

type inference struct {
	MaxTokens   int64          `json:"maxTokens,omitzero"`
	Temperature jsontext.Value `json:"temperature,omitzero"`
	TopP        jsontext.Value `json:"topP,omitzero"`
	Stop        []string       `json:"stopSequences,omitzero"`
}

type toolConfig struct {
	Tools  []tool      `json:"tools"`
	Choice *toolChoice `json:"toolChoice,omitzero"`
}

type tool struct {
	Spec       *toolSpec   `json:"toolSpec,omitzero"`
	CachePoint *cachePoint `json:"cachePoint,omitzero"`
}

type toolSpec struct {
	Name        string      `json:"name"`
	Description string      `json:"description,omitzero"`
	InputSchema inputSchema `json:"inputSchema"`
	Strict      bool        `json:"strict,omitzero"`
}

type inputSchema struct {
	JSON jsontext.Value `json:"json"`
}

// toolChoice is the tool choice. Exactly one member is set.
type toolChoice struct {
	Auto *struct{}  `json:"auto,omitzero"`
	Any  *struct{}  `json:"any,omitzero"`
	Tool *namedTool `json:"tool,omitzero"`
}

type namedTool struct {
	Name string `json:"name"`
}

type outputConfig struct {
	Effort     string      `json:"effort,omitzero"`
	TextFormat *textFormat `json:"textFormat,omitzero"`
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
	Name        string `json:"name,omitzero"`
	Description string `json:"description,omitzero"`
}

type serviceTier struct {
	Type string `json:"type"`
}

// usage is the token usage of a response. inputTokens excludes cache reads and writes.
type usage struct {
	Input        *llm.TokenCount `json:"inputTokens"`
	Output       *llm.TokenCount `json:"outputTokens"`
	CacheRead    llm.TokenCount  `json:"cacheReadInputTokens"`
	CacheWrite   llm.TokenCount  `json:"cacheWriteInputTokens"`
	CacheDetails []struct {
		TTL   string         `json:"ttl"`
		Input llm.TokenCount `json:"inputTokens"`
	} `json:"cacheDetails"`
}

// counts converts the usage. It returns nil if a count is missing or negative; the usage is then estimated.
func (u *usage) counts(tier *serviceTier) *llm.Usage {
	if u == nil || u.Input == nil || u.Output == nil {
		return nil
	}
	if min(*u.Input, *u.Output, u.CacheRead, u.CacheWrite) < 0 {
		return nil
	}
	counted := &llm.Usage{Input: int64(*u.Input), Output: int64(*u.Output), CacheRead: int64(u.CacheRead), CacheWrite: int64(u.CacheWrite)}
	for _, d := range u.CacheDetails {
		if d.Input < 0 {
			return nil
		}
		if d.TTL == "1h" {
			counted.CacheWriteLong += int64(d.Input)
		}
	}
	counted.CacheWriteLong = min(counted.CacheWriteLong, counted.CacheWrite)
	if tier != nil {
		counted.ServiceTier = tier.Type
	}
	return counted
}

// wholeResponse is a non-streamed response.
type wholeResponse struct {
	Output struct {
		Message *struct {
			Content []block `json:"content"`
		} `json:"message"`
	} `json:"output"`
	StopReason  string         `json:"stopReason"`
	Usage       *usage         `json:"usage"`
	ServiceTier *serviceTier   `json:"serviceTier"`
	Additional  jsontext.Value `json:"additionalModelResponseFields"`
}

// streamEvent is an event of a stream. The members that are set depend on the type of the event.
type streamEvent struct {
	Index int `json:"contentBlockIndex"`
	Start struct {
		ToolUse *toolUse `json:"toolUse"`
	} `json:"start"`
	Delta       delta          `json:"delta"`
	StopReason  string         `json:"stopReason"`
	Additional  jsontext.Value `json:"additionalModelResponseFields"`
	Usage       *usage         `json:"usage"`
	ServiceTier *serviceTier   `json:"serviceTier"`
}

type delta struct {
	Text    *string `json:"text"`
	ToolUse *struct {
		Input string `json:"input"`
	} `json:"toolUse"`
	Reasoning *struct {
		Text      string `json:"text"`
		Signature string `json:"signature"`
		Redacted  string `json:"redactedContent"`
	} `json:"reasoningContent"`
	Citation jsontext.Value `json:"citation"`
}
