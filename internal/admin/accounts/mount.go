// Package accounts serves the account operations: registration, sessions and profile.
package accounts

import (
	"context"

	"fairlead/internal/account"
	"fairlead/internal/admin/adminapi"
)

// Deps are the dependencies of the operations.
type Deps struct {
	Sessions    Sessions
	Registrar   Registrar
	Profiles    Profiles
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
}

// Sessions signs accounts in and out.
type Sessions interface {
	Login(ctx context.Context, email, password string, v account.Visitor) (account.Account, string, error)
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
}

// Facts describes the gateway to clients that are not signed in.
type Facts struct {
	Version      string
	Registration string // invitation or open
	PublicURL    string // empty if not configured
	Simulated    bool   // whether the simulator is the only provider
	Samples      bool   // whether sample traffic can be created
}
