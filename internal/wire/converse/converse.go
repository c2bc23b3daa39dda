// Package converse is the wire format of Amazon Bedrock's Converse API, as a provider speaks it: it writes conversations
// as the API takes them and reads its answers, whole or as a binary stream of events. Clients do not speak it.
package converse

// Name is the format's short name.
const Name = "converse"

// Dialect is what one family of models takes unlike the others. The zero value is a model about which nothing is known:
// it may be offered tools, and is given nothing that only some models know.
type Dialect struct {
	Title string // how sentences call the model's provider, such as "Amazon Bedrock"

	Force    Force    // how a tool call can be demanded
	Thinking Thinking // how thinking is asked for
	Efforts  []string // the levels of effort it knows, the least first
	TopK     string   // the member of additionalModelRequestFields that holds top_k; empty when there is none
	Cache    Cache    // where cache points may stand

	Schema       bool // outputConfig.textFormat, and strict tools
	AlwaysThinks bool // cannot be kept from thinking, and so takes no forced tool
	ShowThinking bool // hides its thinking unless asked to show it
	KeepThinking bool // takes the thinking of earlier turns back
	LongCache    bool // a cache point may last an hour
	NoSystem     bool // takes no instructions apart from messages
	OneSampler   bool // refuses temperature and top_p together
	FixedSampler bool // refuses temperature, top_p and top_k
	Status       bool // toolResult.status
	TellStop     bool // tells the stop sequence that was met in an additional field

	// CallID makes an id of a tool call that the model takes; nil for the format's own rule. The same id must always
	// become the same.
	CallID func(string) string
}

// Force is how a tool call can be demanded.
type Force int

// The ways to demand a tool call; each includes those before.
const (
	ForceNone  Force = iota // not at all
	ForceAny                // some tool
	ForceNamed              // one tool
)

// Thinking is how a model is asked to think.
type Thinking int

// The ways to ask for thinking.
const (
	ThinkUnset    Thinking = iota // there is no setting
	ThinkBudget                   // thinking: a budget of tokens
	ThinkAdaptive                 // thinking: adaptive, and outputConfig.effort
	ThinkNova                     // reasoningConfig: an effort
	ThinkEffort                   // reasoning_effort
)

// Cache is where cache points may stand.
type Cache int

// The places of cache points; each includes those before.
const (
	CacheNowhere Cache = iota
	CacheText          // behind instructions and messages
	CacheTools         // behind tools too
)

// maxCachePoints is how many cache points a request may have.
const maxCachePoints = 4
