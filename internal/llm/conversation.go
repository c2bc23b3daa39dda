package llm

import (
	"encoding/json"
	"slices"
)

// Conversation is a chat request in our own words. It is made only when the caller and the provider speak different
// formats: between the same formats the bytes pass. Nothing in it is changed after it was read.
type Conversation struct {
	Messages []Message

	Tools         []Tool
	ToolChoice    ToolChoice
	ParallelTools *bool // nil leaves it to the model

	Output    Output
	MaxOutput int64 // 0 when not given
	Stop      []string
	Choices   int // answers asked for, at least 1
	Effort    Effort
	Verbosity string // low, medium, high; empty when not given
	Sampling  Sampling

	EndUser     string
	ServiceTier string

	// Dropped names the members of the request that have no place here, as the caller wrote them. An adapter that sends
	// the conversation in another format warns of each.
	Dropped []string
}

// MaxDropped bounds Conversation.Dropped. Callers are shown far fewer names.
const MaxDropped = 64

// DropField adds a name to Dropped, once.
func (c *Conversation) DropField(name string) {
	if len(c.Dropped) < MaxDropped && !slices.Contains(c.Dropped, name) {
		c.Dropped = append(c.Dropped, name)
	}
}

// Includes returns a function that reports whether Names has a tool.
func (c ToolChoice) Includes() func(name string) bool {
	names := make(map[string]bool, len(c.Names))
	for _, name := range c.Names {
		names[name] = true
	}
	return func(name string) bool { return names[name] }
}

// CalledTools returns the names of all tools that the messages have calls of, each once, in order.
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

// Role says who speaks. The results of tools are parts of what the user says.
type Role string

// The roles of a conversation.
const (
	System    Role = "system" // instructions at any position
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is what one side says in one turn.
type Message struct {
	Role  Role
	Name  string // the speaker's own name, where one is given
	Parts []Part
}

// PartKind says which fields of a Part count.
type PartKind string

// The kinds of parts.
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

// Part is one piece of a message.
type Part struct {
	Kind     PartKind
	Text     string      // text and refusal
	Media    *Media      // image, audio and file
	Thinking *Thinking   // thinking
	Call     *ToolCall   // tool_call
	Result   *ToolResult // tool_result
	Cache    *CacheMark  // a prompt cache may end here
}

// Media is an image, a sound or a document: by its bytes, by where it is, or by the provider's id for it.
type Media struct {
	Type   string // MIME type; empty when unknown
	Data   string // base64, standard alphabet
	URL    string
	FileID string // at the provider that keeps it
	Name   string // file name
	Detail string // images: auto, low, high; empty when not given
}

// Thinking is reasoning that a model showed or sealed. A seal is only good at the provider that made it.
type Thinking struct {
	Text      string `json:"text,omitempty"`
	Signature string `json:"signature,omitempty"`
	Redacted  string `json:"sealed,omitempty"` // opaque data in place of the text
	Provider  string `json:"provider,omitempty"`
}

// ToolCall is a model's wish to have a tool run.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string // JSON text as the model wrote it; for custom tools any text. May be empty
	Custom    bool   // a tool that takes free text
	// Signature is the provider's seal on the call, good only at Provider.
	Signature string
	Provider  string
}

// ToolResult is what a tool gave.
type ToolResult struct {
	ID     string // of the call
	Name   string // of the tool, where known
	Parts  []Part
	Failed bool
}

// CacheMark says that the prompt up to here is worth keeping.
type CacheMark struct {
	TTL string // 5m or 1h; empty for the provider's usual
}

// Tool is something that the model may ask to have run.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // of the arguments, members in the caller's order; nil for none
	Strict      *bool
	Cache       *CacheMark

	Custom bool            // takes free text
	Format json.RawMessage // custom: what text; nil for any

	// Hosted is the type of a tool that the provider runs itself, such as web_search; Raw is its whole description.
	Hosted string
	Raw    json.RawMessage
}

// ToolChoice says whether the model may, must or must not call a tool.
type ToolChoice struct {
	Mode  ChoiceMode
	Names []string // one tool that must be called, or those that may be; nil for all
}

// ChoiceMode is how free the model is.
type ChoiceMode string

// The modes of a ToolChoice.
const (
	ChoiceUnset ChoiceMode = ""         // the caller said nothing
	ChoiceAuto  ChoiceMode = "auto"     // may call
	ChoiceMust  ChoiceMode = "required" // must call
	ChoiceNone  ChoiceMode = "none"     // must not call
)

// Output says what shape the answer has.
type Output struct {
	Kind        OutputKind
	Name        string
	Description string
	Schema      json.RawMessage // members in the caller's order
	Strict      *bool
}

// OutputKind is the shape of an answer.
type OutputKind string

// The shapes of an answer.
const (
	OutputText   OutputKind = "" // anything
	OutputJSON   OutputKind = "json_object"
	OutputSchema OutputKind = "json_schema"
)

// Effort is how much the model is to think.
type Effort struct {
	Level    string // none, minimal, low, medium, high, xhigh, max; empty when not given
	Budget   int64  // tokens; 0 when not given
	Adaptive bool   // the model decides
	Hide     bool   // do not show it
}

// Sampling are the settings of chance, as the caller wrote the numbers; an empty one was not given.
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

// HasCalls reports whether any message holds a tool call or a result of one.
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

// Turns returns the conversation as formats want it that keep instructions apart and let the sides alternate: the
// instructions of all System messages in order, and the other messages with neighbours of one role joined.
func (c *Conversation) Turns() (system []Part, turns []Message) {
	joined := false // the last turn has a list of parts of its own
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
			last.Parts, joined = slices.Clip(last.Parts), true // append must not write behind the message's own parts
		}
		last.Parts = append(last.Parts, m.Parts...)
	}
	return system, turns
}
