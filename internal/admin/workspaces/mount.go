// Package workspaces serves the workspace operations: settings, members, invitations, redaction and audit log.
package workspaces

import (
	"context"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/spending"
)

// Deps are the dependencies of the operations.
type Deps struct {
	Workspaces       Workspaces
	Memberships      adminapi.Memberships
	Members          Members
	Invitations      Invitations
	Audit            AuditLog
	Labels           *Labels
	Spending         spending.Reader
	Models           Models
	DefaultRedaction func() []string // returns the built-in rules of the instance
}

type handlers struct {
	Deps
	*adminapi.Server
}

// Mount registers the operations.
func Mount(s *adminapi.Server, d Deps) {
	a := &handlers{Deps: d, Server: s}
	a.registerWorkspaces()
	a.registerRedaction()
	a.registerMembers()
	a.registerInvitations()
	a.registerAudit()
}

// Workspaces creates and changes workspaces. Its methods return account.ErrNotFound for a workspace that the account is not a
// member of.
type Workspaces interface {
	Workspace(ctx context.Context, workspaceID string) (account.Workspace, error)
	CreateWorkspace(ctx context.Context, by account.Actor, name string) (account.Workspace, error)
	UpdateWorkspace(ctx context.Context, by account.Actor, workspaceID string, c account.WorkspaceChange) (account.Workspace, error)
}

// Members changes the members of a workspace.
type Members interface {
	Members(ctx context.Context, workspaceID string) ([]account.Member, error)
	SetRole(ctx context.Context, by account.Actor, accountID string, role account.Role) error
	// RemoveMember removes a member and returns the keys that were revoked.
	RemoveMember(ctx context.Context, by account.Actor, accountID string, keepKeys bool) ([]account.Key, error)
}

// Invitations invites people to a workspace.
type Invitations interface {
	Invitations(ctx context.Context, workspaceID string) ([]account.Invitation, error)
	Invite(ctx context.Context, by account.Actor, role account.Role) (account.Invitation, string, error)
	RevokeInvitation(ctx context.Context, by account.Actor, invitationID string) error
	AcceptInvitation(ctx context.Context, accountID, token string) (account.Member, error)
}

// Models looks up model names.
type Models interface {
	// Known reports whether a configured provider or the catalog has a model with the name. If not, near lists similar names.
	Known(name string) (known bool, near []string)
}
