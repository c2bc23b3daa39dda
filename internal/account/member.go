package account

import (
	"context"
	"fmt"
)

type memberView struct {
	Role Role `json:"role"`
}

// Members lists who belongs to the workspace, the first to join first.
func (s *Service) Members(ctx context.Context, workspaceID string) ([]Member, error) {
	members, err := s.store.MembersOf(ctx, workspaceID)
	if err != nil {
		return nil, fmt.Errorf("list members: %w", err)
	}
	return members, nil
}

// SetRole gives a member another role, not above the actor's own. The last owner stays one.
func (s *Service) SetRole(ctx context.Context, by Actor, accountID string, role Role) error {
	if roleRank[role] == 0 {
		return invalid("role", "Unknown role; known are owner, admin, developer, viewer.")
	}
	if !by.mayGrantRole(role) {
		return denied("You cannot give a role that is above your own.")
	}
	return s.changeMember(ctx, by, accountID, role, "member.role")
}

// RemoveMember takes a member out of the workspace; members can also leave by themselves. The last owner stays.
func (s *Service) RemoveMember(ctx context.Context, by Actor, accountID string) error {
	leaving := by.KeyID == "" && by.AccountID == accountID
	if !leaving && !by.May(ManageMembers) {
		return denied("You may not remove members.")
	}
	return s.changeMember(ctx, by, accountID, "", "member.remove")
}

// changeMember writes a role; the empty one removes.
func (s *Service) changeMember(ctx context.Context, by Actor, accountID string, role Role, action string) error {
	err := s.store.ChangeMember(ctx, by.WorkspaceID, accountID, func(m *Member, owners int) (AuditEvent, error) {
		if m.Role == role {
			return AuditEvent{}, nil
		}
		if roleRank[m.Role] > roleRank[by.Role] && accountID != by.AccountID {
			return AuditEvent{}, denied("You cannot change a member whose role is above your own.")
		}
		if m.Role == Owner && owners <= 1 {
			return AuditEvent{}, conflict(ErrLastOwner, "This is the last owner of the workspace. Make somebody else an owner first.")
		}
		before := memberView{m.Role}
		m.Role = role
		return s.event(by, action, accountID, before, memberView{role}), nil
	})
	return told(err, "member", "change a member")
}
