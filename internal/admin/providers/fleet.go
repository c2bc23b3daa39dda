package providers

import (
	"context"
	"time"

	"fairlead/internal/catalog"
	"fairlead/internal/llm"
	"fairlead/internal/provider"
)

// Fleet returns the current models and providers of the instance.
type Fleet interface {
	// Models lists the models with a target, sorted by name.
	Models() []ModelState
	// Providers lists the providers in configuration order.
	Providers() []ProviderState
	// NewModels lists the models that providers list and neither the catalog nor the configuration has, newest first.
	NewModels() []NewModel
}

// NewModel is a model that only a provider's own list has. Its price is unknown.
type NewModel struct {
	Provider  string
	Model     string
	Op        llm.Op // assumed from the name
	FirstSeen time.Time
	LastSeen  time.Time
	Callable  bool   // requests that name the model are served for keys that allow unpriced models
	Config    string // section of the configuration file that sets the price
	Command   string // command that sets the price
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
	PriceSet bool // the price was set through Prices
	// ListedUntil is the time of the last list of the provider that has the model, if two later lists lack it.
	ListedUntil time.Time
}

// TargetHealth is the health of a target according to recent calls. Zero values are unknown.
type TargetHealth struct {
	Circuit   string // closed, half_open, open
	Reason    string // why the circuit is not closed
	NextProbe time.Time
	Latency   time.Duration // typical time to the first token
	TokensPS  float64
	Calls     int64 // recent calls, and how many of them failed
	Failures  int64
}

// ProviderState is a configured provider.
type ProviderState struct {
	Name        string
	Title       string
	BaseURL     string
	Source      string // env, file, detected, dashboard, simulator
	Simulated   bool
	Enabled     bool
	Credentials []CredentialState
	Targets     []TargetState
	Headroom    *Headroom
}

// CredentialState describes a credential without its secret.
type CredentialState struct {
	ID              string
	Hint            string // the last four characters
	Source          string // "env OPENAI_API_KEY", "file", "dashboard"
	BackingOffUntil time.Time
	Reason          string // why it is backing off
}

// Headroom is the remaining rate limit last reported by a provider. nil is unknown.
type Headroom struct {
	Requests *int64
	Tokens   *int64
	At       time.Time
}

// Prober tests providers and closes their circuits.
type Prober interface {
	// Test makes a free call to the provider. Failures are part of the result. It returns account.ErrNotFound for an
	// unknown provider.
	Test(ctx context.Context, providerName string) (ProbeResult, error)
	// ResetCircuits closes the circuits of the provider and ends the backoff of its credentials.
	ResetCircuits(ctx context.Context, providerName string) error
}

// ProbeResult is the result of a test.
type ProbeResult struct {
	OK       bool
	Untested bool // the provider has no free endpoint; Error has the reason
	Latency  time.Duration
	Status   int       // HTTP status of the provider; 0 without a response
	Models   []string  // reported by the provider
	Partial  bool      // the provider has more models than it reported
	Error    string    // error message without secrets
	Cause    error     // why the provider returned no response; nil otherwise
	Clock    time.Time // Date header of the response; zero if absent
}

// Credentials adds and removes credentials in the vault. Credentials from the environment and the file cannot be changed.
type Credentials interface {
	// AddCredential stores a secret for the provider and uses it immediately. It returns account.ErrNotFound for an
	// unknown provider.
	AddCredential(ctx context.Context, providerName, secret string) (CredentialState, error)
	// RemoveCredential returns account.ErrNotFound for an ID that is not in the vault.
	RemoveCredential(ctx context.Context, providerName, credentialID string) error
}

// Switch enables and disables providers.
type Switch interface {
	// SetEnabled returns account.ErrNotFound for an unknown provider.
	SetEnabled(ctx context.Context, providerName string, enabled bool) error
}

// Prices overrides the prices of targets.
type Prices interface {
	// SetPrice sets the price from the next request on. nil removes the override. It returns account.ErrNotFound for an
	// unknown target, and for nil without an override.
	SetPrice(ctx context.Context, providerName, model string, price *catalog.Price) error
}

// The states of a circuit that is not closed.
const (
	CircuitOpen     = "open"
	CircuitHalfOpen = "half_open"
)
