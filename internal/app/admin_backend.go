package app

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin"
	"fairlead.dev/internal/admin/accounts"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/alerts"
	"fairlead.dev/internal/admin/budgets"
	"fairlead.dev/internal/admin/comparison"
	"fairlead.dev/internal/admin/keys"
	"fairlead.dev/internal/admin/outcomes"
	"fairlead.dev/internal/admin/overview"
	"fairlead.dev/internal/admin/playground"
	"fairlead.dev/internal/admin/policies"
	"fairlead.dev/internal/admin/proofs"
	"fairlead.dev/internal/admin/providers"
	"fairlead.dev/internal/admin/reports"
	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/admin/routes"
	"fairlead.dev/internal/admin/spending"
	"fairlead.dev/internal/admin/workspaces"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/health"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/pricebook"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/providerset"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/route/predict"
	"fairlead.dev/internal/settings"
	"fairlead.dev/internal/store"
	"fairlead.dev/internal/transcript"
	"fairlead.dev/internal/vault"
)

// adminParts returns the dependencies of the admin API.
func (a *App) adminParts() admin.Parts {
	b := adminBackend{a}
	c := a.loaded().Config
	requestLog := freshReader{a.db.Log, a.spool}
	labels := &workspaces.Labels{Keys: a.accounts, Members: a.accounts, Names: a.db.Accounts}
	facts := func() accounts.Facts {
		f := b.Facts()
		known := accounts.Facts{
			Version: f.Version, Registration: f.Registration, PublicURL: c.PublicURL, Simulated: f.Simulated,
		}
		if s := a.loaded().Config.SSO; s.Issuer != "" {
			known.SSO, known.SSOOnly = s.Name, s.SignIn == "sso_only"
		}
		return known
	}
	return admin.Parts{
		Server: adminapi.Options{
			Sessions: a.accounts, Memberships: a.accounts, Keyring: a.keyring, Audit: a.accounts,
			Unreachable: store.Unreachable, PublicURL: c.PublicURL, TrustProxy: c.TrustProxy, Log: a.log, Now: time.Now,
		},
		Access: admin.Access{
			Accounts: accounts.Deps{
				Sessions: a.accounts, Registrar: a.accounts, Profiles: a.accounts, Factors: a.factors, Passkeys: a.passkeys, PasskeyList: a.passkeys, SSO: a.sso, Memberships: a.accounts, Facts: facts,
			},
			Workspaces: workspaces.Deps{
				Workspaces: a.accounts, Memberships: a.accounts, Members: a.accounts, Invitations: a.accounts, Audit: a.accounts, Labels: labels,
				Spending: b, Models: b, DefaultRedaction: func() []string { return b.Facts().Redact },
			},
			Keys: keys.Deps{Keys: a.accounts, Figures: a.db.Figures, Spending: b},
		},
		Requests: requests.Deps{
			Requests: requestLog, Sessions: a.db.Log, Budgets: a.budgets, Live: a.feed, Eraser: eraser{a}, Verifier: a.decisions, Ratings: ratings{a.feedback, a}, Transcript: transcript.ToChat,
		},
		Overview: overview.Deps{Requests: requestLog, Figures: a.db.Figures, Keys: a.accounts, Spending: b, Fleet: b, Instance: b, Alerts: a.alerts.service},
		Providers: providers.Deps{Fleet: b, Prober: b, Credentials: b, Switch: b, Prices: b, Market: market{a}, Figures: a.db.Figures, Connector: &providerset.Connector{
			Loader: a.loader, Lists: a.db.Config, Config: func() config.Config { return a.loaded().Config }, Set: a.providers.Load, Apply: a.rebuild, Now: time.Now,
		}},
		Policies: policies.Deps{
			Policies: a.policies, Versions: a.policies, Explainer: a.decisions, Backtester: a.decisions, Requests: requestLog, Figures: a.db.Figures, Keys: a.accounts, Labels: labels,
			ReadOnly:   func() string { return b.Facts().PoliciesClosed },
			ConfigFile: func() string { return b.Facts().ConfigFile },
		},
		Routes:     routes.Deps{Router: b, Workspaces: a.accounts},
		Outcomes:   outcomes.Deps{Learner: a.feedback},
		Comparison: comparison.Deps{Workspaces: a.accounts, Comparer: b, Store: a.db.Proof, Models: b},
		Alerts:     alerts.Deps{Alerts: a.alerts.service},
		Budgets:    budgets.Deps{Budgets: a.budgets},
		Reports:    reports.Deps{Figures: a.db.Figures, Facts: a.db.Report, Keys: a.accounts, Members: a.accounts},
		Playground: playground.Deps{Playground: b},
		Proofs: proofs.Deps{
			Log: requestLog, Samples: a.db.Proof, Costs: a.db.Proof, Figures: a.db.Figures, Keys: a.accounts, Workspaces: a.accounts, Models: b, Prices: a.decisions,
		},
	}
}

// adminBackend implements the interfaces of the admin API with the components of the running App.
type adminBackend struct{ app *App }

// Models lists every model that has a target.
func (b adminBackend) Models() []providers.ModelState {
	var list []providers.ModelState
	states, set := b.health(), b.app.providers.Load()
	unlisted := set.Unlisted(b.app.loader.Listed.Seen())
	for _, t := range b.app.gateway.Targets().Targets() {
		state := providers.TargetState{Target: t, Health: states[t.ID()], PriceSet: set.Priced[t.ID()], ListedUntil: unlisted[t.ID()]}
		i := slices.IndexFunc(list, func(m providers.ModelState) bool { return m.Model.Name == t.Model.Name })
		if i >= 0 {
			list[i].Targets = append(list[i].Targets, state)
			continue
		}
		list = append(list, providers.ModelState{Model: t.Model, Targets: []providers.TargetState{state}})
	}
	slices.SortFunc(list, func(x, y providers.ModelState) int { return strings.Compare(x.Model.Name, y.Model.Name) })
	return list
}

// Providers lists the configured providers, disabled ones last.
func (b adminBackend) Providers() []providers.ProviderState {
	f := b.app.providers.Load()
	states, credentials := b.health(), b.app.health.Credentials()
	unlisted := f.Unlisted(b.app.loader.Listed.Seen())
	var list []providers.ProviderState
	for _, p := range f.Providers {
		one := f.State(p)
		one.Enabled = true
		for i := range one.Credentials {
			at := slices.IndexFunc(credentials, func(h health.CredentialHealth) bool { return h.ID == one.Credentials[i].ID })
			if at >= 0 {
				one.Credentials[i].BackingOffUntil, one.Credentials[i].Reason = credentials[at].Until, credentials[at].Reason
			}
		}
		for _, t := range p.Targets {
			one.Targets = append(one.Targets, providers.TargetState{
				Target: t, Health: states[t.ID()], PriceSet: f.Priced[t.ID()], ListedUntil: unlisted[t.ID()],
			})
		}
		list = append(list, one)
	}
	for _, p := range f.Off {
		list = append(list, f.State(p))
	}
	return list
}

// NewModels lists the models that appear in a provider's model list, but neither in the catalog nor in the configuration.
func (b adminBackend) NewModels() []providers.NewModel {
	return b.app.providers.Load().NewModels(b.app.loader.Listed.Seen())
}

// Known reports whether a provider or the catalog has a model with the given name. If not, it returns similar names.
func (b adminBackend) Known(name string) (bool, []string) {
	return providerset.Known(b.app.gateway.Targets(), name)
}

func (b adminBackend) health() map[string]providers.TargetHealth {
	states := map[string]providers.TargetHealth{}
	for _, h := range b.app.health.Snapshot() {
		states[h.Target] = providers.TargetHealth{
			Circuit: circuitName(h), Reason: h.Reason, Denied: h.Denied, Cause: h.Cause, Since: h.Since, Share: h.Share, NextProbe: h.NextProbe, Latency: h.TTFT, TokensPS: h.TokensPS,
			Calls: h.Calls, Failures: h.Failures,
		}
	}
	return states
}

// Test requests the provider's model list, which is free, and returns the result. Requests use the new list immediately. It does not test a
// provider that has no such list.
func (b adminBackend) Test(ctx context.Context, name string) (providers.ProbeResult, error) {
	p, ok := b.app.gateway.Targets().Provider(name)
	if !ok {
		return providers.ProbeResult{}, account.ErrNotFound
	}
	result := providerset.Probe(ctx, b.app.egress, p)
	if result.OK {
		b.app.loader.Listed.Expire(name)
		b.app.readModelLists(ctx)
	}
	return result, nil
}

// ResetCircuits closes the circuits of a provider and ends the backoff of its credentials.
func (b adminBackend) ResetCircuits(_ context.Context, name string) error {
	p, ok := b.app.gateway.Targets().Provider(name)
	if !ok {
		return account.ErrNotFound
	}
	for _, t := range p.Targets {
		b.app.health.Reset(t.ID())
	}
	for _, c := range p.Credentials {
		b.app.health.ResetCredential(c.ID)
	}
	return nil
}

// ServeAs handles a chat request of a signed-in user.
func (b adminBackend) ServeAs(w http.ResponseWriter, r *http.Request, body []byte, accountID, workspaceID string) {
	workspace, err := b.app.accounts.Workspace(r.Context(), workspaceID)
	if err != nil {
		b.app.edge.reject(w, r, llm.AsError(err))
		return
	}
	b.app.gateway.ServeAs(w, r, body, &workspace, accountID)
}

// Facts describes the gateway: version, settings and limits.
func (b adminBackend) Facts() overview.Facts {
	loaded := b.app.loaded()
	c := loaded.Config
	providers := b.app.providers.Load().Providers
	simulated := len(providers) > 0
	for _, p := range providers {
		simulated = simulated && p.Simulated
	}
	kind := "sqlite"
	if c.Store != "sqlite" {
		kind = "postgres"
	}
	return overview.Facts{
		Version: b.app.version, Simulated: simulated, Registration: c.Registration, ConfigSource: b.app.configText(), ConfigFile: loaded.Path, Store: kind,
		DefaultModel: c.DefaultModel, UsualModels: b.app.gateway.Targets().UsualModels(), StartedAt: b.app.started, LogBodies: c.Log.Bodies,
		EntryRetention: c.Log.EntryRetention, BodyRetention: c.Log.BodyRetention, Redact: c.Log.Redact,
		Limits: overview.InstanceLimits{
			BodyBytes: int64(c.Limits.Body), AnswerBytes: int64(c.Limits.Answer), Concurrent: int64(c.Limits.Concurrent),
			Attempts: int64(c.Retries.Attempts), Total: c.Timeouts.Total, StoredBytes: int64(c.Log.BodyLimit),
		},
		Catalog: b.app.providers.Load().Catalog.Version(), Router: route.Router,
		Predictor: predict.Version(), Policies: b.app.policies.Instance().Len(),
	}
}

// Storage returns the disk space used by the database and the spool.
func (b adminBackend) Storage(ctx context.Context) (overview.StorageUse, error) {
	used, err := b.app.db.Log.Usage(ctx)
	if err != nil {
		return overview.StorageUse{}, err
	}
	c := b.app.loaded().Config
	keep, err := b.app.db.Log.LongestRetention(ctx, settings.Retention(c.Log))
	if err != nil {
		return overview.StorageUse{}, err
	}
	disk := b.Disk()
	return overview.StorageUse{
		DatabaseBytes: used.Bytes, SpoolBytes: disk.SpoolBytes, SpoolLimit: disk.SpoolLimit, FreeBytes: disk.FreeBytes,
		OldestEntry: used.Oldest, Samples: b.app.maintenance.Samples(), Retention: keep.Entries, DiskElsewhere: c.Store != "sqlite",
		Messages: overview.MessageUse{
			Since: used.Turns.Since, Requests: used.Turns.Requests, RequestBytes: used.Turns.RequestBytes, StoredBytes: used.Turns.StoredBytes,
		},
	}, nil
}

// Disk returns disk and spool usage without querying the database.
func (b adminBackend) Disk() overview.DiskUse {
	c := b.app.loaded().Config
	free, total := DiskBytes(c.DataDir)
	queue := b.app.spool.Stats()
	return overview.DiskUse{FreeBytes: free, TotalBytes: total, SpoolBytes: queue.Bytes, SpoolLimit: int64(c.Spool.Limit), Rejected: queue.Rejected}
}

// BudgetUse returns the budget usage of a workspace and its keys.
func (b adminBackend) BudgetUse(ctx context.Context, workspaceID string) (map[string]spending.BudgetUse, error) {
	workspace, err := b.app.accounts.Workspace(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	keys, err := b.app.accounts.Keys(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	budgets := budget.Applied(&account.Grant{Key: &account.Key{}, Workspace: &workspace}) // the workspace may have no keys
	for i := range keys {
		budgets = append(budgets, budget.Applied(&account.Grant{Key: &keys[i], Workspace: &account.Workspace{}})...)
	}
	use := map[string]spending.BudgetUse{}
	for _, budget := range budgets {
		status := b.app.ledger.Status(budget)
		if !status.Loaded {
			if status.Spent, err = b.app.spent(ctx, budget.ID, status.Start); err != nil {
				return nil, err
			}
		}
		_, owner, _ := strings.Cut(budget.ID, ":")
		use[owner] = spending.BudgetUse{Spent: status.Spent, Held: status.Held, ResetsAt: status.End}
	}
	return use, nil
}

// SetEnabled enables or disables a provider permanently.
func (b adminBackend) SetEnabled(ctx context.Context, name string, enabled bool) error {
	f := b.app.providers.Load()
	if !f.Has(name) {
		return account.ErrNotFound
	}
	if err := b.app.loader.SetEnabled(ctx, name, enabled); err != nil {
		return err
	}
	return b.app.rebuild(ctx)
}

// rebuild rebuilds the provider set with the active configuration.
func (a *App) rebuild(ctx context.Context) error {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	return a.apply(ctx, a.loaded())
}

// SetPrice overrides the price of a target. A nil price removes the override, so that the price of the catalog or the
// configuration applies.
func (b adminBackend) SetPrice(ctx context.Context, providerName, model string, price *catalog.Price) error {
	p, ok := b.app.gateway.Targets().Provider(providerName)
	if !ok {
		return account.ErrNotFound
	}
	listing := catalog.Listing{Provider: providerName, Model: model, Price: price}
	if t, ok := p.Target(model); ok {
		listing.Upstream, listing.Op = t.Upstream, t.Model.Op
	} else {
		list := b.NewModels()
		i := slices.IndexFunc(list, func(m providers.NewModel) bool { return m.Provider == providerName && m.Model == model })
		if i < 0 {
			return account.ErrNotFound
		}
		listing.Upstream, listing.Op = model, list[i].Op
	}
	c, now := b.app.loaded().Config, time.Now()
	if providerset.PricedInFile(c, providerName, model) {
		return llm.Errorf(llm.Conflict, "The price of %s from provider %s is set in the configuration file. Change it there.", model, providerName)
	}
	err := pricebook.Of(c).Update(ctx, func(book *catalog.PriceHistory, known *catalog.Catalog) error {
		if price != nil {
			book.Set(known, listing, now)
			return nil
		}
		if set := book.Find(providerName, model); set == nil || !set.Manual() || !book.Remove(providerName, model, now) {
			return account.ErrNotFound
		}
		return nil
	})
	if err != nil {
		return err
	}
	return b.app.rebuild(ctx)
}

// AddCredential stores a secret. The secret is used immediately.
func (b adminBackend) AddCredential(ctx context.Context, name, secret, accountID string) (providers.CredentialState, error) {
	if !b.app.providers.Load().Has(name) {
		return providers.CredentialState{}, account.ErrNotFound
	}
	c, err := b.app.vault.Add(ctx, name, secret, accountID)
	return b.useCredential(ctx, c, err)
}

// ReplaceCredential replaces a stored secret. The new secret is used immediately, even if the old secret was backing off.
func (b adminBackend) ReplaceCredential(ctx context.Context, name, credentialID, secret, accountID string) (providers.CredentialState, error) {
	c, err := b.app.vault.Replace(ctx, name, credentialID, secret, accountID)
	state, err := b.useCredential(ctx, c, err)
	if err == nil {
		b.app.health.ResetCredential(credentialID)
	}
	return state, err
}

// useCredential activates credential c after it was stored. err is the result of storing c; useCredential returns it if it is not nil.
func (b adminBackend) useCredential(ctx context.Context, c vault.Credential, err error) (providers.CredentialState, error) {
	if errors.Is(err, vault.ErrNotFound) {
		err = account.ErrNotFound
	}
	if err == nil {
		err = b.app.rebuild(ctx)
	}
	if err != nil {
		return providers.CredentialState{}, err
	}
	return providers.CredentialState{ID: c.ID, Hint: c.Hint, Source: provider.Dashboard}, nil
}

// RemoveCredential deletes a stored secret. Later requests do not use it.
func (b adminBackend) RemoveCredential(ctx context.Context, name, credentialID string) error {
	err := b.app.vault.Remove(ctx, name, credentialID)
	if errors.Is(err, vault.ErrNotFound) {
		return account.ErrNotFound
	}
	if err != nil {
		return err
	}
	return b.app.rebuild(ctx)
}
