// Package gateway is the model API: it answers /proxy/v1. Read serve.go first: it is the life of one request.
// It knows neither a named provider nor a named format, nor where anything is stored.
package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"fairlead/internal/account"
	"fairlead/internal/ledger"
	"fairlead/internal/limit"
	"fairlead/internal/llm"
	"fairlead/internal/promptcache"
	"fairlead/internal/requestlog"
	"fairlead/internal/route"
	"fairlead/internal/token"
	"fairlead/internal/wire"
)

// Keys authenticates callers.
type Keys interface {
	// Authenticate returns whose key the headers carry, or an *llm.Error.
	Authenticate(h http.Header) (*account.Grant, error)
	// Touch records that a key was used. It never waits.
	Touch(keyID, client string, at time.Time)
}

// Log records requests durably.
type Log interface {
	// Begin records that a request is about to be dispatched; without an End it will appear as interrupted.
	Begin(e *requestlog.Entry) error
	// End records the whole entry. When it returns nil the entry survives the death of the process. It keeps nothing of the
	// answer's text then, which is used for another one.
	End(e *requestlog.Entry) error
}

// Caller makes the HTTP calls to providers.
type Caller interface {
	Do(req *http.Request) (*http.Response, error)
}

// Pinner fixes the model that `auto` means for a workspace's embeddings.
type Pinner interface {
	// PinEmbedding sets the model unless one is set, and returns the one that holds.
	PinEmbedding(ctx context.Context, workspaceID, model string) (string, error)
}

// Route is one path of the model API: what it asks for, and in which format.
type Route struct {
	Path   string // below Prefix, such as /chat/completions
	Op     llm.Op
	Format wire.Format
}

// Parts is what a gateway is made of.
type Parts struct {
	Routes    []Route // what is served below Prefix, besides models
	Keys      Keys
	Limits    limit.Limiter
	Admission *limit.AdmissionQueue // nil for none
	Ledger    ledger.Ledger
	Health    Health
	Egress    Caller
	Log       Log
	Pins      Pinner
	Batches   Batches
	Observe   func(*requestlog.Entry) // told of every finished entry
	Started   func(*requestlog.Entry) // told of every dispatched one
	Logger    *slog.Logger
	Settings  Settings
	Snapshot  *route.Snapshot
	Draw      func() float64 // a random number from 0 to 1, for jitter and exploration

	// What routing knows besides. Without them prompts are all alike, nothing is ruled, rated or warm.
	Predictor Predictor
	Policies  Policies
	Feedback  Feedback
	Prefixes  promptcache.Store
}

// Gateway serves the model API.
type Gateway struct {
	Parts
	settings atomic.Pointer[Settings]
	snapshot atomic.Pointer[route.Snapshot]
	inflight inflight
	rooms    rooms
	bodies   shelf
	counter  *token.Counter
}

// Settings can change while the gateway runs.
type Settings struct {
	DefaultModel  string // the baseline where nobody names one
	AllowBrowsers bool
	AllowUnpriced bool
	Explore       float64 // share of `auto` requests that take another model than the best
	LogBodies     bool
	BodyLimit     int64 // stored text per request and per answer

	MaxBody       int64
	MaxBuffered   int64
	MaxConcurrent int
	PlaceWait     time.Duration // how long a request waits for a place at a provider that is at its cap

	Rescue   bool // streams that break after their first token go on at another target
	Attempts int
	Backoff  time.Duration

	Hedge      bool          // a second target is asked where the first keeps silent
	HedgeAfter time.Duration // for so long; 0 for longer than it usually does

	Idle  time.Duration
	Total time.Duration
	Hold  time.Duration // how long headers wait for the first token
	Ping  time.Duration // longest silence towards the client

	BodyPause time.Duration // how long a client may pause while it sends
	ReadPause time.Duration // how long a client may stop reading
}

// New returns a gateway that serves p.Snapshot with p.Settings.
func New(p Parts) *Gateway {
	g := &Gateway{Parts: p, counter: token.NewCounter()}
	if g.Predictor == nil {
		g.Predictor = nobody{}
	}
	if g.Policies == nil {
		g.Policies = noPolicies{}
	}
	if g.Feedback == nil {
		g.Feedback = noFeedback{}
	}
	if g.Prefixes == nil {
		g.Prefixes = nobody{}
	}
	if g.Admission == nil {
		g.Admission = &limit.AdmissionQueue{}
	}
	g.inflight.init()
	g.Update(p.Settings, p.Snapshot)
	return g
}

// Update swaps settings and targets. Requests under way keep what they began with.
func (g *Gateway) Update(s Settings, snap *route.Snapshot) {
	g.settings.Store(&s)
	g.snapshot.Store(snap)
}

// Targets returns the view of targets and prices in force.
func (g *Gateway) Targets() *route.Snapshot { return g.snapshot.Load() }

// Drain refuses new requests and waits for those under way until ctx ends; what is left then is cut off with an error.
func (g *Gateway) Drain(ctx context.Context) { g.inflight.drain(ctx) }

// Draining reports whether new requests are refused.
func (g *Gateway) Draining() bool { return g.inflight.draining() }

// InFlight is how many requests are under way.
func (g *Gateway) InFlight() int { return g.inflight.count() }

// Revoke ends the running requests of a key.
func (g *Gateway) Revoke(keyID string) {
	g.inflight.cancel(keyID, llm.Errorf(llm.RevokedAPIKey, "This API key was revoked while the request ran. Use another key."))
}
