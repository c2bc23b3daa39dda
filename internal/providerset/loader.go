package providerset

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"

	"fairlead.dev/internal/config"
	"fairlead.dev/internal/egress"
	"fairlead.dev/internal/pricebook"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/simulator"
	"fairlead.dev/internal/vault"
)

// disabledSetting is the name of the setting that lists the providers disabled in the dashboard.
const disabledSetting = "disabled_providers"

// Settings stores the settings of an instance.
type Settings interface {
	// Setting returns an empty string if the setting has never been stored.
	Setting(ctx context.Context, name string) (string, error)
	SetSetting(ctx context.Context, name, value string) error
}

// ConnectedStore stores the providers that were connected in the dashboard or on the command line. Every change
// increments the revision of the topic "providers".
type ConnectedStore interface {
	// ConnectedProviders returns all stored providers, oldest first.
	ConnectedProviders(ctx context.Context) ([]provider.Connected, error)
	// AddProvider returns provider.ErrConnected if the name is in use.
	AddProvider(ctx context.Context, p provider.Connected) error
	// UpdateProvider returns provider.ErrNotConnected if the provider does not exist.
	UpdateProvider(ctx context.Context, p provider.Connected) error
	// DeleteProvider also deletes the credentials of the provider. It returns provider.ErrNotConnected if neither exists.
	DeleteProvider(ctx context.Context, name string) error
	// Revisions returns the number of changes by topic.
	Revisions(ctx context.Context) (map[string]int64, error)
}

// Loader builds provider sets from a configuration and the stored data of an instance.
type Loader struct {
	Settings  Settings
	Connected ConnectedStore
	Vault     *vault.Vault
	Env       func(string) string
	Version   string
	Local     []LocalServer
	Listed    ModelLists
	Simulator *simulator.Simulator
	Client    func() *egress.Client        // returns the client for login calls; called only when a call is made
	Report    func(task string, err error) // receives the error for each unusable credential

	loaded atomic.Int64 // revision that the last successful Load read
}

// Load builds the provider set for a configuration, without its policies.
func (l *Loader) Load(ctx context.Context, c config.Config) (*Set, error) {
	revision, err := l.revision(ctx) // read first, so that changes made during the load are detected afterwards
	if err != nil {
		return nil, err
	}
	b, err := l.builder(ctx, c)
	if err != nil {
		return nil, err
	}
	set, err := b.Assemble()
	if err == nil {
		l.loaded.Store(revision)
	}
	return set, err
}

// Changed reports whether the stored providers or credentials have changed since the last Load, for example through another replica or the
// command line.
func (l *Loader) Changed(ctx context.Context) (bool, error) {
	revision, err := l.revision(ctx)
	return err == nil && revision != l.loaded.Load(), err
}

// revision returns the number of changes to stored providers and credentials.
func (l *Loader) revision(ctx context.Context) (int64, error) {
	revisions, err := l.Connected.Revisions(ctx)
	if err != nil {
		return 0, err
	}
	return revisions["providers"] + revisions["credentials"], nil // every change changes the sum, because neither number decreases
}

// builder collects the inputs of a provider set.
func (l *Loader) builder(ctx context.Context, c config.Config) (Builder, error) {
	connected, err := l.Connected.ConnectedProviders(ctx)
	if err != nil {
		return Builder{}, err
	}
	secrets, err := l.credentials(ctx)
	if err != nil {
		return Builder{}, err
	}
	disabled, err := l.disabled(ctx)
	if err != nil {
		return Builder{}, err
	}
	book, err := pricebook.Of(c).Read()
	if err != nil {
		return Builder{}, err
	}
	return Builder{
		Config: c, Version: l.Version, Env: l.Env, Connected: connected, Vault: secrets, Disabled: disabled, Local: l.Local, Listed: l.Listed.served(), Offered: l.Listed.offered(),
		Simulator: l.Simulator, Book: book, Fetch: &http.Client{Transport: LateClient(l.Client)},
	}, nil
}

// credentials decrypts the credentials that were entered in the dashboard. An unusable credential is reported and
// skipped, so that the other credentials can be used.
func (l *Loader) credentials(ctx context.Context) (Credentials, error) {
	sealed, err := l.Vault.Credentials(ctx)
	if err != nil {
		return nil, fmt.Errorf("read stored credentials: %w", err)
	}
	all := Credentials{}
	for _, c := range sealed {
		secret, err := l.Vault.Open(c)
		if err != nil {
			l.Report("open credential "+c.ID, err)
			continue
		}
		all[c.Provider] = append(all[c.Provider], provider.Credential{ID: c.ID, Secret: secret, Source: provider.Dashboard})
	}
	return all, nil
}

// disabled returns the providers that were disabled in the dashboard.
func (l *Loader) disabled(ctx context.Context) ([]string, error) {
	text, err := l.Settings.Setting(ctx, disabledSetting)
	if err != nil || text == "" {
		return nil, err
	}
	var names []string
	return names, json.Unmarshal([]byte(text), &names)
}

// SetEnabled stores whether a provider is enabled. The next Load applies it.
func (l *Loader) SetEnabled(ctx context.Context, name string, enabled bool) error {
	names, err := l.disabled(ctx)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == name })
	if !enabled {
		names = append(names, name)
	}
	text, err := json.Marshal(names)
	if err != nil {
		return err
	}
	return l.Settings.SetSetting(ctx, disabledSetting, string(text))
}

// LateClient is an http.RoundTripper whose client is created after the providers.
type LateClient func() *egress.Client

// RoundTrip implements http.RoundTripper.
func (c LateClient) RoundTrip(r *http.Request) (*http.Response, error) { return c().Do(r) }
