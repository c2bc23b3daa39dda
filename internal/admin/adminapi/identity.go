package adminapi

import (
	"context"

	"fairlead.dev/internal/account"
)

// Memberships looks up the permissions of accounts and keys.
type Memberships interface {
	// Workspaces lists the workspaces of an account, oldest first.
	Workspaces(ctx context.Context, accountID string) ([]account.Membership, error)
	// Actor returns the permissions of the account in the workspace.
	Actor(ctx context.Context, accountID, workspaceID string) (account.Actor, error)
	// KeyActor returns the permissions of a key in its workspace.
	KeyActor(ctx context.Context, key *account.Key) (account.Actor, error)
}
