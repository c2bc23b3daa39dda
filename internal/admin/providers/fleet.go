package providers

import (
	"context"
	"time"

	"fairlead/internal/catalog"
	"fairlead/internal/provider"
)

// Fleet shows the models and providers that the instance has, as they are at the moment of the call.
type Fleet interface {
	// Models lists every model that has a target or is known to the catalog and named by the configuration, by name.
	Models() []ModelState
	// Providers lists the configured providers in the order of the configuration.
	Providers() []ProviderState
	// Known reports whether a caller can mean a model by the name, here or in the catalog; if not, near lists names that
	// are near to it.
	Known(name string) (known bool, near []string)
}

// ModelState is a model with the places where it runs.
type ModelState struct {
	Model   *catalog.Model
	Targets []TargetState
}

// TargetState is a target and what recent calls say about it.
type TargetState struct {
	Target   *provider.Target
	Health   TargetHealth
	PriceSet bool // the price was set by hand, through Prices
}

// TargetHealth is what recent calls say about one target; zero values are not known.
type TargetHealth struct {
	Circuit   string // closed, half_open, open
	Reason    string // why it is not closed
	NextProbe time.Time
	Latency   time.Duration // usual time to the first token
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

// CredentialState is what may be shown of a credential.
type CredentialState struct {
	ID      string
	Hint    string // the last four characters
	Source  string // "env OPENAI_API_KEY", "file", "dashboard"
	Resting time.Time
	Reason  string // why it rests
}

// Headroom is what a provider last said about its own rate limits; nil numbers were not told.
type Headroom struct {
	Requests *int64
	Tokens   *int64
	At       time.Time
}

// Prober tests providers and closes their circuits.
type Prober interface {
	// Test makes one cheap call to the provider; what it finds wrong is in the answer. account.ErrNotFound for
	// a name that is not configured.
	Test(ctx context.Context, providerName string) (ProbeResult, error)
	// ResetCircuits closes every circuit of the provider and ends the rest of its credentials.
	ResetCircuits(ctx context.Context, providerName string) error
}

// ProbeResult is what a test of a provider found.
type ProbeResult struct {
	OK       bool
	Untested bool // there is no call that costs nothing; Error says why
	Latency  time.Duration
	Status   int       // the provider's; 0 when none came
	Models   []string  // that the provider says it has
	Error    string    // exactly what went wrong, without secrets
	Cause    error     // why no answer came; nil where one did
	Clock    time.Time // of the provider, when it answered; zero when it does not tell
}

// Credentials adds and removes the credentials that are kept in the vault. Those of environment and file are fixed.
type Credentials interface {
	// AddCredential stores a secret for the provider and uses it at once. account.ErrNotFound for a name that is not
	// configured.
	AddCredential(ctx context.Context, providerName, secret string) (CredentialState, error)
	// RemoveCredential returns account.ErrNotFound for an id that is not in the vault.
	RemoveCredential(ctx context.Context, providerName, credentialID string) error
}

// Switch turns providers on and off until the next change.
type Switch interface {
	// SetEnabled returns account.ErrNotFound for a name that is not configured.
	SetEnabled(ctx context.Context, providerName string, enabled bool) error
}

// Prices sets the prices of targets by hand.
type Prices interface {
	// SetPrice uses the price from the next request on; nil goes back to what configuration and catalog say.
	// account.ErrNotFound for a target that there is not, or for a nil price where none was set.
	SetPrice(ctx context.Context, providerName, model string, price *catalog.Price) error
}

// The states of a circuit that is not closed.
const (
	CircuitOpen     = "open"
	CircuitHalfOpen = "half_open"
)
