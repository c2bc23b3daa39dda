package instance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/account/factor"
	"fairlead.dev/internal/admin/workspaces"
	"fairlead.dev/internal/cluster"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/egress"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/session"
	"fairlead.dev/internal/settings"
	"fairlead.dev/internal/spool"
	"fairlead.dev/internal/store"
	"fairlead.dev/internal/vault"
)

const (
	arrivalTime  = time.Second // maximum wait in AwaitEntries; longer than a server takes to collect a batch
	arrivalPause = 50 * time.Millisecond
)

// Instance provides access to the data of a gateway, whether or not its server is running. It takes no lock and starts no tasks.
type Instance struct {
	Config   config.Config
	New      bool // whether Open created the data directory
	Store    *store.DB
	Accounts *account.Service
	Factors  *factor.Service

	loaded *config.Loaded
	vault  *vault.Vault
	names  *session.Namer
}

// Open opens the data directory and the store. It creates the data directory if it does not exist.
func Open(ctx context.Context, loaded *config.Loaded) (*Instance, error) {
	c := loaded.Config
	_, err := os.Stat(c.DataDir)
	i := &Instance{Config: c, New: errors.Is(err, fs.ErrNotExist), loaded: loaded}
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("create data directory: %w", err)
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

// prepare checks the master key, loads the retention settings so that expired entries are hidden, and opens the accounts and the
// vault.
func (i *Instance) prepare(ctx context.Context, master []byte) (err error) {
	if err := vault.Confirm(ctx, i.Store, master); err != nil {
		return err
	}
	if err := i.Store.Log.Retain(ctx, time.Now(), settings.Retention(i.Config.Log)); err != nil {
		return fmt.Errorf("read retentions: %w", err)
	}
	if i.Accounts, err = account.New(i.Store.Accounts.Stores(), account.Options{
		MasterKey: master, Registration: i.Config.Registration, Quota: settings.Quota(i.Config.Accounts), Ended: i.publishEnding,
		CheckURL: egress.New(settings.TenantEgress(i.Config)).CheckURL,
	}); err != nil {
		return err
	}
	if i.vault, err = vault.New(i.Store.Config, master, nil); err != nil {
		return err
	}
	if i.names, err = session.NewNamer(master); err != nil {
		return err
	}
	i.Factors, err = factor.New(i.Store.Accounts, i.vault, master, nil)
	return err
}

// publishEnding notifies running servers that a key was revoked or rotated without a grace period. Errors are ignored, because
// servers also poll the database.
func (i *Instance) publishEnding(ctx context.Context, e account.Ending) {
	if i.Config.Redis == "" {
		return
	}
	client, err := cluster.Dial(i.Config.Redis)
	if err != nil {
		return
	}
	defer func() { _ = client.Close() }()
	if message, err := e.Message(); err == nil {
		_ = cluster.New(client, cluster.Options{}).Publish(ctx, message)
	}
}

// Close closes the store.
func (i *Instance) Close() error { return i.Store.Close() }

// Workspace returns the workspace with the given ID. For an empty ID it returns the first workspace, which is created if
// necessary.
func (i *Instance) Workspace(ctx context.Context, id string) (account.Workspace, error) {
	if id == "" {
		return i.Accounts.FirstWorkspace(ctx)
	}
	return i.Accounts.Workspace(ctx, id)
}

// RemoveMember removes the member with the given email address from the workspace and returns the revoked keys.
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

// AwaitEntries waits up to a second for a running server to deliver the entries in its spool.
func (i *Instance) AwaitEntries(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, arrivalTime)
	defer cancel()
	tick := time.NewTicker(arrivalPause)
	defer tick.Stop()
	for {
		if n, err := spool.CountUndelivered(settings.SpoolDir(i.Config)); err == nil && n == 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C: // also wait after an error, for example if the server just removed a segment
		}
	}
}
