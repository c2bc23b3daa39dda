package instance

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/providers"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/egress"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/providerset"
	"fairlead.dev/internal/simulator"
)

// ProviderSet holds the providers and models of a server with this configuration, environment and store.
type ProviderSet struct {
	set    *providerset.Set
	egress *egress.Client
	lists  providerset.ListStore // stored model lists; nil without a store

	// connector changes the stored providers, and note records the changes in the audit log. Both are nil without a store.
	connector *providerset.Connector
	note      func(ctx context.Context, action, object string, after any) error
}

// Providers builds the providers as a server does at startup. Credentials that cannot be decrypted are logged and excluded.
func (i *Instance) Providers(ctx context.Context, env func(string) string, version string, log *slog.Logger) (*ProviderSet, error) {
	var client *egress.Client
	loader := i.loader(ctx, env, version, log)
	loader.Client = func() *egress.Client { return client }
	set, err := i.loadProviders(ctx, loader)
	if err != nil {
		return nil, err
	}
	client = egress.New(set.EgressOptions(i.Config))
	connector := &providerset.Connector{
		Loader: loader, Lists: i.Store.Config, Config: func() config.Config { return i.Config }, Set: func() *providerset.Set { return set },
		Apply: func(context.Context) error { return nil }, Now: time.Now, // Apply does nothing, because running servers poll the store
	}
	return &ProviderSet{set: set, egress: client, lists: i.Store.Config, connector: connector, note: i.note}, nil
}

// loader returns a loader for the providers of the instance. The caller must set Client if the providers are called.
func (i *Instance) loader(ctx context.Context, env func(string) string, version string, log *slog.Logger) *providerset.Loader {
	loader := &providerset.Loader{
		Settings: i.Store, Connected: i.Store.Config, Vault: i.vault, Env: env, Version: version,
		Simulator: simulator.NewSimulator(simulator.Options{}),
		Client:    func() *egress.Client { return nil },
		Report: func(task string, err error) {
			log.WarnContext(ctx, "credential unusable", "task", task, "error", err.Error())
		},
	}
	if i.Config.Detect {
		loader.Local = providerset.FindLocal(ctx)
	}
	return loader
}

func (i *Instance) loadProviders(ctx context.Context, loader *providerset.Loader) (*providerset.Set, error) {
	if err := loader.Listed.LoadSeen(ctx, i.Store.Config); err != nil {
		return nil, err
	}
	set, err := loader.Load(ctx, i.Config)
	if err != nil {
		return nil, err
	}
	if set.Policies, err = providerset.ReadPolicies(i.loaded, set.Inventory()); err == nil {
		_, err = providerset.ReadRoutes(i.loaded, set.Snapshot())
	}
	return set, err
}

// note writes an entry to the audit log of the first workspace.
func (i *Instance) note(ctx context.Context, action, object string, after any) error {
	w, err := i.Workspace(ctx, "")
	if err != nil {
		return err
	}
	return i.Accounts.Note(ctx, account.CommandLine(w.ID), action, object, nil, after)
}

// Preview builds the providers of a configuration and environment without the store. It is used when the store cannot be opened.
func Preview(ctx context.Context, c config.Config, env func(string) string) (*ProviderSet, error) {
	var client *egress.Client
	set, err := providerset.Preview(ctx, c, env, &http.Client{Transport: providerset.LateClient(func() *egress.Client { return client })})
	if err != nil {
		return nil, err
	}
	client = egress.New(set.EgressOptions(c))
	return &ProviderSet{set: set, egress: client}, nil
}

// VendorNames lists the vendors that can be connected.
func (s *ProviderSet) VendorNames() []string {
	var names []string
	for _, v := range s.connector.Vendors() {
		names = append(names, v.Name)
	}
	return names
}

// Connect stores a provider with its key. Running servers use it after a few seconds.
func (s *ProviderSet) Connect(ctx context.Context, c providers.Connection) (providers.ConnectResult, error) {
	result, err := s.connector.Connect(ctx, c, "")
	if err != nil {
		return result, err
	}
	return result, s.note(ctx, "provider.create", result.Name, map[string]any{"vendor": c.Vendor, "base_url": c.BaseURL, "allow_loopback": c.AllowLoopback})
}

// SetKey replaces the stored keys of a provider, or adds a key to them. It returns the last characters of the key.
func (s *ProviderSet) SetKey(ctx context.Context, name, key string, add bool) (hint string, err error) {
	c, err := s.connector.SetKey(ctx, name, key, add)
	if err != nil {
		return "", err
	}
	return c.Hint, s.note(ctx, "credential.add", name+"/"+c.ID, map[string]string{"hint": c.Hint})
}

// Disconnect deletes a stored provider with its keys.
func (s *ProviderSet) Disconnect(ctx context.Context, name string) error {
	if err := s.connector.Disconnect(ctx, name); err != nil {
		return err
	}
	return s.note(ctx, "provider.delete", name, nil)
}

// Close closes the connections opened by Test.
func (s *ProviderSet) Close() { s.egress.Close() }

// Catalog returns all known models, including models that no provider offers.
func (s *ProviderSet) Catalog() *catalog.Catalog { return s.set.Catalog }

// Targets lists every target by provider and model.
func (s *ProviderSet) Targets() []*provider.Target { return s.set.Snapshot().Targets() }

// UsualModels returns the best, a middle and the cheapest model of the pool.
func (s *ProviderSet) UsualModels() []string { return s.set.Snapshot().UsualModels() }

// Providers lists the providers in configuration order, disabled ones last.
func (s *ProviderSet) Providers() []providers.ProviderState {
	var list []providers.ProviderState
	for _, p := range s.set.Providers {
		one := s.set.State(p)
		one.Enabled = true
		for _, t := range p.Targets {
			one.Targets = append(one.Targets, providers.TargetState{Target: t, PriceSet: s.set.Priced[t.ID()]})
		}
		slices.SortFunc(one.Targets, func(x, y providers.TargetState) int { return cmp.Compare(x.Target.ID(), y.Target.ID()) })
		list = append(list, one)
	}
	for _, p := range s.set.Off {
		list = append(list, s.set.State(p))
	}
	return list
}

// Test requests the provider's model list, which is free. It does not test a provider that has no such list. A failed call is part of the
// result, not an error. Test returns account.ErrNotFound for an unknown or disabled provider.
func (s *ProviderSet) Test(ctx context.Context, name string) (providers.ProbeResult, error) {
	i := slices.IndexFunc(s.set.Providers, func(p *provider.Provider) bool { return p.Name == name })
	if i < 0 {
		return providers.ProbeResult{}, account.ErrNotFound
	}
	return providerset.Probe(ctx, s.egress, s.set.Providers[i]), nil
}

// Inventory returns the names that policies may refer to.
func (s *ProviderSet) Inventory() policy.Inventory { return s.set.Inventory() }
