// Package accounts serves the account operations: registration, sessions, single sign-on, second factors, passkeys and profile.
package accounts

import (
	"context"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/account/factor"
	"fairlead.dev/internal/account/passkey"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/sso"
)

// Deps are the dependencies of the operations.
type Deps struct {
	Sessions    Sessions
	Registrar   Registrar
	Profiles    Profiles
	Factors     Factors
	Passkeys    Passkeys
	PasskeyList PasskeyStore
	SSO         SingleSignOn
	Memberships adminapi.Memberships
	Facts       func() Facts
}

type handlers struct {
	Deps
	*adminapi.Server
}

// Mount registers the operations.
func Mount(s *adminapi.Server, d Deps) {
	a := &handlers{Deps: d, Server: s}
	a.registerSession()
	a.registerRegistration()
	a.registerAccount()
	a.registerFactor()
	a.registerPasskeys()
	a.registerSSO()
}

// Sessions signs accounts in and out.
type Sessions interface {
	SignIn(ctx context.Context, c account.Credentials, v account.Visitor) (account.Account, string, error)
	Logout(ctx context.Context, token string) error
	Session(ctx context.Context, token string) (account.Account, account.Session, error)
	Sessions(ctx context.Context, accountID string) ([]account.Session, error)
	EndSession(ctx context.Context, accountID, sessionID string) error
	// DeviceToken returns the token of a browser that has signed in to the account.
	DeviceToken(a account.Account, presented string) string
}

// Registrar creates accounts.
type Registrar interface {
	// SetupNeeded reports whether no account exists yet.
	SetupNeeded(ctx context.Context) (bool, error)
	// Register returns an empty token if the user has to sign in.
	Register(ctx context.Context, r account.Registration) (account.Account, string, error)
}

// Profiles changes and deletes accounts.
type Profiles interface {
	UpdateAccount(ctx context.Context, accountID string, c account.ProfileChange) (account.Account, error)
	ChangePassword(ctx context.Context, accountID, old, replacement string, v account.Visitor) (string, error)
	DeleteAccount(ctx context.Context, accountID, password string, v account.Visitor) error
	// ConfirmPassword returns WrongCredentials unless the password matches the account.
	ConfirmPassword(ctx context.Context, accountID, password string, v account.Visitor) (account.Account, error)
}

// Factors manages second factors. Its callers check the password first.
type Factors interface {
	State(ctx context.Context, accountID string) (factor.State, error)
	// Begin creates a secret. It is inactive until Confirm succeeds.
	Begin(ctx context.Context, a account.Account, gateway string) (factor.Setup, error)
	// Confirm activates the secret and returns the recovery codes.
	Confirm(ctx context.Context, accountID, code string) ([]string, error)
	// Disable removes the authenticator app.
	Disable(ctx context.Context, accountID string) error
	// RenewRecoveryCodes replaces the recovery codes.
	RenewRecoveryCodes(ctx context.Context, accountID string) ([]string, error)
}

// Passkeys asks browsers for passkeys and registers new passkeys. Its callers check the password before they add a passkey.
type Passkeys interface {
	// Site returns the address that passkeys are bound to. requestURL is the address that the browser uses.
	Site(requestURL string) passkey.Site
	BeginSignIn(requestURL string) (passkey.Prompt, error)
	BeginAdd(ctx context.Context, o passkey.Owner, requestURL string) (passkey.Prompt, error)
	FinishAdd(ctx context.Context, o passkey.Owner, a passkey.Answer) (passkey.Added, error)
}

// PasskeyStore lists and changes registered passkeys. Its callers check the password before they remove a passkey.
type PasskeyStore interface {
	Passkeys(ctx context.Context, accountID string) ([]passkey.Passkey, error)
	Rename(ctx context.Context, accountID, passkeyID, name string) error
	Remove(ctx context.Context, accountID, passkeyID string) error
}

// SingleSignOn signs accounts in through an identity provider. Refusals are of type *sso.RefusalError.
type SingleSignOn interface {
	// Begin starts a sign-in that the provider finishes at the callback address.
	Begin(ctx context.Context, callback, returnTo string, v account.Visitor) (sso.Redirect, error)
	Finish(ctx context.Context, cb sso.Callback, v account.Visitor) (sso.Done, error)
}

// Facts describes the gateway to clients that are not signed in.
type Facts struct {
	Version      string
	Registration string // registration mode: "invitation" or "open"
	PublicURL    string // configured address of the gateway; empty if not configured
	Simulated    bool   // whether the simulator is the only provider
	SSO          string // name of the identity provider; empty if single sign-on is disabled
	SSOOnly      bool   // whether passwords are rejected
}
