// Package provider says what we need of a provider: what it offers, how a call to it is built and how its answer is
// read. Nothing here or below performs I/O; the gateway makes the call in between.
package provider

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"sync"
	"time"

	"fairlead/internal/catalog"
	"fairlead/internal/llm"
)

// Target is a model at a provider, with a price.
type Target struct {
	Provider   string
	Vendor     string // whose API the provider is, such as openai
	Model      *catalog.Model
	Upstream   string         // the name the provider knows the model by
	Price      *catalog.Price // nil when unknown
	FirstToken time.Duration  // how long the first token may take while another target remains
	Waits      Waits          // for it alone
	Listed     bool           // from the provider's own list of models, not from the catalog or the configuration
	Simulated  bool
	Collects   bool     // the provider may store or train on requests
	Tags       []string // what policies may select it by
	// Lacks is what the provider's API cannot carry, whatever the model: a fact, where abilities of models are a table.
	Lacks       llm.Abilities
	InlineMedia bool // pictures and files travel by their bytes only, not by URL
	EmbedBatch  int  // most inputs that one embeddings call takes; 0 for no bound
	Completes   bool // its chat models answer bare prompts too (legacy completions)
	// ZeroRetention marks providers that the operator declares to store nothing.
	ZeroRetention bool
}

// Waits holds the timeouts of one target. Zero values use the gateway's timeouts.
type Waits struct {
	Connect time.Duration // until the connection is ready
	Headers time.Duration // until the status of a stream
	Idle    time.Duration // longest silence within an answer
	Total   time.Duration // deadline of requests that the target is the first choice for
}

// ID names the target as people write it: provider/model.
func (t *Target) ID() string { return t.Provider + "/" + t.Model.Name }

// NamedOnly reports whether the target serves only requests that name its model: nothing but its name is known.
func (t *Target) NamedOnly() bool { return t.Listed && t.Price == nil }

// Serves reports whether the target does op.
func (t *Target) Serves(op llm.Op) bool {
	return t.Model.Op == op || op == llm.Complete && t.Completes && t.Model.Op == llm.Chat
}

// Provider is one configured upstream. A nil Exchange means that it does not offer the operation.
type Provider struct {
	Name        string
	Title       string // as people call it, such as "Mistral AI"
	BaseURL     string
	Simulated   bool
	Credentials []Credential
	Chat        Exchange
	Embed       Exchange
	Complete    Exchange
	Moderate    Exchange
	Targets     []*Target
	ModelsPath  string // path of the model list, relative to BaseURL; empty when there is none
	Authorize   func(h http.Header, secret string)
	// Login exchanges a credential for the short-lived token that is presented in its place. It is called before every
	// call, so it keeps what it got; it is safe for concurrent use. nil when the secret itself is presented.
	Login func(ctx context.Context, secret string) (string, error)
	// Parts returns the parts of a credential that are secret by themselves, such as an access key and its session token.
	// nil when a credential has no parts.
	Parts      func(secret string) []string
	Transport  http.RoundTripper // nil for the network
	Concurrent int               // most requests at a time; 0 for no cap
}

// Secrets returns a credential and its parts: the texts that must not appear in anything the gateway returns or stores. It
// returns nil when the credential has no parts and is presented as it is.
func (p *Provider) Secrets(secret string) []string {
	if p.Parts == nil {
		return nil
	}
	return append([]string{secret}, p.Parts(secret)...)
}

// Exchange returns how the provider does op, or nil.
func (p *Provider) Exchange(op llm.Op) Exchange {
	switch op {
	case llm.Embed:
		return p.Embed
	case llm.Complete:
		return p.Complete
	case llm.Moderate:
		return p.Moderate
	default:
		return p.Chat
	}
}

// Target returns the provider's target for a canonical model name.
func (p *Provider) Target(model string) (*Target, bool) {
	i := slices.IndexFunc(p.Targets, func(t *Target) bool { return t.Model.Name == model })
	if i < 0 {
		return nil, false
	}
	return p.Targets[i], true
}

// Credential is one secret of a provider. Its ID appears in logs and pages, its Secret nowhere.
type Credential struct {
	ID     string // such as "openai#1"
	Secret string
	Source string // where it came from: "env OPENAI_API_KEY", "file", "dashboard"
}

// Hint is what may be shown of the secret: the last four characters of a long one. A cloud identity has no secret to show.
func (c Credential) Hint() string {
	if c.Secret == Identity {
		return ""
	}
	if len(c.Secret) < 12 {
		return "…"
	}
	return "…" + c.Secret[len(c.Secret)-4:]
}

// Call is the input of one attempt.
type Call struct {
	Target  *Target
	Secret  string   // presented to the provider
	Secrets []string // masked in responses in addition to Secret
	Request *llm.Request
	// Client is the format that the request came in, for an adapter that speaks another one.
	Client Client
	// Joins says that Client.EncodeResponse is to write the answer even where the provider speaks the caller's format: it goes on with
	// one that broke.
	Joins bool
	// Prefilled says that the last message is the beginning of the answer, which the model is to go on with.
	Prefilled bool
	// MaxOutput bounds the answer of a request that has no bound of its own; 0 for none.
	MaxOutput int64
	// Counter counts an answer whose provider tells no usage, for callers who are told it. It may be nil.
	Counter  llm.Counter
	Warnings []string // what the adapter had to change so that the target takes the request; the adapter adds to it
}

// Warn records a change to the request as a sentence for the client.
func (c *Call) Warn(format string, args ...any) {
	if len(c.Warnings) < MaxWarnings {
		c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...))
	}
}

// WarnBound tells the caller that MaxOutput bounds its answer, unless the model would not write more anyway. The name is
// that of the member in the provider's format.
func (c *Call) WarnBound(name string) {
	if most := c.Target.Model.MaxOutput; most == 0 || c.MaxOutput < most {
		c.Warn("%s set to %d: a budget or a policy allows no more", name, c.MaxOutput)
	}
}

// CustomTool returns a function that reports tools that take free text. It converts the request once, on the first tool
// call.
func (c *Call) CustomTool() func(name string) bool {
	custom := sync.OnceValue(func() map[string]bool {
		names := map[string]bool{}
		conv, err := c.Client.Conversation(context.Background(), c.Request)
		if err != nil {
			return nil // it was read before, to build the call
		}
		for _, t := range conv.Tools {
			if t.Custom {
				names[t.Name] = true
			}
		}
		return names
	})
	return func(name string) bool { return custom()[name] }
}

// Client is what an adapter needs of the caller's format when its own is another.
type Client interface {
	// Conversation reads a chat request into our own words.
	Conversation(ctx context.Context, req *llm.Request) (*llm.Conversation, error)
	// EncodeResponse writes an answer in the caller's format: many events for a stream, one for a whole answer. model is the name
	// the client is told. An error among the deltas is passed on and ends the events.
	EncodeResponse(req *llm.Request, model string, deltas iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Event, error]
}

// Exchange builds the call for one operation and reads its answer. It never makes the call.
type Exchange interface {
	// NewRequest builds the HTTP request. It sets its own headers only: nothing of the client's travels on.
	NewRequest(ctx context.Context, c *Call) (*http.Request, error)
	// Events reads a 2xx answer, whole or streamed, in order. An answer that ends before its finish is an error
	// (llm.UpstreamCut), never a clean end.
	Events(c *Call, resp *http.Response) llm.Stream
	// Failure classifies an answer that is not 2xx. It may read a bounded part of the body.
	Failure(c *Call, resp *http.Response) *llm.Error
}
