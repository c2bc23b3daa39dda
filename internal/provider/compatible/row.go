// Package compatible is every vendor that speaks the chat format, OpenAI included: one row of data each. What a vendor
// does differently is said in its row, and what a model does differently in the catalog; there is no vendor's own code.
package compatible

import (
	"slices"
	"strings"

	"fairlead/internal/llm"
	"fairlead/internal/provider"
	"fairlead/internal/wire/chat"
	"fairlead/internal/wire/chatconv"
)

// Row is one row: who it is, where it is, and what it does unlike the others.
type Row struct {
	Name    string // as in the catalog's offers
	Title   string // as people call it
	BaseURL string // {NAME} stands for the value of an environment variable; empty when it must be configured
	Env     []string
	URLEnv  string // the variable that replaces BaseURL, where the vendor's own tools know one

	ChatPath     string // relative to BaseURL; empty when it offers no chat
	EmbedPath    string
	CompletePath string // of bare prompts (legacy completions)
	ModeratePath string
	ModelsPath   string
	Auth         string // header that carries the bare key; empty for Authorization: Bearer
	// PromptsApart says that bare prompts are for models of their own: its chat models refuse them.
	PromptsApart bool

	Local    bool // runs on this machine: found by looking, needs no key, costs nothing per token
	Collects bool // may keep or train on what it is sent

	EmbedBatch int // most inputs that one embeddings call takes; 0 for no bound that clients meet

	Lacks   llm.Abilities // what it serves no model with
	Asks    Asks
	Prefill Prefill          // how a model that can go on with its own message is told to
	Takes   chatconv.Accepts // beyond what all vendors take; it matters to callers who speak another format
	Answer  Answer
}

// Prefill is how a vendor is told that the last message is the beginning of the answer.
type Prefill string

// The ways of a prefill.
const (
	NoPrefill     Prefill = ""       // it takes the message for a finished one, or refuses it
	PlainPrefill  Prefill = "plain"  // by the message being the assistant's
	MarkedPrefill Prefill = "marked" // by `prefix: true` in the message
)

// Asks is what must change in a request before the vendor takes it. Names are those of top-level members.
type Asks struct {
	MaxTokensOnly   bool                         // knows max_tokens, not max_completion_tokens
	NoStreamOptions bool                         // refuses stream_options
	NoBase64        bool                         // gives vectors as numbers only, and may not know encoding_format
	NoTokenIDs      bool                         // embeds text, not token ids
	NineCharCallIDs bool                         // takes no tool-call ids but those of nine letters and digits
	Accepts         []string                     // refuses every member but these, as the caller names them; nil accepts all
	Drop            []string                     // refuses these
	Rename          map[string]string            // knows these by another name
	Values          map[string]map[string]string // knows these values, as JSON, by another name
	Weaker          map[string]map[string]string // knows only something weaker than these values: the caller is warned
}

// Answer is what differs in what the vendor sends back.
type Answer struct {
	UsageAt        string // where a stream's usage is, when not in usage: a path such as x_groq.usage
	ReasoningOnTop bool   // counts reasoning tokens beside completion_tokens, not inside
}

// Rows lists the rows by name.
func Rows() []Row {
	rows := slices.Concat(first, hosts, local)
	slices.SortFunc(rows, func(a, b Row) int { return strings.Compare(a.Name, b.Name) })
	return rows
}

// Find returns the row of this name.
func Find(name string) (Row, bool) {
	for _, rows := range [][]Row{first, hosts, local} {
		if i := slices.IndexFunc(rows, func(v Row) bool { return v.Name == name }); i >= 0 {
			return rows[i], true
		}
	}
	return Row{}, false
}

// Vendor is the row as the rest of the program knows vendors.
func (r Row) Vendor() provider.Vendor {
	return provider.Vendor{
		Name: r.Name, Title: r.Title, Format: chat.Name, BaseURL: r.BaseURL, URLEnv: r.URLEnv, Env: r.Env, Local: r.Local,
		New: func(s provider.Settings) *provider.Provider { return New(r, s) },
	}
}

// Plain is a vendor at an address of its own that speaks the format without quirks that we know of.
func Plain(name, title string) provider.Vendor {
	return Row{
		Name: name, Title: title,
		ChatPath: chatPath, EmbedPath: embedPath, CompletePath: completePath, ModeratePath: moderatePath, ModelsPath: modelsPath,
		Prefill: PlainPrefill,
	}.Vendor()
}
