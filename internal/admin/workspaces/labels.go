package workspaces

import (
	"context"
	"maps"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
)

// Labels finds display names for accounts, keys and invitations. Names may be nil.
type Labels struct {
	Keys    KeyLister
	Members MemberLister
	Names   Names
}

// KeyLister lists the keys of a workspace.
type KeyLister interface {
	Keys(ctx context.Context, workspaceID string) ([]account.Key, error)
}

// MemberLister lists the members of a workspace.
type MemberLister interface {
	Members(ctx context.Context, workspaceID string) ([]account.Member, error)
}

// Labels maps IDs to display names. It returns the names of the workspace's keys and, if the caller can read members,
// the names of accounts and invitations. Unknown IDs are omitted.
func (l *Labels) Labels(ctx context.Context, c *adminapi.Call, ids []string) (map[string]string, error) {
	names := map[string]string{}
	keys, err := l.Keys.Keys(ctx, c.WorkspaceID)
	if err != nil {
		return nil, err
	}
	for i := range keys {
		names[keys[i].ID] = keys[i].Name
	}
	if !c.Actor.May(account.ReadMembers) {
		return names, nil
	}
	if l.Names != nil {
		known, err := l.Names.Names(ctx, c.WorkspaceID, ids)
		if err != nil {
			return nil, err
		}
		maps.Copy(names, known)
	}
	members, err := l.Members.Members(ctx, c.WorkspaceID)
	for _, m := range members {
		names[m.AccountID] = m.Email
	}
	return names, err
}
