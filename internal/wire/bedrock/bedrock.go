// Package bedrock implements the wire format of Amazon Bedrock's Converse API, for providers. It encodes conversations as requests and
// decodes responses, streamed as a binary event stream or not. Clients cannot use it.
package bedrock

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Name is the format's short name.
const Name = "converse"

// Dialect describes how a model family differs from other families. The zero value is for an unknown model: requests may contain tools,
// but no settings that only some models support.
type Dialect struct {
	Title string // the provider's name in messages, such as "Amazon Bedrock"

	ThinkingRules
	Force Force  // way to force a tool call
	TopK  string // member of additionalModelRequestFields for top_k; empty when unsupported
	Cache Cache  // positions at which cache points are allowed

	Schema       bool // whether the model supports outputConfig.textFormat and strict tools
	LongCache    bool // whether the model supports a cache lifetime of one hour
	NoSystem     bool // whether the model rejects system messages
	OneSampler   bool // whether the model rejects temperature and top_p together
	FixedSampler bool // whether the model rejects temperature, top_p and top_k
	Status       bool // whether the model supports toolResult.status
	OneCall      bool // whether the model accepts tool_choice.disable_parallel_tool_use in additionalModelRequestFields
	ReportsStop  bool // whether the model reports the matched stop sequence in an additional field

	// CallID converts the ID of a tool call to an ID that the model accepts. nil selects the default rule of the
	// format. CallID must be deterministic.
	CallID func(string) string
}

// ThinkingRules describes how thinking is requested from a model, and how the model returns and accepts thinking.
type ThinkingRules struct {
	Thinking     Thinking // way to request thinking
	Efforts      []string // supported effort levels, lowest first
	AlwaysThinks bool     // whether thinking is always on; such a model cannot be forced to call a tool
	ShowThinking bool     // whether the model returns its thinking only if the request asks for it
	KeepThinking bool     // whether the model accepts the thinking of earlier turns
}

// Force describes how a tool call can be forced.
type Force int

// Values of Force. Each value includes the previous values.
const (
	ForceNone  Force = iota // a call cannot be forced
	ForceAny                // the request can force a call of any tool
	ForceNamed              // the request can force a call of a specific tool
)

// Thinking describes how thinking is requested.
type Thinking int

// Values of Thinking.
const (
	ThinkUnset    Thinking = iota // thinking is not supported
	ThinkBudget                   // member "thinking" with a token budget
	ThinkAdaptive                 // member "thinking" of type "adaptive", and outputConfig.effort
	ThinkNova                     // member "reasoningConfig" with an effort level
	ThinkEffort                   // member "reasoning_effort"
)

// Cache describes where cache points are allowed.
type Cache int

// Values of Cache. Each value includes the previous values.
const (
	CacheNowhere Cache = iota
	CacheText          // cache points after system messages and messages
	CacheTools         // cache points after system messages, messages and tools
)

// maxCachePoints is the maximum number of cache points in a request.
const maxCachePoints = 4

// lenient accepts all JSON that other parsers accept, because the arguments and schemas in a request, and responses, are not checked
// strictly. Raw values keep their escapes.
var lenient = json.JoinOptions(
	jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true), jsontext.EscapeForJS(true),
)

func encode(v any) (jsontext.Value, error) { return json.Marshal(v, lenient) }

func decode(data []byte, into any) error { return json.Unmarshal(data, into, lenient) }
