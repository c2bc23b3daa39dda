package llm

import (
	"encoding/json"
	"slices"
	"strings"
)

// Conversation is a chat request in a form that is independent of the wire format. Every chat request is decoded into it once. Providers of
// the same format receive the bytes of the request, all others an encoding of the conversation. It is immutable after decoding.
type Conversation struct {
	Messages []Message

	Tools         []Tool
	ToolChoice    ToolChoice
	ParallelTools *bool // whether the model may call tools in parallel; nil when not given

	Output    Output
	MaxOutput int64 // output limit in tokens; 0 when not given
	Stop      []string
	Choices   int // number of requested responses, at least 1
	Effort    Effort
	Verbosity string // low, medium or high; empty when not given
	Sampling  Sampling

	EndUser     string
	ServiceTier string

	// Dropped lists the members of the request that Conversation cannot represent. An adapter that sends the conversation
	// in another format adds a warning for each.
	Dropped []string
}

// MaxDropped is the maximum length of Conversation.Dropped.
const MaxDropped = 64

// DropField adds a name to Dropped if it is not listed yet.
func (c *Conversation) DropField(name string) {
	if len(c.Dropped) < MaxDropped && !slices.Contains(c.Dropped, name) {
		c.Dropped = append(c.Dropped, name)
	}
}

// Includes returns a function that reports whether the tool with the given name is in Names.
func (c ToolChoice) Includes() func(name string) bool {
	names := make(map[string]bool, len(c.Names))
	for _, name := range c.Names {
		names[name] = true
	}
	return func(name string) bool { return names[name] }
}

// CalledTools returns the names of the tools that the messages call, without duplicates, in order.
func (c *Conversation) CalledTools() []string {
	var names []string
	seen := map[string]bool{}
	for _, m := range c.Messages {
		for _, p := range m.Parts {
			if p.Kind == CallPart && !seen[p.Call.Name] {
				seen[p.Call.Name] = true
				names = append(names, p.Call.Name)
			}
		}
	}
	return names
}

// Role is the author of a message. Tool results are parts of user messages.
type Role string

// Roles of a conversation.
const (
	System    Role = "system" // instructions at any position
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is one message of the conversation.
type Message struct {
	Role  Role
	Name  string // name of the author, if given
	Parts []Part
}

// PartKind determines which fields of a Part are set.
type PartKind string

// Kinds of message parts.
const (
	TextPart     PartKind = "text"
	ImagePart    PartKind = "image"
	AudioPart    PartKind = "audio"
	FilePart     PartKind = "file"
	ThinkingPart PartKind = "thinking"
	RefusalPart  PartKind = "refusal"
	CallPart     PartKind = "tool_call"
	ResultPart   PartKind = "tool_result"
)

// Part is one piece of a message's content, such as text, an image or a tool call.
type Part struct {
	Kind     PartKind
	Text     string      // content of a text or refusal part
	Media    *Media      // content of an image, audio or file part
	Thinking *Thinking   // content of a thinking part
	Call     *ToolCall   // content of a tool_call part
	Result   *ToolResult // content of a tool_result part
	Cache    *CacheMark  // cache breakpoint after this part
}

// Media is an image, audio or a document, given as bytes, as a URL or as a file ID at the provider.
type Media struct {
	Type   string // MIME type; empty when unknown
	Data   string // content in base64, standard alphabet
	URL    string
	FileID string // ID of a file stored at the provider
	Name   string // file name
	Detail string // image detail: auto, low or high; empty when not given
}

// Thinking is a model's reasoning, as text or encrypted. A signature is valid only at the provider that created it.
type Thinking struct {
	Text      string `json:"text,omitempty"`
	Signature string `json:"signature,omitempty"`
	Redacted  string `json:"sealed,omitempty"` // opaque data in place of the text
	Provider  string `json:"provider,omitempty"`
}

// ToolCall is a model's request to run a tool.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string // JSON text as the model wrote it, or any text for custom tools; may be empty
	Custom    bool   // whether the tool accepts free text
	// Signature is the provider's signature of the call, valid only at Provider.
	Signature string
	Provider  string
}

// ToolResult is the result of a tool call.
type ToolResult struct {
	ID     string // ID of the call
	Name   string // name of the tool, if known
	Parts  []Part
	Failed bool
}

// CacheMark is a cache breakpoint: the prompt up to here should be cached.
type CacheMark struct {
	TTL string // lifetime: 5m or 1h; empty for the provider's default
}

// WithEndMark returns the conversation with a cache breakpoint after its last part. It returns false if the last message is not a user
// message or has no parts, or if the last part is blank text.
func (c *Conversation) WithEndMark(ttl string) (*Conversation, bool) {
	last := len(c.Messages) - 1
	if last < 0 || c.Messages[last].Role != User || len(c.Messages[last].Parts) == 0 {
		return c, false
	}
	marked := *c
	marked.Messages = slices.Clone(c.Messages)
	message := &marked.Messages[last]
	message.Parts = slices.Clone(message.Parts)
	part := &message.Parts[len(message.Parts)-1]
	if part.Kind == TextPart && strings.TrimSpace(part.Text) == "" { // providers drop or reject empty text
		return c, false
	}
	part.Cache = &CacheMark{TTL: ttl}
	return &marked, true
}

// Tool is a tool that the model may call.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // argument schema with members in the caller's order; nil for none
	Strict      *bool
	Cache       *CacheMark

	Custom bool            // whether the tool accepts free text
	Format json.RawMessage // text format of a custom tool; nil for any format

	// Hosted is the type of a tool that the provider runs, such as web_search.
	Hosted string
	Raw    json.RawMessage // complete definition of a tool with a type, for providers of the client's format
	Search *Search         // options of a web search; nil for other tools
}

// DescribeGrammar returns the description of a custom tool with its grammar, if any, for providers that cannot enforce the grammar.
func (t *Tool) DescribeGrammar() string {
	type definition struct {
		Syntax     string `json:"syntax"`
		Definition string `json:"definition"`
	}
	var format struct {
		definition            // in the Responses format, the grammar is not nested
		Grammar    definition `json:"grammar"` // in the chat format, the grammar is nested
	}
	if json.Unmarshal(t.Format, &format) != nil {
		return t.Description
	}
	g := format.definition
	if g.Definition == "" {
		g = format.Grammar
	}
	if g.Definition == "" {
		return t.Description
	}
	return strings.TrimSpace(t.Description + "\n\nThe input must match this grammar (" + g.Syntax + "):\n" + g.Definition)
}

// Search holds the options of a web search that the provider runs.
type Search struct {
	Allowed, Blocked []string // allowed and blocked domains; empty for no restriction
	MaxUses          int64    // maximum number of searches; 0 when not given
	ContextSize      string   // amount of search context: low, medium or high; empty when not given
	Place            Place    // location of the user
}

// Place is an approximate location. Fields that are not known are empty.
type Place struct {
	City, Region string
	Country      string // ISO country code
	Zone         string // IANA time zone
}

// ToolChoice determines whether the model may, must or must not call a tool.
type ToolChoice struct {
	Mode  ChoiceMode
	Names []string // tool that must be called, or tools that may be called; nil for all tools
}

// ChoiceMode is the mode of a ToolChoice.
type ChoiceMode string

// Modes of a ToolChoice.
const (
	ChoiceUnset ChoiceMode = ""         // the request has no tool choice
	ChoiceAuto  ChoiceMode = "auto"     // the model may call tools
	ChoiceMust  ChoiceMode = "required" // the model must call a tool
	ChoiceNone  ChoiceMode = "none"     // the model must not call tools
)

// Output is the requested format of the response.
type Output struct {
	Kind        OutputKind
	Name        string
	Description string
	Schema      json.RawMessage // JSON schema with members in the caller's order
	Strict      *bool
}

// OutputKind is the kind of an Output.
type OutputKind string

// Kinds of output.
const (
	OutputText   OutputKind = "" // text without constraints
	OutputJSON   OutputKind = "json_object"
	OutputSchema OutputKind = "json_schema"
)

// Effort is the requested amount of reasoning.
type Effort struct {
	Level    string // effort level: none, minimal, low, medium, high, xhigh or max; empty when not given
	Budget   int64  // thinking budget in tokens; 0 when not given
	Adaptive bool   // whether the model decides how much to reason
	Hide     bool   // whether to omit the reasoning from the response
}

// Sampling holds the sampling parameters as the caller wrote them. Parameters that were not given are empty.
type Sampling struct {
	Temperature      json.Number
	TopP             json.Number
	TopK             json.Number
	FrequencyPenalty json.Number
	PresencePenalty  json.Number
	Seed             json.Number
	Logprobs         bool
	TopLogprobs      int
}

// IsDefaultSampling reports whether the value is the one that models use if the setting is missing, so that nothing is lost without it.
func IsDefaultSampling(name string, value json.Number) bool {
	f, err := value.Float64()
	return err == nil && (f == 1 && (name == "temperature" || name == "top_p") || f == 0 && strings.HasSuffix(name, "_penalty"))
}

// HasCalls reports whether any message contains a tool call or a tool result.
func (c *Conversation) HasCalls() bool {
	for _, m := range c.Messages {
		for _, p := range m.Parts {
			if p.Kind == CallPart || p.Kind == ResultPart {
				return true
			}
		}
	}
	return false
}

// Turns returns the conversation for formats with separate instructions and alternating roles. system holds the parts
// of all System messages in order. turns holds the other messages, with adjacent messages of the same role joined.
func (c *Conversation) Turns() (system []Part, turns []Message) {
	joined := false // whether the parts of the last turn are a copy
	for _, m := range c.Messages {
		if m.Role == System {
			system = append(system, m.Parts...)
			continue
		}
		n := len(turns)
		if n == 0 || turns[n-1].Role != m.Role {
			turns, joined = append(turns, m), false
			continue
		}
		last := &turns[n-1]
		if !joined {
			last.Parts, joined = slices.Clip(last.Parts), true // append must not overwrite the message's own parts
		}
		last.Parts = append(last.Parts, m.Parts...)
	}
	return system, turns
}
