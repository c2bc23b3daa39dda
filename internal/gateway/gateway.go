// Package gateway serves the model API below /proxy/v1. Start with run.go: it lists the steps of a request. The package does
// not depend on specific providers, formats or storage implementations.
package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"fairlead.dev/internal/batch"
	"fairlead.dev/internal/feedback"
	"fairlead.dev/internal/gateway/upstream"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/limit"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/promptcache"
	"fairlead.dev/internal/reasoning"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/responsecache"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/route/predict"
	"fairlead.dev/internal/session"
	"fairlead.dev/internal/upload"
)

// Log records requests durably.
type Log interface {
	// Begin records that a request is about to be dispatched. Without a later End, the request is listed as interrupted.
	Begin(e *requestlog.Entry) error
	// End records the complete entry. After a nil error the entry survives a crash of the process, and End keeps no reference to the
	// text of the response.
	End(e *requestlog.Entry) error
}

// Health reports the state of targets for routing.
type Health interface {
	// States returns a function that reports the state of a target at the given time, for a request with the given number of prompt tokens.
	States(now time.Time, tokens int64) func(target string) route.State
}

// Lengths reports how observed response lengths differ from predictions. Factors are 0 without observations.
type Lengths interface {
	// Factors returns the factors of a workspace for a task type.
	Factors(workspaceID string, task predict.Family) route.LengthFactors
	// Model returns the factor of a target's model.
	Model(target string) float64
}

// Policies returns the active policies.
type Policies interface {
	// For returns the policies of the instance and of a workspace, or nil if there are none.
	For(workspaceID string) *policy.Set
}

// Feedback stores ratings of responses, and learns from outcomes.
type Feedback interface {
	// For returns the corrections from a workspace's outcomes, or nil if there are none.
	For(workspaceID string) *feedback.Corrections
	// Rate stores a rating of a request in the workspace. It returns an *llm.Error for an invalid rating.
	Rate(ctx context.Context, r feedback.Rating) (feedback.Rating, error)
}

// Pinner stores the model that `auto` selects for a workspace's embeddings.
type Pinner interface {
	// PinEmbedding stores the model unless one is stored already, and returns the stored model.
	PinEmbedding(ctx context.Context, workspaceID, model string) (string, error)
}

// Tracing connects requests with the traces of their callers.
type Tracing interface {
	// Begin returns the trace context of a request. c is the context from the headers of the request.
	Begin(requestID string, c requestlog.TraceContext) requestlog.TraceContext
	// Propagate adds the trace context to a provider call, if the settings allow it. attempt is an index into the entry's attempts.
	Propagate(h http.Header, e *requestlog.Entry, provider string, attempt int)
}

// Routing holds the inputs of routing decisions other than the request and the snapshot. Policies, Feedback and Prefixes may be nil.
type Routing struct {
	Policies Policies
	Feedback Feedback
	Prefixes *promptcache.Memory
	Lengths  Lengths // nil to use predicted lengths without correction
	Pins     Pinner
}

// Parts holds the dependencies of a Gateway.
type Parts struct {
	Routes   []Route // model endpoints under Prefix
	Settings Settings
	Snapshot *route.Snapshot
	Access
	Health     Health
	Routing    Routing
	Sessions   *session.Namer // derives session IDs and enforces session limits; nil to disable both
	Dispatcher *upstream.Dispatcher
	Responses
	// PublishEnd sends a message to the other replicas, which pass it to ReceiveEnd; nil for a single replica.
	PublishEnd func(ctx context.Context, message string)
	// PublishSignatures sends a message to the other replicas, which pass it to Reasoning.Receive; nil for a single replica. It must not block.
	PublishSignatures func(message string)
	StoredIDs         StoredIDs    // parses IDs of stored responses; nil if providers store no responses
	Objects           batch.Store  // storage for files and batches; nil if the gateway offers none
	Owners            batch.Owners // owners of Objects; nil to skip the ownership check for files named in requests
	Recording
}

// Access decides whether a request is accepted. This depends on its key, its limits, its budgets and the load of the process.
type Access struct {
	Keys      Keys
	Limits    limit.Limiter
	Admission *limit.AdmissionQueue // admission queue for CPU slots; nil for no limit
	Ledger    ledger.Ledger
}

// Responses holds the components that store and compare responses. Every field may be nil.
type Responses struct {
	Cache     *responsecache.Cache
	Comparer  Comparer
	Reasoning *reasoning.Store
}

// Recording holds the log, the tracing and the functions that observe requests.
type Recording struct {
	Log     Log
	Observe func(*requestlog.Entry) // called for every finished request
	Started func(*requestlog.Entry) // called for every dispatched request
	Logger  *slog.Logger
	Tracing Tracing // nil if requests are not traced
}

// Gateway serves the model API.
type Gateway struct {
	Parts
	*Inflight
	settings atomic.Pointer[Settings]
	snapshot atomic.Pointer[route.Snapshot]
	uploads  upload.Budget
	objects  objectState

	background background
}

// New returns a gateway that serves p.Snapshot with p.Settings.
func New(p Parts) *Gateway {
	g := &Gateway{
		Parts:    p,
		Inflight: newInflight(),
	}
	g.background.ctx, g.background.stop = context.WithCancel(context.Background())
	g.background.slots.Reserve, g.background.running = true, map[llm.StoredResponse]chan llm.Event{}
	if g.Routing.Policies == nil {
		g.Routing.Policies = noPolicies{}
	}
	if g.Routing.Feedback == nil {
		g.Routing.Feedback = noFeedback{}
	}
	if g.StoredIDs == nil {
		g.StoredIDs = noop{}
	}
	if g.Admission == nil {
		g.Admission = &limit.AdmissionQueue{}
	}
	g.Update(p.Settings, p.Snapshot)
	return g
}

// Update replaces settings and targets. Running requests keep the settings and targets that they started with.
func (g *Gateway) Update(s Settings, snap *route.Snapshot) {
	g.settings.Store(&s)
	g.snapshot.Store(snap)
}

// Targets returns the active targets and prices.
func (g *Gateway) Targets() *route.Snapshot { return g.snapshot.Load() }

// Drain rejects new requests and waits for running ones until ctx is done. Then it ends the remaining ones with an error. For background
// responses, it completes the log entries with an estimated usage.
func (g *Gateway) Drain(ctx context.Context) {
	g.Inflight.Drain(ctx)
	g.background.stop()
	g.background.tasks.Wait()
}

// noop stands in for the IDs of stored responses if they are not configured.
type noop struct{}

func (noop) Open(string, string) (llm.StoredResponse, bool) { return llm.StoredResponse{}, false }

type noPolicies struct{}

func (noPolicies) For(string) *policy.Set { return nil }

type noFeedback struct{}

func (noFeedback) For(string) *feedback.Corrections { return nil }

func (noFeedback) Rate(context.Context, feedback.Rating) (feedback.Rating, error) {
	return feedback.Rating{}, llm.Errorf(llm.NotFound, "This gateway does not accept feedback.")
}
