package openai

import (
	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/wire/strict"
)

// account holds the members that every request has.
type account struct {
	User             strict.Label  `json:"user,omitzero"`
	SafetyIdentifier strict.Label  `json:"safety_identifier,omitzero"`
	Metadata         strict.Labels `json:"metadata,omitzero"`
}

// chatRequest is a chat request, as clients send it and as providers receive it. The fields are in the order in which they are encoded.
// Fields whose values only the provider interprets are raw values.
type chatRequest struct {
	strict.Controls
	Messages       messages                    `json:"messages"`
	Stream         bool                        `json:"stream,omitzero"`
	StreamOptions  *streamOptions              `json:"stream_options,omitzero"`
	Tools          []tool                      `json:"tools,omitempty"`
	ToolChoice     strict.StringOr[toolChoice] `json:"tool_choice,omitzero"`
	Functions      []function                  `json:"functions,omitempty"`
	FunctionCall   strict.StringOr[function]   `json:"function_call,omitzero"`
	ParallelTools  *bool                       `json:"parallel_tool_calls,omitzero"`
	ResponseFormat *responseFormat             `json:"response_format,omitzero"`
	MaxTokens      strict.Whole                `json:"max_tokens,omitzero"`
	MaxCompletion  strict.Whole                `json:"max_completion_tokens,omitzero"`
	N              strict.Whole                `json:"n,omitzero"`
	Stop           strict.StringOr[[]string]   `json:"stop,omitzero"`
	Effort         string                      `json:"reasoning_effort,omitzero"`
	Reasoning      *reasoning                  `json:"reasoning,omitzero"`
	Thinking       *thinking                   `json:"thinking,omitzero"`
	Verbosity      string                      `json:"verbosity,omitzero"`
	Temperature    strict.Number               `json:"temperature,omitzero"`
	TopP           strict.Number               `json:"top_p,omitzero"`
	TopK           strict.Number               `json:"top_k,omitzero"`
	Frequency      strict.Number               `json:"frequency_penalty,omitzero"`
	Presence       strict.Number               `json:"presence_penalty,omitzero"`
	Seed           strict.Number               `json:"seed,omitzero"`
	Logprobs       bool                        `json:"logprobs,omitzero"`
	TopLogprobs    strict.Number               `json:"top_logprobs,omitzero"`
	Modalities     []string                    `json:"modalities,omitempty"`
	WebSearch      jsontext.Value              `json:"web_search_options,omitzero"`
	Prediction     jsontext.Value              `json:"prediction,omitzero"`
	SearchOptions  jsontext.Value              `json:"search_parameters,omitzero"`
	Plugins        jsontext.Value              `json:"plugins,omitzero"`
	LogitBias      jsontext.Value              `json:"logit_bias,omitzero"`
	Store          jsontext.Value              `json:"store,omitzero"`
	CacheKey       jsontext.Value              `json:"prompt_cache_key,omitzero"`
	CacheRetention jsontext.Value              `json:"prompt_cache_retention,omitzero"`
	CacheOptions   jsontext.Value              `json:"prompt_cache_options,omitzero"`
	account
}

// messages is the list of messages.
type messages []message

// Accepts implements strict.Shape.
func (*messages) Accepts(kind byte) bool { return kind == '[' }

// Description implements strict.Shape.
func (*messages) Description() string { return "a list of messages" }

type streamOptions struct {
	IncludeUsage bool           `json:"include_usage,omitzero"`
	Unknown      jsontext.Value `json:",embed"`
}

type message struct {
	strict.Position
	Role             string                 `json:"role"`
	Name             string                 `json:"name,omitzero"`
	ToolCallID       string                 `json:"tool_call_id,omitzero"`
	ReasoningContent string                 `json:"reasoning_content,omitzero"`
	Reasoning        jsontext.Value         `json:"reasoning,omitzero"` // text if it is a string
	ThinkingBlocks   []thinkingBlock        `json:"thinking_blocks,omitempty"`
	Content          strict.StringOr[parts] `json:"content"`
	Refusal          string                 `json:"refusal,omitzero"`
	Audio            *audio                 `json:"audio,omitzero"`
	ToolCalls        []toolCall             `json:"tool_calls,omitempty"`
	FunctionCall     *functionCall          `json:"function_call,omitzero"`
	cacheMark
	Annotations jsontext.Value `json:"annotations,omitzero"` // occurs only in responses
	Unknown     jsontext.Value `json:",embed"`
}

// cacheMark is a prompt-cache breakpoint in Anthropic's or OpenAI's form.
type cacheMark struct {
	CacheControl *cacheControl  `json:"cache_control,omitzero"`
	Breakpoint   jsontext.Value `json:"prompt_cache_breakpoint,omitzero"`
}

type cacheControl struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitzero"`
}

// audio names the audio of an earlier response, which the provider has stored.
type audio struct {
	ID string `json:"id"`
}

// parts is a list of message parts. Several providers accept plain strings as parts.
type parts []strict.StringOr[part]

// Accepts implements strict.Shape.
func (*parts) Accepts(kind byte) bool { return kind == '[' }

// Description implements strict.Shape.
func (*parts) Description() string { return "a list of parts" }

type part struct {
	Type       string                       `json:"type"`
	Text       *string                      `json:"text,omitzero"`
	Refusal    *string                      `json:"refusal,omitzero"`
	ImageURL   strict.StringOr[imageURL]    `json:"image_url,omitzero"` // some vendors accept a plain URL
	InputAudio *inputAudio                  `json:"input_audio,omitzero"`
	File       *file                        `json:"file,omitzero"`
	Thinking   strict.StringOr[[]innerText] `json:"thinking,omitzero"` // sent by Mistral's reasoning models
	FileID     string                       `json:"file_id,omitzero"`
	cacheMark
	Unknown jsontext.Value `json:",embed"`
}

type imageURL struct {
	URL    string `json:"url"`
	Detail string `json:"detail,omitzero"`
}

type inputAudio struct {
	Data   string `json:"data"`
	Format string `json:"format"`
}

type file struct {
	FileID   string         `json:"file_id,omitzero"`
	Filename string         `json:"filename,omitzero"`
	FileData string         `json:"file_data,omitzero"`
	Unknown  jsontext.Value `json:",embed"`
}

type innerText struct {
	Text string `json:"text"`
}

// thinkingBlock is Anthropic's thinking block with the name of the provider that signed it, like in the responses of other gateways.
type thinkingBlock struct {
	Type      string  `json:"type"`
	Thinking  *string `json:"thinking,omitzero"`
	Signature string  `json:"signature,omitzero"`
	Data      string  `json:"data,omitzero"`
	Provider  string  `json:"provider,omitzero"`
}

// toolCall is a tool call in a message, or a part of it in a chunk.
type toolCall struct {
	Index    *int          `json:"index,omitzero"` // only in chunks
	ID       string        `json:"id,omitzero"`
	Type     string        `json:"type,omitzero"`
	Function *functionCall `json:"function,omitzero"`
	Custom   *customCall   `json:"custom,omitzero"`
	Extra    *extraContent `json:"extra_content,omitzero"`
}

type functionCall struct {
	Name      string                          `json:"name,omitzero"`
	Arguments strict.StringOr[jsontext.Value] `json:"arguments,omitzero"` // some clients and providers send an object
}

type customCall struct {
	Name  string `json:"name,omitzero"`
	Input string `json:"input"`
}

// extraContent holds the signature of a call where Google's clients expect it, and the provider that signed it.
type extraContent struct {
	Google   *signature `json:"google,omitzero"`
	Fairlead *signer    `json:"fairlead,omitzero"`
}

type signature struct {
	Thought string `json:"thought_signature"`
}

type signer struct {
	Provider string `json:"provider"`
}

type tool struct {
	strict.Position
	Type     string      `json:"type"`
	Function *function   `json:"function,omitzero"`
	Custom   *customTool `json:"custom,omitzero"`
	cacheMark
}

type function struct {
	Name        string         `json:"name,omitzero"`
	Description string         `json:"description,omitzero"`
	Parameters  jsontext.Value `json:"parameters,omitzero"`
	Strict      *bool          `json:"strict,omitzero"`
}

type customTool struct {
	Name        string         `json:"name,omitzero"`
	Description string         `json:"description,omitzero"`
	Format      jsontext.Value `json:"format,omitzero"`
}

// toolChoice requires one tool or limits the choice to some tools.
type toolChoice struct {
	Type         string        `json:"type"`
	Function     *function     `json:"function,omitzero"`
	Custom       *customTool   `json:"custom,omitzero"`
	AllowedTools *allowedTools `json:"allowed_tools,omitzero"`
}

type allowedTools struct {
	Mode  string `json:"mode"`
	Tools []tool `json:"tools"`
}

type responseFormat struct {
	Type       string         `json:"type"`
	JSONSchema *jsonSchema    `json:"json_schema,omitzero"`
	Unknown    jsontext.Value `json:",embed"`
}

type jsonSchema struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	Schema      jsontext.Value `json:"schema,omitzero"`
	Strict      *bool          `json:"strict,omitzero"`
}

// reasoning is the object with which clients of other gateways request thinking.
type reasoning struct {
	Effort    string       `json:"effort,omitzero"`
	MaxTokens strict.Whole `json:"max_tokens,omitzero"`
	Enabled   *bool        `json:"enabled,omitzero"`
	Exclude   *bool        `json:"exclude,omitzero"`
}

// thinking is the thinking object of Anthropic's API, which several vendors have adopted.
type thinking struct {
	Type         string       `json:"type"`
	BudgetTokens strict.Whole `json:"budget_tokens,omitzero"`
	Display      string       `json:"display,omitzero"`
}
