package app

import (
	"context"
	"fmt"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/account/factor"
	"fairlead.dev/internal/account/keyring"
	"fairlead.dev/internal/account/passkey"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/egress"
	"fairlead.dev/internal/settings"
	"fairlead.dev/internal/sso"
	"fairlead.dev/internal/vault"
)

// keysOutliveStore is the maximum time for which cached keys are accepted while the database is unavailable.
const keysOutliveStore = 15 * time.Minute

// accountParts holds the components for accounts, keys and sign-in.
type accountParts struct {
	accounts  *account.Service
	keyring   *keyring.Ring
	vault     *vault.Vault
	factors   *factor.Service
	passkeys  *passkey.Service
	sso       *sso.Service
	ssoEgress *egress.Client // client for calls to the identity provider
	// tenantEgress calls addresses that workspaces choose.
	tenantEgress *egress.Client
	setupCode    string // code for the first registration; empty if an account exists
}

// openAccounts loads the keys and creates the account and sign-in services.
func (a *App) openAccounts(ctx context.Context, c config.Config) (err error) {
	if err := vault.Confirm(ctx, a.db, a.master); err != nil {
		return err
	}
	if a.keyring, err = keyring.New(a.db.Accounts, a.master, keyring.Options{
		Now: a.now, MaxStale: keysOutliveStore,
		Report: func(err error) { a.report("read keys", err) },
	}); err != nil {
		return err
	}
	if err := a.keyring.Load(ctx); err != nil {
		return fmt.Errorf("load keys: %w", err)
	}
	if a.vault, err = vault.New(a.db.Config, a.master, nil); err != nil {
		return err
	}
	if a.factors, err = factor.New(a.db.Accounts, a.vault, a.master, nil); err != nil {
		return err
	}
	a.passkeys = passkey.New(passkey.Parts{Store: a.db.Accounts.Passkeys(), Sealer: a.vault, Recovery: a.factors, PublicURL: c.PublicURL, Allowed: a.passwordAllowed})
	a.tenantEgress = egress.New(settings.TenantEgress(c))
	changed := func(ctx context.Context) { a.report("read keys", a.keyring.Refresh(ctx)) }
	if a.accounts, err = account.New(a.db.Accounts.Stores(), account.Options{
		MasterKey: a.master, Registration: c.Registration, Quota: settings.Quota(c.Accounts), Busy: a.shedding,
		Changed: changed, Ended: a.publishEnding, Passwords: a.passwordAllowed, SecondFactor: a.factors, Passkeys: a.passkeys, CheckURL: a.tenantEgress.CheckURL,
		Recheck: func(ctx context.Context, s account.Session) error { return a.sso.Check(ctx, s) },
	}); err != nil {
		return err
	}
	a.ssoEgress = egress.New(settings.SSOEgress(c))
	if a.sso, err = sso.New(sso.Parts{
		Store: a.db.Accounts, Workspaces: a.accounts, Audit: a.db.Accounts, Sealer: a.vault, MasterKey: a.master, Do: a.ssoEgress.Do,
		Changed: changed, Ended: a.publishEnding, Log: a.log,
	}); err != nil {
		return err
	}
	a.sso.Configure(settings.SSO(c.SSO))
	if a.options.Dev {
		return a.openDev(ctx)
	}
	code, _, needed, err := a.accounts.SetupCode(ctx)
	if err != nil {
		return fmt.Errorf("create setup code: %w", err)
	}
	if needed {
		a.setupCode = code
	}
	return nil
}

// passwordAllowed reports whether an account may sign in with a password. In development mode, the developer account always may.
func (a *App) passwordAllowed(email string) bool {
	return a.options.Dev && email == devEmail || settings.PasswordAllowed(a.loaded().Config.SSO, email)
}
