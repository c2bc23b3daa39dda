package account

import (
	"context"
	"fmt"
)

type memberView struct {
	Role Role `json:"role"`
}

// Members lists the members of a workspace in the order in which they joined.
func (s *Service) Members(ctx context.Context, workspaceID string) ([]Member, error) {
	members, err := s.store.Members.MembersOf(ctx, workspaceID)
	if err != nil {
		return nil, fmt.Errorf("list members: %w", err)
	}
	return members, nil
}

// SetRole changes the role of a member. The new role must not be above the actor's own. The role of the last owner cannot be
// changed.
func (s *Service) SetRole(ctx context.Context, by Actor, accountID string, role Role) error {
	if roleRank[role] == 0 {
		return invalid("role", "Unknown role. Use owner, admin, developer or viewer.")
	}
	if !by.mayGrantRole(role) {
		return denied("You cannot assign a role above your own.")
	}
	_, err := s.changeMember(ctx, by, accountID, role, false, "member.role")
	if err == nil {
		s.changed(ctx)
	}
	return err
}

// RemoveMember removes a member from the workspace and revokes the keys that the member created in it, unless keepKeys
// is set. It returns the revoked keys. Members can also remove themselves. The last owner cannot be removed.
func (s *Service) RemoveMember(ctx context.Context, by Actor, accountID string, keepKeys bool) ([]Key, error) {
	leaving := by.KeyID == "" && by.AccountID == accountID
	switch {
	case !leaving && !by.May(ManageMembers):
		return nil, denied("You do not have permission to remove members. Ask an owner or admin.")
	case keepKeys && !by.May(ManageKeys):
		return nil, denied("Only members with the \"manage_keys\" permission can keep the keys of a member who leaves.")
	}
	revoked, err := s.changeMember(ctx, by, accountID, "", !keepKeys, "member.remove")
	if err != nil {
		return nil, err
	}
	s.changed(ctx)
	for i := range revoked {
		s.ended(ctx, Ending{KeyID: revoked[i].ID})
	}
	return revoked, nil
}

// changeMember sets the role of a member. An empty role removes the member.
func (s *Service) changeMember(ctx context.Context, by Actor, accountID string, role Role, revokeKeys bool, action string) ([]Key, error) {
	revoked, err := s.store.Members.ChangeMember(ctx, by.WorkspaceID, accountID, revokeKeys, func(m *Member, owners int) (AuditEvent, error) {
		if m.Role == role {
			return AuditEvent{}, nil
		}
		if m.Source == ByGroup && role != "" {
			return AuditEvent{}, conflict(ErrConflict, "A group of the identity provider grants this role. Change the group or its mapping in the configuration.")
		}
		if roleRank[m.Role] > roleRank[by.Role] && accountID != by.AccountID {
			return AuditEvent{}, denied("You cannot change a member with a role above your own.")
		}
		if m.Role == Owner && owners <= 1 {
			return AuditEvent{}, conflict(ErrLastOwner, "This is the last owner of the workspace. Make another member an owner first.")
		}
		before := memberView{m.Role}
		m.Role = role
		return s.event(by, action, accountID, before, memberView{role}), nil
	})
	return revoked, wrapStoreError(err, "member", "change a member")
}
