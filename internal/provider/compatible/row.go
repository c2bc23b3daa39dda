// Package compatible describes every vendor of the chat format, including OpenAI, as one row of data. A row holds the deviations of a
// vendor from the format; the catalog holds the deviations of a model. There is no vendor-specific code.
package compatible

import (
	"slices"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/wire/openai"
	"fairlead.dev/internal/wire/responses"
)

// Row describes one vendor: its name, its address, and its deviations from the format.
type Row struct {
	Name    string // name of the vendor, as used in the catalog's offers
	Title   string // display name of the vendor
	BaseURL string // base URL, in which {NAME} is replaced with the environment variable NAME; empty if the operator must configure it
	Env     []string
	URLEnv  string // environment variable that overrides BaseURL, as in the vendor's own tools

	ChatPath      string // path of chat completions, relative to BaseURL; empty if the vendor does not offer chat
	ResponsesPath string // path of the Responses API; empty if the vendor does not offer it
	EmbedPath     string
	CompletePath  string // path of legacy completions
	ModeratePath  string
	ModelsPath    string
	RealtimePath  string // path of WebSocket sessions; empty if the vendor does not offer them
	Batches       bool   // whether the vendor offers files and batches at /files and /batches
	Auth          string // header that contains the key without a prefix; empty for Authorization: Bearer
	// PromptsApart reports whether chat models reject legacy completions, which have separate models.
	PromptsApart bool

	Local    bool // whether the vendor is a server on this machine, which is detected by probing, needs no key, and costs nothing per token
	Collects bool // whether the vendor may store requests or train on them

	EmbedBatch int // maximum number of inputs in one embeddings call; 0 for no practical limit

	Lacks llm.Abilities // abilities that the vendor does not support for any model
	// CacheKey reports whether prompt_cache_key selects the prompt cache.
	CacheKey bool
	Asks     Asks
	Prefill  Prefill        // how a prefill is marked
	Takes    openai.Accepts // supported extensions, used for requests from clients of other formats
	Answer   Answer
}

// Prefill specifies how a vendor marks the last message as the beginning of the response.
type Prefill string

// Values of Prefill.
const (
	NoPrefill     Prefill = ""       // prefill is unsupported: the message counts as complete, or is rejected
	PlainPrefill  Prefill = "plain"  // prefill is marked only by its role: the last message is an assistant message
	MarkedPrefill Prefill = "marked" // prefill is marked with `prefix: true` in the last message
)

// Asks describes the changes to a request that the vendor requires. Names refer to top-level members.
type Asks struct {
	MaxTokensOnly   bool                         // whether the vendor supports max_tokens but not max_completion_tokens
	NoStreamOptions bool                         // whether the vendor rejects stream_options
	NoBase64        bool                         // whether the vendor returns vectors only as numbers, and may reject encoding_format
	NoTokenIDs      bool                         // whether the vendor embeds text but not token ids
	NineCharCallIDs bool                         // whether the vendor accepts only tool-call ids that consist of nine letters and digits
	Accepts         []string                     // accepted members, by the names that clients use; nil if all are accepted
	Drop            []string                     // rejected members, which are dropped
	Rename          map[string]string            // new names of members, by the names that clients use
	Values          map[string]map[string]string // replacement values in JSON, by member and value
	Weaker          map[string]map[string]string // weaker replacement values, by member and value; a replacement causes a warning
}

// Answer describes deviations in the vendor's responses.
type Answer struct {
	UsageAt        string // path of the usage in a stream, such as x_groq.usage; empty for the standard path, usage
	ReasoningOnTop bool   // whether completion_tokens excludes reasoning tokens
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
		Name: r.Name, Title: r.Title, Format: openai.Name, BaseURL: r.BaseURL, URLEnv: r.URLEnv, Env: r.Env, Local: r.Local,
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
