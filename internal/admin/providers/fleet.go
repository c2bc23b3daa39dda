package providers

import (
	"context"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/health"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/route/predict"
)

// Fleet returns the current models and providers of the instance.
type Fleet interface {
	// Models lists all models that have a target, sorted by name.
	Models() []ModelState
	// Providers lists the providers in configuration order.
	Providers() []ProviderState
	// NewModels lists the models that are in a provider's model list but neither in the catalog nor in the configuration, newest
	// first.
	NewModels() []NewModel
}

// Market returns facts about all catalog models, whether or not a provider for them is connected.
type Market interface {
	// Catalog returns the active catalog.
	Catalog() *catalog.Catalog
	// Rating returns the predicted quality of a model for a workspace, or nil if it is not a chat model.
	Rating(workspaceID string, m *catalog.Model) *predict.Rating
	// Backoffs returns the active backoffs of a provider, sorted by end time.
	Backoffs(providerName string) []health.ActiveBackoff
}

// NewModel is a model that is only in a provider's model list. Its price is unknown.
type NewModel struct {
	Provider  string
	Model     string
	Op        llm.Op // operation, inferred from the model name
	FirstSeen time.Time
	LastSeen  time.Time
	Callable  bool   // whether keys that allow unpriced models can call the model by name
	Config    string // configuration file section that sets the price
}

// ModelState is a model with its targets.
type ModelState struct {
	Model   *catalog.Model
	Targets []TargetState
}

// TargetState is a target with its health.
type TargetState struct {
	Target   *provider.Target
	Health   TargetHealth
	PriceSet bool // whether the price was set through Prices
	// ListedUntil is the time of the provider's last model list that contained the model. It is set only if the model is missing from
	// the two latest lists.
	ListedUntil time.Time
}

// TargetHealth describes the health of a target according to recent calls. Zero values mean unknown.
type TargetHealth struct {
	Circuit   string // "closed", "half_open" or "open"
	Denied    bool   // whether the provider denies the model to all of its credentials
	Reason    string // reason why the circuit is not closed; empty if it is closed
	Cause     health.Cause
	Since     time.Time // time at which the circuit opened
	Share     float64   // admitted share of normal traffic
	NextProbe time.Time
	Latency   time.Duration // typical time to the first token
	TokensPS  float64
	Calls     int64 // number of recent calls, of which Failures have failed
	Failures  int64
}

// ProviderState is a configured provider.
type ProviderState struct {
	Name        string
	Title       string
	BaseURL     string
	Source      string // "env", "file", "detected", "dashboard" or "simulator"
	ManagedBy   string // ManagedByFile, ManagedByEnvironment or ManagedByDashboard
	Simulated   bool
	Enabled     bool
	Credentials []CredentialState
	Targets     []TargetState
	Headroom    *Headroom
	// CatalogModels is the number of models that the catalog has for the provider, whether or not its account offers them.
	CatalogModels int
}

// CredentialState describes a credential without its secret.
type CredentialState struct {
	ID              string
	Hint            string // the last four characters
	Source          string // "env OPENAI_API_KEY", "file" or "dashboard"
	BackingOffUntil time.Time
	Reason          string // reason why it is backing off; empty if it is not
}

// Headroom is the remaining rate limit last reported by a provider. nil means unknown.
type Headroom struct {
	Requests *int64
	Tokens   *int64
	At       time.Time
}

// Prober tests providers and closes their circuits.
type Prober interface {
	// Test makes a free call to the provider. A failed call is part of the result, not an error. It returns account.ErrNotFound
	// for an unknown provider.
	Test(ctx context.Context, providerName string) (ProbeResult, error)
	// ResetCircuits closes the circuits of the provider and ends the backoff of its credentials.
	ResetCircuits(ctx context.Context, providerName string) error
}

// ProbeResult is the result of a test.
type ProbeResult struct {
	OK       bool
	Untested bool // whether the test was skipped because the provider has no free endpoint; Error has the reason
	Latency  time.Duration
	Status   int       // HTTP status of the provider; 0 without a response
	Models   []string  // models reported by the provider
	Partial  bool      // whether the provider has more models than it reported
	Error    string    // error message without secrets
	Cause    error     // reason why the provider returned no response; nil if it responded
	Clock    time.Time // Date header of the response; zero if absent
}

// Credentials adds, replaces and removes credentials in the vault. Credentials from the environment and the file cannot be changed.
type Credentials interface {
	// AddCredential stores a secret for the provider. The secret is used immediately. It returns account.ErrNotFound for an
	// unknown provider.
	AddCredential(ctx context.Context, providerName, secret, accountID string) (CredentialState, error)
	// ReplaceCredential replaces the secret of a credential. The new secret is used immediately. It returns account.ErrNotFound if
	// the vault does not have the credential.
	ReplaceCredential(ctx context.Context, providerName, credentialID, secret, accountID string) (CredentialState, error)
	// RemoveCredential removes a credential. It returns account.ErrNotFound if the vault does not have the credential.
	RemoveCredential(ctx context.Context, providerName, credentialID string) error
}

// Switch enables and disables providers.
type Switch interface {
	// SetEnabled enables or disables a provider. It returns account.ErrNotFound for an unknown provider.
	SetEnabled(ctx context.Context, providerName string, enabled bool) error
}

// Prices overrides the prices of targets.
type Prices interface {
	// SetPrice overrides the price of a target from the next request on. A nil price removes the override. It returns
	// account.ErrNotFound for an unknown target, or if the target has no override.
	SetPrice(ctx context.Context, providerName, model string, price *catalog.Price) error
	// Refresh returns how prices are refreshed, and the price changes that wait for a decision.
	Refresh(ctx context.Context) (RefreshState, error)
	// SetRefresh stores whether prices are refreshed daily.
	SetRefresh(ctx context.Context, daily bool) error
	// DecidePrice accepts or declines a pending price. It returns account.ErrNotFound if there is none for the target.
	DecidePrice(ctx context.Context, providerName, model string, accept bool) error
}

// RefreshState describes the refresh of the catalog.
type RefreshState struct {
	Refresh string    // daily, off or the path of a file; empty if nobody has decided
	InFile  bool      // whether the configuration file decides
	Checked time.Time // time of the last refresh; zero for never
	Pending []catalog.PendingPrice
}

// Circuit states other than closed.
const (
	CircuitOpen     = "open"
	CircuitHalfOpen = "half_open"
)
