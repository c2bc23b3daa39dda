package app

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"fairlead/internal/account"
	"fairlead/internal/admin"
	"fairlead/internal/admin/accounts"
	"fairlead/internal/admin/adminapi"
	"fairlead/internal/admin/keys"
	"fairlead/internal/admin/overview"
	"fairlead/internal/admin/playground"
	"fairlead/internal/admin/policies"
	"fairlead/internal/admin/providers"
	"fairlead/internal/admin/requests"
	"fairlead/internal/admin/spending"
	"fairlead/internal/admin/workspaces"
	"fairlead/internal/gateway"
	"fairlead/internal/health"
	"fairlead/internal/llm"
	"fairlead/internal/provider"
	"fairlead/internal/providerset"
	"fairlead/internal/route"
	"fairlead/internal/samples"
	"fairlead/internal/store"
	"fairlead/internal/transcript"
	"fairlead/internal/wire/chat"
)

// adminParts introduces the parts to the admin API.
func (a *App) adminParts() admin.Parts {
	b := bridge{a}
	c := a.loaded().Config
	requestLog := freshReader{a.db.Log, a.spool}
	sender := samples.Sender{Gateway: a.gateway, Accounts: a.accounts, Providers: func() []*provider.Provider { return a.fleet.Load().Providers }}
	labels := &workspaces.Labels{Keys: a.accounts, Members: a.accounts, Names: a.db.Accounts}
	facts := func() accounts.Facts {
		f := b.Facts()
		return accounts.Facts{
			Version: f.Version, Registration: f.Registration, PublicURL: c.PublicURL, Simulated: f.Simulated, Samples: sender.Available(),
		}
	}
	return admin.Parts{
		Server: adminapi.Options{
			Sessions: a.accounts, Memberships: a.accounts, Keyring: a.keyring, Audit: a.accounts,
			Unreachable: store.Unreachable, PublicURL: c.PublicURL, TrustProxy: c.TrustProxy, Log: a.log, Now: time.Now,
		},
		Accounts: accounts.Deps{Sessions: a.accounts, Registrar: a.accounts, Profiles: a.accounts, Memberships: a.accounts, Facts: facts},
		Workspaces: workspaces.Deps{
			Workspaces: a.accounts, Memberships: a.accounts, Members: a.accounts, Invitations: a.accounts, Audit: a.accounts, Labels: labels,
			Spending: b, Models: b, DefaultRedaction: func() []string { return b.Facts().Redact },
		},
		Keys: keys.Deps{Keys: a.accounts, Figures: a.db.Figures, Spending: b},
		Requests: requests.Deps{
			Requests: requestLog, Live: a.feed, Eraser: eraser{a}, Verifier: b, Ratings: ratings{a}, Transcript: transcript.ToChat,
		},
		Overview:  overview.Deps{Requests: requestLog, Figures: a.db.Figures, Keys: a.accounts, Spending: b, Fleet: b, Instance: b},
		Providers: providers.Deps{Fleet: b, Prober: b, Credentials: b, Switch: b, Prices: b, Figures: a.db.Figures},
		Policies: policies.Deps{
			Policies: a.rules, Versions: a.rules, Explainer: b, Backtester: b, Feedback: ratings{a}, Requests: requestLog, Figures: a.db.Figures, Keys: a.accounts, Labels: labels,
			ReadOnly:   func() string { return b.Facts().PoliciesClosed },
			ConfigFile: func() string { return b.Facts().ConfigFile },
		},
		Playground: playground.Deps{Playground: b, Samples: sender},
	}
}

// bridge shows the running parts as the admin API wants to see them.
type bridge struct{ app *App }

// Models lists every model that has a target.
func (b bridge) Models() []providers.ModelState {
	var list []providers.ModelState
	states, set := b.health(), b.app.fleet.Load().Priced
	for _, t := range b.app.gateway.Targets().Targets() {
		state := providers.TargetState{Target: t, Health: states[t.ID()], PriceSet: set[t.ID()]}
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

// Providers lists the configured providers, those that are switched off at the end.
func (b bridge) Providers() []providers.ProviderState {
	f := b.app.fleet.Load()
	states, tired := b.health(), b.app.health.Credentials()
	var list []providers.ProviderState
	for _, p := range f.Providers {
		one := f.State(p)
		one.Enabled = true
		for i := range one.Credentials {
			at := slices.IndexFunc(tired, func(h health.CredentialHealth) bool { return h.ID == one.Credentials[i].ID })
			if at >= 0 {
				one.Credentials[i].BackingOffUntil, one.Credentials[i].Reason = tired[at].Until, tired[at].Reason
			}
		}
		for _, t := range p.Targets {
			one.Targets = append(one.Targets, providers.TargetState{Target: t, Health: states[t.ID()], PriceSet: f.Priced[t.ID()]})
		}
		list = append(list, one)
	}
	for _, p := range f.Off {
		list = append(list, f.State(p))
	}
	return list
}

// Known reports whether a name means a model that is on offer, or at least in the catalog.
func (b bridge) Known(name string) (bool, []string) {
	return providerset.Known(b.app.gateway.Targets(), name)
}

func (b bridge) health() map[string]providers.TargetHealth {
	states := map[string]providers.TargetHealth{}
	for _, h := range b.app.health.Snapshot() {
		states[h.Target] = targetHealth(h)
	}
	return states
}

func targetHealth(h health.TargetHealth) providers.TargetHealth {
	return providers.TargetHealth{
		Circuit: circuitName(h), Reason: h.Reason, NextProbe: h.NextProbe, Latency: h.TTFT, TokensPS: h.TokensPS,
		Calls: h.Calls, Failures: h.Failures,
	}
}

// Test makes one cheap call to the provider.
func (b bridge) Test(ctx context.Context, name string) (providers.ProbeResult, error) {
	p, ok := b.app.gateway.Targets().Provider(name)
	if !ok {
		return providers.ProbeResult{}, account.ErrNotFound
	}
	return providerset.Probe(ctx, b.app.egress, p), nil
}

// ResetCircuits closes the circuits of a provider and wakes its credentials.
func (b bridge) ResetCircuits(_ context.Context, name string) error {
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

// Explain decides as the gateway would, and calls nobody.
func (b bridge) Explain(ctx context.Context, q policies.ExplainQuery) (*route.Decision, error) {
	if q.RequestID != "" {
		return b.explainLogged(ctx, q)
	}
	op := llm.Chat
	if q.Endpoint == "embeddings" {
		op = llm.Embed
	}
	req, err := chat.Format{}.DecodeRequest(ctx, op, q.Body)
	if err != nil {
		return nil, err
	}
	workspace, err := b.app.accounts.Workspace(ctx, q.WorkspaceID)
	if err != nil {
		return nil, err
	}
	grant := &account.Grant{Key: &account.Key{}, Workspace: &workspace}
	if q.KeyID != "" {
		key, err := b.app.accounts.Key(ctx, q.WorkspaceID, q.KeyID)
		if err != nil {
			return nil, err
		}
		grant.Key = &key
	}
	return b.app.gateway.Explain(ctx, grant, req, q.Tradeoff, q.Draft)
}

// ServeAs answers a chat request of a person who is signed in.
func (b bridge) ServeAs(w http.ResponseWriter, r *http.Request, accountID, workspaceID string) {
	workspace, err := b.app.accounts.Workspace(r.Context(), workspaceID)
	if err != nil {
		refuse(w, r, llm.AsError(err))
		return
	}
	b.app.gateway.ServeAs(w, r, &workspace, accountID)
}

// Facts tells what this gateway is.
func (b bridge) Facts() overview.Facts {
	loaded := b.app.loaded()
	c := loaded.Config
	providers := b.app.fleet.Load().Providers
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
		DefaultModel: c.DefaultModel, StartedAt: b.app.started, LogBodies: c.Log.Bodies,
		EntryRetention: c.Log.EntryRetention, BodyRetention: c.Log.BodyRetention, Redact: c.Log.Redact,
		Limits: overview.InstanceLimits{
			BodyBytes: int64(c.Limits.Body), AnswerBytes: int64(c.Limits.Answer), Concurrent: int64(c.Limits.Concurrent),
			Attempts: int64(c.Retries.Attempts), Total: c.Timeouts.Total, StoredBytes: int64(c.Log.BodyLimit),
		},
		Catalog: b.app.fleet.Load().Catalog.Version(), Router: route.Router,
		Predictor: b.app.predictor.Version(), Policies: b.app.rules.Instance().Len(),
	}
}

// Storage measures what is stored.
func (b bridge) Storage(ctx context.Context) (overview.StorageUse, error) {
	used, err := b.app.db.Log.Usage(ctx)
	if err != nil {
		return overview.StorageUse{}, err
	}
	c := b.app.loaded().Config
	keep, err := b.app.db.Log.LongestRetention(ctx, retention(c.Log))
	if err != nil {
		return overview.StorageUse{}, err
	}
	disk := b.Disk()
	return overview.StorageUse{
		DatabaseBytes: used.Bytes, SpoolBytes: disk.SpoolBytes, SpoolLimit: disk.SpoolLimit, FreeBytes: disk.FreeBytes,
		OldestEntry: used.Oldest, Samples: b.app.maintenance.Samples(), Retention: keep.Entries, DiskElsewhere: c.Store != "sqlite",
	}, nil
}

// Disk tells how full storage is without asking the database.
func (b bridge) Disk() overview.DiskUse {
	c := b.app.loaded().Config
	free, total := diskBytes(c.DataDir)
	return overview.DiskUse{FreeBytes: free, TotalBytes: total, SpoolBytes: b.app.spool.Stats().Bytes, SpoolLimit: int64(c.Spool.Limit)}
}

// BudgetUse says how much of the budgets of a workspace and its keys is used up.
func (b bridge) BudgetUse(ctx context.Context, workspaceID string) (map[string]spending.BudgetUse, error) {
	workspace, err := b.app.accounts.Workspace(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	keys, err := b.app.accounts.Keys(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	use := map[string]spending.BudgetUse{}
	for i := range keys {
		for _, budget := range gateway.Budgets(&account.Grant{Key: &keys[i], Workspace: &workspace}) {
			status := b.app.ledger.Status(budget)
			if !status.Loaded {
				if status.Spent, err = b.app.spent(ctx, budget.ID, status.Start); err != nil {
					return nil, err
				}
			}
			_, owner, _ := strings.Cut(budget.ID, ":")
			use[owner] = spending.BudgetUse{Spent: status.Spent, Held: status.Held, ResetsAt: status.End}
		}
	}
	return use, nil
}

// disabledProviders are those switched off in the dashboard.
func (a *App) disabledProviders(ctx context.Context) ([]string, error) {
	text, err := a.db.Setting(ctx, disabledSetting)
	if err != nil || text == "" {
		return nil, err
	}
	var names []string
	return names, json.Unmarshal([]byte(text), &names)
}

const disabledSetting = "disabled_providers"

// SetEnabled turns a provider on or off and keeps that over restarts.
func (b bridge) SetEnabled(ctx context.Context, name string, enabled bool) error {
	f := b.app.fleet.Load()
	if !f.Has(name) {
		return account.ErrNotFound
	}
	names, err := b.app.disabledProviders(ctx)
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
	if err := b.app.db.SetSetting(ctx, disabledSetting, string(text)); err != nil {
		return err
	}
	return b.app.rebuild(ctx)
}

// rebuild assembles the providers anew under the configuration in force.
func (a *App) rebuild(ctx context.Context) error {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	return a.apply(ctx, a.loaded())
}
