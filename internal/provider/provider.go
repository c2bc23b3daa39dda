// Package provider defines providers: their targets, the construction of calls, and the decoding of responses. This package and its
// subpackages perform no I/O; the gateway sends the call.
package provider

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
)

// Target is a model at a provider.
type Target struct {
	Provider   string
	Vendor     string // vendor of the API, such as openai
	Model      *catalog.Model
	Upstream   string         // name of the model at the provider
	Price      *catalog.Price // price of the model at the provider; nil if unknown
	FirstToken time.Duration  // timeout for the first token; ignored for the last remaining target
	Waits      Waits          // timeouts for calls to this target
	Listed     bool           // whether the target is known only from the provider's model list, not from the catalog or the configuration
	Simulated  bool
	Tags       []string // tags that policies can select
	Retention
	Traits
	Efforts []string // reasoning efforts that the model accepts at this provider, lowest first; nil if unknown
	Effort  string   // reasoning effort that the router chose; if empty, the effort in the client's request is sent
}

// Retention describes whether a provider stores requests.
type Retention struct {
	Collects      bool // whether the provider may store requests or train on them
	ZeroRetention bool // whether the operator declares that the provider stores nothing
}

// Traits describes the abilities and limits of the provider's API for a target.
type Traits struct {
	Lacks         llm.Abilities // abilities that the API cannot express for any model
	ResponsesOnly bool          // whether the model is available only through the Responses API
	NoStream      bool          // whether the model does not stream; the adapter then converts the response to a stream
	InlineMedia   bool          // whether images and files are accepted only as bytes, not by URL
	EmbedBatch    int           // maximum number of inputs in one embeddings call; 0 for no limit
	Completes     bool          // whether chat models also serve legacy completions
	// Signs is the wire format of a provider that signs the reasoning before tool calls and expects it back with the
	// tool results; empty for other providers.
	Signs    string
	EndMark  bool // whether the adapter can set a prompt-cache mark at the end of the prompt
	CacheKey bool // whether requests with the same key use the same prompt cache
}

// Waits holds the timeouts of one target. A zero field selects the gateway's timeout.
type Waits struct {
	Connect time.Duration // maximum time until the connection is ready
	Headers time.Duration // maximum time until the response headers of a stream
	Idle    time.Duration // maximum time between two events of a response
	Total   time.Duration // time limit for requests that try this target first
}

// ID returns provider/model.
func (t *Target) ID() string { return t.Provider + "/" + t.Model.Name }

// NamedOnly reports whether the target serves only requests that name its model, because only its name is known.
func (t *Target) NamedOnly() bool { return t.Listed && t.Price == nil }

// Serves reports whether the target supports op.
func (t *Target) Serves(op llm.Op) bool {
	return t.Model.Op == op || op == llm.Complete && t.Completes && t.Model.Op == llm.Chat
}

// Provider is one configured upstream.
type Provider struct {
	Name        string
	Title       string // display name, such as "Mistral AI"
	BaseURL     string
	Simulated   bool
	Credentials []Credential
	Exchanges
	Targets    []*Target
	ModelsPath string // path of the model list, relative to BaseURL; empty if the provider has no list
	Authorize  func(h http.Header, secret string)
	// Login exchanges a credential for a short-lived token, which is sent instead of the credential. It is called before every call
	// and therefore caches tokens. It is safe for concurrent use. Login is nil if the secret itself is sent.
	Login func(ctx context.Context, secret string) (string, error)
	// Parts returns the parts of a credential that are themselves secret, such as an access key and its session token.
	// It is nil if credentials have no parts.
	Parts      func(secret string) []string
	Transport  http.RoundTripper // sends the calls; nil to send them over the network
	Concurrent int               // maximum concurrent requests; 0 for no limit
}

// Exchanges holds the operations of a provider. If an Exchange is nil, the operation is not supported.
type Exchanges struct {
	Chat     Exchange
	Embed    Exchange
	Complete Exchange
	Moderate Exchange
	Media    Exchange // audio, images and reranking
	Realtime Exchange // WebSocket sessions; NewRequest builds the handshake, and Events is not used
	Stored   Exchange // operations on stored responses; its calls have no target and no request
	Objects  Exchange // files and batches; its calls have no target and no request
}

// Secrets returns a credential together with its parts, or nil if credentials have no parts. None of them may appear in data that the
// gateway returns or stores.
func (p *Provider) Secrets(secret string) []string {
	if p.Parts == nil {
		return nil
	}
	return append([]string{secret}, p.Parts(secret)...)
}

// Exchange returns the implementation of op, or nil.
func (e *Exchanges) Exchange(op llm.Op) Exchange {
	switch op {
	case llm.Realtime:
		return e.Realtime
	case llm.Speech, llm.Transcribe, llm.GenerateImages, llm.Rerank:
		return e.Media
	case llm.Embed:
		return e.Embed
	case llm.Complete:
		return e.Complete
	case llm.Moderate:
		return e.Moderate
	default:
		return e.Chat
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

// Credential is one secret of a provider. The ID appears in logs and in the dashboard; the Secret never does.
type Credential struct {
	ID     string // ID of the credential, such as "openai#1"
	Secret string
	Source string // origin: "env OPENAI_API_KEY", "file", "dashboard"
}

// Hint returns the displayable part of the secret: the last four characters of a long secret. A cloud identity has
// none.
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
	Target *Target
	Access
	Request *llm.Request
	// Client is the client's format, for adapters that use another format.
	Client Client
	// Joins reports whether the response continues an interrupted response. Client.EncodeResponse then encodes the response even if the
	// provider uses the client's format.
	Joins bool
	// Prefilled reports whether the last message is the beginning of the response, which the model continues.
	Prefilled bool
	// MaxOutput is the output limit for a request without one; 0 for none.
	MaxOutput int64
	// Cache holds additions to the request for the provider's prompt cache.
	Cache CacheHints
	// Counter estimates usage that the provider does not report, for clients that receive usage. It may be nil.
	Counter  llm.Counter
	Warnings []string // changes to the request for this target, added by the adapter
	Sealing
	// Operation is the operation of a call to Provider.Stored; nil for all other calls.
	Operation *StoredOperation
	// Object is the operation of a call to Provider.Objects; nil for all other calls.
	Object *ObjectOperation
}

// Access is the credential used for a call.
type Access struct {
	Secret     string   // secret sent to the provider
	Credential string   // id of the credential that Secret belongs to
	Secrets    []string // additional secrets that are masked in responses
}

// Sealing holds the data for replacing the ids of stored responses with ids that only the workspace can use.
type Sealing struct {
	Workspace string // id of the caller's workspace
	Session   string // id of the session; empty if there is none
	// SealID returns the id that the client receives for a response that the provider stores. If SealID is nil, the client
	// receives the provider's id.
	SealID func(llm.StoredResponse) string
}

// CacheHints holds additions to a request for the provider's prompt cache. An adapter clears the hints that it does not send.
type CacheHints struct {
	Mark string // lifetime of a mark at the end of the prompt, 5m or 1h; empty for none
	Key  string // prompt-cache key; requests with the same key use the same cache; empty for none
}

// StoredOperation is an operation on a response that the provider stores.
type StoredOperation struct {
	Response llm.StoredResponse
	Method   string
	Part     string     // path under the response, such as input_items; empty for the response itself
	Query    url.Values // query of the client's request
	Stream   bool       // whether the client reads the response as events
	// ModelName returns the client-visible name for the provider's model name.
	ModelName func(reported string) string
}

// ObjectOperation is an operation on the files and batches of a provider account.
type ObjectOperation struct {
	Credential  string // ID of the account's credential
	Method      string
	Path        []string // path segments relative to the provider's address, such as files, file-1, content
	Body        []byte   // request body; nil for none
	ContentType string   // content type of Body
}

// Warn records a change to the request as a message for the client.
func (c *Call) Warn(format string, args ...any) {
	if len(c.Warnings) < MaxWarnings {
		c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...))
	}
}

// WarnBound warns that MaxOutput limits the output, unless the model's own limit is lower. name is the limit's name in
// the provider's format.
func (c *Call) WarnBound(name string) {
	if limit := c.Target.Model.MaxOutput; limit == 0 || c.MaxOutput < limit {
		c.Warn("%s set to %d: %s", name, c.MaxOutput, boundReason)
	}
}

// ResponseID returns the ID that the client receives for a response that the provider stores with the call's credential.
func (c *Call) ResponseID(provider, id string) string {
	if c.SealID == nil {
		return id
	}
	return c.SealID(llm.StoredResponse{Workspace: c.Workspace, Provider: provider, Credential: c.Credential, ID: id, Session: c.Session})
}

const boundReason = "a budget or a policy allows no more"

// RequireParameters returns an error of kind Untranslatable if the client set require_parameters and the built request
// changes or omits a parameter. A limit set by a budget or a policy does not count as a change.
func (c *Call) RequireParameters() error {
	if !c.Request.Controls.Provider.RequireParameters {
		return nil
	}
	for _, warning := range c.Warnings {
		if !strings.HasSuffix(warning, boundReason) {
			return llm.Errorf(llm.Untranslatable, "%s cannot serve this request with its parameters unchanged, as provider.require_parameters requires: %s", c.Target.ID(), warning)
		}
	}
	return nil
}

// CustomTool returns a function that reports whether a tool accepts free text. The request is converted once, on the first call of the
// function.
func (c *Call) CustomTool() func(name string) bool {
	custom := sync.OnceValue(func() map[string]bool {
		names := map[string]bool{}
		conv, err := c.Conversation()
		if err != nil {
			return nil // unreachable: the request was converted to build the call
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

// Client contains the parts of the client's format that adapters of other formats need.
type Client interface {
	// EncodeResponse encodes a response in the client's format: several events for a stream, one event otherwise. model is the model name
	// in the encoded response. An error among the deltas is yielded and ends the events.
	EncodeResponse(req *llm.Request, model string, deltas iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Event, error]
}

// Restorer is implemented by clients that add reasoning to the conversation of a request, because the caller did not send it back.
type Restorer interface {
	// Restore returns the conversation with the reasoning. It does not change conv.
	Restore(conv *llm.Conversation) *llm.Conversation
}

// Conversation returns the conversation of the request for a provider of another format, with restored reasoning and the effort of the
// target. Reasoning that only the target's effort requests is hidden.
func (c *Call) Conversation() (*llm.Conversation, error) {
	conv, err := c.Request.Translate()
	if err != nil {
		return nil, err
	}
	if r, ok := c.Client.(Restorer); ok {
		conv = r.Restore(conv)
	}
	if c.Target.Effort != "" {
		changed := *conv
		changed.Effort.Hide = conv.Effort.Hide || conv.Effort == llm.Effort{}
		changed.Effort.Level = c.Target.Effort
		conv = &changed
	}
	return conv, nil
}

// Exchange builds the call for one operation and decodes its response. It never sends the call.
type Exchange interface {
	// NewRequest builds the HTTP request with its own headers. The client's headers are not forwarded.
	NewRequest(ctx context.Context, c *Call) (*http.Request, error)
	// Events decodes a 2xx response, streamed or not, and returns its events in order. A response that ends before its finish event is an
	// error (llm.StreamInterrupted), never a normal end.
	Events(c *Call, resp *http.Response) llm.Stream
	// Failure classifies a response that is not 2xx. It may read a limited part of the body.
	Failure(c *Call, resp *http.Response) *llm.Error
}
