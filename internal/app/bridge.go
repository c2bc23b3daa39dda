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
	"fairlead/internal/gateway"
	"fairlead/internal/health"
	"fairlead/internal/llm"
	"fairlead/internal/provider"
	"fairlead/internal/route"
	"fairlead/internal/store"
	"fairlead/internal/store/logstore"
	"fairlead/internal/wire/chat"
)

// adminParts introduces the parts to the admin API.
func (a *App) adminParts() admin.Parts {
	b := bridge{a}
	return admin.Parts{
		People: a.accounts, Workspaces: a.accounts, Keys: a.accounts, Keyring: a.keyring, Audit: a.accounts, Notes: a.accounts,
		Requests: freshReader{a.db.Log, a.spool}, Figures: a.db.Figures, Live: a.feed, Eraser: eraser{a}, Spending: b, Fleet: b, Prober: b, Credentials: b, Switch: b, Prices: b, Names: a.db.Accounts, Explainer: b, Playground: b, Samples: sampler{a}, Instance: b,
		Rulebook: a.rules, Replayer: b, Feedback: ratings{a},
		Transcript: transcript, Unreachable: store.Unreachable, PublicURL: a.loaded().Config.PublicURL, TrustProxy: a.loaded().Config.TrustProxy, Log: a.log, Now: time.Now,
	}
}

// bridge shows the running parts as the admin API wants to see them.
type bridge struct{ app *App }

// Models lists every model that has a target.
func (b bridge) Models() []admin.ModelState {
	var list []admin.ModelState
	states, set := b.health(), b.app.fleet.Load().priced
	for _, t := range b.app.gateway.Targets().Targets() {
		state := admin.TargetState{Target: t, Health: states[t.ID()], PriceSet: set[t.ID()]}
		i := slices.IndexFunc(list, func(m admin.ModelState) bool { return m.Model.Name == t.Model.Name })
		if i >= 0 {
			list[i].Targets = append(list[i].Targets, state)
			continue
		}
		list = append(list, admin.ModelState{Model: t.Model, Targets: []admin.TargetState{state}})
	}
	slices.SortFunc(list, func(x, y admin.ModelState) int { return strings.Compare(x.Model.Name, y.Model.Name) })
	return list
}

// Providers lists the configured providers, those that are switched off at the end.
func (b bridge) Providers() []admin.ProviderState {
	f := b.app.fleet.Load()
	states, tired := b.health(), b.app.health.Credentials()
	var list []admin.ProviderState
	for _, p := range f.providers {
		one := f.state(p)
		one.Enabled = true
		for i := range one.Credentials {
			at := slices.IndexFunc(tired, func(h health.CredentialHealth) bool { return h.ID == one.Credentials[i].ID })
			if at >= 0 {
				one.Credentials[i].Resting, one.Credentials[i].Reason = tired[at].Until, tired[at].Reason
			}
		}
		for _, t := range p.Targets {
			one.Targets = append(one.Targets, admin.TargetState{Target: t, Health: states[t.ID()], PriceSet: f.priced[t.ID()]})
		}
		list = append(list, one)
	}
	for _, p := range f.off {
		list = append(list, f.state(p))
	}
	return list
}

// state is what is known of a provider, switched on or off: all but its targets.
func (f *fleet) state(p *provider.Provider) admin.ProviderState {
	one := admin.ProviderState{Name: p.Name, Title: p.Title, BaseURL: p.BaseURL, Source: f.sources[p.Name], Simulated: p.Simulated}
	for _, c := range p.Credentials {
		one.Credentials = append(one.Credentials, admin.CredentialState{ID: c.ID, Hint: c.Hint(), Source: c.Source})
	}
	return one
}

// Known reports whether a name means a model that is on offer, or at least in the catalog.
func (b bridge) Known(name string) (bool, []string) { return known(b.app.gateway.Targets(), name) }

func known(snap *route.Snapshot, name string) (bool, []string) {
	if len(snap.Named(name)) > 0 {
		return true, nil
	}
	if _, ok := snap.Catalog.Model(name); ok {
		return true, nil
	}
	near := snap.Suggest(name)
	if len(near) == 0 {
		near = snap.Catalog.Suggest(name, 5)
	}
	return false, near
}

func (b bridge) health() map[string]admin.TargetHealth {
	states := map[string]admin.TargetHealth{}
	for _, h := range b.app.health.Snapshot() {
		states[h.Target] = targetHealth(h)
	}
	return states
}

func targetHealth(h health.TargetHealth) admin.TargetHealth {
	return admin.TargetHealth{
		Circuit: circuitName(h), Reason: h.Reason, NextProbe: h.NextProbe, Latency: h.TTFT, TokensPS: h.TokensPS,
		Calls: h.Calls, Failures: h.Failures,
	}
}

// Test makes one cheap call to the provider.
func (b bridge) Test(ctx context.Context, name string) (admin.ProbeResult, error) {
	p, ok := b.app.gateway.Targets().Provider(name)
	if !ok {
		return admin.ProbeResult{}, account.ErrNotFound
	}
	return testProvider(ctx, b.app.egress, p), nil
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
func (b bridge) Explain(ctx context.Context, q admin.ExplainQuery) (*route.Decision, error) {
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
func (b bridge) Facts() admin.Facts {
	loaded := b.app.loaded()
	c := loaded.Config
	providers := b.app.fleet.Load().providers
	simulated := len(providers) > 0
	for _, p := range providers {
		simulated = simulated && p.Simulated
	}
	kind := "sqlite"
	if c.Store != "sqlite" {
		kind = "postgres"
	}
	return admin.Facts{
		Version: b.app.version, Simulated: simulated, Registration: c.Registration, ConfigSource: b.app.configText(), ConfigFile: loaded.Path, Store: kind,
		DefaultModel: c.DefaultModel, StartedAt: b.app.started, LogBodies: c.Log.Bodies,
		EntryRetention: c.Log.EntryRetention, BodyRetention: c.Log.BodyRetention, Redact: c.Log.Redact,
		Limits: admin.InstanceLimits{
			BodyBytes: int64(c.Limits.Body), AnswerBytes: int64(c.Limits.Answer), Concurrent: int64(c.Limits.Concurrent),
			Attempts: int64(c.Retries.Attempts), Total: c.Timeouts.Total, StoredBytes: int64(c.Log.BodyLimit),
		},
		Catalog: b.app.fleet.Load().catalog.Version(), Router: route.Router,
		Predictor: b.app.predictor.Version(), Policies: b.app.rules.Instance().Len(),
	}
}

// Storage measures what is stored.
func (b bridge) Storage(ctx context.Context) (admin.StorageUse, error) {
	used, err := b.app.db.Log.Usage(ctx)
	if err != nil {
		return admin.StorageUse{}, err
	}
	c := b.app.loaded().Config
	keep, err := b.app.db.Log.LongestRetention(ctx, logstore.Retention{Entries: c.Log.EntryRetention, Bodies: c.Log.BodyRetention})
	if err != nil {
		return admin.StorageUse{}, err
	}
	disk := b.Disk()
	return admin.StorageUse{
		DatabaseBytes: used.Bytes, SpoolBytes: disk.SpoolBytes, SpoolLimit: disk.SpoolLimit, FreeBytes: disk.FreeBytes,
		OldestEntry: used.Oldest, Samples: *b.app.sizes.Load(), Retention: keep.Entries, DiskElsewhere: c.Store != "sqlite",
	}, nil
}

// Disk tells how full storage is without asking the database.
func (b bridge) Disk() admin.DiskUse {
	c := b.app.loaded().Config
	free, total := diskBytes(c.DataDir)
	return admin.DiskUse{FreeBytes: free, TotalBytes: total, SpoolBytes: b.app.spool.Stats().Bytes, SpoolLimit: int64(c.Spool.Limit)}
}

// BudgetUse says how much of the budgets of a workspace and its keys is used up.
func (b bridge) BudgetUse(ctx context.Context, workspaceID string) (map[string]admin.BudgetUse, error) {
	workspace, err := b.app.accounts.Workspace(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	keys, err := b.app.accounts.Keys(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	use := map[string]admin.BudgetUse{}
	for i := range keys {
		for _, budget := range gateway.Budgets(&account.Grant{Key: &keys[i], Workspace: &workspace}) {
			status := b.app.ledger.Status(budget)
			if !status.Loaded {
				if status.Spent, err = b.app.spent(ctx, budget.ID, status.Start); err != nil {
					return nil, err
				}
			}
			_, owner, _ := strings.Cut(budget.ID, ":")
			use[owner] = admin.BudgetUse{Spent: status.Spent, Held: status.Held, ResetsAt: status.End}
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
	if !f.has(name) {
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
