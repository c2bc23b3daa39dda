// Package compatible describes every vendor of the chat format, including OpenAI, as one row of data. A row holds the
// deviations of a vendor; the catalog holds the deviations of a model. No vendor has its own code.
package compatible

import (
	"slices"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/wire/chat"
	"fairlead.dev/internal/wire/chatconv"
	"fairlead.dev/internal/wire/responses"
)

// Row describes one vendor: its name, its address, and its deviations.
type Row struct {
	Name    string // as in the catalog's offers
	Title   string // display name
	BaseURL string // {NAME} is replaced by the environment variable NAME; empty if the operator must configure the address
	Env     []string
	URLEnv  string // variable that replaces BaseURL, as in the vendor's own tools

	ChatPath      string // relative to BaseURL; empty without chat
	ResponsesPath string // path of the Responses API; empty without it
	EmbedPath     string
	CompletePath  string // path of legacy completions
	ModeratePath  string
	ModelsPath    string
	RealtimePath  string // path of WebSocket sessions; empty without them
	Batches       bool   // offers files and batches at /files and /batches
	Auth          string // header that contains the key without a prefix; empty for Authorization: Bearer
	// PromptsApart means that chat models reject legacy completions, which have separate models.
	PromptsApart bool

	Local    bool // runs on this machine: detected by probing, needs no key, costs nothing per token
	Collects bool // may store or train on requests

	EmbedBatch int // maximum number of inputs in one embeddings call; 0 for no practical limit

	Lacks llm.Abilities // abilities that the vendor does not support for any model
	// CacheKey means that prompt_cache_key selects the prompt cache.
	CacheKey bool
	Asks     Asks
	Prefill  Prefill          // how a prefill is marked
	Takes    chatconv.Accepts // supported extensions, for clients of other formats
	Answer   Answer
}

// Prefill specifies how a vendor marks the last message as the beginning of the response.
type Prefill string

// Values of Prefill.
const (
	NoPrefill     Prefill = ""       // unsupported: the message counts as complete, or is rejected
	PlainPrefill  Prefill = "plain"  // the last message is an assistant message
	MarkedPrefill Prefill = "marked" // the message has `prefix: true`
)

// Asks describes the changes to a request that the vendor needs. Names are names of top-level members.
type Asks struct {
	MaxTokensOnly   bool                         // supports max_tokens, not max_completion_tokens
	NoStreamOptions bool                         // rejects stream_options
	NoBase64        bool                         // returns vectors only as numbers, and may reject encoding_format
	NoTokenIDs      bool                         // embeds text, not token ids
	NineCharCallIDs bool                         // accepts only tool-call ids of nine letters and digits
	Accepts         []string                     // accepted members, by the names that clients use; nil accepts all
	Drop            []string                     // rejected members
	Rename          map[string]string            // renamed members
	Values          map[string]map[string]string // renamed values, as JSON
	Weaker          map[string]map[string]string // values that are replaced by a weaker one, with a warning
}

// Answer describes deviations in the vendor's responses.
type Answer struct {
	UsageAt        string // path of a stream's usage, such as x_groq.usage; empty for usage
	ReasoningOnTop bool   // completion_tokens excludes reasoning tokens
}

// Rows returns the rows by name.
func Rows() []Row {
	rows := slices.Concat(first, hosts, local)
	slices.SortFunc(rows, func(a, b Row) int { return strings.Compare(a.Name, b.Name) })
	return rows
}

// Find returns the row with the given name.
func Find(name string) (Row, bool) {
	for _, rows := range [][]Row{first, hosts, local} {
		if i := slices.IndexFunc(rows, func(v Row) bool { return v.Name == name }); i >= 0 {
			return rows[i], true
		}
	}
	return Row{}, false
}

// Vendor returns the row as a provider.Vendor.
func (r Row) Vendor() provider.Vendor {
	return provider.Vendor{
		Name: r.Name, Title: r.Title, Format: chat.Name, BaseURL: r.BaseURL, URLEnv: r.URLEnv, Env: r.Env, Local: r.Local,
		New: func(s provider.Settings) *provider.Provider { return New(r, s) },
	}
}

// PlainResponses returns a vendor that serves the standard Responses API at a custom base URL.
func PlainResponses(name, title string) provider.Vendor {
	v := Row{Name: name, Title: title, ResponsesPath: responsesPath, ModelsPath: modelsPath}.Vendor()
	v.Format = responses.Name
	return v
}

// Plain returns a vendor that uses the chat format at another address, without deviations.
func Plain(name, title string) provider.Vendor {
	return Row{
		Name: name, Title: title,
		ChatPath: chatPath, EmbedPath: embedPath, CompletePath: completePath, ModeratePath: moderatePath, ModelsPath: modelsPath, RealtimePath: realtimePath,
		Prefill: PlainPrefill,
	}.Vendor()
}
