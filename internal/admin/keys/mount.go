// Package keys serves the operations on API keys.
package keys

import (
	"context"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/spending"
	"fairlead.dev/internal/requestlog"
)

// Deps are the dependencies of the operations.
type Deps struct {
	Keys     Keys
	Figures  requestlog.FigureReader
	Spending spending.Reader
}

type handlers struct {
	Deps
	*adminapi.Server
}

// Mount registers the operations.
func Mount(s *adminapi.Server, d Deps) {
	a := &handlers{Deps: d, Server: s}
	a.registerKeys()
}

// Keys creates, changes and revokes API keys.
type Keys interface {
	Keys(ctx context.Context, workspaceID string) ([]account.Key, error)
	Key(ctx context.Context, workspaceID, keyID string) (account.Key, error)
	CreateKey(ctx context.Context, by account.Actor, d account.KeySettings) (account.Key, string, error)
	UpdateKey(ctx context.Context, by account.Actor, keyID string, c account.KeyChange) (account.Key, error)
	RotateKey(ctx context.Context, by account.Actor, keyID string, g account.Grace) (account.Key, string, error)
	RevokeKey(ctx context.Context, by account.Actor, keyID string) (account.Key, error)
}
