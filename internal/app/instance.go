package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"fairlead/internal/account"
	"fairlead/internal/admin/providers"
	"fairlead/internal/admin/workspaces"
	"fairlead/internal/catalog"
	"fairlead/internal/config"
	"fairlead/internal/egress"
	"fairlead/internal/llm"
	"fairlead/internal/policy"
	"fairlead/internal/predict"
	"fairlead/internal/predict/ability"
	"fairlead/internal/provider"
	"fairlead/internal/providerset"
	"fairlead/internal/simulator"
	"fairlead/internal/store"
	"fairlead/internal/vault"
)

// Instance is what the command line opens: the same data that a server has, beside a running one or without it. It
// takes no lock and starts nothing.
type Instance struct {
	Config   config.Config
	New      bool // the data directory was not there before
	Store    *store.DB
	Accounts *account.Service

	loaded *config.Loaded
	vault  *vault.Vault
}

// OpenInstance opens the data directory, which is made when it is missing, and the store.
func OpenInstance(ctx context.Context, loaded *config.Loaded) (*Instance, error) {
	c := loaded.Config
	_, err := os.Stat(c.DataDir)
	i := &Instance{Config: c, New: errors.Is(err, fs.ErrNotExist), loaded: loaded}
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	master, err := vault.LoadOrCreateMasterKey(c.DataDir, c.MasterKey)
	if err != nil {
		return nil, err
	}
	if i.Store, err = store.Open(ctx, c.Store, c.DataDir, store.Options{Connections: 2}); err != nil {
		return nil, err
	}
	if err := i.prepare(ctx, master); err != nil {
		return nil, errors.Join(err, i.Close())
	}
	return i, nil
}

// prepare compares the master key with the store's, and hides what is past its retention, as a server does.
func (i *Instance) prepare(ctx context.Context, master []byte) error {
	if err := vault.Confirm(ctx, i.Store, master); err != nil {
		return err
	}
	if err := i.Store.Log.Retain(ctx, time.Now(), retention(i.Config.Log)); err != nil {
		return fmt.Errorf("read retentions: %w", err)
	}
	return i.openAccounts(master)
}

func (i *Instance) openAccounts(master []byte) (err error) {
	if i.Accounts, err = account.New(i.Store.Accounts.Stores(), account.Options{MasterKey: master, Registration: i.Config.Registration, Quota: quota(i.Config.Accounts), Ended: i.tellEnd}); err != nil {
		return err
	}
	i.vault, err = vault.New(i.Store.Config, master, nil)
	return err
}

// Close lets go of the store.
func (i *Instance) Close() error { return i.Store.Close() }

// Workspace returns the workspace with the id, or the instance's first one, which is made when there is none.
func (i *Instance) Workspace(ctx context.Context, id string) (account.Workspace, error) {
	if id == "" {
		return i.Accounts.FirstWorkspace(ctx)
	}
	return i.Accounts.Workspace(ctx, id)
}

// RemoveMember removes the member with the email address from the workspace and returns the revoked keys.
func (i *Instance) RemoveMember(ctx context.Context, workspaceID, email string, keepKeys bool) ([]workspaces.RevokedKey, error) {
	members, err := i.Accounts.Members(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(members, func(m account.Member) bool { return strings.EqualFold(m.Email, strings.TrimSpace(email)) })
	if at < 0 {
		return nil, llm.Errorf(llm.NotFound, "No member of the workspace has this email address.")
	}
	keys, err := i.Accounts.RemoveMember(ctx, account.CommandLine(workspaceID), members[at].AccountID, keepKeys)
	revoked := make([]workspaces.RevokedKey, 0, len(keys))
	for k := range keys {
		revoked = append(revoked, workspaces.RevokedKey{ID: keys[k].ID, Name: keys[k].Name})
	}
	return revoked, err
}

// Fleet is the providers and models that a server with this configuration, environment and store would have.
type Fleet struct {
	fleet  *providerset.Set
	egress *egress.Client
}

// Fleet assembles the providers as a server does when it starts. Credentials that cannot be opened are reported to log
// and left out.
func (i *Instance) Fleet(ctx context.Context, env func(string) string, version string, log *slog.Logger) (*Fleet, error) {
	a := &App{
		options: Options{Env: env}, version: version, log: log, db: i.Store, vault: i.vault,
		simulator: simulator.NewSimulator(simulator.Options{}),
	}
	if i.Config.Detect {
		a.local = providerset.FindLocal(ctx)
	}
	var err error
	if a.predictor, err = predict.Embedded(); err != nil {
		return nil, fmt.Errorf("read the predictor: %w", err)
	}
	a.fitter = ability.New(a.predictor)
	f, err := a.build(ctx, i.loaded)
	if err != nil {
		return nil, err
	}
	a.egress = egress.New(f.EgressOptions(i.Config)) // also for the logins of its providers
	return &Fleet{fleet: f, egress: a.egress}, nil
}

// Close lets go of the connections that tests have opened.
func (f *Fleet) Close() { f.egress.Close() }

// Catalog is everything known about models, whether on offer here or not.
func (f *Fleet) Catalog() *catalog.Catalog { return f.fleet.Catalog }

// Targets lists every target by provider and model.
func (f *Fleet) Targets() []*provider.Target { return f.fleet.Snapshot().Targets() }

// Providers lists the providers in the order of the configuration, those that are switched off at the end.
func (f *Fleet) Providers() []providers.ProviderState {
	var list []providers.ProviderState
	for _, p := range f.fleet.Providers {
		one := f.fleet.State(p)
		one.Enabled = true
		for _, t := range p.Targets {
			one.Targets = append(one.Targets, providers.TargetState{Target: t, PriceSet: f.fleet.Priced[t.ID()]})
		}
		slices.SortFunc(one.Targets, func(x, y providers.TargetState) int { return cmp.Compare(x.Target.ID(), y.Target.ID()) })
		list = append(list, one)
	}
	for _, p := range f.fleet.Off {
		list = append(list, f.fleet.State(p))
	}
	return list
}

// Test makes one cheap call to the provider; what it finds wrong is in the answer. account.ErrNotFound for a name that
// is not configured or switched off.
func (f *Fleet) Test(ctx context.Context, name string) (providers.ProbeResult, error) {
	i := slices.IndexFunc(f.fleet.Providers, func(p *provider.Provider) bool { return p.Name == name })
	if i < 0 {
		return providers.ProbeResult{}, account.ErrNotFound
	}
	return providerset.Probe(ctx, f.egress, f.fleet.Providers[i]), nil
}

// World says what policies may name.
func (f *Fleet) World() policy.Inventory { return f.fleet.World() }
